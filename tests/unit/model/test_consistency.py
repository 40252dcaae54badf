"""Tables that agree: on every meet, once and for all, with totals kept; and never negative in the end."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.clique_tree import CliqueTree, triangulate
from privbayes.core.domain import Attribute, Domain
from privbayes.model import consistency
from privbayes.model.consistency import (
    NoisyTable,
    above_threshold,
    calibrated,
    consistent,
    consistent_cliques,
    consistent_shares,
    nearest_shares,
)

DOMAIN = Domain(
    (
        Attribute(name="a", levels=((0, 1, 2, 3, 4), (0, 0, 1, 1, 2), (0, 0, 0, 0, 1))),
        Attribute.flat("b", 2),
        Attribute(name="c", levels=((0, 1, 2), (1, 0, 0))),
        Attribute.flat("d", 3),
        Attribute.flat("e", 1),
    )
)
SIZES = DOMAIN.cardinalities


@st.composite
def axes_of_tables(draw: st.DrawFn, *, coarse: bool) -> list[tuple[int, ...]]:
    """Up to six tables over some attributes each, in any order."""
    tables = []
    for _ in range(draw(st.integers(1, 6))):
        attributes = draw(st.lists(st.sampled_from(range(len(DOMAIN))), min_size=1, max_size=4, unique=True))
        heights = [DOMAIN.attributes[a].height if coarse else 1 for a in attributes]
        tables.append(
            tuple(DOMAIN.axis(a, draw(st.integers(0, h - 1))) for a, h in zip(attributes, heights, strict=True))
        )
    return tables


def noisy(tables: list[tuple[int, ...]], seed: int) -> list[NoisyTable]:
    rng = np.random.default_rng(seed)
    shapes = [[int(DOMAIN.axis_size[axis]) for axis in axes] for axes in tables]
    return [
        NoisyTable(axes=axes, values=rng.normal(20, 30, shape), variance=float(rng.uniform(0.5, 4)))
        for axes, shape in zip(tables, shapes, strict=True)
    ]


def marginal(axes: tuple[int, ...], values: np.ndarray, view: dict[int, int]) -> np.ndarray:
    """The slow way: every cell is added to where its codes lead. ``view``: attribute to level."""
    order = sorted(view)
    out = np.zeros([DOMAIN.attributes[a].level_sizes[view[a]] for a in order])
    for cell in np.ndindex(values.shape):
        place = []
        for a in order:
            i = next(i for i, axis in enumerate(axes) if DOMAIN.axis_attribute[axis] == a)
            member = int(np.flatnonzero(DOMAIN.axis_codes(axes[i]) == cell[i])[0])
            place.append(DOMAIN.attributes[a].levels[view[a]][member])
        out[tuple(place)] += values[cell]
    return out


def meet(first: tuple[int, ...], second: tuple[int, ...]) -> dict[int, int]:
    levels = [{int(DOMAIN.axis_attribute[axis]): DOMAIN.axis_level(axis) for axis in axes} for axes in (first, second)]
    return {a: max(levels[0][a], levels[1][a]) for a in levels[0] if a in levels[1]}


def largest_disagreement(tables: list[tuple[int, ...]], values: list[np.ndarray]) -> float:
    worst = 0.0
    for (f, x), (g, y) in itertools.combinations(zip(tables, values, strict=True), 2):
        common = meet(f, g)
        worst = max(worst, float(np.abs(marginal(f, x, common) - marginal(g, y, common)).max()))
    return worst


@settings(max_examples=60, deadline=None)
@given(axes_of_tables(coarse=True), st.integers(0, 2**32 - 1), st.sampled_from([None, 300.0]))
def test_every_two_tables_agree_and_twice_changes_nothing(
    tables: list[tuple[int, ...]], seed: int, total: float | None
) -> None:
    given_tables = noisy(tables, seed)
    once = consistent(DOMAIN, given_tables, total=total)
    assert largest_disagreement(tables, once) < 1e-9
    again = [NoisyTable(axes=t.axes, values=v, variance=t.variance) for t, v in zip(given_tables, once, strict=True)]
    for first, second, before in zip(once, consistent(DOMAIN, again, total=total), given_tables, strict=True):
        assert first.shape == before.values.shape
        np.testing.assert_allclose(second, first, atol=1e-9)
        if total is not None:
            assert first.sum() == pytest.approx(total)


@settings(max_examples=20, deadline=None)
@given(axes_of_tables(coarse=True), st.integers(0, 2**32 - 1))
def test_what_agrees_already_is_left_alone(tables: list[tuple[int, ...]], seed: int) -> None:
    """Marginals of one full table."""
    full = np.random.default_rng(seed).integers(0, 50, SIZES).astype(float)
    everything = tuple(int(axis) for axis in DOMAIN.first_axis)
    exact = []
    for axes in tables:
        levels = {int(DOMAIN.axis_attribute[axis]): DOMAIN.axis_level(axis) for axis in axes}
        ascending = marginal(everything, full, levels)
        exact.append(np.transpose(ascending, np.argsort(np.argsort(axes))))
    kept = consistent(DOMAIN, [NoisyTable(axes=a, values=v, variance=1.0) for a, v in zip(tables, exact, strict=True)])
    for before, after in zip(exact, kept, strict=True):
        np.testing.assert_allclose(after, before, atol=1e-9)


def test_two_tables_meet_at_the_mean_that_their_noise_and_sizes_deserve() -> None:
    """The paper's formula: b has 3 noisy cells behind each of its cells in b x d, none in b alone."""
    first = NoisyTable(axes=(DOMAIN.axis(1), DOMAIN.axis(3)), values=np.full((2, 3), 4.0), variance=2.0)
    second = NoisyTable(axes=(DOMAIN.axis(1),), values=np.array([10.0, 20.0]), variance=2.0)
    wide, narrow = consistent(DOMAIN, [first, second])
    # Totals 24 and 30 meet first: variances 6 and 2 for each. Then b: (12, 12) and (10, 20) moved to that total.
    sum_of = (24 / 6 + 30 / 2) / (1 / 6 + 1 / 2)
    seen = np.array([12.0, 12.0]) + (sum_of - 24) / 2, np.array([10.0, 20.0]) + (sum_of - 30) / 2
    common = (seen[0] / 6 + seen[1] / 2) / (1 / 6 + 1 / 2)
    np.testing.assert_allclose(narrow, common)
    np.testing.assert_allclose(wide, np.repeat(common / 3, 3).reshape(2, 3))


