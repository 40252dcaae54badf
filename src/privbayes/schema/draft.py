"""Proposes a schema from the rows of a table: not private, and says so on every use."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

from privbayes.errors import SchemaError
from privbayes.schema.binned import DEFAULT_BINS
from privbayes.schema.columns import (
    BooleanColumn,
    CategoricalColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IdColumn,
    IntegerColumn,
    NumberColumn,
    Value,
)
from privbayes.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MAX_DRAFT_VALUES", "DraftWarning", "draft_schema"]

MAX_DRAFT_VALUES = 1000
"""A column of more distinct texts is not drafted as categorical."""

_FEWEST_ROWS_FOR_IDS = 20
_ID_NAME = re.compile(r"(^|[^A-Za-z])(id|ID|Id)$|[a-z](Id|ID)$")
_LEADING_ZERO = r"^[+-]?0[0-9]"
_EPOCH = datetime(1970, 1, 1)
_WARNING = (
    "drafting read the rows; review before use: the bounds, values and blanks in this draft come from the private "
    "table, so it is not private until each line is replaced by or checked against what is public"
)
_COMMENT = """DRAFT, NOT PRIVATE: proposed by reading the rows of a private table.
Review before use: replace every bound, value and `nullable` by what is known without looking at the rows."""


class DraftWarning(UserWarning):
    """A schema was drafted from the rows of a private table."""


def draft_schema(source: Any) -> Schema:
    """Propose a schema for a path or a frame. It is a start to be reviewed, and it is not private."""
    from privbayes.table.source import read_table

    warnings.warn(_WARNING, DraftWarning, stacklevel=2)
    table = read_table(source)
    columns: dict[str, Column] = {}
    rows_per_person = 1
    for name in table.columns:
        problem = ""
        try:
            seen = _look(table.column(name))
            columns[name] = _draft(name, seen, table.n_rows)
        except SchemaError as error:
            problem = str(error)
        if problem:
            raise SchemaError(f"column {name!r}: {problem}")
        if not columns[name].modelled and _ID_NAME.search(name):
            rows_per_person = max(rows_per_person, seen.most)
    return Schema(columns, rows_per_person, comment=_COMMENT)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What drafting needs of one column: its distinct cells, how often the commonest occurs, and if any is missing."""

    cells: pa.Array
    most: int
    missing: bool
    is_text: bool


def _look(cells: pa.ChunkedArray) -> _Seen:
    import pyarrow as pa
    import pyarrow.compute as pc

    from privbayes.table.source import is_text

    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    text = is_text(cells.type)
    if text:
        cells = cells.cast(pa.large_string())
    nested = pa.types.is_nested(cells.type) or pa.types.is_binary(cells.type) or pa.types.is_large_binary(cells.type)
    if nested:
        raise SchemaError("lists, structures and bytes cannot be drafted; turn them into text or drop the column")
    counted = pc.value_counts(cells)
    values, counts = counted.field("values"), counted.field("counts")
    gone = pc.is_null(values, nan_is_null=True)
    if text:
        gone = pc.or_(gone, pc.fill_null(pc.equal(values, ""), False))
    kept = pc.invert(gone)
    most = pc.max(counts.filter(kept)).as_py() or 0
    return _Seen(cells=values.filter(kept), most=most, missing=bool(pc.any(gone, min_count=0).as_py()), is_text=text)


def _draft(name: str, seen: _Seen, n_rows: int) -> Column:
    import pyarrow as pa

    form = seen.cells.type
    distinct = len(seen.cells)
    if distinct == 0:
        raise SchemaError("every cell is missing, so nothing can be drafted; drop the column from the table")
    countable = seen.is_text or pa.types.is_integer(form)
    if countable and _ID_NAME.search(name) and distinct > min(n_rows // 10, MAX_DRAFT_VALUES):
        return IdColumn()
    if seen.is_text:
        return _draft_text(seen, n_rows)
    if pa.types.is_boolean(form):
        return BooleanColumn(nullable=seen.missing)
    if pa.types.is_date(form) or pa.types.is_timestamp(form):
        zone = form.tz if pa.types.is_timestamp(form) else None
        instants = seen.cells.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return _draft_instants(instants, seen.missing)
    if pa.types.is_integer(form) or pa.types.is_floating(form) or pa.types.is_decimal(form):
        return _draft_numbers(seen.cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), seen.missing)
    raise SchemaError(f"cells of type {form} cannot be drafted; turn them into text, numbers or dates")


