"""Frames of pandas, polars, pyarrow and whatever narwhals knows, in and out. No library is imported but the user's."""

from __future__ import annotations

import sys
from typing import Any, cast

import pyarrow as pa

from privbayes.errors import TableError, UnsupportedError
from privbayes.table.source import Kind, PrivateTable, check_names

__all__ = ["from_frame", "to_frame"]

_ALLOWED = "give a path, or a frame of pandas, polars or pyarrow"
_CELL_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)
_SCALARS = (str, int, float)


def from_frame(frame: Any) -> PrivateTable:
    """Take a frame; its index, if any, is left behind."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _from_pandas(frame)
    if polars is not None and isinstance(frame, (polars.DataFrame, polars.LazyFrame)):
        return _from_polars(frame)
    return _checked(_arrow_table(frame), "arrow")


def _checked(table: pa.Table, kind: Kind) -> PrivateTable:
    check_names(table.column_names, "the table")
    return PrivateTable(table, kind)


def _arrow_table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all()
    import narwhals as nw

    native = nw.from_native(frame, pass_through=True)
    failed = False
    try:
        if isinstance(native, nw.LazyFrame):  # a DuckDB relation, an ibis table
            return native.collect(backend="pyarrow").to_arrow()
        if isinstance(native, nw.DataFrame):
            return native.to_arrow()
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
    except Exception:  # engines raise errors of their own, and their text may hold cells
        failed = True
    name = type(frame).__name__
    if failed:
        raise TableError(f"the {name} could not be turned into an Arrow table; {_ALLOWED}")
    raise TableError(f"a {name} cannot be read as a table; {_ALLOWED}")


def _from_polars(frame: Any) -> PrivateTable:
    if not hasattr(frame, "to_arrow"):
        frame = frame.collect()
    table, failed = None, False
    try:
        table = frame.to_arrow()
    except Exception:  # a column of Python objects panics inside polars
        failed = True
    if failed:
        raise TableError("the polars frame could not be turned into an Arrow table; columns must hold plain values")
    return _checked(table, "polars")


def _from_pandas(frame: Any) -> PrivateTable:
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise TableError("the pandas frame has more than one row of column names; flatten them")
    names = list(frame.columns)
    check_names(names, "the pandas frame")
    arrays, inferred, numpy_integers = [], [], []
    for place, name in enumerate(names):
        series = frame.iloc[:, place]
        kind = getattr(series.dtype, "kind", "O") if type(series.dtype).__module__.startswith("numpy") else ""
        if kind == "O":
            inferred.append(name)
        elif kind in ("i", "u"):
            numpy_integers.append(name)
        arrays.append(_pandas_column(name, series))
    table = pa.Table.from_arrays(arrays, names=names) if names else pa.table({})
    return PrivateTable(table, "pandas", inferred=inferred, numpy_integers=numpy_integers)


def _pandas_column(name: str, series: Any) -> pa.Array:
    try:
        return pa.array(series, from_pandas=True)
    except _CELL_ERRORS:
        pass
    # Cells of several kinds, such as text beside numbers: each counts by its text, as it would in a CSV file.
    cells = series.tolist()
    missing = series.isna().tolist()
    if all(gone or isinstance(cell, _SCALARS) for cell, gone in zip(cells, missing, strict=True)):
        texts = [None if gone else str(cell) for cell, gone in zip(cells, missing, strict=True)]
        return pa.array(texts, pa.large_string())
    raise TableError(f"column {name!r}: cells of kinds that do not fit together; make all text, numbers or dates")


def to_frame(table: pa.Table, kind: str) -> Any:
    """Give a table back as the kind of frame that came in; a file comes back as a pyarrow table.

    For pandas, whole numbers and booleans that may be missing become ``Int64`` and ``boolean``: their type follows
    from the schema and not from which rows happened to be drawn.
    """
    if kind in ("arrow", "file"):
        return table
    try:
        if kind == "pandas":
            return _to_pandas(table)
        if kind == "polars":
            import polars

            return cast(Any, polars.from_arrow(table))
    except ImportError:
        raise UnsupportedError(f"{kind} is not installed; install it or ask for 'arrow'") from None
    raise UnsupportedError(f"unknown kind of frame {kind!r}; it must be pandas, polars or arrow")


def _to_pandas(table: pa.Table) -> Any:
    import pandas

    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if field.nullable and (pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)):
            columns[field.name] = column.to_pandas(types_mapper=_nullable_types(pandas).get)
        else:
            columns[field.name] = column.to_pandas()
    return pandas.DataFrame(columns, index=pandas.RangeIndex(table.num_rows))


def _nullable_types(pandas: Any) -> dict[pa.DataType, Any]:
    return {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.uint8(): pandas.UInt8Dtype(),
        pa.uint16(): pandas.UInt16Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }
