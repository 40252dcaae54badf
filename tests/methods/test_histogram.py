"""The smoothed histogram: how many rows, how much of them is noise, and that it says so."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.privacy.noise import ScriptedNoise


def delta_of(epsilon: float, k: int, n: int, m: int) -> float:
    """The paper's equation, solved for delta."""
    return m / (n * exp(epsilon / k) + m - n)


def smoothing(model: pb.Model) -> float:
    return float(model.describe()["smoothing_delta"])


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 1), (1.0, 10), (20.0, 50), (0.1, 5)])
def test_delta_solves_the_equation_of_the_paper(epsilon: float, k: int) -> None:
    model = pb.fit(binary_table(), binary_schema(), epsilon=epsilon, method="histogram", rows=k)
    assert smoothing(model) == pytest.approx(delta_of(epsilon, k, 500, 32), rel=1e-12)
    assert smoothing(model) >= delta_of(epsilon, k, 500, 32) * (1 - 1e-12)
    loss = k * log((1 - smoothing(model)) * 32 / (500 * smoothing(model)) + 1)
    assert loss == pytest.approx(epsilon)
    assert model.describe()["rows"] == k


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.6])
def test_by_default_as_many_rows_as_the_smoothing_allows(share: float, delta: float | None) -> None:
    options = {"epsilon": 30.0, "delta": delta, "method": "histogram"}
    plan = pb.plan(binary_schema(), 500, smoothing=share, **options)
    k = plan.details["rows_released"]
    assert plan.details["smoothing_delta"] <= share
    if k < 500:
        more = pb.plan(binary_schema(), 500, rows=k + 1, **options)
        assert more.details["smoothing_delta"] > share
    model = pb.fit(binary_table(), binary_schema(), smoothing=share, **options)
    assert model.describe()["rows"] == k
    assert smoothing(model) == pytest.approx(plan.details["smoothing_delta"])


def test_never_more_rows_than_the_table_has_and_never_less_than_one() -> None:
    rich = pb.fit(binary_table(40), binary_schema(), epsilon=1e6, method="histogram")
    assert rich.describe()["rows"] == 40
    poor = pb.fit(mixed_table(), mixed_schema(), epsilon=0.01, method="histogram")
    assert poor.describe()["rows"] == 1
    assert smoothing(poor) > 0.99


def test_it_says_plainly_when_the_output_is_noise() -> None:
    plan = pb.plan(mixed_schema(), 2_000, epsilon=0.01, method="histogram")
    assert plan.noise == "smoothing"
    assert plan.noise_scale == plan.details["smoothing_delta"] > 0.99
    assert any("the rows are noise" in note for note in plan.notes)
    poor = pb.fit(mixed_table(), mixed_schema(), epsilon=0.01, method="histogram")
    assert "noise, near enough" in poor.describe()["says"]
    fine = pb.fit(binary_table(), binary_schema(), epsilon=30.0, method="histogram")
    assert "noise, near enough" not in fine.describe()["says"]
    assert not any("the rows are noise" in note for note in pb.plan(
        binary_schema(), 500, epsilon=30.0, method="histogram").notes)  # fmt: skip
    many = pb.plan(binary_schema(), 500, epsilon=1.0, method="histogram", smoothing=0.01)
    assert any("not even one row" in note for note in many.notes)


def test_the_domain_is_never_laid_out() -> None:
    """10^120 cells."""
    columns: dict[str, Any] = {f"x{i}": {"type": "integer", "min": 0, "max": 9, "bins": 10} for i in range(120)}
    schema = pb.Schema.from_dict({"columns": columns})
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.integers(0, 10, 300) for name in columns})
    plan = pb.plan(schema, 300, epsilon=1.0, method="histogram")
    assert plan.details["cells"] == "about 1.0e120"
    model = pb.fit(table, schema, epsilon=1.0, method="histogram", rows=20)
    assert smoothing(model) > 0.999
    assert model.sample(40, seed=0).shape == (40, 120)
    generous = pb.fit(table, schema, epsilon=4e4, method="histogram", rows=100)
    assert smoothing(generous) < 1e-6
    known = set(zip(*(table[name].to_pylist() for name in columns), strict=True))
    rows = generous.sample(100, seed=0)
    assert set(zip(*(rows[name].to_pylist() for name in columns), strict=True)) <= known


