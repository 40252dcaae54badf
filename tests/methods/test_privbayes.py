"""PrivBayes from end to end, as its users rely on it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tables import binary_schema, binary_table, exact_joint, mixed_schema, mixed_table, model_joint

import privbayes as pb
from privbayes.encoding.codec import Codec
from privbayes.privacy.noise import ScriptedNoise

fit = partial(pb.fit, method="privbayes")
plan = partial(pb.plan, method="privbayes")


@pytest.mark.parametrize(
    "options", [{"max_parents": 4}, {"max_parents": 4, "score": "R"}, {"max_parents": 4, "delta": 1e-9}]
)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_huge_epsilon_and_full_degree_recover_every_marginal_of_bits(options: dict[str, Any], neighbours: str) -> None:
    table, schema = binary_table(), binary_schema()
    model = fit(table, schema, epsilon=1e6, neighbours=neighbours, **options)
    for k in range(1, 6):
        for columns in itertools.combinations(schema.columns, k):
            np.testing.assert_allclose(
                model_joint(model, [*columns]), exact_joint(table, schema, [*columns]), atol=1e-9
            )


@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
def test_huge_epsilon_recovers_a_mixed_table(encoding: str) -> None:
    schema = pb.Schema.from_dict(
        {
            "columns": {
                "size": {"type": "integer", "min": 0, "max": 5, "bins": 6},
                "kind": {"type": "categorical", "values": ["a", "b", "c"], "nullable": True},
                "flag": {"type": "boolean"},
            }
        }
    )
    rng = np.random.default_rng(1)
    size = rng.integers(0, 6, 800)
    kind = pa.array(np.array(["a", "b", "c"])[(size + rng.integers(0, 2, 800)) % 3], mask=rng.random(800) < 0.2)
    table = pa.table({"size": size, "kind": kind, "flag": (size > 2) ^ (rng.random(800) < 0.1)})
    model = fit(table, schema, epsilon=1e6, max_parents=5, encoding=encoding)
    for columns in (["size"], ["kind", "flag"], ["flag", "size", "kind"]):
        np.testing.assert_allclose(model_joint(model, columns), exact_joint(table, schema, columns), atol=1e-9)


@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_receipts_add_up_to_the_budget_and_never_above(encoding: str, delta: float | None, neighbours: str) -> None:
    model = fit(mixed_table(), mixed_schema(), epsilon=2.0, delta=delta, neighbours=neighbours, encoding=encoding)
    total = Fraction(2.0) if delta is None else Fraction(model.guarantee.rho)  # type: ignore[arg-type]
    spent = sum(receipt.cost for receipt in model.receipts)
    assert total * (1 - Fraction(1, 10**9)) < spent <= total
    assert model.is_private
    assert {receipt.neighbours for receipt in model.receipts} == {neighbours}
    assert any(receipt.label == "number of rows" for receipt in model.receipts) == (neighbours == "add-remove")


def test_rows_come_back_as_they_went_in() -> None:
    table = mixed_table()
    model = fit(table, mixed_schema(), epsilon=5.0)
    synthetic = model.sample(seed=3)
    assert isinstance(synthetic, pa.Table)
    assert synthetic.column_names == table.column_names
    assert synthetic.schema.types == table.schema.types
    assert synthetic.num_rows == table.num_rows
    assert synthetic["pid"].to_pylist() == list(range(1, table.num_rows + 1))
    assert set(synthetic["ward"].unique().to_pylist()) <= {"A1", "A2", "B1", "B2", "ICU", "other"}
    assert 0 < synthetic["bmi"].null_count < 1_000
    ages = synthetic["age"].to_numpy()
    assert ages.min() >= 18
    assert ages.max() <= 97
    assert len(np.unique(ages)) > 60


def test_pandas_and_polars_come_back_as_they_went_in() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    table = mixed_table(300)
    for frame, kind in ((table.to_pandas(), pandas.DataFrame), (polars.from_arrow(table), polars.DataFrame)):
        synthetic = fit(frame, mixed_schema(), epsilon=5.0).sample(50, seed=1)
        assert isinstance(synthetic, kind)
        assert list(synthetic.columns) == table.column_names
        assert len(synthetic) == 50


def test_a_seed_gives_the_same_rows_from_the_model_and_from_its_file(tmp_path: Path) -> None:
    model = fit(mixed_table(), mixed_schema(), epsilon=1.0)
    model.save(tmp_path / "m.pbm")
    loaded = pb.load(tmp_path / "m.pbm")
    first = model.sample(500, seed=7)
    assert first.equals(model.sample(500, seed=7))
    assert first.equals(loaded.sample(500, seed=7))
    assert not first.equals(model.sample(500, seed=8))
    assert loaded.receipts == model.receipts
    assert loaded.guarantee == model.guarantee
    assert loaded.describe() == model.describe()
    assert loaded.marginal("age").equals(model.marginal("age"))


def test_two_fits_differ_and_a_fit_cannot_be_seeded() -> None:
    first, second = (fit(binary_table(), binary_schema(), epsilon=0.5) for _ in range(2))
    assert any(
        not np.array_equal(a.values, b.values)
        for (_, a), (_, b) in zip(first._generator.tables, second._generator.tables, strict=False)
    )
    with pytest.raises(pb.UnsupportedError, match="no option 'seed'"):
        fit(binary_table(), binary_schema(), epsilon=0.5, seed=1)
    np.random.seed(0)
    with pytest.raises(TypeError):
        pb.PrivBayes(epsilon=1.0).fit(binary_table(), binary_schema(), seed=1)  # type: ignore[call-arg]


def test_noise_scales_are_those_of_the_paper() -> None:
    model = fit(binary_table(), binary_schema(), epsilon=1.0, max_parents=2)
    tables = [m for _, m in model._generator.tables]
    assert len(tables) == 3  # d - k
    assert {round(m.scale, 6) for m in tables} == {round(2 * 3 / 0.7, 6)}
    draws = [r for r in model.receipts if r.label.startswith("choice")]
    # The first draw has one parent to offer but four children; the last has one child and several parent sets.
    assert len(draws) == 4
    assert float(draws[0].cost) == pytest.approx(0.3 / 4)
    assert draws[0].scale == pytest.approx(2 * 2 / (0.3 / 4))  # score F in units where one row moves it by 2


def test_with_nothing_to_select_the_tables_get_everything() -> None:
    for options in ({"max_parents": 0}, {"network": {f"b{i}": [] for i in range(5)}}):
        model = fit(binary_table(), binary_schema(), epsilon=1.0, **options)
        assert not [r for r in model.receipts if r.label.startswith("choice")]
        assert {round(m.scale, 6) for _, m in model._generator.tables} == {10.0}


def test_a_given_network_is_used_as_it_is() -> None:
    network = {"b4": [], "b0": ["b4"], "b2": ["b0", "b4"], "b1": [], "b3": ["b1"]}
    model = fit(binary_table(), binary_schema(), epsilon=1.0, network=network)
    assert {c: [p for p, _ in parents] for c, parents in model.describe()["network"].items()} == network
    for wrong in ({"b0": []}, {**network, "b4": ["b2"]}, {**network, "b1": ["zz"]}):
        with pytest.raises(pb.UnsupportedError, match="given network does not fit"):
            fit(binary_table(), binary_schema(), epsilon=1.0, network=wrong)


def test_the_first_attribute_can_be_fixed() -> None:
    model = fit(binary_table(), binary_schema(), epsilon=1.0, first="b3", max_parents=2)
    assert next(iter(model.describe()["network"])) == "b3"
    with pytest.raises(pb.UnsupportedError, match="first = 'nope'"):
        fit(binary_table(), binary_schema(), epsilon=1.0, first="nope", max_parents=2)


def test_without_noise_the_greedy_choices_are_the_best_ones() -> None:
    table = binary_table(4_000, 6)
    model = fit(table, binary_schema(6), epsilon=1.0, max_parents=1, first="b0", noise=ScriptedNoise())
    assert {c: [p for p, _ in ps] for c, ps in model.describe()["network"].items()} == {
        "b0": [], "b1": ["b0"], "b2": ["b1"], "b3": ["b2"], "b4": ["b3"], "b5": ["b4"],
    }  # fmt: skip


def test_scripted_noise_shows_everywhere(tmp_path: Path) -> None:
    model = fit(binary_table(), binary_schema(), epsilon=1.0, noise=ScriptedNoise())
    assert not model.is_private
    assert model.epsilon == float("inf")
    model.save(tmp_path / "m.pbm")
    loaded = pb.load(tmp_path / "m.pbm")
    assert not loaded.is_private
    assert "NOT PRIVATE" in repr(loaded)
    assert "NOT PRIVATE" in loaded.describe()["guarantee"]["sentence"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epsilon": 0}, "epsilon must be a positive"),
        ({"epsilon": float("nan")}, "epsilon must be a positive"),
        ({"epsilon": 1, "delta": 1.5}, "delta must lie"),
        ({"epsilon": 1, "beta": 0}, "beta must lie"),
        ({"epsilon": 1, "theta": 0}, "theta must be positive"),
        ({"epsilon": 1, "score": "Q"}, "score must be"),
        ({"epsilon": 1, "encoding": "morse"}, "encoding must be"),
        ({"epsilon": 1, "max_parents": -1}, "max_parents must be"),
        ({"epsilon": 1, "max_candidates": 0}, "max_candidates must be"),
        ({"epsilon": 1, "neighbours": "swap"}, "neighbours must be"),
        ({"epsilon": 1, "method": "magic"}, "no method 'magic'"),
        ({"epsilon": 1, "engine": "abacus"}, "abacus"),
        ({"epsilon": 1, "colour": 3}, "no option 'colour'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(pb.PrivBayesError, match=reason) as caught:
        fit(binary_table(), binary_schema(), **options)
    assert "\n" not in str(caught.value)


def test_score_f_needs_bits_and_score_i_a_public_number_of_rows() -> None:
    with pytest.raises(pb.UnsupportedError, match="score F needs every attribute binary"):
        fit(mixed_table(), mixed_schema(), epsilon=1.0, score="F")
    with pytest.raises(pb.UnsupportedError, match="score I has no finite bound"):
        fit(binary_table(), binary_schema(), epsilon=1.0, score="I", neighbours="add-remove")
    assert fit(mixed_table(), mixed_schema(), epsilon=1.0, score="F", encoding="gray").is_private


def test_tables_over_the_memory_limit_are_refused_with_their_size() -> None:
    schema = binary_schema(40)
    table = binary_table(20, 40)
    with pytest.raises(pb.UnsupportedError, match=r"cells, more than the .* that fit in memory"):
        fit(table, schema, epsilon=1.0, max_parents=35)
    parents = {f"b{i}": [f"b{j}" for j in range(i)] for i in range(40)}
    with pytest.raises(pb.UnsupportedError, match=r"cells, more than"):
        fit(table, schema, epsilon=1.0, network=parents)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_tiny_tables(rows: int, neighbours: str) -> None:
    for table, schema in ((mixed_table(rows), mixed_schema()), (binary_table(rows), binary_schema())):
        model = fit(table, schema, epsilon=1.0, neighbours=neighbours)
        assert model.sample(5, seed=0).num_rows == 5


@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
def test_one_column_and_constant_columns(encoding: str) -> None:
    one = pb.Schema.from_dict({"columns": {"x": {"type": "ordinal", "values": ["a", "b", "c"]}}})
    model = fit(pa.table({"x": ["a"] * 50}), one, epsilon=100.0, encoding=encoding)
    assert model.marginal("x")["probability"].to_pylist()[0] > 0.9
    assert len(model.receipts) == (1 if encoding in ("hierarchical", "vanilla") else len(model.receipts))
    constant = pb.Schema.from_dict(
        {
            "columns": {
                "k": {"type": "categorical", "values": ["only"]},
                "b": {"type": "boolean"},
                "c": {"type": "boolean"},
            }
        }
    )
    table = pa.table({"k": ["only"] * 40, "b": [True] * 40, "c": [True, False] * 20})
    synthetic = fit(table, constant, epsilon=50.0, encoding=encoding).sample(100, seed=0)
    assert set(synthetic["k"].to_pylist()) == {"only"}


def test_ids_are_numbered_afresh() -> None:
    schema = pb.Schema.from_dict({"columns": {"pid": {"type": "id", "prefix": "P"}, "b": {"type": "boolean"}}})
    model = fit(pa.table({"pid": ["x", "y"], "b": [True, False]}), schema, epsilon=1.0)
    assert model.sample(3, seed=0)["pid"].to_pylist() == ["P1", "P2", "P3"]
    with pytest.raises(pb.SchemaError, match="every column is an id"):
        pb.Schema.from_dict({"columns": {"pid": {"type": "id"}}})


def test_two_hundred_columns_and_ten_thousand_values() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{i}": {"type": "integer", "min": 0, "max": 9, "bins": 5} for i in range(199)}
    columns["big"] = {"type": "categorical", "values": [f"v{i}" for i in range(10_000)]}
    data = {f"x{i}": rng.integers(0, 10, 300) for i in range(199)}
    table = pa.table({**data, "big": [f"v{i}" for i in rng.integers(0, 10_000, 300)]})
    model = fit(table, pb.Schema.from_dict({"columns": columns}), epsilon=10.0, max_candidates=2_000)
    assert model.sample(20, seed=0).shape == (20, 200)


def test_rows_per_person_buy_less() -> None:
    schema = pb.Schema.from_dict({**binary_schema().to_dict(), "rows_per_person": 4})
    model = fit(binary_table(), schema, epsilon=1.0, max_parents=0)
    assert {round(m.scale, 6) for _, m in model._generator.tables} == {40.0}
    assert "up to 4" in model.guarantee.sentence()


def test_progress_is_told() -> None:
    seen: list[tuple[str, int, int]] = []
    fit(mixed_table(), mixed_schema(), epsilon=5.0, progress=lambda *step: seen.append(step))
    stages = [stage for stage, _, _ in seen]
    assert {"structure", "tables"} <= set(stages)
    assert all(0 <= done <= total for _, done, total in seen)


def test_plan_agrees_with_the_fit() -> None:
    table, schema = mixed_table(), mixed_schema()
    for options in ({}, {"encoding": "vanilla"}, {"encoding": "binary"}, {"delta": 1e-6}):
        planned = plan(schema, table.num_rows, epsilon=3.0, **options)
        model = fit(table, schema, epsilon=3.0, **options)
        assert planned.tables == len(model._generator.tables)
        scales = {m.scale for _, m in model._generator.tables}
        assert max(scales) == pytest.approx(planned.noise_scale, rel=0.02)
        draws = [r for r in model.receipts if r.label.startswith("choice")]
        assert len(draws) <= planned.draws
        if planned.cell_limit is not None:
            assert max(m.values.size for _, m in model._generator.tables) <= planned.cell_limit
        assert {c["name"] for c in planned.columns} == set(Codec(schema, planned.encoding).domain.names)
        assert planned.to_dict()["method"] == "privbayes"
    same = plan(schema, 2_000, epsilon=3.0)
    assert same == plan(schema, 2_000, epsilon=3.0)


def test_error_falls_with_epsilon() -> None:
    table, schema = mixed_table(5_000), mixed_schema()
    pairs = list(itertools.combinations(["age", "sex", "ward", "smoker", "severity"], 2))

    def error(epsilon: float) -> float:
        gaps = []
        for _ in range(3):
            model = fit(table, schema, epsilon=epsilon)
            for pair in pairs:
                gaps.append(0.5 * np.abs(model_joint(model, [*pair]) - exact_joint(table, schema, [*pair])).sum())
        return float(np.mean(gaps))

    low, middle, high = error(0.02), error(0.5), error(50.0)
    assert high < middle < low
    assert high < 0.05


def test_a_csv_goes_in_and_the_same_columns_come_out(tmp_path: Path) -> None:
    pa.csv.write_csv(mixed_table(200), tmp_path / "t.csv")
    model = fit(tmp_path / "t.csv", mixed_schema(), epsilon=2.0)
    synthetic = model.sample(30, seed=0)
    assert synthetic.column_names == mixed_table(1).column_names


def test_an_unknown_number_of_rows_is_refused() -> None:
    model = fit(binary_table(), binary_schema(), epsilon=1.0)
    for wrong in (-1, 2.5, True, "many"):
        with pytest.raises(pb.UnsupportedError, match="number of rows"):
            model.sample(wrong)  # type: ignore[arg-type]
    assert model.sample(0).num_rows == 0


@pytest.mark.parametrize("encoding", ["hierarchical", "gray"])
def test_where_conditions_exactly(encoding: str) -> None:
    model = fit(mixed_table(), mixed_schema(), epsilon=20.0, encoding=encoding)
    rows = model.sample(4_000, seed=1, where={"sex": "Female", "severity": ["low", "high"], "smoker": True})
    assert set(rows["sex"].to_pylist()) == {"Female"}
    assert set(rows["smoker"].to_pylist()) == {True}
    assert set(rows["severity"].to_pylist()) == {"low", "high"}
    joint = model_joint(model, ["sex", "smoker", "severity", "ward"])
    expected = joint[0, 1, [0, 2], :].sum(axis=0)
    expected /= expected.sum()
    seen = np.array(
        [(np.array(rows["ward"].to_pylist()) == w).mean() for w in ["A1", "A2", "B1", "B2", "ICU", "other"]]
    )
    assert 0.5 * np.abs(seen - expected).sum() < 0.04


def test_where_on_binned_columns_gives_just_those_values() -> None:
    model = fit(mixed_table(), mixed_schema(), epsilon=20.0)
    rows = model.sample(600, seed=1, where={"age": [41, 44, 90], "seen": "2021-03-04", "bmi": 25})
    assert set(rows["age"].to_pylist()) == {41, 44, 90}
    assert {str(day) for day in rows["seen"].to_pylist()} == {"2021-03-04"}
    assert set(rows["bmi"].to_pylist()) == {25.0}
    assert rows["age"].type == pa.int64()
    assert model.sample(50, seed=1, where={"bmi": None})["bmi"].null_count == 50
    assert model.sample(50, seed=1, where={"bmi": ""})["bmi"].null_count == 50


@pytest.mark.parametrize(
    "where",
    [
        {"nope": 1},
        {"pid": 3},
        {"sex": "Robot"},
        {"age": 7},
        {"age": "old"},
        {"sex": []},
        {"bmi": [None, 20]},
        {"sex": None},
    ],
)
def test_where_that_cannot_be_is_refused(where: dict[str, Any]) -> None:
    model = fit(mixed_table(200), mixed_schema(), epsilon=5.0)
    with pytest.raises(pb.SchemaError, match=f"{next(iter(where))}"):
        model.sample(5, where=where)