def _draft_text(seen: _Seen, n_rows: int) -> Column:
    """The narrowest kind that all texts fit; in numbers, dates and booleans, texts such as NA mean missing."""
    import pyarrow.compute as pc

    from privbayes.table.texts import parse_instants, parse_numbers, without_missing

    tokens = without_missing(seen.cells)
    present = tokens.drop_null()
    missing = seen.missing or tokens.null_count > 0
    if len(present):
        lower = set(pc.unique(pc.utf8_lower(present)).to_pylist()) if len(present) <= 12 else {""}
        if lower <= {"true", "false"}:
            return BooleanColumn(nullable=missing)
        numbers, valid = parse_numbers(present)
        padded = pc.any(pc.match_substring_regex(present, _LEADING_ZERO), min_count=0).as_py()  # as in postcodes
        if valid.all() and not padded:
            return _draft_numbers(numbers, missing)
        instants, valid = parse_instants(present)
        if valid.all():
            return _draft_instants(instants, missing)
    if len(seen.cells) >= _FEWEST_ROWS_FOR_IDS and seen.most == 1 and len(seen.cells) == n_rows:
        return IdColumn()
    if len(seen.cells) > MAX_DRAFT_VALUES:
        raise SchemaError(
            f"more than {MAX_DRAFT_VALUES} distinct texts, too many to draft as categorical; "
            "group them, declare the column by hand (categorical or id), or drop it"
        )
    return CategoricalColumn(values=tuple(sorted(seen.cells.to_pylist())), nullable=seen.missing)


def _draft_numbers(numbers: Any, missing: bool) -> Column:
    import numpy as np

    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        raise SchemaError("no cell is a finite number, so nothing can be drafted; declare it by hand or drop it")
    low, high = float(numbers.min()), float(numbers.max())
    if (np.trunc(numbers) == numbers).all() and max(abs(low), abs(high)) < 2**62:
        distinct = np.unique(numbers)
        if len(distinct) == 2:
            values: tuple[Value, ...] = tuple(int(value) for value in distinct)
            return CategoricalColumn(values=values, nullable=missing)
        first, last = _wider_integers(int(low), int(high))
        return IntegerColumn(min=first, max=last, nullable=missing)
    lower, upper = _wider_numbers(low, high)
    return NumberColumn(min=lower, max=upper, nullable=missing)


def _wider_integers(low: int, high: int) -> tuple[int, int]:
    """Rounded outwards to the leading digit of the range; a short range stays, with one bin a value."""
    if high - low < DEFAULT_BINS:
        return low, max(high, low + 1)
    step = 10 ** (len(str(high - low)) - 1)
    limit = 2**62
    return max(low // step * step, -limit), min(-(-high // step) * step, limit)


def _wider_numbers(low: float, high: float) -> tuple[float, float]:
    """Rounded outwards to the leading digit of the range, in decimals so that 0.3 stays 0.3."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    step = Decimal(1).scaleb((last - first).adjusted()) if last > first else Decimal(1)
    lower = (first / step).to_integral_value(ROUND_FLOOR) * step
    upper = (last / step).to_integral_value(ROUND_CEILING) * step
    return float(lower), float(upper if upper > lower else lower + step)


def _draft_instants(instants: Any, missing: bool) -> Column:
    day = 86_400_000_000
    low = _EPOCH + timedelta(microseconds=int(instants.min()))
    high = _EPOCH + timedelta(microseconds=int(instants.max()))
    first, last = _wider_days(low.date(), high.date())
    if (instants % day == 0).all():
        return DateColumn(min=first, max=last, nullable=missing)
    end = datetime(last.year, last.month, last.day, 23, 59, 59, 999_999)
    return DatetimeColumn(min=datetime(first.year, first.month, first.day), max=end, nullable=missing)


def _wider_days(low: date, high: date) -> tuple[date, date]:
    """Whole years, or whole months where the dates span less than a year."""
    if (high - low).days > 366:
        return date(low.year, 1, 1), date(high.year, 12, 31)
    after = date(high.year + high.month // 12, high.month % 12 + 1, 1) if high < date(9999, 12, 1) else date.max
    return low.replace(day=1), after - timedelta(days=1) if after < date.max else date.max