def test_what_is_released_is_rows_and_no_counts() -> None:
    model = pb.fit(mixed_table(), mixed_schema(), epsilon=5.0, method="histogram", rows=30)
    ((axes, released),) = model._generator.tables
    assert released.values.size == 30 * len(axes) == 30 * 7
    (receipt,) = model.receipts
    assert receipt.mechanism == "smoothed rows"
    assert receipt.label == "30 smoothed rows"


def test_sampling_deals_the_rows_out_evenly() -> None:
    model = pb.fit(binary_table(), binary_schema(), epsilon=50.0, method="histogram", rows=40)
    released = Counter(tuple(int(code) for code in row) for row in model._generator.rows)

    def dealt(n: int) -> Counter[tuple[int, ...]]:
        rows = model.sample(n, seed=2)
        return Counter(zip(*(rows[f"b{i}"].to_pylist() for i in range(5)), strict=True))

    assert dealt(40) == released
    assert dealt(120) == Counter({row: 3 * count for row, count in released.items()})
    some = dealt(50)
    assert all(released[row] <= count <= 2 * released[row] for row, count in some.items())


def test_a_condition_that_no_row_meets_is_refused() -> None:
    model = pb.fit(
        pa.table({"b0": [0] * 30, "b1": [0, 1] * 15}), binary_schema(2), epsilon=1.0, method="histogram", rows=10,
        noise=ScriptedNoise(),
    )  # fmt: skip
    with pytest.raises(pb.PrivBayesError, match="no probability"):
        model.sample(3, seed=0, where={"b0": 1})
    assert set(model.sample(6, seed=0, where={"b1": 1})["b1"].to_pylist()) == {1}


def test_under_add_remove_the_smoothing_follows_the_bought_number_of_rows() -> None:
    """One row more and the same noisy total: the same k and delta."""
    seen = []
    for rows in (200, 201):
        shift = iter([[1_000 - rows]])
        noise = ScriptedNoise(offsets=lambda size, shift=shift: next(shift, [0] * size))
        model = pb.fit(
            binary_table(rows), binary_schema(), epsilon=30.0, method="histogram", neighbours="add-remove", noise=noise
        )
        seen.append((model.n_rows, model.describe()["rows"], [receipt.cost for receipt in model.receipts]))
    assert seen[0] == seen[1]
    planned = pb.plan(binary_schema(), 1_000, epsilon=30.0, method="histogram", neighbours="add-remove")
    assert planned.details["rows_released"] == seen[0][1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rows": 0}, "rows must be a whole number"),
        ({"rows": 2.5}, "rows must be a whole number"),
        ({"rows": True}, "rows must be a whole number"),
        ({"smoothing": 0}, "smoothing must lie"),
        ({"smoothing": 1}, "smoothing must lie"),
        ({"rows": 2**40}, "do not fit in memory"),
    ],
)
def test_wrong_knobs_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(pb.PrivBayesError, match=reason):
        pb.fit(binary_table(), binary_schema(), epsilon=1.0, method="histogram", **options)


def test_error_falls_as_epsilon_grows() -> None:
    table = binary_table(5_000)
    exact = np.bincount(sum(table[f"b{i}"].to_numpy() << i for i in range(5)), minlength=32) / 5_000

    def error(epsilon: float) -> float:
        gaps = []
        for _ in range(5):
            joint = np.array(
                pb.fit(table, binary_schema(), epsilon=epsilon, method="histogram").marginal(
                    [f"b{i}" for i in reversed(range(5))]
                )["probability"]
            )
            gaps.append(0.5 * float(np.abs(joint - exact).sum()))
        return float(np.mean(gaps))

    assert error(1e5) < error(50.0) < error(0.05)
