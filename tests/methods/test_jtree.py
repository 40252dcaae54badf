"""JTree from end to end, as its users rely on it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables import binary_schema, binary_table, exact_joint, mixed_schema, mixed_table, model_joint

import privbayes as pb
from privbayes.core.clique_tree import CliqueTree
from privbayes.methods import jtree
from privbayes.model.consistency import consistent, noisy_tables
from privbayes.model.junction_tree import JunctionTreeModel
from privbayes.privacy.noise import ScriptedNoise


def generator_of(model: pb.Model) -> JunctionTreeModel:
    generator = model._generator
    assert isinstance(generator, JunctionTreeModel)
    return generator


def cliques_of(model: pb.Model) -> list[list[str]]:
    description = model.describe()
    return list(description["cliques"] if "cliques" in description else description["trees"][0]["cliques"])


def fitted(table: pa.Table, schema: pb.Schema, epsilon: float, **options: Any) -> pb.Model:
    return pb.fit(table, schema, epsilon=epsilon, method="jtree", **options)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"delta": 1e-9},
    {"neighbours": "add-remove"},
    {"delta": 1e-9, "neighbours": "add-remove"},
    {"edges": "tree"},
    {"delta": 1e-9, "edges": "tree"},
    {"edges": 3},
    {"score": "I"},
    {"encoding": "gray"},
    {"merge": "none"},
    {"infer": "consistent"},
    {"infer": "joint"},
    {"infer": "joint", "delta": 1e-9, "neighbours": "add-remove"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_huge_epsilon_recovers_what_the_cliques_hold(options: dict[str, Any]) -> None:
    table, schema = mixed_table(), mixed_schema()
    model = fitted(table, schema, 1e6, **options)
    if options.get("encoding") == "gray":
        np.testing.assert_allclose(model_joint(model, ["sex"]), exact_joint(table, schema, ["sex"]), atol=1e-6)
        return
    joint = options.get("infer") == "joint"  # maximum entropy stops when its slope is small enough
    cliques = cliques_of(model)
    assert max(len(clique) for clique in cliques) >= 2
    for clique in cliques:
        for k in range(1, len(clique) + 1):
            for columns in itertools.combinations(clique, k):
                exact = exact_joint(table, schema, [*columns])
                np.testing.assert_allclose(model_joint(model, [*columns]), exact, atol=1e-3 if joint else 1e-6)


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_with_room_for_all_links_the_whole_table_is_recovered(delta: float | None) -> None:
    table, schema = binary_table(), binary_schema()
    model = fitted(table, schema, 1e6, edges=10, delta=delta)
    assert model.describe()["cliques"] == [list(schema.columns)]
    np.testing.assert_allclose(model_joint(model, [*schema.columns]), exact_joint(table, schema, [*schema.columns]))


@pytest.mark.parametrize("options", OPTIONS)
def test_receipts_add_up_to_the_budget_and_never_above(options: dict[str, Any]) -> None:
    model = fitted(mixed_table(), mixed_schema(), 2.0, **options)
    total = Fraction(2.0) if "delta" not in options else Fraction(model.guarantee.rho)  # type: ignore[arg-type]
    spent = sum(receipt.cost for receipt in model.receipts)
    assert total * (1 - Fraction(1, 10**9)) < spent <= total
    assert model.is_private
    bought_total = any(receipt.label == "number of rows" for receipt in model.receipts)
    assert bought_total == (options.get("neighbours") == "add-remove")
    choices = [receipt for receipt in model.receipts if receipt.label.startswith("choice")]
    assert 0 < sum(receipt.cost for receipt in choices) <= total * Fraction(0.3)
    if "delta" in options:
        assert len(choices) == 1


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_under_add_remove_nothing_follows_the_private_number_of_rows(delta: float | None) -> None:
    """One row more, the same number as bought, the same choices: every offer, share and label stays the same."""
    receipts = []
    for rows in (200, 201):
        shift = iter([[1000 - rows]])
        noise = ScriptedNoise(offsets=lambda size, shift=shift: next(shift, [0] * size), choices=[0] * 100)
        schema = binary_schema()
        model = fitted(
            binary_table(201).slice(0, rows), schema, 1.0, neighbours="add-remove", delta=delta, noise=noise, edges=4
        )
        assert model.n_rows == 1000
        receipts.append([(r.label, r.values, r.cost, r.sensitivity) for r in model.receipts])
    assert receipts[0] == receipts[1]
    assert any(label.startswith("choice") for label, *_ in receipts[0])


def test_without_noise_a_chain_of_bits_is_found() -> None:
    model = fitted(binary_table(4_000, 6), binary_schema(6), 1.0, edges="tree", noise=ScriptedNoise())
    assert sorted(model.describe()["cliques"]) == [[f"b{i}", f"b{i + 1}"] for i in range(5)]
    assert not model.is_private


def test_thresholds_leave_unrelated_columns_apart() -> None:
    """Two chains that know nothing of each other: a disconnected graph, one tree with an empty separator."""
    left, right = binary_table(3_000, 3, seed=1), binary_table(3_000, 3, seed=2)
    table = pa.table({f"b{i}": column for i, column in enumerate([*left.columns, *right.columns])})
    schema = binary_schema(6)
    model = fitted(table, schema, 3.0, delta=1e-6)
    groups = [set(clique) for clique in model.describe()["cliques"]]
    assert all(group <= {"b0", "b1", "b2"} or group <= {"b3", "b4", "b5"} for group in groups)
    tree = generator_of(model).tree
    assert tree.separators.count(()) == 2  # of the root, and between the two parts
    joint = model_joint(model, ["b0", "b4"])
    np.testing.assert_allclose(joint, np.outer(joint.sum(1), joint.sum(0)), atol=1e-12)
    rows = model.sample(20_000, seed=1)
    for pair in (["b0", "b1"], ["b2", "b3"]):
        assert 0.5 * np.abs(exact_joint(rows, schema, pair) - model_joint(model, pair)).sum() < 0.02
    # phi far above what is there leaves nothing linked; then even one vector has been paid for.
    loose = fitted(table, schema, 3.0, delta=1e-6, phi=0.99)
    assert loose.describe()["cliques"] == [[f"b{i}"] for i in range(6)]


def test_with_nothing_to_link_the_tables_get_everything() -> None:
    for options in ({"edges": 0}, {"theta": 1e9}):
        model = fitted(binary_table(), binary_schema(), 1.0, **options)
        assert not [r for r in model.receipts if r.label.startswith("choice")]
        tables = generator_of(model).tables
        assert {round(m.scale, 6) for _, m in tables} == {2.0 * len(tables)}
        assert len(tables) < 5  # columns alone are merged too: fewer tables, less noise
        assert len(model.describe()["cliques"]) == 5
    apart = fitted(binary_table(), binary_schema(), 1.0, edges=0, merge="none")
    assert {round(m.scale, 6) for _, m in generator_of(apart).tables} == {10.0}


def test_cliques_stay_useful() -> None:
    """No clique of two columns or more has more cells than theta allows for as many tables as were bought."""
    table, schema = mixed_table(), mixed_schema()
    for epsilon in (0.5, 3.0, 20.0):
        model = fitted(table, schema, epsilon, merge="none")
        tables = generator_of(model).tables
        limit = table.num_rows * epsilon * 0.7 / (2 * len(tables) * 4.0)
        assert all(m.values.size <= limit for axes, m in tables if len(axes) > 1)


def test_the_sampler_follows_the_model(tmp_path: Path) -> None:
    table, schema = mixed_table(), mixed_schema()
    model = fitted(table, schema, 5.0)
    rows = model.sample(30_000, seed=3)
    for pair in itertools.combinations(["sex", "ward", "severity", "smoker", "age"], 2):
        gap = 0.5 * np.abs(exact_joint(rows, schema, [*pair]) - model_joint(model, [*pair])).sum()
        assert gap < 0.03
    women = model.sample(200, seed=1, where={"sex": "Female", "severity": ["low", "high"]})
    assert set(women["sex"].to_pylist()) == {"Female"}
    assert set(women["severity"].to_pylist()) <= {"low", "high"}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_model_comes_back_from_its_file_as_it_was(options: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(mixed_table(500), mixed_schema(), 1.0, **options)
    model.save(tmp_path / "m.pbm")
    loaded = pb.load(tmp_path / "m.pbm")
    assert loaded.describe() == model.describe()
    assert loaded.sample(300, seed=7).equals(model.sample(300, seed=7))
    assert loaded.marginal(["age", "ward"]).equals(model.marginal(["age", "ward"]))
    assert loaded.receipts == model.receipts


def test_a_model_whose_parts_do_not_fit_is_refused() -> None:
    generator = generator_of(fitted(binary_table(), binary_schema(), 5.0, edges="tree", merge="none"))
    domain, tables = generator.domain, generator.tables
    alone = CliqueTree(tuple((a,) for a in range(5)), (-1, 0, 0, 0, 0))
    with pytest.raises(ValueError, match="inside a cluster"):
        JunctionTreeModel(domain, alone, tables[:1], total=500.0, infer="paper")
    structure = dict(generator.structure())
    for wrong in ({"total": 0.0}, {"infer": "magic"}):
        with pytest.raises(ValueError, match="at least one row"):
            JunctionTreeModel.rebuilt(domain, {**structure, **wrong}, tables)
    with pytest.raises(ValueError, match="cover every attribute"):
        JunctionTreeModel.rebuilt(domain, {**structure, "cliques": [["b0", "b1"]], "parents": [-1]}, tables)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"neighbours": "add-remove"}, {"delta": 1e-6}, {"edges": "tree"}, {"infer": "joint"}]
)
def test_tiny_tables(rows: int, options: dict[str, Any]) -> None:
    for table, schema in ((mixed_table(rows), mixed_schema()), (binary_table(rows), binary_schema())):
        assert fitted(table, schema, 1.0, **options).sample(5, seed=0).num_rows == 5
        assert fitted(table, schema, 1e4, **options).sample(5, seed=0).num_rows == 5


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_one_column_and_constant_columns(delta: float | None) -> None:
    one = pb.Schema.from_dict({"columns": {"x": {"type": "ordinal", "values": ["a", "b", "c"]}}})
    model = fitted(pa.table({"x": ["a"] * 50}), one, 100.0, delta=delta)
    assert model.marginal("x")["probability"].to_pylist()[0] > 0.9
    assert len(model.receipts) == 1
    schema = pb.Schema.from_dict(
        {
            "columns": {
                "k": {"type": "categorical", "values": ["only"]},
                "l": {"type": "categorical", "values": ["one"]},
                "b": {"type": "boolean"},
                "c": {"type": "boolean"},
            }
        }
    )
    table = pa.table({"k": ["only"] * 40, "l": ["one"] * 40, "b": [True] * 40, "c": [True, False] * 20})
    synthetic = fitted(table, schema, 50.0, delta=delta).sample(100, seed=0)
    assert set(synthetic["k"].to_pylist()) == {"only"}
    assert np.mean(synthetic["b"].to_pylist()) > 0.9


def test_a_wide_column_does_not_keep_the_others_from_being_linked() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, 2_000)
    schema = pb.Schema.from_dict(
        {
            "columns": {
                "wide": {"type": "categorical", "values": [f"v{i}" for i in range(5_000)]},
                "a": {"type": "categorical", "values": [0, 1]},
                "b": {"type": "categorical", "values": [0, 1]},
            }
        }
    )
    table = pa.table({"wide": [f"v{i}" for i in rng.integers(0, 5_000, 2_000)], "a": bits, "b": bits})
    assert sorted(fitted(table, schema, 2.0).describe()["cliques"]) == [["a", "b"], ["wide"]]


def test_a_hundred_columns() -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, (300, 10))
    bits = np.where(rng.random((300, 100)) < 0.1, rng.integers(0, 2, (300, 100)), np.repeat(base, 10, axis=1))
    table = pa.table({f"b{i}": bits[:, i] for i in range(100)})
    model = fitted(table, binary_schema(100), 50.0, edges="tree")
    assert model.sample(20, seed=0).shape == (20, 100)
    assert model_joint(model, ["b0", "b99", "b50"]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"score": "F"}, "score must be auto, I or R"),
        ({"score": "I", "neighbours": "add-remove"}, "score I has no finite bound"),
        ({"beta": 0}, "beta must lie"),
        ({"beta": 1}, "beta must lie"),
        ({"theta": 0}, "theta must be positive"),
        ({"phi": -0.1}, "phi must be"),
        ({"phi": 1}, "phi must be"),
        ({"edges": -1}, "edges must be"),
        ({"edges": "forest"}, "edges must be"),
        ({"edges": True}, "edges must be"),
        ({"edges": 1.5}, "edges must be"),
        ({"merge": "most"}, "merge must be"),
        ({"infer": "guess"}, "infer must be"),
        ({"encoding": "morse"}, "encoding must be"),
        ({"max_parents": 2}, "no option 'max_parents'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(pb.PrivBayesError, match=reason) as caught:
        fitted(binary_table(), binary_schema(), 1.0, **options)
    assert "\n" not in str(caught.value)
    with pytest.raises(pb.PrivBayesError, match=reason):
        pb.plan(binary_schema(), 500, epsilon=1.0, method="jtree", **options)


def test_columns_over_the_memory_limit_are_refused_and_cliques_kept_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jtree, "MAX_CELLS", 60)
    model = fitted(mixed_table(), mixed_schema(), 1e6)
    assert sum(m.values.size for _, m in generator_of(model).tables) <= 60
    monkeypatch.setattr(jtree, "MAX_CELLS", 20)
    with pytest.raises(pb.UnsupportedError, match=r"cells that fit in memory; use fewer bins"):
        fitted(mixed_table(), mixed_schema(), 1.0)


@pytest.mark.parametrize("options", [o for o in OPTIONS if "encoding" not in o])
def test_the_plan_foretells_the_fit(options: dict[str, Any]) -> None:
    table, schema = mixed_table(), mixed_schema()
    planned = pb.plan(schema, table.num_rows, epsilon=3.0, method="jtree", **options)
    assert planned == pb.plan(schema, table.num_rows, epsilon=3.0, method="jtree", **options)
    model = fitted(table, schema, 3.0, **options)
    choices = [r for r in model.receipts if r.label.startswith("choice")]
    assert len(choices) <= planned.draws
    if "delta" in options:
        assert planned.draws == 1
        assert float(choices[0].cost) == pytest.approx(planned.share_a_draw)
    else:
        assert float(choices[0].cost) == pytest.approx(planned.share_a_draw, rel=0.03)
    assert planned.details["clusters"] == planned.tables <= planned.details["cliques"]
    if options.get("merge") == "none":
        assert planned.tables == planned.details["cliques"]
        assert planned.details["largest_cluster_cells"] <= planned.details["largest_useful_clique_cells"]
    if options.get("edges") == "tree":
        assert planned.details["cliques"] == len(cliques_of(model)) == 6
    if options.get("edges") == "tree" and len(generator_of(model).tables) == planned.tables:
        tables = generator_of(model).tables
        assert {m.scale for _, m in tables} == {tables[0][1].scale}
        assert tables[0][1].scale == pytest.approx(planned.noise_scale, rel=0.03)


@pytest.mark.parametrize("options", [{}, {"infer": "consistent"}, {"merge": "none"}, {"delta": 1e-6}])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_tables_agree_after_a_fit(options: dict[str, Any], epsilon: float) -> None:
    """Clusters agree on all they share, and twice is once; cliques agree on their separators; totals are kept."""
    generator = generator_of(fitted(mixed_table(), mixed_schema(), epsilon, **options))
    domain = generator.domain
    noisy = noisy_tables(domain, generator.tables)
    once = consistent(domain, noisy, total=generator.total)
    again = consistent(
        domain, [replace(table, values=v) for table, v in zip(noisy, once, strict=True)], total=generator.total
    )
    held = [([int(domain.axis_attribute[axis]) for axis in t.axes], v) for t, v in zip(noisy, once, strict=True)]
    held += [([*clique], table) for clique, table in zip(generator.tree.cliques, generator.clique_tables, strict=True)]
    for first, second in zip(once, again, strict=True):
        np.testing.assert_allclose(second, first, rtol=0, atol=1e-9 * generator.total)
    for group in (held[: len(once)], held[len(once) :]):
        for (a, first), (b, second) in itertools.combinations(group, 2):
            shared = sorted({*a} & {*b})
            np.testing.assert_allclose(
                summed(a, first, shared), summed(b, second, shared), rtol=0, atol=1e-9 * generator.total
            )
        assert all(table.sum() == pytest.approx(generator.total) for _, table in group)
    assert all(table.min() >= 0 for _, table in held[len(once) :])
    for clique, table in held[len(once) :]:
        np.testing.assert_allclose(generator.marginal(clique), table / generator.total, atol=1e-12)


def summed(attributes: list[int], table: np.ndarray, kept: list[int]) -> np.ndarray:
    order = [a for a in attributes if a in kept]
    result = table.sum(axis=tuple(i for i, a in enumerate(attributes) if a not in kept))
    return np.transpose(result, [order.index(a) for a in kept])


def test_the_relaxation_of_the_paper_can_merge_too() -> None:
    pytest.importorskip("cvxpy")
    model = fitted(mixed_table(), mixed_schema(), 2.0, merge="cccp")
    assert model.sample(10, seed=0).num_rows == 10


def test_error_falls_with_epsilon() -> None:
    table, schema = mixed_table(5_000), mixed_schema()
    pairs = list(itertools.combinations(["age", "sex", "ward", "smoker", "severity"], 2))

    def error(epsilon: float) -> float:
        gaps = []
        for _ in range(3):
            model = fitted(table, schema, epsilon)
            gaps += [
                0.5 * np.abs(model_joint(model, [*pair]) - exact_joint(table, schema, [*pair])).sum() for pair in pairs
            ]
        return float(np.mean(gaps))

    low, middle, high = error(0.02), error(0.5), error(50.0)
    assert high < middle < low
    assert high < 0.05


def test_progress_is_told() -> None:
    seen: list[tuple[str, int, int]] = []
    fitted(mixed_table(), mixed_schema(), 5.0, progress=lambda *step: seen.append(step))
    assert {"structure", "tables"} <= {stage for stage, _, _ in seen}
    assert all(0 <= done <= total for _, done, total in seen)
