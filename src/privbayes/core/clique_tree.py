"""Cliques of a triangulated graph and the junction tree they form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

__all__ = ["CliqueTree", "triangulate"]

Clique = tuple[int, ...]  # ascending


def triangulate(sizes: Sequence[int], edges: Iterable[tuple[int, int]]) -> tuple[Clique, ...]:
    """The maximal cliques of a triangulation of the graph over nodes 0, 1, ... with these numbers of values.

    Nodes are eliminated one at a time and their neighbours are then linked: first nodes whose neighbours are linked
    already, so that a graph that needs no link gets none, then the one whose clique (itself and its neighbours) has
    fewest cells. A node without neighbours is a clique of its own.
    """
    neighbours: list[set[int]] = [set() for _ in sizes]
    for a, b in edges:
        if a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)
    cells = {a: prod(sizes[b] for b in (a, *around)) for a, around in enumerate(neighbours)}
    ready = {a: _linked(around, neighbours) for a, around in enumerate(neighbours)}
    found: list[frozenset[int]] = []
    while cells:
        node = min(cells, key=lambda a: (not ready[a], cells[a], a))
        around = neighbours[node]
        clique = frozenset((node, *around))
        if not any(clique <= other for other in found):
            found.append(clique)
        changed = cells.keys() if not ready[node] else around  # a new link may make any node ready
        for a in around:
            neighbours[a] |= around
            neighbours[a] -= {a, node}
        del cells[node]
        for a in around:
            cells[a] = prod(sizes[b] for b in (a, *neighbours[a]))
        for a in changed:
            ready[a] = ready[a] or _linked(neighbours[a], neighbours)
    return tuple(sorted(tuple(sorted(clique)) for clique in found))


def _linked(nodes: set[int], neighbours: Sequence[set[int]]) -> bool:
    return all(len(nodes & neighbours[a]) == len(nodes) - 1 for a in nodes)


@dataclass(frozen=True)
class CliqueTree:
    """A junction tree: the cliques that hold a node form a connected part. The root comes first and every other clique
    after its parent. Components of the graph hang together by empty separators.
    """

    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.cliques) != len(self.parents) or not self.cliques or self.parents[0] != -1:
            raise ValueError("a clique tree has a root first, and one parent a clique")
        for k, (clique, parent) in enumerate(zip(self.cliques, self.parents, strict=True)):
            if tuple(sorted(set(clique))) != clique or (k and not 0 <= parent < k):
                raise ValueError("cliques are ascending, and parents come first")
        for k, seen in enumerate(self._seen_before):
            if k and seen & set(self.cliques[k]) - set(self.cliques[self.parents[k]]):
                raise ValueError("the cliques that hold a node must form a connected part of the tree")

    @staticmethod
    def of(cliques: Iterable[Sequence[int]], sizes: Sequence[int]) -> CliqueTree:
        """The tree whose separators have most nodes in all (Prim's algorithm); the largest clique is the root."""
        sets = [frozenset(clique) for clique in cliques]
        cells = [prod(sizes[a] for a in clique) for clique in sets]
        order = [max(range(len(sets)), key=lambda k: (cells[k], -k))]
        parent = {order[0]: -1}
        nearest = {k: (len(sets[k] & sets[order[0]]), order[0]) for k in range(len(sets)) if k != order[0]}
        while nearest:
            new = max(nearest, key=lambda k: (nearest[k][0], cells[k], -k))
            parent[new] = nearest.pop(new)[1]
            order.append(new)
            for k, (shared, _) in nearest.items():
                if len(sets[k] & sets[new]) > shared:
                    nearest[k] = (len(sets[k] & sets[new]), new)
        place = {k: i for i, k in enumerate(order)}
        return CliqueTree(
            tuple(tuple(sorted(sets[k])) for k in order),
            tuple(place[parent[k]] if parent[k] >= 0 else -1 for k in order),
        )

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique shares with its parent (nothing for the root), ascending."""
        return tuple(
            tuple(a for a in clique if k and a in self.cliques[self.parents[k]])
            for k, clique in enumerate(self.cliques)
        )

    @cached_property
    def _seen_before(self) -> tuple[set[int], ...]:
        seen: set[int] = set()
        before = []
        for clique in self.cliques:
            before.append(set(seen))
            seen |= set(clique)
        return tuple(before)
