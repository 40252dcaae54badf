"""What a user wants of `best`: checked before anything is spent, and it shifts the error to where it matters less."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables import binary_schema, binary_table

import privbayes as pb
from privbayes.errors import UnsupportedError
from privbayes.privacy.noise import OpenDPNoise

SCHEMA = binary_schema(6)


class NoNoise(OpenDPNoise):
    """Fails as soon as anything is to be bought."""

    def add_noise(self, **_: Any) -> Any:
        raise AssertionError("something was bought")


def exclusive_or(rows: int = 20_000) -> pa.Table:
    """Any two columns are independent, but the last bit says whether the first two differ."""
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, (5, rows))
    return pa.table({**{f"b{i}": bits[i] for i in range(5)}, "b5": bits[0] ^ bits[1]})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workload": "quads"}, ["workload", "pairs, triples", "'quads'"]),
        ({"workload": []}, ["workload", "two or three"]),
        ({"workload": [["b0"]]}, ["workload", "two or three"]),
        ({"workload": [["b0", "b1", "b2", "b3"]]}, ["workload", "two or three"]),
        ({"workload": [["b0", 1]]}, ["workload", "two or three"]),
        ({"workload": ["b0", "b1"]}, ["workload", "two or three"]),
        ({"workload": [["b0", "b0"]]}, ["workload", "twice"]),
        ({"workload": [["b0", "b9"]]}, ["workload", "'b9'", "b5"]),
        ({"workload": 3}, ["workload"]),
        ({"target": "b9"}, ["target", "'b9'", "b5"]),
        ({"target": 3}, ["target", "3"]),
        ({"weights": {"b9": 1.0}}, ["weights", "'b9'"]),
        ({"weights": {"b0": 0.0}}, ["'b0'", "above 0"]),
        ({"weights": {"b0": float("nan")}}, ["'b0'", "above 0"]),
        ({"weights": {"b0": "much"}}, ["'b0'", "above 0"]),
        ({"weights": [("b0", 1.0)]}, ["weights"]),
    ],
)
def test_what_cannot_be_wanted_is_refused_before_anything_is_spent(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UnsupportedError) as refusal:
        pb.fit(binary_table(columns=6), SCHEMA, epsilon=1.0, delta=1e-9, noise=NoNoise(), **options)
    for word in words:
        assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)


def spent_on(model: pb.Model, column: str) -> float:
    """The part of what tables cost that went to tables with this column."""
    costs = {r.label: float(r.cost) for r in model.receipts if r.label.startswith("interaction ") and " x " in r.label}
    return sum(cost for label, cost in costs.items() if column in label) / sum(costs.values())


def test_a_column_of_more_weight_gets_more_of_the_budget() -> None:
    table = binary_table(rows=20_000, columns=6)
    plain = pb.fit(table, SCHEMA, epsilon=1.0, delta=1e-9)
    heavy = pb.fit(table, SCHEMA, epsilon=1.0, delta=1e-9, weights={"b0": 20.0})
    assert spent_on(heavy, "b0") > 1.5 * spent_on(plain, "b0")


def test_named_tables_are_met_better_than_the_rest() -> None:
    """At a budget that does not carry all pairs: the same errors, but for what was named."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 3, 3_000)
    columns = {f"c{i}": (hidden * (i % 3 + 1) + rng.integers(0, 3, 3_000)) % 8 for i in range(8)}
    table = pa.table(columns)
    values = {"type": "categorical", "values": list(range(8))}
    schema = pb.Schema.from_dict({"columns": dict.fromkeys(columns, values)})
    named = [["c0", "c1"], ["c2", "c3"]]

    def error(model: pb.Model) -> float:
        total = 0.0
        for a, b in named:
            exact = np.zeros((8, 8))
            np.add.at(exact, (columns[a], columns[b]), 1 / 3_000)
            seen = model.marginal([a, b], as_="arrow")
            total += 0.5 * np.abs(exact.ravel() - np.array(seen["probability"])).sum()
        return total

    plain = [error(pb.fit(table, schema, epsilon=0.5, delta=1e-9)) for _ in range(6)]
    aimed = [error(pb.fit(table, schema, epsilon=0.5, delta=1e-9, workload=named)) for _ in range(6)]
    assert np.mean(aimed) < np.mean(plain)


def told(model: pb.Model) -> float:
    """The chance, under the model, that the last bit says whether the first two differ."""
    found = model.marginal(["b0", "b1", "b5"], as_="arrow").to_pylist()
    return sum(row["probability"] for row in found if int(row["b5"]) == int(row["b0"]) ^ int(row["b1"]))


@pytest.mark.parametrize(
    "options",
    [{"workload": "triples"}, {"target": "b5"}, {"workload": [["b0", "b1", "b5"]]}],
    ids=["triples", "target", "named"],
)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_an_exclusive_or_is_seen_where_triples_are_wanted(
    options: dict[str, Any], neighbours: str, tmp_path: Path
) -> None:
    model = pb.fit(exclusive_or(), SCHEMA, epsilon=5.0, delta=1e-9, neighbours=neighbours, **options)
    assert told(model) > 0.95
    synthetic = model.sample(10_000, seed=1, as_="arrow")
    bits = {name: np.array(synthetic[name]).astype(int) for name in ("b0", "b1", "b5")}
    assert np.mean(bits["b0"] ^ bits["b1"] == bits["b5"]) > 0.95
    assert sum(r.cost for r in model.receipts) <= model.guarantee.rho
    model.save(tmp_path / "m.pbm")
    again = pb.load(tmp_path / "m.pbm")
    assert again.spec == model.spec
    assert again.sample(10_000, seed=1, as_="arrow").equals(synthetic)


def test_pairs_alone_cannot_see_an_exclusive_or() -> None:
    model = pb.fit(exclusive_or(), SCHEMA, epsilon=5.0, delta=1e-9)
    assert abs(told(model) - 0.5) < 0.1


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_smallest_tables_may_want_triples(columns: int) -> None:
    table = binary_table(rows=300, columns=columns)
    for options in ({"workload": "triples"}, {"target": "b0"}):
        model = pb.fit(table, binary_schema(columns), epsilon=1.0, delta=1e-9, **options)
        assert model.sample(10, seed=0, as_="arrow").num_rows == 10


def test_more_pairs_are_not_forgotten_when_triples_are_wanted() -> None:
    """The chain is told by its pairs, and stays."""
    table = binary_table(rows=20_000, columns=6)
    model = pb.fit(table, SCHEMA, epsilon=2.0, delta=1e-9, workload="triples")
    rows = {name: np.array(table[name]) for name in SCHEMA.columns}
    for a, b in combinations(SCHEMA.columns, 2):
        exact = np.bincount(2 * rows[a] + rows[b], minlength=4) / 20_000
        found = np.array(model.marginal([a, b], as_="arrow")["probability"])
        assert 0.5 * np.abs(exact - found).sum() < 0.03


def test_a_plan_knows_what_is_wanted() -> None:
    planned = pb.plan(SCHEMA, 5_000, epsilon=2.0, delta=1e-9, workload="triples")
    assert planned.tables >= 6
    with pytest.raises(UnsupportedError, match="target"):
        pb.plan(SCHEMA, 5_000, epsilon=2.0, delta=1e-9, target="nobody")
