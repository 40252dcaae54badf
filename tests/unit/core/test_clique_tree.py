"""Triangulation and junction trees on every kind of graph."""

from __future__ import annotations

import itertools
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privbayes.core.clique_tree import CliqueTree, triangulate

NODES = 7
ALL_EDGES = list(itertools.combinations(range(NODES), 2))
GRAPHS = st.lists(st.sampled_from(ALL_EDGES), unique=True)
SIZES = st.lists(st.integers(2, 9), min_size=NODES, max_size=NODES)


@given(SIZES, GRAPHS)
def test_cliques_hold_every_node_and_edge_and_none_holds_another(
    sizes: list[int], edges: list[tuple[int, int]]
) -> None:
    cliques = triangulate(sizes, edges)
    assert {a for clique in cliques for a in clique} == set(range(NODES))
    assert all(any({a, b} <= set(clique) for clique in cliques) for a, b in edges)
    assert not any(set(c) <= set(e) for c, e in itertools.permutations(cliques, 2))


@given(SIZES, GRAPHS)
def test_cliques_form_a_junction_tree(sizes: list[int], edges: list[tuple[int, int]]) -> None:
    cliques = triangulate(sizes, edges)
    tree = CliqueTree.of(cliques, sizes)  # checks the running intersection itself
    assert sorted(tree.cliques) == sorted(cliques)
    assert prod(sizes[a] for a in tree.cliques[0]) == max(prod(sizes[a] for a in c) for c in cliques)
    # In a junction tree every node is in exactly one more clique than separators.
    for node in range(NODES):
        assert sum(node in c for c in tree.cliques) == 1 + sum(node in s for s in tree.separators)


def test_a_graph_that_is_chordal_already_keeps_its_cliques() -> None:
    chordal = [(0, 1), (1, 2), (0, 2), (2, 3), (4, 5)]
    assert triangulate([2] * 7, chordal) == ((0, 1, 2), (2, 3), (4, 5), (6,))


@given(SIZES, st.lists(st.integers(0, 10**6), min_size=NODES - 1, max_size=NODES - 1))
def test_a_tree_is_chordal_whatever_the_sizes(sizes: list[int], picks: list[int]) -> None:
    edges = sorted((pick % node, node) for node, pick in enumerate(picks, start=1))
    assert triangulate(sizes, edges) == tuple(edges)


def test_a_cycle_gets_its_cheapest_chord() -> None:
    assert triangulate([2, 10, 2, 10], [(0, 1), (1, 2), (2, 3), (0, 3)]) == ((0, 1, 2), (0, 2, 3))


@pytest.mark.parametrize(
    ("cliques", "parents"),
    [
        ((), ()),
        (((0, 1), (1, 2)), (-1,)),
        (((0, 1), (1, 2)), (-1, 1)),
        (((1, 0),), (-1,)),
        (((0, 1), (2, 3), (1, 2)), (-1, 0, 0)),
    ],
)
def test_what_is_no_junction_tree_is_refused(cliques: tuple[tuple[int, ...], ...], parents: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="clique"):
        CliqueTree(cliques, parents)
