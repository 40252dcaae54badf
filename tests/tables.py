"""Small made-up tables that several tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from privbayes import Model, Schema
from privbayes.encoding.codec import Codec
from privbayes.table.source import read_table

MIXED: dict[str, Any] = {
    "columns": {
        "pid": {"type": "id"},
        "age": {"type": "integer", "min": 18, "max": 97, "bins": 8},
        "sex": {"type": "categorical", "values": ["Female", "Male"]},
        "ward": {
            "type": "categorical",
            "values": ["A1", "A2", "B1", "B2", "ICU"],
            "taxonomy": [["A1", "A2"], ["B1", "B2"], "ICU"],
            "other": True,
        },
        "bmi": {"type": "number", "min": 10, "max": 60, "bins": 6, "nullable": True},
        "seen": {"type": "date", "min": "2021-01-01", "max": "2022-12-31", "bins": 4},
        "smoker": {"type": "boolean", "nullable": True},
        "severity": {"type": "ordinal", "values": ["low", "medium", "high"]},
    }
}


def mixed_schema() -> Schema:
    """One column of almost every kind."""
    return Schema.from_dict(MIXED)


def mixed_table(rows: int = 2_000, seed: int = 0) -> pa.Table:
    """Rows in which severity follows age, ward follows severity and bmi is missing more often for smokers."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 98, rows)
    severity = np.clip((age - 18) // 27 + rng.integers(-1, 2, rows), 0, 2)
    ward = np.where(severity == 2, rng.integers(2, 6, rows), rng.integers(0, 4, rows))
    smoker = rng.random(rows) < 0.3
    bmi = rng.normal(26, 5, rows)
    return pa.table(
        {
            "pid": pa.array(rng.permutation(10**6)[:rows]),
            "age": pa.array(age),
            "sex": pa.array(np.array(["Female", "Male"])[rng.integers(0, 2, rows)]),
            "ward": pa.array(np.array(["A1", "A2", "B1", "B2", "ICU", "Attic"])[ward]),
            "bmi": pa.array(bmi, mask=rng.random(rows) < np.where(smoker, 0.5, 0.05)),
            "seen": pa.array(18_628 + rng.integers(0, 730, rows), pa.int32()).cast(pa.date32()),
            "smoker": pa.array(smoker, mask=rng.random(rows) < 0.05),
            "severity": pa.array(np.array(["low", "medium", "high"])[severity]),
        }
    )


def binary_schema(columns: int = 5) -> Schema:
    """Columns of zeros and ones."""
    return Schema.from_dict({"columns": {f"b{i}": {"type": "categorical", "values": [0, 1]} for i in range(columns)}})


def binary_table(rows: int = 500, columns: int = 5, seed: int = 0) -> pa.Table:
    """A noisy chain of bits."""
    rng = np.random.default_rng(seed)
    bits = [rng.integers(0, 2, rows)]
    for _ in range(columns - 1):
        bits.append(np.where(rng.random(rows) < 0.85, bits[-1], 1 - bits[-1]))
    return pa.table({f"b{i}": bit for i, bit in enumerate(bits)})


def exact_joint(table: pa.Table, schema: Schema, columns: list[str]) -> np.ndarray:
    """The shares of the columns' values, counted."""
    codec = Codec(schema, "vanilla")
    codes = codec.encode(read_table(table)).columns
    joint = np.zeros([schema.columns[c].cardinality for c in columns])
    np.add.at(joint, tuple(codes[codec.column_axes(c)[0]] for c in columns), 1 / table.num_rows)
    return joint


def model_joint(model: Model, columns: list[str]) -> np.ndarray:
    """The same as a model answers it."""
    sizes = [model.schema.columns[c].cardinality for c in columns]
    return np.array(model.marginal(columns, as_="arrow")["probability"]).reshape(sizes)
