"""Rows of a joint model: dealt evenly down the junction tree, then polished toward what the model says of all pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.pairs import Pairs
from privbayes.core.parallel import available_cores, run_parts
from privbayes.model.conditional import conditional

__all__ = ["PolishedSampler"]

PASSES = 2
PART_ROWS = 32_768  # fixed: parts are polished side by side, each toward its own share of the targets


class PolishedSampler:
    """Draws rows whose tables of pairs are as close to the targets as whole rows can be."""

    def __init__(
        self,
        sizes: Sequence[int],
        tree: CliqueTree,
        clique_tables: Sequence[NDArray[np.float64]],
        pairs: Pairs,
        targets: NDArray[np.float64],
        weights: Sequence[float],
    ) -> None:
        self._sizes = tuple(sizes)
        self._pairs, self._targets = pairs, targets
        worth = np.asarray(weights, np.float64)
        cells = np.diff(pairs.start)
        self._worth = np.repeat(worth[pairs.first] * worth[pairs.second], cells)
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
        if rows and len(self._pairs):
            parts = -(-rows // PART_ROWS)
            edges = np.linspace(0, rows, parts + 1).astype(int)
            seeds = rng.integers(0, 2**63, parts)

            def work(start: int, stop: int) -> None:
                for part in range(start, stop):
                    self._polish(codes[edges[part] : edges[part + 1]], np.random.default_rng(seeds[part]))

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

    def _polish(self, codes: NDArray[np.int32], rng: np.random.Generator) -> None:
        from privbayes.sample.row_kernels import count_pairs, polish

        pairs = self._pairs
        sizes = np.array(self._sizes, np.int64)
        wanted = len(codes) * self._targets
        excess = -wanted
        count_pairs(codes, sizes, pairs.first, pairs.second, pairs.start, excess)
        weight = self._worth / (wanted + 1.0)
        for _ in range(PASSES):
            orders = rng.permutation(len(codes)), rng.permutation(len(sizes))
            if not polish(codes, sizes, pairs.place, pairs.start, excess, weight, *orders):
                break
