"""Tables that rows are moved toward, laid out so that all that one attribute is part of lies together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["Goals"]


@dataclass(frozen=True, eq=False)
class Goals:
    """Tables of two or three attributes, laid end to end, each with how much it counts.

    For attribute a, ``entries[first[a] : first[a + 1]]`` are the tables it is part of: where the table starts, the step
    from one value of a to the next, and the other attributes with their steps (a pair repeats its other one, step 0).
    """

    start: NDArray[np.int64]
    targets: NDArray[np.float64]
    worth: NDArray[np.float64]
    first: NDArray[np.int64]
    entries: NDArray[np.int32]

    @staticmethod
    def of(
        sizes: Sequence[int],
        members: Sequence[Sequence[int]],
        targets: NDArray[np.float64],
        worth: NDArray[np.float64],
    ) -> Goals:
        """From the attributes of each table and the probabilities of all cells, in C order."""
        start = np.cumsum([0, *(prod(sizes[a] for a in table) for table in members)])
        of_attribute: list[list[tuple[int, ...]]] = [[] for _ in sizes]
        for table, at in zip(members, start[:-1].tolist(), strict=True):
            steps = [prod(sizes[b] for b in table[i + 1 :]) for i in range(len(table))]
            for i, a in enumerate(table):
                others = [(b, steps[j]) for j, b in enumerate(table) if j != i]
                (b, b_step), (c, c_step) = others if len(others) == 2 else (others[0], (others[0][0], 0))
                of_attribute[a].append((at, steps[i], b, b_step, c, c_step))
        return Goals(
            start=start.astype(np.int64),
            targets=targets,
            worth=np.asarray(worth, np.float64),
            first=np.cumsum([0, *map(len, of_attribute)]).astype(np.int64),
            entries=np.array([entry for entries in of_attribute for entry in entries], np.int32).reshape(-1, 6),
        )

    def steps(self, sizes: Sequence[int]) -> int:
        """What it takes to weigh every value of one row."""
        return int(np.diff(self.first) @ np.array(sizes))

    def cells(self, rows: int) -> NDArray[np.float64]:
        """For a table of so many rows: of every cell, what it has above its goal while it is empty, and its weight."""
        wanted = rows * self.targets
        weight = np.repeat(self.worth, np.diff(self.start)) / (wanted + 1.0)
        return np.ascontiguousarray(np.stack([-wanted, weight], axis=1))
