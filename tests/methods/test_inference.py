"""What PrivBayes makes of its tables: as they are, brought to agree, or fitted jointly. One set of released tables,
three models; the noise is drawn here, so that every run sees the same.
"""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.core.domain import Attribute, Domain
from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.errors import ModelFileError, UnsupportedError
from privbayes.measure.marginals import MeasuredTable
from privbayes.methods import network_fit
from privbayes.methods.privbayes import INFERENCES, infer
from privbayes.model.bayes_net import BayesNetModel
from privbayes.model.joint import JointModel
from privbayes.model.read import generator_of
from privbayes.privacy.noise import ScriptedNoise
from privbayes.privacy.released import Measurement

fit = partial(pb.fit, method="privbayes")

DOMAIN = Domain(
    (
        Attribute(name="a", levels=((0, 1, 2, 3, 4, 5), (0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 1, 1))),
        Attribute.flat("b", 3),
        Attribute(name="c", levels=((0, 1, 2, 3), (0, 0, 1, 1))),
        Attribute.flat("d", 2),
        Attribute.flat("e", 2),
        Attribute.flat("f", 1),
    )
)
# b - c - d - b is a cycle, and (e, Pi) is in no clique of the rest: not a junction tree.
NETWORK = BayesianNetwork(
    (
        AttributeParents(0),
        AttributeParents(1, (Parent(0, 1),)),
        AttributeParents(2, (Parent(1), Parent(0, 2))),
        AttributeParents(3, (Parent(2, 1), Parent(0))),
        AttributeParents(4, (Parent(3), Parent(1), Parent(2))),
        AttributeParents(5, (Parent(4),)),
    )
)
ROWS = 4_000


def truth(seed: int) -> np.ndarray:
    """Counts of all cells: the network's own distribution, with random conditionals."""
    rng = np.random.default_rng(seed)
    shares = np.ones(DOMAIN.cardinalities)
    cell = np.indices(DOMAIN.cardinalities)
    for pair in NETWORK.pairs:
        axes = pair.axes(DOMAIN)
        table = rng.gamma(0.7, size=[int(DOMAIN.axis_size[axis]) for axis in axes]) + 0.05
        table /= table.sum(axis=0)
        shares *= table[tuple(DOMAIN.axis_codes(axis)[cell[DOMAIN.axis_attribute[axis]]] for axis in axes)]
    return ROWS * shares / shares.sum()


