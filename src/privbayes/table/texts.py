"""Text cells as numbers, instants and booleans: whole arrays at once, and never an error that quotes one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = [
    "MISSING_TOKENS",
    "parse_booleans",
    "parse_instants",
    "parse_numbers",
    "parse_wholes",
    "whole_floats",
    "without_missing",
]

MISSING_TOKENS = ("", "NA", "NaN", "nan", "null", "None")
"""Texts that mean a missing cell where numbers, dates or booleans are expected."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"
_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_OFFSET = r" ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_TRUE = ("true", "1", "yes", "t", "y")
_FALSE = ("false", "0", "no", "f", "n")


def without_missing(texts: pa.Array) -> pa.Array:
    """Trimmed texts, null where one means a missing cell."""
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.is_in(trimmed, value_set=pa.array(MISSING_TOKENS, trimmed.type)), None, trimmed)


def _mask(flags: Any) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return mask


def _any(flags: Any) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())


def _cast_all(texts: pa.Array, form: pa.DataType) -> NDArray[Any] | None:
    """The quick way for a column without a blemish: all texts at once, or None if one of them is no such number."""
    try:
        values: NDArray[Any] = pc.fill_null(texts.cast(form), 0).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        return None
    return values


def parse_numbers(texts: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values, and which texts are numbers."""
    plain = _cast_all(texts, pa.float64())
    if plain is not None and np.isfinite(plain).all():  # Arrow reads "inf" and "nan" as numbers; here they are not
        return plain, _mask(texts.is_valid())
    fits = pc.match_substring_regex(texts, _NUMBER)
    values: NDArray[np.float64] = pc.if_else(fits, texts, "0").cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values, _mask(fits)


def parse_wholes(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Values, and which texts are whole numbers: 3, 3.0 and 3e0 are, 3.5 is not. Huge ones stop at +-2^62."""
    plain = _cast_all(texts, pa.int64())
    if plain is not None and not _any(pc.match_substring(texts, "x")) and not _any(pc.match_substring(texts, "X")):
        return plain, _mask(texts.is_valid())  # Arrow reads "0x1f" as a number; here it is not
    numbers, valid = parse_numbers(texts)
    values, whole = whole_floats(numbers)
    exact = pc.match_substring_regex(texts, _WHOLE)  # digits are read as integers: floats are exact to 2^53 only
    digits = pc.replace_substring_regex(pc.if_else(exact, texts, "0"), r"^\+", "").cast(pa.int64())
    values = np.where(_mask(exact), pc.fill_null(digits, 0).to_numpy(zero_copy_only=False), values)
    return values, valid & whole


def whole_floats(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Floats as integers that stop at +-2^62, and which of them are whole (infinities are: they lie out of bounds)."""
    limited = np.clip(numbers, -(2.0**62), 2.0**62)
    return limited.astype(np.int64), np.trunc(limited) == limited


def parse_instants(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds since 1970 and which texts are ISO dates or dates with times; an offset is turned to UTC."""
    shaped = pc.match_substring_regex(texts, _INSTANT + "(" + _OFFSET[:-1] + ")?$")
    texts = pc.replace_substring_regex(pc.if_else(shaped, texts, None), r"(\.[0-9]{6})[0-9]+", r"\1")
    timed = pc.match_substring_regex(texts, ":.*" + _OFFSET)
    values = np.zeros(len(texts), np.int64)
    valid = np.zeros(len(texts), np.bool_)
    cut = pc.replace_substring_regex(texts, " (Z|[+-])", r"\1")
    for flags, form in ((pc.invert(timed), pa.timestamp("us")), (timed, pa.timestamp("us", "UTC"))):
        mask = _mask(flags)
        if mask.any():
            values[mask], valid[mask] = _cast_instants(cut.filter(pa.array(mask)), form)
    return values, valid


def _cast_instants(texts: pa.Array, form: pa.DataType) -> tuple[NDArray[np.int64], bool]:
    """One impossible date, such as the 31st of February, makes the whole cast fail; the caller refuses the column."""
    try:
        return pc.cast(texts, form).cast(pa.int64()).to_numpy(zero_copy_only=False), True
    except pa.ArrowException:
        return np.zeros(len(texts), np.int64), False


def parse_booleans(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """0 or 1, and which texts are booleans."""
    lower = pc.utf8_lower(texts)
    true = _mask(pc.is_in(lower, value_set=pa.array(_TRUE, lower.type)))
    false = _mask(pc.is_in(lower, value_set=pa.array(_FALSE, lower.type)))
    return true.astype(np.int64), true | false