def test_averaging_lowers_the_error() -> None:
    rng = np.random.default_rng(3)
    full = rng.gamma(0.5, 40.0, SIZES)
    tables = [(DOMAIN.axis(0), DOMAIN.axis(1)), (DOMAIN.axis(0, 1), DOMAIN.axis(3)), (DOMAIN.axis(1), DOMAIN.axis(2))]
    everything = tuple(int(axis) for axis in DOMAIN.first_axis)
    views = [{int(DOMAIN.axis_attribute[x]): DOMAIN.axis_level(x) for x in axes} for axes in tables]
    exact = [marginal(everything, full, view) for view in views]
    before = after = positive = 0.0
    for _ in range(200):
        bought = [
            NoisyTable(axes=axes, values=table + rng.normal(0, 60, table.shape), variance=3600.0)
            for axes, table in zip(tables, exact, strict=True)
        ]
        agreed = consistent(DOMAIN, bought, total=float(full.sum()))
        shares = consistent_shares(DOMAIN, bought, total=float(full.sum()))
        before += sum(float(((t.values - e) ** 2).sum()) for t, e in zip(bought, exact, strict=True))
        after += sum(float(((v - e) ** 2).sum()) for v, e in zip(agreed, exact, strict=True))
        positive += sum(float(((v - e) ** 2).sum()) for v, e in zip(shares, exact, strict=True))
    assert positive < after < 0.9 * before


