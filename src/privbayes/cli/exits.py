"""From errors to one line on stderr and an exit code: 1 for what failed, 2 for wrong use, 130 for an interrupt."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import typer

from privbayes.cli.console import printable
from privbayes.errors import PrivBayesError

__all__ = ["FAILED", "INTERRUPTED", "WRONG_USE", "explain", "warnings_as_notes"]

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130


def explain(error: BaseException) -> int:
    """Say in one line what went wrong and return the exit code.

    Only errors raised on purpose speak in their own words. Of any other, the text may hold a cell of a table, so only
    its type and where in privbayes it happened are shown.
    """
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return _say("stopped; nothing was written under the final name", INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if _is_usage_error(error):
        text = error.format_message().rstrip(".").replace(": Value error, ", ": ")  # type: ignore[attr-defined]
        context = getattr(error, "ctx", None)
        hint = f" (see: {context.command_path} --help)" if context is not None else ""
        return _say(text + hint, WRONG_USE) if text else WRONG_USE  # without words: the help was shown instead
    if isinstance(error, PrivBayesError):
        return _say(str(error), FAILED)
    if isinstance(error, MemoryError):
        return _say("out of memory; free some, or ask for less (fewer bins, a smaller cell limit)", FAILED)
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename!r}" if error.filename is not None else ""
        return _say(f"cannot use{where}: {error.strerror}", FAILED)
    place = _innermost_place(error.__traceback__)
    return _say(
        f"internal error ({type(error).__name__}{place}): this is a fault in privbayes, please report it", FAILED
    )


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show privbayes' own warnings as one line each; others are for programmers, and may quote what they met."""

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if category.__module__.partition(".")[0] == "privbayes":
            _say(str(message), 0)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def _say(text: str, code: int) -> int:
    print(f"privbayes: {printable(' '.join(text.split()))}", file=sys.stderr)
    return code


def _is_usage_error(error: BaseException) -> bool:
    """Told by its shape: the class belongs to the copy of click that typer keeps to itself."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _innermost_place(traceback: TracebackType | None) -> str:
    """The last line of ours that ran, as ``at counts/memory.py:120``."""
    package = Path(__file__).resolve().parents[1]
    place = ""
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            place = f" at {file.relative_to(package).as_posix()}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
