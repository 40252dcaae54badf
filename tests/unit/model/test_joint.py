"""The joint model: what the first tree says, what corrects it, and that a file gives the same model back."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Attribute, Domain
from privbayes.core.residuals import Coordinates
from privbayes.core.workload import Workload
from privbayes.errors import UnsupportedError
from privbayes.model import joint
from privbayes.model.columns import Columns
from privbayes.model.factor import Factor
from privbayes.model.joint import JointModel
from privbayes.model.joint_fit import fit_trees
from privbayes.model.observations import Form, combined, observed
from privbayes.privacy.released import Measurement

DOMAIN = Domain(
    (
        Attribute.flat("a", 3),
        Attribute.flat("b", 2),
        Attribute(name="c", levels=((0, 1, 2, 3), (0, 0, 1, 1))),
        Attribute.flat("d", 2),
        Attribute.flat("e", 1),
    )
)
SIZES = DOMAIN.cardinalities
FIRST = CliqueTree.of([(0, 1), (1, 2), (3,), (4,)], SIZES)
SECOND = CliqueTree.of([(0, 2), (1,), (3,), (4,)], SIZES)
ROWS = 2_000


def truth(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shares = np.ones(SIZES)
    for a, b in itertools.combinations(range(len(SIZES)), 2):
        table = rng.gamma(2.0, size=(SIZES[a], SIZES[b]))
        shares = shares * np.expand_dims(table, tuple(c for c in range(len(SIZES)) if c not in (a, b)))
    return np.rint(shares / shares.sum() * ROWS)


def released(full: np.ndarray, axes: tuple[int, ...], scale: float = 0.5) -> tuple[tuple[int, ...], Measurement]:
    """The interaction part of a table, as it is bought under Gaussian noise."""
    attributes = [int(DOMAIN.axis_attribute[axis]) for axis in axes]
    table = full.sum(axis=tuple(a for a in range(len(SIZES)) if a not in attributes))
    for i, axis in enumerate(axes):
        ahead = np.moveaxis(table, i, 0)
        grouped = np.zeros((int(DOMAIN.axis_size[axis]), *ahead.shape[1:]))
        np.add.at(grouped, DOMAIN.axis_codes(axis), ahead)
        table = np.moveaxis(grouped, 0, i)
    values = Coordinates.of(table.shape, pure=False).encode(table.astype(np.int64))
    return axes, Measurement(label="t", values=values, noise="discrete gaussian", scale=scale)


def model_of(trees: list[CliqueTree], tables: list[tuple[tuple[int, ...], Measurement]], **options: Any) -> JointModel:
    form: Form = "residual"
    observations = combined([observed(DOMAIN, axes, m, form) for axes, m in tables])
    full = truth()
    shares = [full.sum(axis=tuple(b for b in range(5) if b != a)) / full.sum() for a in range(5)]
    columns = Columns(shares=tuple(shares), variances=(1.0,) * 5, total=float(full.sum()), total_variance=0.0)
    fits = fit_trees(trees, columns, observations)
    return JointModel(DOMAIN, tables, form=form, total=float(full.sum()), fits=fits, **options)


def axis(attribute: int, level: int = 0) -> int:
    return DOMAIN.axis(attribute, level)


INSIDE = [*((axis(a),) for a in range(4)), (axis(0), axis(1)), (axis(1), axis(2))]
ACROSS = (axis(0), axis(2))


def exact(full: np.ndarray, *attributes: int) -> np.ndarray:
    table = full.sum(axis=tuple(a for a in range(len(SIZES)) if a not in attributes)) / full.sum()
    order = sorted(attributes)
    return np.transpose(table, [order.index(a) for a in attributes])


def test_marginals_of_any_columns_are_those_of_the_whole_domain() -> None:
    model = model_of([FIRST], [released(truth(), axes) for axes in INSIDE])
    whole = model.marginal(range(5))
    assert whole.sum() == pytest.approx(1.0)
    for k in range(1, 5):
        for members in itertools.permutations(range(5), k):
            expected = whole.sum(axis=tuple(a for a in range(5) if a not in members))
            order = sorted(members)
            expected = np.transpose(expected, [order.index(a) for a in members])
            np.testing.assert_allclose(model.marginal(members), expected, atol=1e-12)
    for a, b in ((0, 1), (1, 2)):  # what was bought, with hardly any noise
        np.testing.assert_allclose(model.marginal((a, b)), exact(truth(), a, b), atol=2e-3)
    np.testing.assert_allclose(model.marginal((0, 3)), np.outer(model.marginal((0,)), model.marginal((3,))))


def test_evidence_conditions_the_first_tree_exactly() -> None:
    model = model_of([FIRST], [released(truth(), axes) for axes in INSIDE])
    whole = model.marginal((0, 1, 2))
    only = Factor((axis(0),), np.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(model.marginal((2, 1), [only]), whole[1].T / whole[1].sum(), atol=1e-12)
    rows = model.sampler([only]).draw(400, np.random.default_rng(0))
    assert set(rows[0].tolist()) == {1}


@pytest.mark.parametrize("trees", [[FIRST], [FIRST, SECOND]])
@pytest.mark.parametrize("level", [0, 1])
def test_a_pair_outside_the_first_tree_is_corrected_and_reaches_larger_tables_and_rows(
    trees: list[CliqueTree], level: int
) -> None:
    full = truth()
    tables = [*(released(full, axes) for axes in INSIDE), released(full, (axis(0), axis(2, level)))]
    alone, model = model_of(trees[:1], tables[:-1]), model_of(trees, tables)
    groups = DOMAIN.axis_codes(axis(2, level))

    def error(table: np.ndarray) -> float:
        grouped = np.zeros((3, int(groups.max()) + 1))
        np.add.at(grouped.T, groups, (table - exact(full, 0, 2)).T)
        return 0.5 * float(np.abs(grouped).sum())

    assert error(model.marginal((0, 2))) < 0.2 * error(alone.marginal((0, 2)))
    np.testing.assert_allclose(model.marginal((2, 0)), model.marginal((0, 2)).T)
    trio = model.marginal((0, 3, 2))
    np.testing.assert_allclose(trio.sum(axis=1), model.marginal((0, 2)), atol=1e-4)
    rows = model.sampler().draw(4000, np.random.default_rng(1))
    drawn = np.zeros((3, 4))
    np.add.at(drawn, (rows[0], rows[2]), 1 / 4000)
    assert error(drawn) < 0.3 * error(alone.marginal((0, 2)))


@pytest.mark.parametrize("trees", [[FIRST], [FIRST, SECOND]])
def test_a_file_gives_the_same_model_back(trees: list[CliqueTree]) -> None:
    full = truth()
    tables = [*(released(full, axes) for axes in INSIDE), released(full, ACROSS)]
    model = model_of(trees, tables, workload=Workload(columns=(1.0, 2.0, 1.0, 1.0, 1.0), triples=True))
    again = JointModel.rebuilt(DOMAIN, model.structure(), model.tables, model.parameters)
    assert again.structure() == model.structure()
    assert np.array_equal(again.pair_tables, model.pair_tables)
    first, second = (m.sampler().draw(300, np.random.default_rng(4)) for m in (model, again))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_tables_over_the_limit_are_refused_and_none_is_made_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of([FIRST], [released(truth(), axes) for axes in INSIDE])
    monkeypatch.setattr(joint, "MAX_CELLS", 20)
    assert model.marginal((0, 1, 3)).shape == (3, 2, 2)
    with pytest.raises(UnsupportedError, match="24 cells, over the limit of 20"):
        model.marginal((0, 1, 2))
    monkeypatch.setattr(joint, "MAX_CELLS", 8)
    with pytest.raises(UnsupportedError, match="cells, over the limit of 8"):
        model_of([FIRST], [])


def test_a_single_column_and_columns_of_one_value() -> None:
    domain = Domain((Attribute.flat("x", 1),))
    columns = Columns(shares=(np.ones(1),), variances=(1.0,), total=7.0, total_variance=0.0)
    fits = fit_trees([CliqueTree(((0,),), (-1,))], columns, [])
    model = JointModel(domain, [], form="residual", total=7.0, fits=fits)
    np.testing.assert_allclose(model.marginal((0,)), [1.0])
    assert model.sampler().draw(5, np.random.default_rng(0))[0].tolist() == [0] * 5


@pytest.mark.parametrize(
    "change",
    [
        {"form": "wholesale"},
        {"total": 0.0},
        {"total": float("nan")},
        {"workload": {"columns": [1.0], "sets": [], "triples": False, "target": None}},
        {"trees": []},
        {"network": {"a": []}},
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    model = model_of([FIRST], [released(truth(), axes) for axes in INSIDE])
    with pytest.raises(ValueError):  # noqa: PT011 - each for a reason of its own; `load` says the same of all
        JointModel.rebuilt(DOMAIN, {**model.structure(), **change}, model.tables, model.parameters)


def test_trees_and_potentials_that_do_not_fit_are_refused() -> None:
    model = model_of([FIRST], [released(truth(), axes) for axes in INSIDE])
    structure, potentials = dict(model.structure()), model.parameters
    for wrong in (
        potentials[:-1],
        np.append(potentials, 0.0),
        np.where(np.arange(len(potentials)) == 3, np.nan, potentials),
    ):
        with pytest.raises(ValueError, match="potentials"):
            JointModel.rebuilt(DOMAIN, structure, model.tables, wrong)
    (tree,) = structure["trees"]
    lost = {**tree, "cliques": tree["cliques"][:-1], "parents": tree["parents"][:-1], "fitted": [["a"]]}
    with pytest.raises(ValueError, match="cover every attribute"):
        JointModel.rebuilt(DOMAIN, {**structure, "trees": [lost]}, model.tables, np.zeros(3))
    assert prod(SIZES) == 48
