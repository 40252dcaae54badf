from __future__ import annotations

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.counts.planner import CountingPlan, plan_counts
from privbayes.counts.request import MarginalRequests

TREE = ((0, 1, 2, 3, 4, 5, 6, 7), (0, 0, 1, 1, 2, 2, 3, 3), (0, 0, 0, 0, 1, 1, 1, 1))
# Axes 0-2 and 3-5 are trees of 8, 4, 2 codes; axes 6 and 7 have 3; axes 8 to 17 have 2.
DOMAIN = Domain(
    (
        *(Attribute(name=name, levels=TREE) for name in ("age", "edu")),
        *(Attribute.flat(name, 3) for name in ("a", "b")),
        *(Attribute.flat(f"q{i}", 2) for i in range(10)),
    )
)


def plan(tables: list[tuple[int, ...]], n_rows: int = 100_000) -> CountingPlan:
    return plan_counts(MarginalRequests.of(tables), DOMAIN, n_rows)


def root(made: CountingPlan, t: int) -> tuple[int, ...]:
    return tuple(int(axis) for axis in made.roots[made.root_of[t]] if axis >= 0)


def test_the_same_axes_in_any_order_share_a_root() -> None:
    made = plan([(6, 0), (0, 6), (8, 9), (9, 8), (6, 0)])
    assert len(made) == 2
    assert made.root_of.tolist() == [1, 1, 0, 0, 1]
    assert made.n_packed == 1


def test_levels_of_the_same_attributes_are_summed_out_of_the_finest() -> None:
    made = plan([(0, 4), (1, 3), (2, 3)])
    assert len(made) == 1
    assert root(made, 0) == (0, 3)
    assert made.root_cells.tolist() == [64]


def test_tables_are_projected_out_of_a_larger_one() -> None:
    made = plan([(0,), (0, 6), (0, 6, 7)])
    assert len(made) == 1
    assert root(made, 0) == (0, 6, 7)


def test_joining_stops_when_a_pass_over_few_rows_is_cheaper() -> None:
    assert len(plan([(0, 6), (3, 7)], n_rows=10)) == 2
    assert len(plan([(0, 6), (3, 7)], n_rows=10_000)) == 1


def test_every_root_covers_its_requests() -> None:
    rng = np.random.default_rng(0)
    tables = []
    for _ in range(300):
        members = rng.permutation(len(DOMAIN))[: rng.integers(0, 5)]
        tables.append(tuple(DOMAIN.axis(int(a), int(rng.integers(DOMAIN.attributes[a].height))) for a in members))
    made = plan(tables, n_rows=5000)
    for t, axes in enumerate(tables):
        levels = {int(DOMAIN.axis_attribute[axis]): axis for axis in root(made, t)}
        assert all(levels[int(DOMAIN.axis_attribute[axis])] <= axis for axis in axes)
    assert len(made) < len(set(tables))
    np.testing.assert_array_equal(made.root_cells, MarginalRequests(made.roots).sizes(DOMAIN))


def test_two_valued_tables_come_first_and_stay_apart() -> None:
    made = plan([(0, 8), (8, 9, 10), tuple(range(8, 18)), (2, 8), ()])
    assert made.n_packed == 3
    packed = {root(made, t) for t in (1, 3, 4)}
    assert packed == {(8, 9, 10), (2, 8), ()}
    assert all(made.root_of[t] >= made.n_packed for t in (0, 2))


def test_the_plan_is_the_same_each_time() -> None:
    tables = [(0, 6), (1, 7), (3, 6), (8, 9), (0, 3, 6)]
    first, second = plan(tables), plan(tables)
    np.testing.assert_array_equal(first.roots, second.roots)
    np.testing.assert_array_equal(first.root_of, second.root_of)


def test_wide_batches_of_many_axes_are_told_apart() -> None:
    domain = Domain(tuple(Attribute.flat(f"c{i}", 3) for i in range(300)))
    tables = [tuple(range(start, start + 9)) for start in range(280)]
    made = plan_counts(MarginalRequests.of(tables), domain, 1)
    assert len(made) == len(tables)


@pytest.mark.parametrize(
    ("axes", "rule"),
    [
        ([[0, 1]], "only once"),
        ([[0, 18]], "must lie in"),
        ([[-2, 0]], "must lie in"),
        ([[-1, 0]], "padding"),
    ],
)
def test_malformed_requests_are_refused(axes: list[list[int]], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        plan_counts(MarginalRequests(np.array(axes, np.int32)), DOMAIN, 10)