def seen_by(full: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    attributes = [int(DOMAIN.axis_attribute[axis]) for axis in axes]
    table = full.sum(axis=tuple(a for a in range(len(DOMAIN)) if a not in attributes))
    table = np.transpose(table, [sorted(attributes).index(a) for a in attributes])
    for i, axis in enumerate(axes):
        ahead = np.moveaxis(table, i, 0)
        grouped = np.zeros((int(DOMAIN.axis_size[axis]), *ahead.shape[1:]))
        np.add.at(grouped, DOMAIN.axis_codes(axis), ahead)
        table = np.moveaxis(grouped, 0, i)
    return table


def bought(full: np.ndarray, scale: float, seed: int) -> list[MeasuredTable]:
    rng = np.random.default_rng(seed)
    tables = []
    for pair in NETWORK.pairs:
        axes = pair.axes(DOMAIN)
        exact = seen_by(full, axes)
        values = np.rint(exact + rng.normal(0, scale, exact.shape)).astype(np.int64).ravel()
        released = Measurement(label="table", values=values, noise="discrete gaussian", scale=scale)
        tables.append(MeasuredTable(axes=axes, measurement=released))
    return tables


def pair_error(model: BayesNetModel | JointModel, full: np.ndarray) -> float:
    """Mean total variation distance over all pairs."""
    errors = []
    for pair in itertools.combinations(range(5), 2):
        exact = full.sum(axis=tuple(a for a in range(len(DOMAIN)) if a not in pair)) / full.sum()
        errors.append(0.5 * np.abs(model.marginal(pair) - exact).sum())
    return float(np.mean(errors))


def test_tables_that_agree_are_better_than_tables_as_they_are_and_so_is_one_fit() -> None:
    def mean_error(how: str, scale: float) -> float:
        cases = [(truth(seed), seed) for seed in range(6)]
        models = [(infer(DOMAIN, NETWORK, bought(t, scale, seed), how=how, total=ROWS), t) for t, seed in cases]
        return float(np.mean([pair_error(model, full) for model, full in models]))

    assert mean_error("consistent", 25.0) < 0.9 * mean_error("paper", 25.0)
    assert mean_error("joint", 25.0) < 0.9 * mean_error("paper", 25.0)
    assert mean_error("joint", 100.0) < 0.93 * mean_error("consistent", 100.0)


@pytest.mark.parametrize("how", ["consistent", "joint"])
def test_with_hardly_any_noise_what_was_bought_is_recovered(how: str) -> None:
    full = np.rint(truth(3))
    model = infer(DOMAIN, NETWORK, bought(full, 1e-3, 0), how=how, total=int(full.sum()))
    for axes in (pair.axes(DOMAIN) for pair in NETWORK.pairs if len(pair.parents) < 3):
        attributes = [int(DOMAIN.axis_attribute[axis]) for axis in axes]
        found = np.zeros(DOMAIN.cardinalities)
        order = sorted(attributes)
        table = np.expand_dims(model.marginal(order), tuple(a for a in range(len(DOMAIN)) if a not in order))
        found[:] = table * (np.array(table.size) / found.size)
        np.testing.assert_allclose(seen_by(found, axes), seen_by(full / full.sum(), axes), atol=2e-3)


@pytest.mark.parametrize("how", INFERENCES)
def test_the_same_tables_give_the_same_model_and_a_file_keeps_it(how: str, tmp_path: Path) -> None:
    tables = bought(truth(1), 25.0, 1)
    first, second = (infer(DOMAIN, NETWORK, tables, how=how, total=ROWS) for _ in range(2))
    again = generator_of(DOMAIN, dict(first.structure()), first.tables, first.parameters)
    for other in (second, again):
        assert dict(other.structure()) == dict(first.structure())
        assert np.array_equal(other.parameters, first.parameters)
        assert np.array_equal(other.marginal((0, 3, 4)), first.marginal((0, 3, 4)))
        rows = [m.sampler().draw(500, np.random.default_rng(2)) for m in (first, other)]
        assert all(np.array_equal(a, b) for a, b in zip(*rows, strict=True))
    assert first.structure()["network"] == NETWORK.to_names(DOMAIN)


def test_where_the_graph_is_over_the_limit_pairs_still_reach_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    full = truth(5)
    tables = bought(full, 10.0, 5)
    whole = pair_error(infer(DOMAIN, NETWORK, tables, how="joint", total=ROWS), full)
    monkeypatch.setattr(network_fit, "CLIQUE_CELLS", 24)
    monkeypatch.setattr(network_fit, "TREE_CELLS", 60)
    for trees in (1, 4):  # the rest as corrections of pairs, or on further trees
        monkeypatch.setattr(network_fit, "TREES", trees)
        model = infer(DOMAIN, NETWORK, tables, how="joint", total=ROWS)
        assert isinstance(model, JointModel)
        assert len(model.fits) <= trees
        for one in model.fits:
            assert one.report.cells <= 60
        alone = pair_error(JointModel(DOMAIN, [], form="counts", total=ROWS, fits=model.fits[:1]), full)
        assert pair_error(model, full) < 0.8 * alone
        assert pair_error(model, full) < 2.5 * whole
        assert model.marginal((4, 0, 1)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("how", ["consistent", "joint"])
@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_fit_from_end_to_end(how: str, delta: float | None, neighbours: str, tmp_path: Path) -> None:
    table, schema = mixed_table(), mixed_schema()
    model = fit(table, schema, epsilon=1.0, delta=delta, neighbours=neighbours, infer=how)
    model.save(tmp_path / "m.pbm")
    loaded = pb.load(tmp_path / "m.pbm")
    assert loaded.describe() == model.describe()
    assert loaded.spec["infer"] == how
    assert loaded.sample(300, seed=1, as_="arrow").equals(model.sample(300, seed=1, as_="arrow"))
    assert set(loaded.sample(50, seed=1, where={"sex": "Male"}, as_="arrow")["sex"].to_pylist()) == {"Male"}
    shares = loaded.marginal(["ward", "severity"], as_="arrow")["probability"].to_numpy()
    assert shares.sum() == pytest.approx(1.0)
    assert sum(receipt.cost for receipt in model.receipts) <= (1.0 if delta is None else model.guarantee.rho)


@pytest.mark.parametrize("how", INFERENCES)
@pytest.mark.parametrize("encoding", ["vanilla", "binary", "gray"])
def test_other_encodings(how: str, encoding: str) -> None:
    model = fit(mixed_table(600), mixed_schema(), epsilon=2.0, encoding=encoding, infer=how)
    assert model.sample(100, seed=0, as_="arrow").num_rows == 100


@pytest.mark.parametrize("how", ["consistent", "joint"])
@pytest.mark.parametrize("rows", [1, 2, 40])
def test_tiny_and_constant_tables(how: str, rows: int) -> None:
    table = binary_table(rows, 3)
    for column in ([0], [1]):
        constant = table.set_column(0, "b0", [column * rows])
        model = fit(constant, binary_schema(3), epsilon=0.5, infer=how)
        assert model.marginal(["b0", "b2"], as_="arrow")["probability"].to_numpy().sum() == pytest.approx(1.0)
    alone = fit(binary_table(rows, 1), binary_schema(1), epsilon=0.5, infer=how)
    assert alone.sample(20, seed=3, as_="arrow").num_rows == 20


def test_without_noise_bits_are_recovered_up_to_triples() -> None:
    table, schema = binary_table(), binary_schema()
    model = fit(table, schema, epsilon=1.0, max_parents=4, infer="joint", noise=ScriptedNoise())
    bits = np.stack([table[name].to_numpy() for name in schema.columns])
    for trio in itertools.combinations(range(5), 3):
        exact = np.zeros((2, 2, 2))
        np.add.at(exact, tuple(bits[list(trio)]), 1 / bits.shape[1])
        found = model.marginal([f"b{i}" for i in trio], as_="arrow")["probability"].to_numpy()
        np.testing.assert_allclose(found, exact.ravel(), atol=3e-3)


def test_the_joint_fit_reports_how_it_ended() -> None:
    described = fit(binary_table(), binary_schema(), epsilon=2.0, infer="joint").describe()
    assert described["kind"] == "junction trees"
    assert set(described["network"]) == set(binary_schema().columns)
    for tree in described["trees"]:
        assert tree["fit"]["converged"]
        assert tree["fit"]["passes"] < network_fit.PASSES
        assert tree["fit"]["cells"] <= network_fit.TREE_CELLS


def test_the_default_is_the_paper_and_anything_else_is_refused() -> None:
    assert pb.PrivBayes(epsilon=1.0).infer == "paper"
    with pytest.raises(UnsupportedError, match="infer must be one of paper, consistent, joint, not 'best'"):
        pb.PrivBayes(epsilon=1.0, infer="best")


@pytest.mark.parametrize("change", [{"total": 0.0}, {"total": -1.0}, {"total": "many"}, {"network": {"a": [["b", 0]]}}])
def test_a_file_with_impossible_parts_is_refused(change: dict[str, Any]) -> None:
    for how in ("consistent", "joint"):
        model = infer(DOMAIN, NETWORK, bought(truth(1), 25.0, 1), how=how, total=ROWS)
        with pytest.raises((ValueError, KeyError)):
            generator_of(DOMAIN, {**model.structure(), **change}, model.tables, model.parameters)
    assert issubclass(ModelFileError, pb.PrivBayesError)  # what `load` makes of it
