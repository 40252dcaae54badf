"""For any schema and any codes: decoding and encoding give the codes back, through memory and through text."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.domain import Attribute
from privbayes.encoding.codec import Codec
from privbayes.encoding.values import column_codes
from privbayes.schema.columns import (
    BooleanColumn,
    CategoricalColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
)
from privbayes.schema.schema import Schema
from privbayes.schema.yamlfile import read_yaml
from privbayes.table.files import write_table
from privbayes.table.source import read_table

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
VALUES = st.one_of(
    st.lists(TEXTS.filter(lambda text: text != "other"), min_size=1, max_size=20, unique=True),
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=20, unique=True),
    st.lists(
        st.floats(-1e9, 1e9), min_size=1, max_size=20, unique_by=lambda x: str(int(x)) if x.is_integer() else str(x)
    ),
)
BINS = st.integers(1, 40)
FLAG = st.booleans()


@st.composite
def ranges(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[Any, Any]:
    low, high = sorted(draw(st.lists(values, min_size=2, max_size=2, unique=True)))
    return low, high


@st.composite
def trees(draw: st.DrawFn, values: list[Any]) -> Any:
    """Any nesting of the values, in any order."""
    nodes: list[Any] = list(draw(st.permutations(values)))
    for _ in range(draw(st.integers(0, 4))):
        if len(nodes) < 2:
            break
        start = draw(st.integers(0, len(nodes) - 1))
        stop = draw(st.integers(start + 1, len(nodes)))
        nodes[start:stop] = [nodes[start:stop]]
    return nodes


@st.composite
def columns(draw: st.DrawFn) -> Column:
    nullable = draw(FLAG)
    kind = draw(st.sampled_from(["boolean", "categorical", "ordinal", "integer", "number", "date", "datetime"]))
    if kind == "boolean":
        return BooleanColumn(nullable=nullable)
    if kind == "categorical":
        values = draw(VALUES)
        taxonomy = draw(st.none() | trees(values))
        return CategoricalColumn(values=tuple(values), taxonomy=taxonomy, nullable=nullable, other=draw(FLAG))
    if kind == "ordinal":
        return OrdinalColumn(values=tuple(draw(VALUES)), nullable=nullable, other=draw(FLAG))
    if kind == "integer":
        low, high = draw(ranges(st.integers(-(2**62), 2**62) | st.integers(-50, 50)))
        return IntegerColumn(min=low, max=high, bins=draw(BINS), nullable=nullable)
    if kind == "number":
        low, high = draw(ranges(st.floats(-1e6, 1e6).map(lambda x: round(x, 3) + 0.0)))
        return NumberColumn(min=low, max=high, bins=draw(BINS), nullable=nullable)
    if kind == "date":
        low, high = draw(ranges(st.dates()))
        return DateColumn(min=low, max=high, bins=draw(BINS), nullable=nullable)
    low, high = draw(ranges(st.datetimes(min_value=dt.datetime(1, 1, 1))))
    return DatetimeColumn(min=low, max=high, bins=draw(BINS), nullable=nullable)


SCHEMAS = st.dictionaries(TEXTS.filter(lambda name: name.isprintable()), columns(), min_size=1, max_size=4).map(Schema)
ENCODINGS = st.sampled_from(["hierarchical", "vanilla", "binary", "gray"])


def any_codes(schema: Schema, rng: np.random.Generator, n: int) -> list[np.ndarray]:
    return [rng.integers(0, schema.columns[name].cardinality, n) for name in schema.modelled]


@settings(max_examples=80, deadline=None)
@given(SCHEMAS, ENCODINGS, st.integers(0, 2**32))
def test_codes_survive_decoding_and_encoding(schema: Schema, encoding: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = Codec(schema, "vanilla")
    codes = any_codes(schema, rng, 40)
    made = read_table(plain.decode(codes, rng))
    assert [column.tolist() for column in plain.encode(made).columns] == [column.tolist() for column in codes]
    codec = Codec(schema, encoding)
    encoded = codec.encode(made)
    assert all(c.max() < a.cardinality for c, a in zip(encoded.columns, codec.domain.attributes, strict=True))
    again = codec.encode(read_table(codec.decode(encoded.columns, rng)))
    assert all((a == b).all() for a, b in zip(encoded.columns, again.columns, strict=True))


@settings(max_examples=40, deadline=None)
@given(SCHEMAS, st.integers(0, 2**32))
def test_codes_survive_a_text_file(tmp_path_factory: Any, schema: Schema, seed: int) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    rng = np.random.default_rng(seed)
    codec = Codec(schema, "vanilla")
    codes = any_codes(schema, rng, 30)
    write_table(codec.decode(codes, rng), path)
    found = codec.encode(read_table(path)).columns
    assert [column.tolist() for column in found] == [column.tolist() for column in codes]


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, st.integers(1, 9))
def test_schemas_survive_yaml(tmp_path_factory: Any, schema: Schema, rows: int) -> None:
    schema = Schema(schema.columns, rows)
    path: Path = tmp_path_factory.mktemp("yaml") / "s.yaml"
    schema.save(path)
    assert Schema.load(path) == schema
    assert read_yaml(path)["rows_per_person"] == rows


@settings(max_examples=150, deadline=None)
@given(columns())
def test_every_level_is_a_coarser_grouping(column: Column) -> None:
    attribute = Attribute(name="x", levels=column.levels())  # checks nesting and numbering itself
    assert attribute.cardinality == column.cardinality == len(column.labels()) == len(set(column.labels()))
    assert all(a > b for a, b in zip(attribute.level_sizes, attribute.level_sizes[1:], strict=False))
    for own in (column.other_code, column.missing_code):
        if own is not None:
            assert all(level.count(level[own]) == 1 for level in attribute.levels)


@settings(max_examples=150, deadline=None)
@given(ranges(st.integers(-(2**62), 2**62) | st.integers(-99, 99)), BINS, st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_fall_in_the_bin_that_holds_them(bounds: tuple[int, int], bins: int, values: list[int]) -> None:
    column = IntegerColumn(min=bounds[0], max=bounds[1], bins=bins)
    codes = column_codes(column, pa.array(values, pa.int64()))
    for value, code in zip(values, codes.tolist(), strict=True):
        clipped = min(max(value, column.min), column.max)
        assert column.edges[code] <= clipped < column.edges[code + 1]
