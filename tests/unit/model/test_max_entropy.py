"""The maximum-entropy fit against the same problem written out over the whole domain."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from privbayes.core.clique_tree import CliqueTree, triangulate
from privbayes.core.residuals import centred
from privbayes.errors import UnsupportedError
from privbayes.model import joint_fit
from privbayes.model.columns import Columns
from privbayes.model.joint_fit import fit_trees
from privbayes.model.max_entropy import TreeFit, _lay_out, _objective, fit_tree
from privbayes.model.observations import Observation
from privbayes.model.propagation import Propagation

TOTAL = 500.0

# Sizes, and the sets of attributes that were observed; each set is made a clique.
CASES: dict[str, tuple[tuple[int, ...], list[tuple[int, ...]]]] = {
    "chain": ((3, 2, 4, 2), [(0,), (0, 1), (1, 2), (2, 3)]),
    "star": ((3, 2, 2, 2), [(0, 1), (0, 2), (3, 0), (1,)]),
    "cycle": ((2, 3, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "disconnected": ((2, 3, 2, 3), [(0, 1), (2, 3), (1,)]),
    "one attribute": ((4,), [(0,)]),
    "values of one": ((1, 3, 1, 2), [(0, 1), (1, 3), (2, 3), (0,)]),
    "one clique": ((2, 3, 2), [(0, 1, 2), (2, 0), (1,), (0, 1)]),
    "nothing observed": ((2, 3), []),
}


def tree_of(sizes: tuple[int, ...], sets: list[tuple[int, ...]]) -> CliqueTree:
    edges = [pair for members in sets for pair in itertools.combinations(sorted(members), 2)]
    return CliqueTree.of(triangulate(sizes, edges), sizes)


def problem(
    name: str, seed: int = 0, whole: bool = False
) -> tuple[tuple[int, ...], list[np.ndarray], list[Observation]]:
    """Columns, and observations of random counts (``whole``: counts themselves, not only their interaction part)."""
    sizes, sets = CASES[name]
    rng = np.random.default_rng(seed)
    columns = [rng.dirichlet(np.full(size, 5.0)) for size in sizes]
    full = rng.dirichlet(np.full(prod(sizes), 0.5)).reshape(sizes) * TOTAL
    observations = []
    for members in sets:
        order = sorted(members)
        table = full.sum(axis=tuple(a for a in range(len(sizes)) if a not in members))
        table = np.transpose(table, [order.index(a) for a in members]) + rng.normal(0, 5, [sizes[a] for a in members])
        observations.append(
            Observation(
                attributes=members,
                table=table if whole else centred(table),
                variance=25.0,
                strength=0.3,
                centred=not whole,
            )
        )
    return sizes, columns, observations


def joint_of(fit: TreeFit, sizes: tuple[int, ...]) -> np.ndarray:
    """The whole distribution that a fit stands for."""
    logs = np.zeros(sizes)
    start = 0
    for slot in fit.slots:
        cells = prod(sizes[a] for a in slot)
        table = fit.potentials[start : start + cells].reshape([sizes[a] for a in slot])
        logs += np.expand_dims(
            np.transpose(table, np.argsort(slot)), tuple(a for a in range(len(sizes)) if a not in slot)
        )
        start += cells
    assert start == len(fit.potentials)
    share = np.exp(logs - logs.max())
    return share / share.sum()


def slow_fit(
    sizes: tuple[int, ...], columns: list[np.ndarray], observations: list[Observation], ridges: list[np.ndarray]
) -> np.ndarray:
    """n log sum q exp(theta) - theta . y + 1/2 ridge theta^2 over the whole domain, by a general solver."""
    log_q = np.zeros(sizes)
    for a, q in enumerate(columns):
        log_q = log_q + np.log(q).reshape([-1 if b == a else 1 for b in range(len(sizes))])
    cell = np.indices(sizes)
    index, start = [], 0
    for one in observations:
        flat = np.zeros(sizes, np.int64)
        for i, a in enumerate(one.attributes):
            flat = flat * one.table.shape[i] + one.values(i)[cell[a]]
        index.append(start + flat)
        start += one.table.size

    def split(point: np.ndarray) -> list[np.ndarray]:
        parts = np.split(point, np.cumsum([one.table.size for one in observations])[:-1]) if observations else []
        shaped = [part.reshape(one.table.shape) for part, one in zip(parts, observations, strict=True)]
        return [centred(t) if one.centred else t for t, one in zip(shaped, observations, strict=True)]

    def logs(thetas: list[np.ndarray]) -> np.ndarray:
        flat = np.concatenate([theta.ravel() for theta in thetas]) if thetas else np.zeros(0)
        return log_q + sum((flat[where] for where in index), np.zeros(sizes))

    def value(point: np.ndarray) -> float:
        thetas = split(point)
        found = TOTAL * np.log(np.exp(logs(thetas)).sum())
        for theta, one, ridge in zip(thetas, observations, ridges, strict=True):
            found += -(theta * one.table).sum() + 0.5 * (ridge.reshape(theta.shape) * theta**2).sum()
        return float(found)

    if observations:
        solved = minimize(value, np.zeros(start), method="BFGS", options={"gtol": 1e-4, "maxiter": 3000}).x
    else:
        solved = np.zeros(0)
    share = np.exp(logs(split(solved)))
    return share / share.sum()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("whole", [False, True])
def test_the_fit_is_the_solution_over_the_whole_domain(name: str, whole: bool) -> None:
    sizes, columns, observations = problem(name, whole=whole)
    engine = Propagation(tree_of(sizes, CASES[name][1]), sizes)
    fit = fit_tree(engine, columns, TOTAL, observations)
    layout = _lay_out(engine, columns, TOTAL, observations)
    ridges = []
    for o, one in enumerate(observations):  # the layout has the axes in the order of its slot
        slot = next(s for s in engine.cliques if set(one.attributes) <= set(s))
        own = [a for a in slot if a in one.attributes]
        ridge = layout.ridge[layout.start[o] : layout.start[o + 1]].reshape([sizes[a] for a in own])
        ridges.append(np.transpose(ridge, [own.index(a) for a in one.attributes]))
    expected = slow_fit(sizes, columns, observations, ridges)
    np.testing.assert_allclose(joint_of(fit, sizes), expected, atol=2e-5)
    assert fit.report.converged
    assert fit.report.cells == engine.cells


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("whole", [False, True])
def test_the_slope_is_that_of_finite_differences(name: str, whole: bool) -> None:
    sizes, columns, observations = problem(name, seed=3, whole=whole)
    engine = Propagation(tree_of(sizes, CASES[name][1]), sizes)
    layout = _lay_out(engine, columns, TOTAL, observations)
    ones = engine.slots([(a,) for a in range(len(sizes))])
    base = engine.log_weights(ones, np.log(np.concatenate([columns[slot[0]] for slot in ones.attributes])))
    objective = _objective(engine, base, TOTAL, layout)
    rng = np.random.default_rng(4)
    point = rng.normal(0, 2, len(layout.observed))
    slope = objective(point)[1]
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-4
        difference = (objective(point + step)[0] - objective(point - step)[0]) / 2e-4
        assert slope[i] == pytest.approx(difference, abs=2e-4, rel=1e-5)


def test_groups_of_values_are_fitted_as_groups() -> None:
    sizes, groups = (4, 2), np.array([0, 1, 1, 0])
    columns = [np.array([0.4, 0.2, 0.1, 0.3]), np.array([0.5, 0.5])]
    table = np.array([[250.0, 100.0], [30.0, 120.0]])
    one = Observation(
        attributes=(0, 1), table=table, variance=1e-4, strength=1.0, centred=False, groups=(groups, np.arange(2))
    )
    engine = Propagation(CliqueTree(((0, 1),), (-1,)), sizes)
    share = joint_of(fit_tree(engine, columns, TOTAL, [one]), sizes)
    grouped = np.zeros((2, 2))
    np.add.at(grouped, groups, share)
    np.testing.assert_allclose(grouped, table / TOTAL, atol=1e-4)
    # Inside a group nothing was seen: the odds of the columns stay.
    np.testing.assert_allclose(share[0] / share[3], 0.4 / 0.3, rtol=1e-6)
    np.testing.assert_allclose(share[1] / share[2], 2.0, rtol=1e-6)


def test_nothing_observed_gives_the_columns_back() -> None:
    sizes, columns, _ = problem("nothing observed")
    fit = fit_tree(Propagation(tree_of(sizes, []), sizes), columns, TOTAL, [])
    np.testing.assert_allclose(joint_of(fit, sizes), np.outer(*columns))


def test_more_noise_moves_the_fit_less() -> None:
    sizes, columns, (one, *_) = problem("one clique")
    engine = Propagation(tree_of(sizes, CASES["one clique"][1]), sizes)
    independent = np.einsum("i,j,k->ijk", *columns)
    moved = [
        np.abs(joint_of(fit_tree(engine, columns, TOTAL, [replace(one, variance=v)]), sizes) - independent).sum()
        for v in (1.0, 100.0, 1e4, 1e8)
    ]
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < 1e-3


def test_fits_side_by_side_are_the_same_each_time() -> None:
    sizes, columns, observations = problem("cycle")
    known = Columns(shares=tuple(columns), variances=(1.0,) * 4, total=TOTAL, total_variance=0.0)
    trees = [tree_of(sizes, [(0, 1), (2, 3)]), tree_of(sizes, [(1, 2), (0, 3)]), tree_of(sizes, CASES["cycle"][1])]
    runs = [fit_trees(trees, known, observations, passes=60) for _ in range(3)]
    for other in runs[1:]:
        for first, second in zip(runs[0], other, strict=True):
            assert np.array_equal(first.potentials, second.potentials)
            assert first.report == second.report
    # Each tree takes what lies inside its cliques.
    assert {frozenset(slot) for slot in runs[0][0].slots} >= {frozenset((0, 1)), frozenset((2, 3))}
    assert frozenset((1, 2)) not in {frozenset(slot) for slot in runs[0][0].slots}


def test_progress_is_told_and_ends_at_its_total() -> None:
    sizes, columns, observations = problem("chain")
    known = Columns(shares=tuple(columns), variances=(1.0,) * 4, total=TOTAL, total_variance=0.0)
    told: list[tuple[int, int]] = []
    fit_trees([tree_of(sizes, CASES["chain"][1])], known, observations, passes=40, progress=lambda *p: told.append(p))
    assert told[-1] == (40, 40)
    assert all(0 <= done <= total for done, total in told)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": [np.array([1.0, 0.0]), np.full(3, 1 / 3)]}, "positive share"),
        ({"columns": [np.array([0.5, 0.5])]}, "positive share"),
        ({"columns": [np.full(3, 1 / 3), np.full(3, 1 / 3)]}, "positive share"),
        ({"total": 0.0}, "positive total"),
        ({"total": float("nan")}, "positive total"),
        ({"table": np.zeros((2, 2))}, "does not match the values"),
        ({"attributes": (1, 2)}, "inside a clique"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    one = Observation(
        attributes=change.get("attributes", (0, 1)), table=change.get("table", np.zeros((2, 3))), variance=1
    )
    engine = Propagation(CliqueTree(((0, 1),), (-1,)), (2, 3))
    columns = change.get("columns", [np.full(2, 0.5), np.full(3, 1 / 3)])
    with pytest.raises(ValueError, match=message):
        fit_tree(engine, columns, change.get("total", TOTAL), [one])


def test_a_tree_over_the_cell_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_fit, "MAX_CELLS", 10)
    known = Columns(shares=(np.full(4, 0.25),) * 2, variances=(1.0,) * 2, total=TOTAL, total_variance=0.0)
    with pytest.raises(UnsupportedError, match="16 cells, over the limit of 10"):
        fit_trees([CliqueTree(((0, 1),), (-1,))], known, [])
