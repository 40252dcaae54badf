"""Which Arrow type a synthetic column is given: the input's own, unless that would tell something about its cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privbayes.encoding.grids import decimal_grid, instant_grid, upper_edges, within_float32
from privbayes.errors import TableError
from privbayes.schema.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IdColumn,
    IntegerColumn,
    ListedColumn,
    NumberColumn,
)
from privbayes.schema.schema import Schema
from privbayes.table.source import is_text

if TYPE_CHECKING:
    from privbayes.table.source import PrivateTable

__all__ = ["check_types", "listed_cells", "natural_type", "output_types", "parse_type", "type_name"]

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns), tz=([^\]]+)\]")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d+), (-?\d+)\)")
_DICTIONARY = re.compile(r"(ordered )?dictionary<(.+)>")


def output_types(schema: Schema, table: PrivateTable) -> dict[str, str]:
    """The name of the Arrow type to give back for each column of the schema.

    It follows from the schema and from the type the column was held as, and never from whether a cell is missing: a
    column of integers that pandas holds as floats because of a missing cell comes back as integers either way.
    """
    return {
        name: type_name(_output_type(column, table.declared_type(name, nullable=column.nullable)))
        for name, column in schema.columns.items()
    }


def check_types(schema: Schema, given: Mapping[str, str]) -> dict[str, str]:
    """The types of a model file, as they are; ValueError unless they are what `output_types` could have given."""
    types = {str(name): given[name] for name in given}
    for name, text in types.items():
        form = parse_type(text)
        if _output_type(schema.columns[name], form) != form:
            raise ValueError(f"column {name!r} cannot be given the type {text!r}")
    return types


def natural_type(column: Column) -> pa.DataType:
    """The type of a column's own kind, as for a text file."""
    if isinstance(column, BooleanColumn):
        return pa.bool_()
    if isinstance(column, NumberColumn):
        return pa.float64()
    if isinstance(column, DateColumn):
        return pa.date32()
    if isinstance(column, DatetimeColumn):
        return pa.timestamp("us")
    if isinstance(column, IdColumn):
        return pa.int64() if column.prefix is None else pa.string()
    if isinstance(column, ListedColumn):
        return _listed_type(column)
    return pa.int64()


def _listed_type(column: ListedColumn) -> pa.DataType:
    """Values keep their type; text if they are mixed, or if the text "other" may stand among them."""
    if column.other or any(isinstance(value, str) for value in column.values):
        return pa.string()
    if not any(isinstance(value, float) for value in column.values):
        return pa.int64() if all(-(2**63) <= int(value) < 2**63 for value in column.values) else pa.string()
    return pa.float64()


def listed_cells(column: ListedColumn, form: pa.DataType) -> pa.Array:
    """The cell of each code but missing (values, then "other"), as a given type; raises where one does not fit."""
    texts: list[str] = list(column.value_labels)
    if column.other:
        texts.append("other")
    cells = pa.array(texts, pa.string())
    if form == _listed_type(column) and not pa.types.is_string(form):
        return pa.array(column.values, form)
    if pa.types.is_integer(form):  # "1.0" is whole, but not to a cast from text
        cells = cells.cast(pa.float64()) if pa.types.is_floating(_listed_type(column)) else cells
    return cells.cast(form)


def _output_type(column: Column, held: pa.DataType | None) -> pa.DataType:
    natural = natural_type(column)
    if held is None or pa.types.is_null(held):
        return natural
    if pa.types.is_dictionary(held):
        inner = _output_type(column, held.value_type)
        return pa.dictionary(pa.int32(), inner, held.ordered) if isinstance(column, ListedColumn) else inner
    if isinstance(column, ListedColumn):
        return _listed_output(column, held, natural)
    if is_text(held):
        return held
    if isinstance(column, BooleanColumn):
        if pa.types.is_boolean(held) or pa.types.is_integer(held):
            return held
        return pa.int64()  # a float column of 0 and 1 would hold integers if none were missing
    if isinstance(column, NumberColumn):
        return held if _number_fits(column, held) else natural
    if isinstance(column, IdColumn):
        return natural
    return _whole_output(column, held, natural)


def _number_fits(column: NumberColumn, form: pa.DataType) -> bool:
    """Every bin holds a value of the type."""
    if pa.types.is_decimal(form) and form.bit_width >= 64:
        return decimal_grid(column, form) is not None
    if pa.types.is_float32(form):
        low, high = np.array(column.edges[:-1]), upper_edges(column)
        single = within_float32(low, low, high)
        return bool(((single >= low) & (single <= high)).all())
    return False


def _whole_output(column: Column, held: pa.DataType, natural: pa.DataType) -> pa.DataType:
    if isinstance(column, IntegerColumn):
        kept = pa.types.is_integer(held) or (pa.types.is_decimal(held) and held.scale >= 0)
        return held if kept and _fits((column.min, column.max), held) else natural
    if isinstance(column, DateColumn):
        kept = pa.types.is_timestamp(held) or pa.types.is_date(held)
        return held if kept and _fits((column.min, column.max), held) else natural
    if isinstance(column, DatetimeColumn):
        zone = held.tz if pa.types.is_timestamp(held) else None
        wanted = pa.timestamp(held.unit, zone) if pa.types.is_timestamp(held) else natural
        bounds = pa.array(column.span, pa.int64()).cast(pa.timestamp("us", zone))
        try:
            bounds.cast(wanted, safe=wanted.unit == "ns")
        except pa.ArrowException:  # nanoseconds reach from 1677 to 2262 only
            return pa.timestamp("us", zone)
        coarse = wanted.unit in ("s", "ms") and instant_grid(column, wanted.unit) is None
        return pa.timestamp("us", zone) if coarse else wanted
    return natural


def _listed_output(column: ListedColumn, held: pa.DataType, natural: pa.DataType) -> pa.DataType:
    form = held
    if pa.types.is_floating(held):  # whole values in a float column: floats only because a cell was missing
        form = pa.int64() if _listed_fits(column, pa.int64()) else held
    if pa.types.is_boolean(held):
        return natural
    return form if _listed_fits(column, form) else natural


def _listed_fits(column: ListedColumn, form: pa.DataType) -> bool:
    try:
        cells = listed_cells(column, form)
    except pa.ArrowException:
        return False
    return len(cells.unique()) == len(cells)


def _fits(bounds: tuple[Any, Any], form: pa.DataType) -> bool:
    try:
        cells = pa.array(bounds)
        (cells.cast(pa.string()) if pa.types.is_decimal(form) else cells).cast(form)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def type_name(form: pa.DataType) -> str:
    """The name of a type; `parse_type` reads it back."""
    if pa.types.is_dictionary(form):
        return f"{'ordered ' if form.ordered else ''}dictionary<{type_name(form.value_type)}>"
    return str(form)


def parse_type(name: str) -> pa.DataType:
    """The type of a name that `type_name` gave."""
    if match := _DICTIONARY.fullmatch(name):
        return pa.dictionary(pa.int32(), parse_type(match[2]), bool(match[1]))
    if match := _TIMESTAMP.fullmatch(name):
        return pa.timestamp(match[1], match[2])
    if match := _DECIMAL.fullmatch(name):
        make = {"32": pa.decimal32, "64": pa.decimal64, "128": pa.decimal128, "256": pa.decimal256}[match[1]]
        try:
            return make(int(match[2]), int(match[3]))
        except (ValueError, pa.ArrowException):
            raise TableError(f"unknown column type {name!r}") from None
    try:
        return pa.type_for_alias(name)
    except ValueError:
        raise TableError(f"unknown column type {name!r}") from None
