"""Types coarser than a column's own: which of their values lie in each bin, so that what is drawn stays in its bin."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privbayes.schema.columns import DatetimeColumn, NumberColumn

__all__ = ["Grid", "decimal_grid", "decimals", "instant_grid", "upper_edges", "within_float32"]

Grid = tuple[NDArray[np.int64], NDArray[np.int64]]
"""First and last step of a coarse type in each bin."""

Floats = NDArray[np.float64]

_MICROSECONDS = {"s": 1_000_000, "ms": 1000}


def upper_edges(column: NumberColumn) -> Floats:
    """The largest value of each bin: an inner edge belongs to the bin above it."""
    upper = np.array(column.edges[1:])
    upper[:-1] = np.nextafter(upper[:-1], -np.inf)
    return upper


def instant_grid(column: DatetimeColumn, unit: str) -> Grid | None:
    """Whole seconds or milliseconds, as microseconds; None if a bin holds none."""
    step = _MICROSECONDS[unit]
    edges = np.array(column.edges, np.int64)
    first = -(-edges[:-1] // step) * step
    last = (edges[1:] - 1) // step * step
    return (first, last) if (first <= last).all() else None


def decimal_grid(column: NumberColumn, form: pa.DataType) -> Grid | None:
    """Multiples of the last decimal, as their numerators; None if a bin holds none or they do not fit the type."""
    with localcontext() as context:
        context.prec = 1100  # floats are exact in decimals of that many digits
        numerators = [
            int((Decimal(edge) * Decimal(10) ** form.scale).to_integral_value(ROUND_CEILING)) for edge in column.edges
        ]
    if any(abs(numerator) >= min(10**form.precision, 2**62) for numerator in numerators):
        return None
    edges, steps = np.array(column.edges), np.array(numerators, np.int64)
    # Cells are turned to floats to find their bin: 0.07 sits on an edge at 0.07, though exactly it lies below it.
    steps -= _as_floats(steps - 1, form) >= edges
    first, last = steps[:-1], steps[1:] - 1
    last[-1] += _as_floats(steps, form)[-1] == edges[-1]
    return (first, last) if (first <= last).all() else None


def _as_floats(numerators: NDArray[np.int64], form: pa.DataType) -> Floats:
    floats: Floats = decimals(numerators, form).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return floats


def decimals(numerators: NDArray[np.int64], form: pa.DataType, missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Decimals from their numerators, without a detour through floats."""
    words = np.empty((len(numerators), form.bit_width // 64), np.int64)
    words[:, 0] = numerators
    words[:, 1:] = (numerators >> 63)[:, None]  # the sign goes on in the higher words
    cells = pa.Array.from_buffers(form, len(numerators), [None, pa.py_buffer(np.ascontiguousarray(words))])
    return cells if missing is None else pc.if_else(pa.array(missing), pa.scalar(None, form), cells)


def within_float32(values: Floats, low: Floats, high: Floats) -> NDArray[np.float32]:
    """Rounded to single precision, but not over the edge of a bin (as long as the bin holds a value)."""
    single = values.astype(np.float32)
    single = np.where(single > high, np.nextafter(single, np.float32(-np.inf)), single)
    return np.where(single < low, np.nextafter(single, np.float32(np.inf)), single)
