"""Which links fit: against the slow and obvious way, on random graphs."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.clique_tree import triangulate
from privbayes.structure.clique_room import CliqueRoom


def obviously_fits(
    sizes: list[int], edges: list[tuple[int, int]], pair: tuple[int, int], budget: float, total: float
) -> bool:
    cliques = triangulate(sizes, [*edges, pair])
    cells = [prod(sizes[a] for a in clique) for clique in cliques]
    largest = max(c for c, clique in zip(cells, cliques, strict=True) if len(clique) > 1)
    return largest <= budget / len(cliques) and sum(cells) <= total


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=8),
    st.integers(0, 2**32 - 1),
    st.sampled_from([20.0, 100.0, 1000.0]),
    st.sampled_from([60.0, 1e9]),
)
def test_every_step_offers_just_what_fits(sizes: list[int], seed: int, budget: float, total: float) -> None:
    rng = np.random.default_rng(seed)
    room = CliqueRoom(sizes, lambda tables: budget / tables, total)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    refused: set[tuple[int, int]] = set()
    while True:
        part = list(range(len(sizes)))
        for a, b in room.edges:
            part = [part[a] if p == part[b] else p for p in part]
        held = {pair for clique in room.cliques for pair in itertools.combinations(clique, 2)}
        offered = room.fitting(pairs)
        left = [pair for pair in pairs if pair not in held | refused]
        assert offered == [pair for pair in left if obviously_fits(sizes, room.edges, pair, budget, total)]
        refused |= {(a, b) for a, b in left if (a, b) not in offered and part[a] == part[b]}
        assert room.fitting(pairs, joining=True) == [(a, b) for a, b in offered if part[a] != part[b]]
        if not offered:
            break
        room.link(offered[int(rng.integers(len(offered)))])
        assert room.cliques == triangulate(sizes, room.edges)
    cells = [prod(sizes[a] for a in clique) for clique in room.cliques if len(clique) > 1]
    assert not cells or max(cells) <= budget / len(room.cliques)


def test_a_column_of_one_value_has_nothing_to_say_and_a_wide_pair_is_never_counted() -> None:
    assert CliqueRoom([3, 1, 2, 1], lambda _: 1e9, 1e9).pairs == ((0, 2),)
    assert CliqueRoom([1, 1], lambda _: 1e9, 1e9).pairs == ()
    assert CliqueRoom([60_000, 60_000, 2, 3], lambda tables: 1000 / tables, 1e9).pairs == ((2, 3),)


def test_columns_that_are_too_large_alone_do_not_stop_the_others() -> None:
    room = CliqueRoom([1000, 2, 2], lambda _: 10.0, 1e9)
    assert room.fitting([(0, 1), (0, 2), (1, 2)]) == [(1, 2)]
    room.link((1, 2))
    assert room.cliques == ((0,), (1, 2))
    assert room.fitting([(0, 1), (0, 2), (1, 2)]) == []
