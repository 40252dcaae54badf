"""SELECT: which links may still be made so that every clique of the triangulated graph stays worth its noise and fits
in memory. The rule sees the schema and the links made so far, which were released: never a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import Clique, triangulate

__all__ = ["CliqueRoom"]

_SLACK = 1e-9

Pair = tuple[int, int]


class CliqueRoom:
    """A graph that grows link by link. ``limit`` gives the most cells of a clique when there are that many cliques
    (each takes a part of the budget; it falls with their number), ``total_cells`` the most of all cliques together.
    ``pairs`` are all that are worth a thought: more than one value each, and no more cells than a clique may ever have.
    """

    def __init__(self, sizes: Sequence[int], limit: Callable[[int], float], total_cells: float) -> None:
        self.sizes = tuple(sizes)
        self._limit, self._total = limit, total_cells
        most = min(limit(1), total_cells)
        self.pairs: tuple[Pair, ...] = tuple(
            (a, b)
            for a, b in combinations(range(len(sizes)), 2)
            if min(sizes[a], sizes[b]) > 1 and sizes[a] * sizes[b] <= most
        )
        self._log_size = np.log(np.asarray(sizes, np.float64))
        d = len(sizes)
        self._linked = np.zeros((d, d), np.bool_)
        self._part = np.arange(d)
        self._together = np.zeros((d, d), np.bool_)
        self._refused = np.zeros((d, d), np.bool_)
        self.edges: list[Pair] = []
        self.cliques: tuple[Clique, ...] = ()
        self._refresh()

    def link(self, pair: Pair) -> None:
        """The pair belongs together."""
        a, b = pair
        self._linked[a, b] = self._linked[b, a] = True
        self._part[self._part == self._part[b]] = self._part[a]
        self.edges.append(pair)
        self._refresh()

    def fitting(self, pairs: Sequence[Pair], *, joining: bool = False) -> list[Pair]:
        """Those that no clique holds yet and that would keep all within the limits, in order; with ``joining`` only
        those that join two components. A link within a component that was found too large is not offered again.
        """
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        apart = self._part[ends[:, 0]] != self._part[ends[:, 1]]
        left = ~self._settled[ends[:, 0], ends[:, 1]] & (apart | (not joining))
        ends, apart = ends[left], apart[left]
        largest, total, cliques = self._facts(ends, apart)
        counts, which = np.unique(cliques, return_inverse=True)
        most = np.array([log(max(self._limit(int(count)), 1.0)) for count in counts])[which]
        good = (largest <= most + _SLACK) & (total <= self._total * (1 + _SLACK))
        never = ends[~good & ~apart]
        self._refused[never[:, 0], never[:, 1]] = True
        return [(a, b) for a, b in ends[good].tolist()]

    @property
    def _settled(self) -> NDArray[np.bool_]:
        settled: NDArray[np.bool_] = self._together | self._refused
        return settled

    def _facts(self, ends: NDArray[np.int64], apart: NDArray[np.bool_]) -> NDArray[np.float64]:
        """With each pair linked: log cells of the largest clique (of two attributes or more), cells of all cliques, and
        how many there are.
        """
        from privbayes.structure.tree_kernels import linked_facts

        kept = self._by_part()
        widest = max((log(most) for most, _, _ in kept.values()), default=0.0)
        # A link between two components makes one new clique, which takes the place of an end that stood alone.
        size = np.asarray(self.sizes, np.float64)[ends]
        alone = np.logical_not(self._linked.any(axis=1))[ends]
        cells = size.prod(axis=1)
        found = np.stack(
            [
                np.maximum(widest, np.log(cells)),
                self._cells + cells - (size * alone).sum(axis=1),
                len(self.cliques) + 1.0 - alone.sum(axis=1),
            ],
            axis=1,
        )
        parts = np.where(apart, -1, self._part[ends[:, 0]])
        for part in np.unique(parts[parts >= 0]):
            here = np.flatnonzero(parts == part)
            nodes = np.flatnonzero(self._part == part)
            place = np.full(len(self.sizes), -1)
            place[nodes] = np.arange(len(nodes))
            facts = np.empty((len(here), 3))
            linked = np.ascontiguousarray(self._linked[np.ix_(nodes, nodes)])
            linked_facts(linked, self._log_size[nodes], place[ends[here, 0]], place[ends[here, 1]], facts)
            _, cells, cliques = kept[int(part)]
            others = max((log(most) for other, (most, _, _) in kept.items() if other != part), default=0.0)
            facts[:, 0] = np.maximum(facts[:, 0], others)
            found[here] = facts + np.array([0.0, self._cells - cells, len(self.cliques) - cliques])
        return found.T

    def _by_part(self) -> dict[int, tuple[float, float, int]]:
        """Of each component of two attributes or more: cells of its largest clique, cells of all, how many."""
        found: dict[int, tuple[float, float, int]] = {}
        for clique, cells in zip(self.cliques, self._clique_cells, strict=True):
            if len(clique) > 1:
                part = int(self._part[clique[0]])
                most, total, count = found.get(part, (1.0, 0.0, 0))
                found[part] = max(most, cells), total + cells, count + 1
        return found

    def _refresh(self) -> None:
        self.cliques = triangulate(self.sizes, self.edges)
        self._clique_cells = [float(prod(self.sizes[a] for a in clique)) for clique in self.cliques]
        self._cells = sum(self._clique_cells)
        self._together[:] = False
        for a, b in _pairs_in(self.cliques):
            self._together[a, b] = self._together[b, a] = True


def _pairs_in(cliques: Iterable[Clique]) -> Iterable[Pair]:
    for clique in cliques:
        yield from combinations(clique, 2)
