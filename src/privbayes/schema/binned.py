"""Column kinds that are cut into equi-width bins: integer, number, date, datetime."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from privbayes.errors import SchemaError
from privbayes.schema.base import Column, is_integer, shown
from privbayes.schema.taxonomy import binary_tree_levels

__all__ = ["BinnedColumn", "DateColumn", "DatetimeColumn", "IntegerColumn", "NumberColumn", "WholeColumn"]

DEFAULT_BINS = 16
MAX_BINS = 65_536
_MAX_INTEGER = 2**62
_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)

D = TypeVar("D", date, datetime)


@dataclass(frozen=True, kw_only=True)
class BinnedColumn(Column):
    """A column with bounds. Values outside them count as the nearest bound."""

    bins: int = DEFAULT_BINS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_integer(self.bins) or not 1 <= self.bins <= MAX_BINS:
            raise SchemaError(f"bins must be a whole number from 1 to {MAX_BINS}, not {shown(self.bins)}")

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Lower edge of every bin, and the end of the last."""
        raise NotImplementedError

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """A binary tree over the bins; missing stays apart."""
        return binary_tree_levels(self.n_values, int(self.nullable))


@dataclass(frozen=True, kw_only=True)
class WholeColumn(BinnedColumn):
    """A column that counts whole units (integers, days, microseconds) over an inclusive range."""

    @cached_property
    def span(self) -> tuple[int, int]:
        """The bounds in whole units, both inclusive."""
        raise NotImplementedError

    def unit_text(self, unit: int) -> str:
        """How a whole unit is written."""
        return str(unit)

    @property
    def n_values(self) -> int:
        """No more bins than there are values: such a column gets one bin a value."""
        low, high = self.span
        return min(self.bins, high - low + 1)

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """First unit of every bin, and one past the last; widths differ by at most one."""
        low, high = self.span
        return tuple(low + (high - low + 1) * i // self.n_values for i in range(self.n_values + 1))

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """Such as "17-21", or "17" where a bin holds one value."""
        dash = "-" if self.kind == "integer" and self.span[0] >= 0 else " to "
        pairs = zip(self.edges, self.edges[1:], strict=False)
        texts = ((self.unit_text(first), self.unit_text(past - 1)) for first, past in pairs)
        return tuple(first if first == last else f"{first}{dash}{last}" for first, last in texts)


def _check_order(low: Any, high: Any) -> None:
    if low >= high:
        raise SchemaError(f"min must be below max, but min is {low} and max is {high}")


@dataclass(frozen=True, kw_only=True)
class IntegerColumn(WholeColumn):
    """Whole numbers from min to max, both inclusive."""

    kind: ClassVar[str] = "integer"

    min: int
    max: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, bound in (("min", self.min), ("max", self.max)):
            if not is_integer(bound):
                raise SchemaError(f"{name} of an integer column must be a whole number, not {shown(bound)}")
            if abs(bound) > _MAX_INTEGER:
                raise SchemaError(f"{name} must lie between -2^62 and 2^62")
        _check_order(self.min, self.max)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The bounds themselves."""
        return self.min, self.max

    def _own_entries(self) -> dict[str, Any]:
        return {"min": self.min, "max": self.max, "bins": self.bins}


@dataclass(frozen=True, kw_only=True)
class NumberColumn(BinnedColumn):
    """Real numbers from min to max."""

    kind: ClassVar[str] = "number"

    min: float
    max: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("min", "max"):
            bound = getattr(self, name)
            if isinstance(bound, str):
                raise SchemaError(f"{name} is the text {shown(bound)}; write a plain number, as in 10 or 1.0e-3")
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not _is_finite(bound):
                raise SchemaError(f"{name} must be a finite number, not {shown(bound)}")
            object.__setattr__(self, name, float(bound))
        _check_order(self.min, self.max)
        if not math.isfinite(self.max - self.min):
            raise SchemaError("min and max are too far apart; their difference must be a finite number")
        if any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise SchemaError(f"min and max are too close together for {self.bins} bins; use fewer bins")

    @property
    def n_values(self) -> int:
        """One value a bin."""
        return self.bins

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Lower edge of every bin, and max."""
        # In fractions of the bounds as written: ten bins over 0 to 0.1 have an edge at 0.03, unlike 3 * (0.1 / 10).
        low, high = Fraction(repr(self.min)), Fraction(repr(self.max))
        return (self.min, *(float(low + (high - low) * i / self.bins) for i in range(1, self.bins)), self.max)

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """Such as "[10, 13.125)"; the last bin holds max."""
        texts = [f"{edge:.6g}" for edge in self.edges]
        if len(set(texts)) < len(texts):
            texts = [repr(edge) for edge in self.edges]
        closing = [")"] * (self.bins - 1) + ["]"]
        return tuple(f"[{a}, {b}{c}" for a, b, c in zip(texts, texts[1:], closing, strict=False))

    def _own_entries(self) -> dict[str, Any]:
        return {"min": _plain(self.min), "max": _plain(self.max), "bins": self.bins}


def _is_finite(bound: float) -> bool:
    try:
        return math.isfinite(bound)
    except OverflowError:  # an integer too large for a float
        return False


def _plain(bound: float) -> float:
    """10 rather than 10.0 where nothing is lost, as people write it."""
    return int(bound) if bound.is_integer() and abs(bound) < 2**53 else bound


@dataclass(frozen=True, kw_only=True)
class DateColumn(WholeColumn):
    """Days from min to max, both inclusive."""

    kind: ClassVar[str] = "date"

    min: date
    max: date

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("min", "max"):
            bound = getattr(self, name)
            if isinstance(bound, str):
                bound = _parsed(name, bound, date, "a date such as 2020-01-31")
            if isinstance(bound, datetime):
                raise SchemaError(f"{name} of a date column must be a date without a time; use type datetime for times")
            if not isinstance(bound, date):
                raise SchemaError(f"{name} must be a date such as 2020-01-31, not {shown(bound)}")
            object.__setattr__(self, name, bound)
        _check_order(self.min, self.max)

    @cached_property
    def span(self) -> tuple[int, int]:
        """Days since 1970-01-01."""
        return (self.min - _EPOCH_DAY).days, (self.max - _EPOCH_DAY).days

    def unit_text(self, unit: int) -> str:
        """ISO date."""
        return (_EPOCH_DAY + timedelta(days=unit)).isoformat()

    def _own_entries(self) -> dict[str, Any]:
        return {"min": self.min.isoformat(), "max": self.max.isoformat(), "bins": self.bins}


@dataclass(frozen=True, kw_only=True)
class DatetimeColumn(WholeColumn):
    """Instants from min to max at microsecond resolution, both inclusive.

    Bounds with an offset are turned to UTC; bounds without one are compared as written, with UTC where a table's own
    instants carry a time zone.
    """

    kind: ClassVar[str] = "datetime"

    min: datetime
    max: datetime

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("min", "max"):
            bound: object = getattr(self, name)
            if isinstance(bound, str):
                bound = _parsed(name, bound, datetime, "a date and time such as 2020-01-31 08:30:00")
            if isinstance(bound, date) and not isinstance(bound, datetime):
                bound = datetime(bound.year, bound.month, bound.day)
            if not isinstance(bound, datetime):
                raise SchemaError(f"{name} must be a date and time such as 2020-01-31 08:30:00, not {shown(bound)}")
            if bound.tzinfo is not None:
                bound = bound.astimezone(UTC).replace(tzinfo=None)
            object.__setattr__(self, name, bound)
        _check_order(self.min, self.max)

    @cached_property
    def span(self) -> tuple[int, int]:
        """Microseconds since 1970-01-01 00:00:00."""
        return (self.min - _EPOCH) // _MICROSECOND, (self.max - _EPOCH) // _MICROSECOND

    def unit_text(self, unit: int) -> str:
        """ISO date and time."""
        return (_EPOCH + unit * _MICROSECOND).isoformat(sep=" ")

    def _own_entries(self) -> dict[str, Any]:
        return {"min": self.min.isoformat(sep=" "), "max": self.max.isoformat(sep=" "), "bins": self.bins}


def _parsed(name: str, text: str, kind: type[D], allowed: str) -> D:
    try:
        return kind.fromisoformat(text.strip())
    except ValueError:
        raise SchemaError(f"{name} must be {allowed}, not {shown(text)}") from None
