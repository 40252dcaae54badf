"""What the commands show: results on stdout as text or JSON, progress and remarks on stderr when it is a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from textwrap import fill
from typing import Any

__all__ = [
    "Progress",
    "counted",
    "heading",
    "number",
    "paragraph",
    "printable",
    "progress",
    "remark",
    "show_json",
    "show_pairs",
    "show_table",
]

Progress = Callable[[str, int, int], None]

_WIDTH = 80


def printable(text: str) -> str:
    """The text with anything that could move the cursor or break a line spelled out as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value: float) -> str:
    """A number as a person reads it: whole ones with commas, others to three figures."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def counted(many: int, thing: str) -> str:
    """Such as "1 row" or "50,000 rows"."""
    return f"{number(many)} {thing}" + ("" if many == 1 else "s")


def show_json(result: Mapping[str, Any]) -> None:
    """One JSON object on stdout, for programs."""
    print(json.dumps(_finite(result), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    """JSON has no infinity: the epsilon of a model that is not private becomes null."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def remark(text: str) -> None:
    """A line for the person at the terminal; nothing in a pipe."""
    if sys.stderr.isatty():
        print(printable(text), file=sys.stderr)


def heading(text: str) -> None:
    """A line or two that open a part of the result."""
    print()
    paragraph(text)


def paragraph(text: str, *, indent: str = "") -> None:
    """Text that fits a narrow terminal, folded between words and the same everywhere."""
    print(
        fill(
            printable(text),
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def show_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[int] = ()) -> None:
    """Columns lined up under their names, those in ``right`` to the right; plain text, the same in a pipe."""
    cells = [[printable(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        aligned = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        print(("  " + "  ".join(aligned)).rstrip())


def show_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and what they stand for, a line each."""
    rows = [(printable(name), printable(str(value))) for name, value in pairs]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name.ljust(width)}  {value}")


@contextmanager
def progress(*, hidden: bool = False) -> Iterator[Progress | None]:
    """A callback ``(stage, done, total)`` that draws a bar per stage on stderr, or None where nobody would see it."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        SpinnerColumn(finished_text="+"),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}

    def report(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(_STAGES.get(stage, printable(stage)), total=total or None, count="")
        bars.update(tasks[stage], completed=done, total=total or None, count=f"{done:,} of {total:,}" if total else "")

    with bars:
        # Turns from the first moment on: reading a table, and loading compiled code, report nothing.
        bars.add_task("working", total=None, count="")
        yield report


_STAGES = {
    "encode": "checking columns",
    "structure": "choosing links",
    "tables": "buying noisy tables",
    "rows": "drawing rows",
}
