"""Parent sets: exactly those of the algorithms, and maximal ones when thinned."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.domain import Attribute, Domain
from privbayes.structure.candidates import FixedDegree, MaximalParentSets

RNG = np.random.default_rng(0)


def tree(name: str, size: int) -> Attribute:
    """A binary tree over the codes."""
    levels = [tuple(range(size))]
    while max(levels[-1]) > 1:
        levels.append(tuple(code >> 1 for code in levels[-1]))
    return Attribute(name=name, levels=tuple(levels))


def brute_force(domain: Domain, placed: list[int], tau: int, most: int, generalise: bool) -> set[frozenset[int]]:
    """All maximal generalised subsets by definition."""
    choices = []
    for a in placed:
        attribute = domain.attributes[a]
        heights = range(attribute.height if generalise else 1)
        choices.append([None, *(domain.axis(a, level) for level in heights)])
    fitting = []
    for picked in product(*choices):
        axes = tuple(axis for axis in picked if axis is not None)
        if len(axes) <= most and domain.cells(axes) <= tau:
            fitting.append(axes)

    def dominates(big: tuple[int, ...], small: tuple[int, ...]) -> bool:
        level = {int(domain.axis_attribute[axis]): axis for axis in big}
        return big != small and all(level.get(int(domain.axis_attribute[a]), 10**9) <= a for a in small)

    return {frozenset(s) for s in fitting if not any(dominates(b, s) for b in fitting)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=5),
    st.integers(0, 80),
    st.booleans(),
    st.sampled_from([None, 1, 2]),
)
def test_maximal_parent_sets_are_exactly_the_maximal_ones(
    sizes: list[int], limit: int, generalise: bool, most: int | None
) -> None:
    domain = Domain(tuple(tree(f"x{i}", size) for i, size in enumerate(sizes)))
    sets = MaximalParentSets(domain, limit, 10**6, RNG, max_parents=most, generalise=generalise)
    child = len(sizes) - 1
    for placed in range(child):
        sets.place(placed)
        tau = limit // sizes[child]
        got = sets.for_child(child, 1)
        expected = brute_force(domain, list(range(placed + 1)), tau, most if most is not None else 99, generalise)
        if tau < 1:
            assert got == [()]
        else:
            assert len(got) == len(set(map(frozenset, got)))
            assert set(map(frozenset, got)) == expected
    assert not sets.thinned


def test_thinned_sets_are_few_and_still_maximal() -> None:
    domain = Domain(tuple(tree(f"x{i}", size) for i, size in enumerate([8, 4, 3, 6, 5, 2, 7, 4, 16, 2, 5, 3])))
    cap = 60
    sets = MaximalParentSets(domain, 400, cap, np.random.default_rng(3))
    left = list(range(len(domain)))
    while len(left) > 1:
        sets.place(left.pop(0))
        placed = [a for a in range(len(domain)) if a not in left]
        for child in left:
            tau = 400 // domain.cardinalities[child]
            got = sets.for_child(child, len(left))
            assert 1 <= len(got) <= max(2, cap // len(left) * 2)
            for axes in got:
                cells = domain.cells(axes)
                assert cells <= tau
                used = {int(domain.axis_attribute[axis]): axis for axis in axes}
                for a in placed:
                    for axis in range(
                        int(domain.first_axis[a]), int(domain.first_axis[a]) + domain.attributes[a].height
                    ):
                        if a not in used:
                            assert cells * domain.axis_size[axis] > tau
                        elif axis < used[a]:
                            assert cells // domain.axis_size[used[a]] * domain.axis_size[axis] > tau
    assert sets.thinned


@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_fixed_degree_offers_every_subset(degree: int) -> None:
    domain = Domain(tuple(Attribute.flat(f"b{i}", 2) for i in range(7)))
    sets = FixedDegree(domain, degree, 10**6, RNG)
    order = [3, 0, 6, 2, 5, 1]
    for i, attribute in enumerate(order):
        sets.place(attribute)
        got = [frozenset(s) for s in sets.for_child(4, 6 - i)]
        expected = {frozenset(c) for c in combinations(order[: i + 1], min(degree, i + 1))}
        assert len(got) == len(expected)
        assert set(got) == expected


def test_fixed_degree_thins_to_its_cap() -> None:
    domain = Domain(tuple(Attribute.flat(f"b{i}", 2) for i in range(40)))
    sets = FixedDegree(domain, 5, 4_000, np.random.default_rng(1))
    for attribute in range(39):
        sets.place(attribute)
        remaining = 39 - attribute
        got = sets.for_child(39, remaining)
        assert len(set(got)) == len(got)
        assert len(got) * remaining <= 4_000 + remaining
        assert all(len(s) == min(5, attribute + 1) and len(set(s)) == len(s) for s in got)
    assert sets.thinned
    assert any(38 in s for s in got)
    assert any(38 not in s for s in got)
