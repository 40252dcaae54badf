"""Traps that others fell into, one test each: what is noisy, what decides, and what is kept."""

from __future__ import annotations

import gc
import random
import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.core.contingency import Contingency
from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.request import MarginalRequests
from privbayes.encoding.encoded import EncodedTable
from privbayes.measure.marginals import measure_marginals
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import Mechanism, ScriptedNoise
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.score_book import score_pairs
from privbayes.table.source import PrivateTable

METHODS = ("privbayes", "privabn", "best", "histogram", "independent")


def backend(domain: Domain, *columns: list[int]) -> MemoryBackend:
    return MemoryBackend(domain, [np.array(codes, np.uint8) for codes in columns], threads=1)


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_cells_that_no_row_is_in_are_as_noisy_as_the_others(delta: float | None) -> None:
    counts = backend(Domain((Attribute.flat("x", 200),)), [0] * 300)
    ledger = Ledger(PrivacyBudget(epsilon=0.05, delta=delta), PrivacyUnit())
    (bought,) = measure_marginals(counts, ledger, [(0,)], ledger.total)
    empty = bought.measurement.values[1:]
    assert np.count_nonzero(empty) > 150
    assert (empty < 0).sum() > 50, "negative counts are released as they are"
    # In units of rows: noise fit for probabilities would be 300 times less.
    assert np.abs(empty).mean() == pytest.approx(bought.measurement.expected_absolute_noise, rel=0.4)


class Watched(ScriptedNoise):
    """Noise that is no noise, and remembers what it was given."""

    def __init__(self, pick: int | None = None) -> None:
        super().__init__()
        self.pick = pick
        self.tables: list[NDArray[np.int64]] = []
        self.offered: list[int] = []
        self.shares: list[Fraction] = []

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        self.shares.append(share)

        def invoke(values: NDArray[np.int64]) -> NDArray[np.int64]:
            self.tables.append(values.copy())
            return values * 0 + 1_000_000 + np.arange(len(values))

        return Mechanism(name="watched", scale=0.0, cost=share, private=False, invoke=invoke)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        self.shares.append(share)

        def invoke(scores: NDArray[np.int64]) -> int:
            assert scores.dtype == np.int64
            self.offered.append(len(scores))
            return int(np.argmax(scores)) if self.pick is None else self.pick % len(scores)

        return Mechanism(name="watched", scale=0.0, cost=share, private=False, invoke=invoke)


def test_the_mechanism_gets_the_whole_exact_table_and_its_answer_is_released_as_it_is() -> None:
    """Noise is not drawn around zero and added elsewhere, where floats would show the count."""
    counts = backend(Domain((Attribute.flat("x", 3),)), [0, 1, 1, 2, 2, 2])
    noise = Watched()
    ledger = Ledger(PrivacyBudget(epsilon=1.0), PrivacyUnit(), noise)
    (bought,) = measure_marginals(counts, ledger, [(0,)], ledger.total)
    assert noise.tables[0].tolist() == [1, 2, 3]
    assert bought.measurement.values.dtype == np.int64
    assert bought.measurement.values.tolist() == [1_000_000, 1_000_001, 1_000_002]


def test_binary_is_what_the_schema_declares_not_what_the_rows_show() -> None:
    """Two of three declared values occur: the bound, the score and its scale are those of three values."""
    codes = [0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 0]
    three = Domain((Attribute.flat("x", 3), Attribute.flat("y", 3)))
    two = Domain((Attribute.flat("x", 2), Attribute.flat("y", 2)))
    assert not three.is_binary
    assert two.is_binary
    requests = MarginalRequests.of([(0, 1)])
    loose, tight = (int(score_pairs(backend(d, *codes), requests, "R", "replace")[0]) for d in (three, two))
    assert loose > 0
    assert loose * 3 == tight * 2, "in units of one bound: 6(n - 1) for three values, 4(n - 1) for two"
    fitted = pb.fit(
        pa.table({name: ["a", "b"] * 50 for name in "xyz"}),
        pb.Schema.from_dict({"columns": {n: {"type": "categorical", "values": ["a", "b", "c"]} for n in "xyz"}}),
        epsilon=5.0,
        method="privbayes",
    )
    assert "2n²R" in next(receipt.sensitivity for receipt in fitted.receipts if receipt.label.startswith("choice"))


