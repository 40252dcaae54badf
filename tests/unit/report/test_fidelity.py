"""Comparing a synthetic table with its original, through the schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from privbayes.report.fidelity import compare
from privbayes.schema.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "id": {"type": "id"},
            "sex": {"type": "categorical", "values": ["f", "m"]},
            "age": {"type": "integer", "min": 0, "max": 99, "bins": 2, "nullable": True},
        }
    }
)


def _table(sex: list[str], age: list[int | None]) -> pa.Table:
    return pa.table({"id": list(range(len(sex))), "sex": sex, "age": pa.array(age, pa.int64())})


def test_equal_up_to_ids_and_places_inside_a_bin() -> None:
    found = compare(_table(["f", "m"], [1, None]), _table(["f", "m", "f", "m"], [49, None, 30, None]), SCHEMA)
    assert found.columns == (("sex", 0.0), ("age", 0.0))
    assert found.pairs == (("sex", "age", 0.0),)
    assert (found.column_mean, found.pair_mean) == (0.0, 0.0)


def test_a_lost_link_shows_in_the_pair_only() -> None:
    linked = _table(["f", "f", "m", "m"], [1, 1, 99, 99])
    mixed = _table(["f", "f", "m", "m"], [1, 99, 1, 99])
    found = compare(linked, mixed, SCHEMA)
    assert dict(found.columns) == {"sex": 0.0, "age": 0.0}
    assert found.pair_mean == pytest.approx(0.5)


def test_missing_is_a_value_like_any_other() -> None:
    found = compare(_table(["f", "f"], [1, None]), _table(["f", "f"], [1, 1]), SCHEMA)
    assert dict(found.columns) == {"sex": 0.0, "age": 0.5}


def test_one_column_has_no_pairs() -> None:
    schema = Schema.from_dict({"columns": {"sex": {"type": "boolean"}}})
    table = pa.table({"sex": [True, False]})
    assert compare(table, table, schema).pair_mean is None