@settings(max_examples=30, deadline=None)
@given(axes_of_tables(coarse=True), st.integers(0, 2**32 - 1), st.sampled_from([nearest_shares, above_threshold]))
def test_shares_are_not_negative_and_sum_to_the_total(
    tables: list[tuple[int, ...]], seed: int, positive: consistency.Positive
) -> None:
    for table in consistent_shares(DOMAIN, noisy(tables, seed), total=250.0, positive=positive):
        assert table.min() >= 0
        assert table.sum() == pytest.approx(250.0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(list(itertools.combinations(range(len(SIZES)), 2))), unique=True),
    st.integers(0, 2**32 - 1),
    st.sampled_from([nearest_shares, above_threshold]),
    st.booleans(),
)
def test_cliques_of_a_tree_agree_exactly_and_are_not_negative(
    edges: list[tuple[int, int]], seed: int, positive: consistency.Positive, merged: bool
) -> None:
    rng = np.random.default_rng(seed)
    tree = CliqueTree.of(triangulate(SIZES, edges), SIZES)
    cliques = [set(clique) for clique in tree.cliques]
    if merged and len(cliques) > 2:
        cliques = [cliques[0] | cliques[-1], *cliques[1:-1]]  # two that need not be neighbours
    clusters = [tuple(DOMAIN.axis(a) for a in rng.permutation(sorted(cluster)).tolist()) for cluster in cliques]
    made = consistent_cliques(DOMAIN, tree, noisy(clusters, seed), total=99.0, positive=positive)
    for clique, table in zip(tree.cliques, made, strict=True):
        assert table.shape == tuple(SIZES[a] for a in clique)
        assert table.min() >= 0
        assert table.sum() == pytest.approx(99.0)
    flat = [tuple(DOMAIN.axis(a) for a in clique) for clique in tree.cliques]
    assert largest_disagreement(flat, made) < 1e-9
    for first, second in zip(made, calibrated(tree, made, total=99.0), strict=True):
        np.testing.assert_allclose(second, first, atol=1e-9)


def test_calibration_fills_what_the_parent_has_and_the_child_has_not() -> None:
    tree = CliqueTree(((0, 1), (1, 2), (3,)), (-1, 0, 1))
    parent, child = np.array([[6.0, 1.0], [2.0, 1.0]]), np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    a, b, c = calibrated(tree, [parent, child, np.zeros(4)], total=20.0)
    np.testing.assert_allclose(a, 2 * parent)
    np.testing.assert_allclose(b, [[12.0, 4.0, 0.0], [3.0, 1.0, 0.0]])
    np.testing.assert_allclose(c, np.full(4, 5.0))


def test_a_table_without_any_count_becomes_even() -> None:
    tree = CliqueTree(((0, 1),), (-1,))
    np.testing.assert_allclose(calibrated(tree, [np.zeros((2, 2))], total=8.0)[0], np.full((2, 2), 2.0))
    np.testing.assert_allclose(above_threshold(np.array([-3.0, -1.0]), 8.0), [4.0, 4.0])


def test_a_threshold_keeps_the_large_counts_that_make_up_the_total() -> None:
    """50 + 30 + 15 is nearer to 100 than with the 12 or without the 15."""
    values = np.array([50.0, 30.0, 15.0, 12.0, 7.0, -4.0])
    np.testing.assert_allclose(above_threshold(values, 100.0), np.array([50, 30, 15, 0, 0, 0]) * 100 / 95)


def test_a_clique_that_no_table_holds_is_refused() -> None:
    tree = CliqueTree(((0, 1), (2,)), (-1, 0))
    with pytest.raises(ValueError, match="inside a table"):
        consistent_cliques(DOMAIN, tree, noisy([(DOMAIN.axis(0), DOMAIN.axis(1))], 0), total=1.0)


def test_with_too_many_meets_tables_agree_in_part_and_a_tree_exactly_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consistency, "MAX_VIEWS", 2)
    tables = [tuple(DOMAIN.axis(a) for a in trio) for trio in itertools.combinations(range(4), 3)]
    assert largest_disagreement(tables, consistent(DOMAIN, noisy(tables, 0), total=50.0)) > 1e-3
    assert all(t.sum() == pytest.approx(50.0) for t in consistent(DOMAIN, noisy(tables, 0), total=50.0))
    tree = CliqueTree(((0, 1, 2), (0, 1, 3), (4,)), (-1, 0, 1))
    made = consistent_cliques(DOMAIN, tree, noisy([*tables, (DOMAIN.axis(4),)], 0), total=50.0)
    flat = [tuple(DOMAIN.axis(a) for a in clique) for clique in tree.cliques]
    assert largest_disagreement(flat, made) < 1e-9


def test_no_tables_agree_with_each_other() -> None:
    assert consistent(DOMAIN, []) == []
    alone = NoisyTable(axes=(DOMAIN.axis(0),), values=np.arange(5.0), variance=1.0)
    np.testing.assert_allclose(consistent(DOMAIN, [alone])[0], np.arange(5.0))
    np.testing.assert_allclose(consistent(DOMAIN, [alone], total=20.0)[0], np.arange(5.0) + 2)
    assert prod(SIZES) == 90