@pytest.mark.parametrize("method", ["privbayes", "privabn"])
@pytest.mark.parametrize("pick", [0, 5])
@pytest.mark.parametrize("kind", ["binary", "mixed"])
def test_with_the_same_released_choices_nothing_else_follows_the_rows(method: str, pick: int, kind: str) -> None:
    """No threshold on an exact score: two tables that are nothing alike lead to the same offers, shares, tables, sizes
    and progress once the released choices and noisy tables are the same.
    """
    seen = []
    for like in (True, False):
        if kind == "binary":
            schema, table = binary_schema(), binary_table(400)
            other = pa.table({name: [0] * 400 for name in schema.columns})
        else:
            schema, table = mixed_schema(), mixed_table(400)
            other = pa.Table.from_pylist(table.slice(3, 1).to_pylist() * 400, schema=table.schema)
        noise, told = Watched(pick), []
        model = pb.fit(
            table if like else other,
            schema,
            epsilon=40.0,
            method=method,
            noise=noise,
            first=schema.modelled[0],
            progress=lambda *event, told=told: told.append(event),
        )
        assert len(noise.offered) > 1
        receipts = [receipt.to_dict() for receipt in model.receipts]
        tables = [(axes, m.values.tolist()) for axes, m in model._generator.tables]
        seen.append((noise.offered, noise.shares, receipts, tables, model._generator.structure(), told))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("method", METHODS)
def test_no_seed_reaches_the_release(method: str) -> None:
    table, schema = mixed_table(300), mixed_schema()
    released = []
    for _ in range(2):
        np.random.seed(0)
        random.seed(0)
        model = pb.fit(table, schema, epsilon=2.0, method=method)
        released.append([m.values.tolist() for _, m in model._generator.tables])
    assert released[0] != released[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_model_holds_on_to_nothing_exact(method: str) -> None:
    """Neither the rows nor exact counts can be reached from a model, and no array in it is as long as the table."""
    rows = 4_099  # a prime that no table has as its number of cells
    model = pb.fit(mixed_table(rows), mixed_schema(), epsilon=1.0, method=method)
    model.sample(10)
    found = reachable(model)
    assert len(found) > 50
    for thing in found:
        assert not isinstance(thing, (PrivateTable, EncodedTable, Contingency, MemoryBackend))
        if isinstance(thing, np.ndarray):
            assert rows not in thing.shape
        if isinstance(thing, (pa.Table, pa.ChunkedArray, pa.Array)):
            assert len(thing) != rows


def reachable(start: object) -> list[object]:
    """Everything that an object refers to, modules and classes aside."""
    seen, found, left = {id(start)}, [start], [start]
    while left:
        for thing in gc.get_referents(left.pop()):
            apart = isinstance(thing, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType))
            if id(thing) not in seen and not apart:
                seen.add(id(thing))
                found.append(thing)
                left.append(thing)
    return found


@pytest.mark.parametrize("frame", [pa.Table.to_pandas, lambda table: table])
def test_missing_cells_are_a_value_of_their_own_and_never_somebody_elses(
    frame: Callable[[pa.Table], Any],
) -> None:
    """Others filled every missing cell with the cell of one row."""
    kept = 33.333_333
    table = frame(pa.table({"x": pa.array([kept, *[None] * 499], pa.float64()), "y": pa.array([True] * 500)}))
    schema = pb.Schema.from_dict(
        {"columns": {"x": {"type": "number", "min": 0, "max": 100, "nullable": True}, "y": {"type": "boolean"}}}
    )
    for method in METHODS:
        if method == "histogram":
            continue  # its few rows are smoothed, and their shares with them
        model = pb.fit(table, schema, epsilon=1000.0, method=method)
        cells = model.sample(5_000, seed=1, as_="arrow")["x"]
        assert cells.null_count > 4_900
        present = cells.drop_null().to_numpy()
        assert kept not in present
        assert len(np.unique(present)) == len(present)


@pytest.mark.parametrize("method", ["privbayes", "privabn", "independent", "histogram"])
def test_under_add_remove_what_is_bought_follows_the_noisy_number_of_rows(method: str) -> None:
    """Ninety rows more or less, the same noisy total: the same receipts, sizes and default number of rows."""
    seen = []
    for rows in (310, 400):
        first = iter([[1000 - rows]])
        noise = ScriptedNoise(
            offsets=lambda size, first=first: next(first, [0] * size),
            choices=[0] * 100 if method != "histogram" else None,
        )
        options = {"first": "age"} if method in ("privbayes", "privabn") else {}
        options |= {"method": method, "neighbours": "add-remove"}
        model = pb.fit(mixed_table(rows), mixed_schema(), epsilon=20.0, noise=noise, **options)
        sizes = [(axes, m.values.size, m.scale) for axes, m in model._generator.tables]
        seen.append((model.n_rows, [receipt.to_dict() for receipt in model.receipts], sizes))
    assert seen[0] == seen[1]
    assert seen[0][0] == 1000
