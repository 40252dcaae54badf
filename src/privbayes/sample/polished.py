"""Rows of a joint model: dealt evenly down the junction tree, then polished toward what the model says of all pairs,
and of triples where those are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.parallel import available_cores, run_parts
from privbayes.model.conditional import conditional
from privbayes.sample.goals import Goals

__all__ = ["PolishedSampler"]

PASSES = 2
PART_ROWS = 32_768  # fixed: parts are polished side by side, each toward its own share of the targets
SLICE_ROWS = 4_096
STILL = 0.005  # of values: where a slice of rows moves fewer after the first pass, nothing is left to gain
WORK = 10_000_000_000  # steps of polishing a draw, some half a minute; the first rows polished bring most of the gain


class PolishedSampler:
    """Draws rows whose tables come as close to the goals as moving single values brings them."""

    def __init__(
        self,
        sizes: Sequence[int],
        tree: CliqueTree,
        clique_tables: Sequence[NDArray[np.float64]],
        goals: Goals,
    ) -> None:
        self._sizes = tuple(sizes)
        self._goals = goals
        self._blocks = []
        for clique, separator, table in zip(tree.cliques, tree.separators, clique_tables, strict=True):
            new = tuple(a for a in clique if a not in separator)
            if new:
                order = [clique.index(a) for a in (*separator, *new)]
                shape = (int(np.prod([sizes[a] for a in separator])), -1)
                chances = conditional(np.transpose(table, order).reshape(shape).T)
                self._blocks.append((separator, new, np.cumsum(chances, axis=1)))

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], ...]:
        """``rows`` rows in random order. They depend on the generator alone, not on the number of threads."""
        codes = self._deal(rows, rng)
        if rows and len(self._goals.worth):
            parts = -(-rows // PART_ROWS)
            edges = np.linspace(0, rows, parts + 1).astype(int)
            seeds = rng.integers(0, 2**63, parts)

            def work(start: int, stop: int) -> None:
                for part in range(start, stop):
                    self._polish(
                        codes[edges[part] : edges[part + 1]], np.random.default_rng(seeds[part]), WORK // parts
                    )

            run_parts(work, [(part, part + 1) for part in range(parts)], available_cores())
        return tuple(np.ascontiguousarray(column) for column in codes.T)

    def _deal(self, rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
        from privbayes.sample.row_kernels import deal

        codes = np.zeros((rows, len(self._sizes)), np.int32)
        for separator, new, cumulative in self._blocks:
            group = np.zeros(rows, np.int64)
            for a in separator:
                group = group * self._sizes[a] + codes[:, a]
            shuffled = rng.permutation(rows)
            order = shuffled[np.argsort(group[shuffled], kind="stable")]
            present, start = np.unique(group[order], return_index=True)
            joint = np.empty(rows, np.int64)
            deal(order, np.append(start, rows), cumulative[present], rng.random(len(present)), joint)
            for a in reversed(new):
                joint, codes[:, a] = np.divmod(joint, self._sizes[a])
        return codes

    def _polish(self, codes: NDArray[np.int32], rng: np.random.Generator, work: int) -> None:
        from privbayes.sample.row_kernels import count_cells, polish

        goals = self._goals
        sizes = np.array(self._sizes, np.int64)
        cells = goals.cells(len(codes))
        count_cells(np.ascontiguousarray(codes.T), goals.first, goals.entries, cells)
        for again in range(PASSES):
            rows, attributes = rng.permutation(len(codes)), rng.permutation(len(sizes))
            for start in range(0, len(rows), SLICE_ROWS):
                if work < 0:
                    return
                some = rows[start : start + SLICE_ROWS]
                work -= len(some) * goals.steps(self._sizes)
                moved = polish(codes, sizes, goals.first, goals.entries, cells, some, attributes)
                if again and moved < STILL * some.size * len(sizes):
                    return
