"""What a user may rely on whatever the method: the same suite over all of them, those yet to come included."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables import binary_schema, binary_table, exact_joint, mixed_schema, mixed_table, model_joint

import privbayes as pb
from privbayes.api import METHODS
from privbayes.encoding.codec import Codec
from privbayes.privacy.noise import ScriptedNoise

EVERY = sorted(METHODS)
RELATIONS = ("replace", "add-remove")
BUDGETS = (None, 1e-6)  # pure epsilon, zCDP

# What a method cannot do, with the reason; whatever is not listed has to hold.
NO_PAIRS = {"independent"}  # columns are drawn independently
DRAWN = {"histogram"}  # the release is a sample of rows: even without noise it is as far from the table as a sample is


@pytest.fixture(params=EVERY)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def distance(first: np.ndarray, second: np.ndarray) -> float:
    return 0.5 * float(np.abs(first - second).sum())


def grid_table(repeats: int = 125) -> pa.Table:
    """Every combination of three bits equally often: the columns are exactly independent."""
    bits = np.array(list(itertools.product((0, 1), repeat=3)) * repeats)
    return pa.table({f"b{i}": bits[:, i] for i in range(3)})


def schema_of(**columns: dict[str, Any]) -> pb.Schema:
    return pb.Schema.from_dict({"columns": columns})


ORDINAL = {"type": "ordinal", "values": ["a", "b", "c"]}
CONSTANT = {"type": "categorical", "values": ["only"]}
BOOLEAN = {"type": "boolean"}


# ---- accuracy where nothing is in the way ----


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_huge_epsilon_recovers_independent_columns(method: str, neighbours: str, delta: float | None) -> None:
    table, schema = grid_table(), binary_schema(3)
    model = pb.fit(table, schema, epsilon=1e5, delta=delta, method=method, neighbours=neighbours)
    joint = model_joint(model, ["b0", "b1", "b2"])
    assert distance(joint, exact_joint(table, schema, ["b0", "b1", "b2"])) < (0.12 if method in DRAWN else 0.01)
    assert abs(model.n_rows - table.num_rows) <= 1


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_huge_epsilon_recovers_what_the_structure_can_represent(
    method: str, neighbours: str, delta: float | None
) -> None:
    """A chain of bits: its pairs, unless columns are independent by design; its columns always."""
    table, schema = binary_table(2_000, 4), binary_schema(4)
    model = pb.fit(table, schema, epsilon=1e5, delta=delta, method=method, neighbours=neighbours)
    sets = itertools.combinations(schema.columns, 1 if method in NO_PAIRS else 2)
    allowed = 0.06 if method in DRAWN else 0.02
    for columns in sets:
        assert distance(model_joint(model, [*columns]), exact_joint(table, schema, [*columns])) < allowed


def test_huge_epsilon_recovers_the_columns_of_a_mixed_table(method: str) -> None:
    table, schema = mixed_table(2_000), mixed_schema()
    model = pb.fit(table, schema, epsilon=1e5, method=method)
    for column in ("age", "sex", "ward", "bmi", "seen", "smoker", "severity"):
        assert distance(model_joint(model, [column]), exact_joint(table, schema, [column])) < 0.07


# ---- the budget ----


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_receipts_add_up_to_the_budget_and_never_above(method: str, neighbours: str, delta: float | None) -> None:
    model = pb.fit(mixed_table(300), mixed_schema(), epsilon=2.0, delta=delta, method=method, neighbours=neighbours)
    total = Fraction(2.0) if delta is None else Fraction(model.guarantee.rho)  # type: ignore[arg-type]
    spent = sum(receipt.cost for receipt in model.receipts)
    assert total * (1 - Fraction(1, 10**6)) < spent <= total
    assert model.is_private
    assert model.epsilon <= 2.0
    assert model.delta == (delta or 0.0)
    assert {receipt.neighbours for receipt in model.receipts} == {neighbours}
    assert all(receipt.private for receipt in model.receipts)
    assert any(receipt.label == "number of rows" for receipt in model.receipts) == (neighbours == "add-remove")
    assert model.describe()["spent"]["unit"] == ("epsilon" if delta is None else "rho")


def test_many_rows_a_person_are_paid_for(method: str) -> None:
    scales = []
    for rows in (1, 4):
        schema = pb.Schema.from_dict({**binary_schema().to_dict(), "rows_per_person": rows})
        model = pb.fit(binary_table(), schema, epsilon=1.0, method=method, neighbours="add-remove")
        scales.append(model.receipts[0].scale)
        assert model.guarantee.rows_per_person == rows
    assert "up to 4" in model.guarantee.sentence()
    assert scales[1] == pytest.approx(4 * scales[0])


# ---- randomness ----


def released(model: pb.Model) -> list[np.ndarray]:
    return [measurement.values for _, measurement in model._generator.tables]


def test_two_fits_differ_and_a_fit_cannot_be_seeded(method: str) -> None:
    table, schema = binary_table(), binary_schema()
    fits = []
    for _ in range(2):
        np.random.seed(0)  # must not matter
        fits.append(released(pb.fit(table, schema, epsilon=0.5, method=method)))
    assert len(fits[0]) != len(fits[1]) or any(not np.array_equal(a, b) for a, b in zip(*fits, strict=True))
    with pytest.raises(pb.UnsupportedError, match="no option 'seed'"):
        pb.fit(table, schema, epsilon=0.5, method=method, seed=1)
    with pytest.raises(TypeError):
        METHODS[method](epsilon=1.0).fit(table, schema, seed=1)  # type: ignore[call-arg]


def test_a_seed_gives_the_same_rows_from_the_model_and_from_its_file(method: str, tmp_path: Path) -> None:
    model = pb.fit(mixed_table(500), mixed_schema(), epsilon=1.0, method=method)
    model.save(tmp_path / "m.pbm")
    loaded = pb.load(tmp_path / "m.pbm")
    first = model.sample(300, seed=7)
    assert first.equals(model.sample(300, seed=7))
    assert first.equals(loaded.sample(300, seed=7))
    assert not first.equals(model.sample(300, seed=8))
    assert loaded.method == method
    assert loaded.receipts == model.receipts
    assert loaded.guarantee == model.guarantee
    assert loaded.describe() == model.describe()
    for columns in (["age"], ["severity", "age"], ["sex", "bmi", "smoker"]):
        assert loaded.marginal(columns).equals(model.marginal(columns))
    fixed = {"sex": first["sex"][0].as_py()}
    assert loaded.sample(300, seed=7, where=fixed).equals(model.sample(300, seed=7, where=fixed))


def test_scripted_noise_shows_everywhere(method: str, tmp_path: Path) -> None:
    model = pb.fit(binary_table(), binary_schema(), epsilon=1.0, method=method, noise=ScriptedNoise())
    assert not model.is_private
    assert model.epsilon == float("inf")
    model.save(tmp_path / "m.pbm")
    loaded = pb.load(tmp_path / "m.pbm")
    assert not loaded.is_private
    assert "NOT PRIVATE" in repr(loaded)
    assert "NOT PRIVATE" in loaded.describe()["guarantee"]["sentence"]


# ---- the model's answers ----


@pytest.fixture(scope="module", params=EVERY)
def mixed_model(request: pytest.FixtureRequest) -> pb.Model:
    chosen = str(request.param)
    return pb.fit(mixed_table(), mixed_schema(), epsilon=2_000.0 if chosen in DRAWN else 20.0, method=chosen)


def test_marginals_are_distributions_that_agree_with_each_other(mixed_model: pb.Model) -> None:
    columns = ["age", "ward", "severity"]
    joint = model_joint(mixed_model, columns)
    assert joint.min() >= 0
    assert joint.sum() == pytest.approx(1, abs=1e-9)
    turned = model_joint(mixed_model, columns[::-1])
    np.testing.assert_allclose(turned.transpose(2, 1, 0), joint, atol=1e-9)
    for i, column in enumerate(columns):
        single = model_joint(mixed_model, [column])
        assert single.sum() == pytest.approx(1, abs=1e-9)
        rest = tuple(axis for axis in range(3) if axis != i)
        assert distance(joint.sum(axis=rest), single) < 0.01


def test_samples_follow_the_marginals(mixed_model: pb.Model) -> None:
    synthetic = mixed_model.sample(20_000, seed=5)
    schema = mixed_model.schema
    for columns in itertools.combinations(["age", "sex", "ward", "smoker", "severity"], 2):
        assert distance(model_joint(mixed_model, [*columns]), exact_joint(synthetic, schema, [*columns])) < 0.03


def test_rows_come_back_as_they_went_in(mixed_model: pb.Model) -> None:
    table = mixed_table(10)
    synthetic = mixed_model.sample(seed=3)
    assert isinstance(synthetic, pa.Table)
    assert synthetic.schema.names == table.column_names
    assert synthetic.schema.types == table.schema.types
    assert synthetic.num_rows == mixed_model.n_rows == 2_000
    assert synthetic["pid"].to_pylist() == list(range(1, 2_001))
    assert set(synthetic["ward"].unique().to_pylist()) <= {"A1", "A2", "B1", "B2", "ICU", "other"}
    ages = synthetic["age"].to_numpy()
    assert 18 <= ages.min() <= ages.max() <= 97
    assert synthetic["sex"].null_count == 0
    assert synthetic["bmi"].null_count < 1_500
    assert mixed_model.sample(0).num_rows == 0


def test_where_conditions_exactly(mixed_model: pb.Model) -> None:
    rows = mixed_model.sample(4_000, seed=1, where={"sex": "Female", "severity": ["low", "high"]})
    assert rows.num_rows == 4_000
    assert set(rows["sex"].to_pylist()) == {"Female"}
    assert set(rows["severity"].to_pylist()) <= {"low", "high"}
    joint = model_joint(mixed_model, ["sex", "severity", "age"])[0, [0, 2], :].sum(axis=0)
    assert distance(joint / joint.sum(), exact_joint(rows, mixed_model.schema, ["age"])) < 0.05


@pytest.mark.parametrize("where", [{"nope": 1}, {"pid": 3}, {"sex": "Robot"}, {"age": 7}, {"sex": []}, {"sex": None}])
def test_where_that_cannot_be_is_refused(mixed_model: pb.Model, where: dict[str, Any]) -> None:
    with pytest.raises(pb.SchemaError, match=f"{next(iter(where))}"):
        mixed_model.sample(5, where=where)


def test_what_a_model_says_of_itself_is_plain(mixed_model: pb.Model) -> None:
    said = json.loads(json.dumps(mixed_model.describe()))
    assert said["method"] == mixed_model.method
    assert said["n_rows"] == 2_000
    assert said["kind"]
    assert said["tables"]
    assert len(said["receipts"]) == len(mixed_model.receipts)


# ---- the plan ----


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_plan_needs_no_rows_and_is_the_same_each_time(method: str, neighbours: str, delta: float | None) -> None:
    for schema in (mixed_schema(), binary_schema(), schema_of(x=ORDINAL), schema_of(k=CONSTANT, b=BOOLEAN)):
        options = {"epsilon": 3.0, "delta": delta, "method": method, "neighbours": neighbours}
        plan = pb.plan(schema, 2_000, **options)
        assert plan == pb.plan(schema, 2_000, **options)
        assert plan.method == method
        assert plan.neighbours == neighbours
        assert (plan.rho is None) == (delta is None)
        assert {column["name"] for column in plan.columns} == set(Codec(schema, plan.encoding).domain.names)
        assert json.loads(json.dumps(plan.to_dict()))["n_rows"] == 2_000
    for wrong in (0, -3, True, 2.5):
        with pytest.raises(pb.UnsupportedError, match="number of rows"):
            pb.plan(mixed_schema(), wrong, epsilon=1.0, method=method)  # type: ignore[arg-type]


# ---- what goes wrong ----


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epsilon": 0}, "epsilon must be a positive"),
        ({"epsilon": -1.0}, "epsilon must be a positive"),
        ({"epsilon": float("nan")}, "epsilon must be a positive"),
        ({"epsilon": float("inf")}, "epsilon must be a positive"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"epsilon": True}, "epsilon must be a number"),
        ({"epsilon": 1, "delta": 0}, "delta must lie"),
        ({"epsilon": 1, "delta": 1.5}, "delta must lie"),
        ({"epsilon": 1, "encoding": "morse"}, "encoding must be"),
        ({"epsilon": 1, "neighbours": "swap"}, "neighbours must be"),
        ({"epsilon": 1, "engine": "abacus"}, "abacus"),
        ({"epsilon": 1, "colour": 3}, "no option 'colour'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(method: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(pb.PrivBayesError, match=reason) as caught:
        pb.fit(binary_table(50), binary_schema(), method=method, **options)
    assert "\n" not in str(caught.value)


SECRET = "Sentinel-4711"
SMALL = {"x": ORDINAL, "n": {"type": "integer", "min": 0, "max": 9, "bins": 5}}


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ({"x": ["a", SECRET], "n": [1, 2]}, "x"),
        ({"x": ["a", None], "n": [1, 2]}, "x"),
        ({"x": ["a", "b"], "n": [1.0, float("nan")]}, "n"),
        ({"x": ["a", "b"], "n": [1, None]}, "n"),
        ({"x": ["a", "b"], "n": ["1", SECRET]}, "n"),
        ({"x": ["a", "b"]}, "n"),
        ({"x": ["a", "b"], "n": [1, 2], "extra": [3, 4]}, "extra"),
    ],
)
def test_a_table_that_breaks_its_schema_is_refused_by_column_and_rule_alone(
    method: str, table: dict[str, list[Any]], column: str
) -> None:
    with pytest.raises(pb.PrivBayesError, match=column) as caught:
        pb.fit(pa.table(table), schema_of(**SMALL), epsilon=1.0, method=method)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_beyond_their_bounds_are_clipped(method: str) -> None:
    table = pa.table({"x": ["a"] * 200, "n": [-5] * 100 + [400] * 100})
    model = pb.fit(table, schema_of(**SMALL), epsilon=1e4, method=method)
    np.testing.assert_allclose(model_joint(model, ["n"]), [0.5, 0, 0, 0, 0.5], atol=0.15)


# ---- the smallest tables ----


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables(method: str, rows: int, neighbours: str, delta: float | None) -> None:
    for table, schema in ((mixed_table(rows), mixed_schema()), (binary_table(rows), binary_schema())):
        model = pb.fit(table, schema, epsilon=1.0, delta=delta, method=method, neighbours=neighbours)
        assert model.sample(5, seed=0).num_rows == 5
        assert model_joint(model, [next(iter(schema.modelled))]).sum() == pytest.approx(1)


def test_a_table_without_rows_is_refused(method: str) -> None:
    with pytest.raises(pb.PrivBayesError, match="no rows"):
        pb.fit(mixed_table(0), mixed_schema(), epsilon=1.0, method=method)


def test_almost_no_budget_still_gives_a_table(method: str) -> None:
    for delta in BUDGETS:
        model = pb.fit(mixed_table(100), mixed_schema(), epsilon=1e-6, delta=delta, method=method)
        assert model.sample(20, seed=0).num_rows == 20


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_one_column(method: str, neighbours: str, delta: float | None) -> None:
    table = pa.table({"x": ["a"] * 90 + ["b"] * 10})
    model = pb.fit(table, schema_of(x=ORDINAL), epsilon=100.0, delta=delta, method=method, neighbours=neighbours)
    np.testing.assert_allclose(model_joint(model, ["x"]), [0.9, 0.1, 0], atol=0.2)
    assert model.sample(30, seed=0).num_rows == 30


@pytest.mark.parametrize("delta", BUDGETS)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_constant_columns(method: str, neighbours: str, delta: float | None) -> None:
    """Of one declared value, and of two of which one occurs; alone and beside others."""
    options = {"epsilon": 50.0, "delta": delta, "method": method, "neighbours": neighbours}
    only = pb.fit(pa.table({"k": ["only"] * 40}), schema_of(k=CONSTANT), **options)
    assert set(only.sample(10, seed=0)["k"].to_pylist()) == {"only"}
    table = pa.table({"k": ["only"] * 40, "b": [True] * 40, "c": [True, False] * 20, "l": ["only"] * 40})
    model = pb.fit(table, schema_of(k=CONSTANT, b=BOOLEAN, c=BOOLEAN, l=CONSTANT), **options)
    synthetic = model.sample(100, seed=0)
    assert set(synthetic["k"].to_pylist()) == set(synthetic["l"].to_pylist()) == {"only"}
    assert synthetic["b"].to_pylist().count(True) > 75
    assert model_joint(model, ["k", "c", "l"]).shape == (1, 2, 1)
    assert model.sample(5, seed=0, where={"c": True})["c"].to_pylist() == [True] * 5


def test_ids_are_numbered_afresh(method: str) -> None:
    schema = schema_of(pid={"type": "id", "prefix": "P"}, b=BOOLEAN)
    model = pb.fit(pa.table({"pid": ["x-77", "y-78"], "b": [True, False]}), schema, epsilon=1.0, method=method)
    assert model.sample(3, seed=0)["pid"].to_pylist() == ["P1", "P2", "P3"]
    with pytest.raises(pb.SchemaError, match="every column is an id"):
        schema_of(pid={"type": "id"})


# ---- the surroundings ----


def test_progress_is_told(method: str) -> None:
    seen: list[tuple[str, int, int]] = []
    pb.fit(mixed_table(300), mixed_schema(), epsilon=5.0, method=method, progress=lambda *step: seen.append(step))
    assert seen
    assert all(0 <= done <= total for _, done, total in seen)


def test_a_class_of_its_own_does_the_same(method: str) -> None:
    chosen = METHODS[method](epsilon=1.0)
    assert chosen.name == method
    model = chosen.fit(binary_table(200), binary_schema())
    assert model.method == method
    assert model.spec == chosen.spec()
    assert model.spec["epsilon"] == 1.0


def test_a_method_is_public_and_tells_its_knobs(method: str) -> None:
    chosen = METHODS[method]
    assert chosen.__name__ in pb.__all__
    assert getattr(pb, chosen.__name__) is chosen
    told = chosen.__doc__ or ""
    assert not [field.name for field in fields(chosen) if field.name not in told]  # type: ignore[arg-type]


def test_a_model_file_holds_no_value_that_is_not_in_the_schema(method: str, tmp_path: Path) -> None:
    table = mixed_table(200)
    ward = table["ward"].to_pylist()
    ward[17] = SECRET
    table = table.set_column(table.column_names.index("ward"), "ward", pa.array(ward))
    table = table.set_column(0, "pid", pa.array([f"patient-{i:06d}-zq" for i in range(200)]))
    pb.fit(table, mixed_schema(), epsilon=1.0, method=method).save(tmp_path / "m.pbm")
    data = (tmp_path / "m.pbm").read_bytes()
    for secret in (SECRET.encode(), b"patient-", b"Attic"):
        assert secret not in data


def test_errors_of_unknown_methods_list_those_there_are() -> None:
    with pytest.raises(pb.UnsupportedError, match=", ".join(METHODS)):
        pb.fit(binary_table(), binary_schema(), epsilon=1.0, method="magic")
