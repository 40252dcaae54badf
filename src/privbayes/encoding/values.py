"""Cells to codes, column by column: each kind from each type it may be held as, no loop over rows."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privbayes.encoding.encoded import CodeArray
from privbayes.errors import SchemaError
from privbayes.schema.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    ListedColumn,
    NumberColumn,
)
from privbayes.table.source import is_text
from privbayes.table.texts import (
    parse_booleans,
    parse_instants,
    parse_numbers,
    parse_wholes,
    whole_floats,
    without_missing,
)

__all__ = ["code_dtype", "column_codes", "plain_values"]

Codes = NDArray[np.int64]

# Marks for cells that have no code; a column that holds one is refused unless the schema gives it a code.
_UNKNOWN, _WRONG, _MISSING = -1, -2, -3
_US_PER_DAY = 86_400_000_000
_EXPECTED = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "date": "a date written like 2020-01-31",
    "datetime": "a date and time written like 2020-01-31 08:30:00",
}


def code_dtype(cardinality: int) -> np.dtype[Any]:
    """The smallest of uint8, uint16 and uint32 that holds the codes."""
    return np.min_scalar_type(max(cardinality - 1, 0))


def column_codes(column: Column, cells: pa.ChunkedArray | pa.Array) -> CodeArray:
    """Codes of all cells, or a `SchemaError` that states the rule broken (the caller adds the column's name)."""
    chunked = cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])
    if is_text(chunked.type):
        chunked = _readable(chunked).dictionary_encode()
    elif isinstance(column, ListedColumn) and pa.types.is_primitive(chunked.type):
        chunked = chunked.dictionary_encode()
    dtype = code_dtype(column.cardinality)
    pieces = []
    # Chunks often have dictionaries of their own (a text file read in blocks): to parse each is cheaper than to unify.
    table: tuple[object, Codes] | None = None
    for chunk in chunked.chunks:
        if not pa.types.is_dictionary(chunk.type):
            pieces.append(_settled(column, _codes(column, chunk), dtype))
            continue
        values = chunk.dictionary
        identity = _identity(values)
        if table is None or table[0] != identity:
            table = identity, np.append(_codes(column, values), _MISSING)
        index = pc.fill_null(chunk.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
        pieces.append(_looked_up(column, table[1], index, dtype))
    codes = np.concatenate(pieces) if pieces else np.empty(0, dtype)
    return cast(CodeArray, np.ascontiguousarray(codes, dtype))


def _readable(chunked: pa.ChunkedArray) -> pa.ChunkedArray:
    return chunked.cast(pa.large_string()) if pa.types.is_string_view(chunked.type) else chunked


def _identity(values: pa.Array) -> object:
    return len(values), values.offset, tuple(buffer.address if buffer else 0 for buffer in values.buffers())


def _looked_up(column: Column, table: Codes, index: Codes, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Codes through a table of the distinct values; values that no row holds may be anything."""
    final = _with_own_codes(column, table)
    bad = final < 0
    if bad.any():
        _refuse(column, final[bad & (np.bincount(index, minlength=len(final)) > 0)])
        final = np.where(bad, 0, final)
    return final.astype(dtype)[index]


def _settled(column: Column, codes: Codes, dtype: np.dtype[Any]) -> NDArray[Any]:
    final = _with_own_codes(column, codes)
    if len(final) and final.min() < 0:
        _refuse(column, final[final < 0])
    return final.astype(dtype)


def _with_own_codes(column: Column, codes: Codes) -> Codes:
    """Unlisted and missing cells get the codes the schema declares for them."""
    if column.other_code is not None:
        codes = np.where(codes == _UNKNOWN, column.other_code, codes)
    if column.missing_code is not None:
        codes = np.where(codes == _MISSING, column.missing_code, codes)
    return codes


def _refuse(column: Column, marks: Codes) -> None:
    found = set(np.unique(marks).tolist())
    if _WRONG in found:
        expected = _EXPECTED.get(column.kind, "text or a number")
        raise SchemaError(f"a cell is of the wrong kind; type {column.kind} needs {expected}")
    if _UNKNOWN in found:
        raise SchemaError("a cell holds a value that the schema does not list; declare `other: true` or add it")
    if _MISSING in found:
        raise SchemaError("a cell is missing but the column is not nullable; declare `nullable: true` or fill it")


def _codes(column: Column, cells: pa.Array) -> Codes:
    """Codes and marks of plain (not dictionary-encoded) cells."""
    form = cells.type
    if pa.types.is_null(form):
        return np.full(len(cells), _MISSING, np.int64)
    if isinstance(column, ListedColumn):
        return _listed_codes(column, cells)
    if is_text(form):
        cells = without_missing(_readable(cells))
    values, valid = plain_values(column, cells)
    missing = cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    codes = values if isinstance(column, BooleanColumn) else _bin(column, values)
    return np.where(missing, _MISSING, np.where(valid, codes, _WRONG))


def _bin(column: Column, values: NDArray[Any]) -> Codes:
    """The bin of each value; those outside the bounds count as the nearest bound."""
    if isinstance(column, NumberColumn):
        inner = np.array(column.edges[1:-1], np.float64)
    else:
        inner = np.array(cast(IntegerColumn, column).edges[1:-1], np.int64)
    return np.searchsorted(inner, values, side="right").astype(np.int64)


def plain_values(column: Column, cells: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Cells as numbers, days, microseconds or 0 and 1, and which of them are of the right kind."""
    form = cells.type
    nothing = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.bool_)
    if is_text(form):
        return _text_values(column, cells)
    if isinstance(column, (DateColumn, DatetimeColumn)):
        if not (pa.types.is_date(form) or pa.types.is_timestamp(form)):
            return nothing
        instants = _instants(cells)
        return _days(instants) if isinstance(column, DateColumn) else (instants, np.ones(len(cells), np.bool_))
    if pa.types.is_boolean(form):
        if not isinstance(column, BooleanColumn):
            return nothing
        return _numpy(cells, False).astype(np.int64), np.ones(len(cells), np.bool_)
    if not (pa.types.is_integer(form) or pa.types.is_floating(form) or pa.types.is_decimal(form)):
        return nothing
    if isinstance(column, NumberColumn):
        return _numpy(cells.cast(pa.float64(), safe=False), 0.0), np.ones(len(cells), np.bool_)
    values, valid = _wholes(cells)
    return values, valid & ((values == 0) | (values == 1)) if isinstance(column, BooleanColumn) else valid


def _text_values(column: Column, texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if isinstance(column, IntegerColumn):
        return parse_wholes(texts)
    if isinstance(column, NumberColumn):
        return parse_numbers(texts)
    if isinstance(column, BooleanColumn):
        return parse_booleans(texts)
    instants, valid = parse_instants(texts)
    if isinstance(column, DatetimeColumn):
        return instants, valid
    days, whole = _days(instants)
    return days, valid & whole


def _wholes(cells: pa.Array) -> tuple[Codes, NDArray[np.bool_]]:
    if pa.types.is_integer(cells.type):
        if pa.types.is_uint64(cells.type):
            cells = pc.min_element_wise(cells, pa.scalar(2**62, pa.uint64()), skip_nulls=False)
        return _numpy(cells.cast(pa.int64()), 0), np.ones(len(cells), np.bool_)
    return whole_floats(_numpy(cells.cast(pa.float64(), safe=False), 0.0))


def _instants(cells: pa.Array) -> Codes:
    """Microseconds since 1970, in UTC where the cells carry a time zone."""
    zone = cells.type.tz if pa.types.is_timestamp(cells.type) else None
    return _numpy(cells.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()), 0)


def _days(instants: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """A date column takes midnights only: a time of day would be lost without a word."""
    return instants // _US_PER_DAY, instants % _US_PER_DAY == 0


def _numpy(cells: pa.Array, missing: object) -> NDArray[Any]:
    """As numpy, with a stand-in for nulls and for NaN."""
    values: NDArray[Any] = pc.fill_null(cells, missing).to_numpy(zero_copy_only=False)
    return np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf) if values.dtype.kind == "f" else values


def _listed_codes(column: ListedColumn, cells: pa.Array) -> Codes:
    """Codes of cells that must be among the listed values, by their text; numbers also match as numbers (1.0 and 1)."""
    form = cells.type
    missing = cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if is_text(form):
        texts = _readable(cells).cast(pa.large_string())
        codes = _position(column, texts)
        if all(not isinstance(value, str) for value in column.values):
            numbers, valid = parse_numbers(pc.utf8_trim_whitespace(texts))
            codes = _by_number(column, codes, numbers, valid)
        # A blank is a value only where the schema lists one.
        missing |= (codes < 0) & pc.fill_null(pc.equal(texts, ""), False).to_numpy(zero_copy_only=False)
    elif pa.types.is_boolean(form):
        texts = cells.cast(pa.large_string())
        codes = _position(column, texts)
        codes = np.where(codes < 0, _position(column, pc.utf8_capitalize(texts)), codes)
    elif pa.types.is_integer(form) or pa.types.is_floating(form) or pa.types.is_decimal(form):
        codes = _position(column, cells.cast(pa.large_string()))
        numbers = _numpy(cells.cast(pa.float64(), safe=False), 0.0)
        codes = _by_number(column, codes, numbers, np.isfinite(numbers))
    elif pa.types.is_temporal(form):
        codes = _position(column, cells.cast(pa.large_string()))
    else:
        codes = np.full(len(cells), _WRONG, np.int64)
    return np.where(missing, _MISSING, codes)


def _position(column: ListedColumn, texts: pa.Array) -> Codes:
    found = pc.index_in(texts, value_set=pa.array(column.value_labels, pa.large_string()))
    return cast(Codes, pc.fill_null(found.cast(pa.int64()), _UNKNOWN).to_numpy(zero_copy_only=False))


def _by_number(column: ListedColumn, codes: Codes, numbers: NDArray[np.float64], valid: NDArray[np.bool_]) -> Codes:
    """Fill in what no text matched but a number does; beyond 2^53 floats blur neighbours, so only text counts."""
    declared = pa.array(column.value_labels, pa.large_string())
    known, is_number = parse_numbers(declared)
    places = np.flatnonzero(is_number & (np.abs(known) < 2.0**53))
    # Of several values with one number, such as "1" and "01", the first stands for it.
    distinct, first = np.unique(known[places], return_index=True)
    if not len(distinct):
        return codes
    nearest = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
    hit = (codes == _UNKNOWN) & valid & (distinct[nearest] == numbers)
    return np.where(hit, places[first][nearest], codes)
