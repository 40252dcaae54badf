"""Growing a junction tree: within its limits, by weight, and the same each time."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.structure.tree_growth import grow_tree


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(2, 6), min_size=2, max_size=9), st.integers(0, 2**32 - 1), st.sampled_from([40, 200, 2000]))
def test_cliques_stay_within_the_limit_and_cover_everything(sizes: list[int], seed: int, limit: int) -> None:
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    weights = np.random.default_rng(seed).normal(1.0, 1.0, len(pairs))
    tree = grow_tree(sizes, pairs, weights, clique_cells=limit, total_cells=4 * limit)
    assert {a for clique in tree.cliques for a in clique} == set(range(len(sizes)))
    assert all(prod(sizes[a] for a in clique) <= limit for clique in tree.cliques)
    assert sum(prod(sizes[a] for a in clique) for clique in tree.cliques) <= 4 * limit
    assert tree == grow_tree(sizes, pairs, weights, clique_cells=limit, total_cells=4 * limit)


def test_the_heaviest_pairs_come_first_and_those_without_weight_never() -> None:
    sizes = [4] * 6
    pairs = list(itertools.combinations(range(6), 2))
    heavy = {(0, 1): 9.0, (1, 2): 8.0, (3, 4): 7.0}
    weights = np.array([heavy.get(pair, -1.0) for pair in pairs])
    tree = grow_tree(sizes, pairs, weights, clique_cells=16, total_cells=1e6)
    assert sorted(tree.cliques) == [(0, 1), (1, 2), (3, 4), (5,)]
    assert grow_tree(sizes, pairs, weights * 0, clique_cells=16, total_cells=1e6).cliques == tuple(
        (a,) for a in range(6)
    )


def test_with_room_for_all_there_is_one_clique() -> None:
    pairs = list(itertools.combinations(range(5), 2))
    tree = grow_tree([2] * 5, pairs, np.ones(len(pairs)), clique_cells=32, total_cells=1e4)
    assert tree.cliques == ((0, 1, 2, 3, 4),)


def test_a_search_beats_or_equals_plain_greed_on_a_trap() -> None:
    """One wide column is linked to all; taking it first blocks the many small ones."""
    sizes = [30, 2, 2, 2, 2, 2]
    pairs = list(itertools.combinations(range(6), 2))
    weights = np.array([1.1 if 0 in pair else 1.0 for pair in pairs])
    tree = grow_tree(sizes, pairs, weights, clique_cells=64, total_cells=1e4)
    held = {pair for clique in tree.cliques for pair in itertools.combinations(clique, 2)}
    assert sum(w for pair, w in zip(pairs, weights, strict=True) if pair in held) >= 11.1 - 1e-9
