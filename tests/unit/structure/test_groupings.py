from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privbayes.core.domain import Attribute
from privbayes.structure.groupings import groupings


def ordinal(size: int) -> Attribute:
    """A binary tree over the values, as the codec makes it for ordinals."""
    levels = [tuple(range(size))]
    while max(levels[-1]) > 0:
        levels.append(tuple(code // 2 for code in levels[-1]))
    return Attribute(name="a", levels=tuple(levels))


@given(st.integers(1, 20), st.integers(0, 2**32 - 1), st.booleans())
def test_every_grouping_covers_its_groups_and_captures_no_more_than_a_finer_one(
    size: int, seed: int, ordered: bool
) -> None:
    attribute = ordinal(size) if ordered else Attribute.flat("a", size)
    shares = np.random.default_rng(seed).dirichlet(np.full(size, 0.3))
    found = groupings(attribute, shares, (8, 4, 2))
    assert [one.size for one in found] == [size, *(wanted for wanted in (8, 4, 2) if wanted < size)]
    for one in found:
        assert set(one.codes.tolist()) == set(range(one.size))
        assert 0.0 <= one.captured <= 1.0 + 1e-9
    assert found[0].captured == 1.0
    if not ordered:
        captured = [one.captured for one in found]
        assert captured == sorted(captured, reverse=True)


def test_values_of_an_ordinal_are_grouped_in_runs_of_about_equal_mass() -> None:
    shares = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
    halves = groupings(ordinal(8), shares, (2,))[1]
    assert halves.codes.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


def test_values_without_an_order_are_pooled_when_they_are_rare() -> None:
    shares = np.array([0.01, 0.6, 0.02, 0.3, 0.04, 0.03])
    pooled = groupings(Attribute.flat("a", 6), shares, (3,))[1]
    assert pooled.codes.tolist() == [2, 0, 2, 1, 2, 2]
    assert pooled.captured > 0.85


def test_leaves_of_a_taxonomy_stand_together() -> None:
    """Two families whose members are interleaved in the list of values: groups follow the families."""
    attribute = Attribute(name="a", levels=((0, 1, 2, 3), (0, 1, 0, 1)))
    halves = groupings(attribute, np.full(4, 0.25), (2,))[1]
    assert halves.codes.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("size", [2, 3])
def test_few_values_are_not_grouped_further_than_there_are(size: int) -> None:
    assert [one.size for one in groupings(Attribute.flat("a", size), np.full(size, 1 / size), (8, 4, size))] == [size]
