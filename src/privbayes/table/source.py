"""The private table: a frame or a file as Arrow columns, which hides itself and refuses to be saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from privbayes.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kind", "PrivateTable", "check_names", "columns_named", "is_text", "listed", "read_table", "repeated_names"]

Kind = Literal["pandas", "polars", "arrow", "file"]

_SHOWN_NAMES = 5


class PrivateTable:
    """The rows as they came. It stands left of the privacy line: nothing in it may reach a message, a log or a file."""

    __slots__ = ("_inferred", "_kind", "_numpy_integers", "_table")

    def __init__(
        self,
        table: pa.Table,
        kind: Kind,
        *,
        inferred: Iterable[str] = (),
        numpy_integers: Iterable[str] = (),
    ) -> None:
        """`inferred` names columns whose Arrow type was read off their cells (text files, object columns of pandas);
        `numpy_integers` those that would turn to floats if a cell went missing.
        """
        self._table = table
        self._kind = kind
        self._inferred = frozenset(inferred)
        self._numpy_integers = frozenset(numpy_integers)

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in the order of the input."""
        return tuple(self._table.column_names)

    @property
    def n_rows(self) -> int:
        """Exact number of rows: public under ``replace``, private under ``add-remove``."""
        return int(self._table.num_rows)

    @property
    def kind(self) -> Kind:
        """What the table came as, so that the synthetic one can be given back alike."""
        return self._kind

    def column(self, name: str) -> pa.ChunkedArray:
        """The cells of one column."""
        return self._table.column(name)

    def declared_type(self, name: str, *, nullable: bool) -> pa.DataType | None:
        """The type the column was held as, or None if it would depend on the cells, as on whether one is missing."""
        import pyarrow as pa

        if name in self._inferred:
            return None
        if nullable and name in self._numpy_integers:
            return pa.int64()
        return self._table.schema.field(name).type

    def __repr__(self) -> str:
        return "<private table, hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table cannot be pickled, copied or saved")


def read_table(source: Any, *, columns: Sequence[str] | None = None) -> PrivateTable:
    """Read a private table from a path (``.csv``, ``.csv.gz``, ``.parquet``, ``.arrow``, ``.feather``; ``-`` is CSV on
    standard input) or take it from a frame of pandas, polars, pyarrow or anything narwhals or Arrow understands.

    `columns` picks some of the columns. Errors never hold the text of a cell.
    """
    if isinstance(source, PrivateTable):
        table = source
    elif isinstance(source, (str, Path)):
        from privbayes.table.files import read_file

        table = read_file(source)
    else:
        from privbayes.table.frames import from_frame

        table = from_frame(source)
    if columns is not None:
        table = _only(table, columns)
    if not table.columns:
        raise TableError("the table has no columns")
    if table.n_rows == 0:
        raise TableError("the table has no rows; at least one is needed")
    return table


def _only(table: PrivateTable, columns: Sequence[str]) -> PrivateTable:
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise TableError(f"the table lacks the {columns_named(missing)}")
    repeated = repeated_names(columns)
    if repeated:
        raise TableError(f"columns asked for twice: {listed(repeated)}")
    return PrivateTable(
        table._table.select(list(columns)),
        table.kind,
        inferred=table._inferred & set(columns),
        numpy_integers=table._numpy_integers & set(columns),
    )


def repeated_names(names: Iterable[object]) -> list[str]:
    """The names that occur more than once."""
    return [str(name) for name, times in Counter(names).items() if times > 1]


def listed(names: Sequence[str]) -> str:
    """A few column names for a one-line error."""
    text = ", ".join(repr(str(name))[:80] for name in names[:_SHOWN_NAMES])
    return text if len(names) <= _SHOWN_NAMES else f"{text} and {len(names) - _SHOWN_NAMES} more"


def columns_named(names: Sequence[str]) -> str:
    """Such as "column 'age'", or "columns 'age', 'sex'"."""
    return f"{'column' if len(names) == 1 else 'columns'} {listed(names)}"


def check_names(names: Sequence[object], where: str) -> None:
    """Names must be distinct, non-empty text."""
    if any(not isinstance(name, str) for name in names):
        raise TableError(f"{where}: column names must be text; rename the columns")
    if any(not name for name in names):
        raise TableError(f"{where}: a column has no name; give it one, or drop it if it is a saved row index")
    repeated = repeated_names(names)
    if repeated:  # named by their places: the first line of a text file may not be names at all, but somebody's cells
        places = [str(place + 1) for place, name in enumerate(names) if name == repeated[0]]
        raise TableError(f"{where}: columns {' and '.join(places[:2])} have the same name; names must be distinct")


def is_text(form: pa.DataType) -> bool:
    """Text in any of Arrow's three layouts."""
    import pyarrow as pa

    return bool(pa.types.is_string(form) or pa.types.is_large_string(form) or pa.types.is_string_view(form))
