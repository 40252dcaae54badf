"""The baseline: one table a column and nothing else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.methods import independent


@pytest.mark.parametrize(("neighbours", "sensitivity"), [("replace", 2), ("add-remove", 1)])
def test_every_column_is_bought_once_for_the_same_share(neighbours: str, sensitivity: int) -> None:
    model = pb.fit(mixed_table(), mixed_schema(), epsilon=1.4, method="independent", neighbours=neighbours)
    tables = [receipt for receipt in model.receipts if receipt.label.startswith("table")]
    columns = [name for name in mixed_schema().columns if name != "pid"]
    assert [receipt.label for receipt in tables] == [f"table {name}" for name in columns]
    share = 1.4 * (1 if neighbours == "replace" else 0.98)
    assert [receipt.scale for receipt in tables] == pytest.approx([sensitivity * 7 / share] * 7)
    assert not [receipt for receipt in model.receipts if receipt.label.startswith("choice")]


def test_under_zcdp_the_noise_is_gaussian() -> None:
    model = pb.fit(binary_table(), binary_schema(), epsilon=1.0, delta=1e-6, method="independent")
    rho = model.guarantee.rho
    assert rho is not None
    assert {m.noise for _, m in model._generator.tables} == {"discrete gaussian"}
    assert [m.scale for _, m in model._generator.tables] == pytest.approx([np.sqrt(5 / rho)] * 5)


def test_columns_are_exactly_independent() -> None:
    model = pb.fit(mixed_table(), mixed_schema(), epsilon=1.0, method="independent")
    for pair in itertools.combinations(["age", "ward", "smoker", "severity"], 2):
        single = [np.array(model.marginal([name])["probability"]) for name in pair]
        joint = np.array(model.marginal([*pair])["probability"])
        np.testing.assert_allclose(joint, np.outer(*single).ravel(), atol=1e-12)


@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
def test_the_plan_is_what_the_fit_buys(encoding: str) -> None:
    plan = pb.plan(mixed_schema(), 2_000, epsilon=1.0, method="independent", encoding=encoding)
    model = pb.fit(mixed_table(), mixed_schema(), epsilon=1.0, method="independent", encoding=encoding)
    assert plan.tables == len(model._generator.tables)
    assert [m.scale for _, m in model._generator.tables] == pytest.approx([plan.noise_scale] * plan.tables)
    assert plan.draws == 0
    assert plan.pairs["together_in_a_table"] == 0 or encoding in ("binary", "gray")


def test_too_many_cells_are_refused_before_anything_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independent, "MAX_CELLS", 9)
    for attempt in (
        lambda: pb.plan(binary_schema(), 500, epsilon=1.0, method="independent"),
        lambda: pb.fit(binary_table(), binary_schema(), epsilon=1.0, method="independent"),
    ):
        with pytest.raises(pb.UnsupportedError, match="10 cells, more than the 9"):
            attempt()
