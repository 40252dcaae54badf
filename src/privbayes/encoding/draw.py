"""Codes to cells: values in the column's own kind, drawn uniformly inside a bin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privbayes.encoding.grids import decimal_grid, decimals, instant_grid, upper_edges, within_float32
from privbayes.encoding.types import listed_cells, natural_type
from privbayes.schema.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IdColumn,
    ListedColumn,
    NumberColumn,
    WholeColumn,
)

__all__ = ["column_cells", "id_cells", "unit_cells"]


def column_cells(
    column: Column, codes: NDArray[np.integer[Any]], rng: np.random.Generator, form: pa.DataType | None = None
) -> pa.Array:
    """The cells of a modelled column; `form` is the Arrow type to give them."""
    form = natural_type(column) if form is None else form
    missing = None if column.missing_code is None else codes == column.missing_code
    if isinstance(column, ListedColumn):
        return _listed(column, codes, missing, form)
    if isinstance(column, BooleanColumn):
        cells = pa.array(codes == 1, mask=missing)
        return cells.cast(form)
    assert isinstance(column, (NumberColumn, WholeColumn))
    # A missing cell draws like any other and is masked: what is drawn for one column never shifts the next.
    bins = codes if missing is None else np.where(missing, 0, codes)
    if isinstance(column, NumberColumn):
        return _numbers(column, bins, rng, missing, form)
    edges = np.array(column.edges, np.int64)
    first, last, step = edges[:-1], edges[1:] - 1, 1
    if isinstance(column, DatetimeColumn) and pa.types.is_timestamp(form) and form.unit in ("s", "ms"):
        grid = instant_grid(column, form.unit)
        if grid is not None:
            step = 1_000_000 if form.unit == "s" else 1000
            first, last = grid[0] // step, grid[1] // step
    units = first[bins] if (first == last).all() else rng.integers(first[bins], last[bins], endpoint=True)
    return unit_cells(column, pa.array(units * step, pa.int64(), mask=missing), form)


def _numbers(
    column: NumberColumn,
    bins: NDArray[Any],
    rng: np.random.Generator,
    missing: NDArray[np.bool_] | None,
    form: pa.DataType,
) -> pa.Array:
    grid = decimal_grid(column, form) if pa.types.is_decimal(form) else None
    if grid is not None:
        first, last = grid
        return decimals(rng.integers(first[bins], last[bins], endpoint=True), form, missing)
    edges, high = np.array(column.edges), upper_edges(column)
    low, width = edges[:-1], np.diff(edges)
    values = np.clip(low[bins] + width[bins] * rng.random(len(bins)), low[bins], high[bins])
    if pa.types.is_float32(form):
        return pa.array(within_float32(values, low[bins], high[bins]), mask=missing)
    return pa.array(values, mask=missing).cast(form, safe=not pa.types.is_decimal(form))


def unit_cells(column: Column, units: pa.Array, form: pa.DataType) -> pa.Array:
    """Numbers, integers, days or microseconds as the type wanted."""
    if isinstance(column, DateColumn):
        return units.cast(pa.int32()).cast(pa.date32()).cast(form)
    if isinstance(column, DatetimeColumn):
        zone = form.tz if pa.types.is_timestamp(form) else None
        return units.cast(pa.timestamp("us", zone)).cast(form, safe=False)
    if pa.types.is_decimal(form) and not isinstance(column, NumberColumn):
        return units.cast(pa.string()).cast(form)  # by text: a cast from integers wants room for all of int64
    return units.cast(form, safe=not isinstance(column, NumberColumn))


def _listed(
    column: ListedColumn, codes: NDArray[np.integer[Any]], missing: NDArray[np.bool_] | None, form: pa.DataType
) -> pa.Array:
    cells = listed_cells(column, form.value_type if pa.types.is_dictionary(form) else form)
    if pa.types.is_dictionary(form):
        index = pa.array(codes.astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(index, cells, ordered=form.ordered)
    if missing is not None:
        cells = pa.concat_arrays([cells, pa.nulls(1, cells.type)])
    return cells.take(pa.array(codes))


def id_cells(column: IdColumn, n_rows: int, first: int, form: pa.DataType | None = None) -> pa.Array:
    """Running numbers from `first`, behind the prefix if there is one: nothing of the original ids is kept."""
    numbers = pa.array(np.arange(first, first + n_rows, dtype=np.int64))
    form = natural_type(column) if form is None else form
    if column.prefix is None:
        return numbers.cast(form)
    texts = numbers.cast(pa.string())
    return pc.binary_join_element_wise(column.prefix, texts, "").cast(form)
