"""Blocks of columns: what is chosen, at which share, from which beliefs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.measure.blocks import MOST_CELLS, Block, Knowledge, choose_blocks

UNIT = 8.0  # replace: two cells move, Laplace variance 2 * 2^2


def nothing(sizes: list[int], total: int) -> Knowledge:
    d = len(sizes)
    return Knowledge.none(sizes, total, np.ones((d, d)) - np.eye(d), 0.1)


def held(blocks: list[Block]) -> set[tuple[int, int]]:
    return {pair for block in blocks for pair in combinations(block.attributes, 2)}


def dependent(known: Knowledge, *pairs: tuple[int, int], error: float) -> Knowledge:
    """The same knowledge, but these pairs alone are thought to depend."""
    known.errors[:] = 0.0
    for a, b in pairs:
        known.errors[a, b] = known.errors[b, a] = error
    return known


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    epsilon=st.floats(0.05, 10),
    total=st.integers(1_000, 10**6),
    even=st.booleans(),
)
def test_any_domain_and_budget_get_blocks_within_the_limits(
    sizes: list[int], epsilon: float, total: int, even: bool
) -> None:
    blocks = choose_blocks(nothing(sizes, total), epsilon, UNIT, even=even)
    assert sum(block.share for block in blocks) <= epsilon * (1 + 1e-9)
    for block in blocks:
        assert tuple(sorted(set(block.attributes))) == block.attributes
        assert all(sizes[a] > 1 for a in block.attributes)
        assert np.prod([sizes[a] for a in block.attributes]) <= MOST_CELLS
    if even:
        assert {a for block in blocks for a in block.attributes} == {a for a, size in enumerate(sizes) if size > 1}


def test_far_fewer_tables_than_pairs_hold_all_pairs() -> None:
    blocks = choose_blocks(nothing([2] * 16, 20_000), 1.0, UNIT, even=True)
    assert held(blocks) == set(combinations(range(16), 2))
    assert len(blocks) <= 24  # of 120 pairs


def test_little_budget_buys_columns_alone() -> None:
    blocks = choose_blocks(nothing([16] * 12, 20_000), 0.1, UNIT, even=True)
    assert sorted(block.attributes for block in blocks) == [(a,) for a in range(12)]


def test_what_depends_is_bought_and_what_does_not_is_not() -> None:
    known = dependent(nothing([8] * 8, 50_000), (0, 1), (2, 3), error=30_000.0)
    known.column_precision[:] = 1e3
    assert held(choose_blocks(known, 1.0, UNIT, even=False)) == {(0, 1), (2, 3)}


def test_a_share_follows_the_root_of_what_noise_costs() -> None:
    """Two tables, as good as alone, one with 16 times the cells: its noise costs 16 times as much, so it gets 4 times
    the share (cells are well filled, so that the noise does all its harm).
    """
    total = 10**9
    known = dependent(nothing([4, 4, 16, 16], total), (0, 1), (2, 3), error=0.5 * total)
    known.column_precision[:] = 1e3
    found = {block.attributes: block.share for block in choose_blocks(known, 1.0, UNIT, even=False)}
    assert set(found) == {(0, 1), (2, 3)}
    assert found[2, 3] / found[0, 1] == pytest.approx(4 * np.sqrt((1 - 1 / 16) / (1 - 1 / 4)), rel=0.15)
