"""All pairs of attributes with their tables laid end to end, as far as a table of two is not too large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs"]


@dataclass(frozen=True)
class Pairs:
    """Pairs (a, b), a < b, in order. Table k is ``flat[start[k] : start[k + 1]]``, a by b in C order."""

    sizes: tuple[int, ...]
    members: tuple[tuple[int, int], ...]

    @staticmethod
    def of(sizes: Sequence[int], *, most_cells: float, most_in_all: float) -> Pairs:
        """Every pair of at most ``most_cells`` cells; the smallest come first where all together are too many."""
        found = [(a, b) for a, b in combinations(range(len(sizes)), 2) if sizes[a] * sizes[b] <= most_cells]
        cells = np.array([sizes[a] * sizes[b] for a, b in found], np.float64)
        if cells.sum() > most_in_all:
            order = np.argsort(cells, kind="stable")
            kept = set(order[np.cumsum(cells[order]) <= most_in_all].tolist())
            found = [pair for k, pair in enumerate(found) if k in kept]
        return Pairs(tuple(sizes), tuple(found))

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first attribute of each pair."""
        return np.array([a for a, _ in self.members], np.int64)

    @cached_property
    def second(self) -> NDArray[np.int64]:
        """The second attribute of each pair."""
        return np.array([b for _, b in self.members], np.int64)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where each table starts; at the end, the cells of all."""
        sizes = np.array(self.sizes, np.int64)
        return np.concatenate([[0], np.cumsum(sizes[self.first] * sizes[self.second])]).astype(np.int64)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """The number of the pair of two attributes, in either order; -1 where there is none."""
        matrix = np.full((len(self.sizes), len(self.sizes)), -1, np.int64)
        matrix[self.first, self.second] = matrix[self.second, self.first] = np.arange(len(self))
        return matrix

    def table(self, flat: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Table k (a view)."""
        a, b = self.members[k]
        return flat[self.start[k] : self.start[k + 1]].reshape(self.sizes[a], self.sizes[b])
