"""Files that appear under their name only once they are whole."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from privbayes.errors import PrivBayesError, TableError

__all__ = ["atomic_file"]


@contextmanager
def atomic_file(path: str | Path, error: type[PrivBayesError] = TableError) -> Iterator[IO[bytes]]:
    """A binary file that takes its name only when all was written; a full disk or an interrupt leaves nothing there."""
    target = Path(os.path.realpath(path))
    try:
        special = target.exists() and not stat.S_ISREG(target.stat().st_mode)
        if special:  # a pipe or a device cannot be replaced, and must not be
            with target.open("wb") as file:
                yield file
            return
        part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except BrokenPipeError:
        raise
    except OSError as failure:
        reason = os.strerror(failure.errno) if failure.errno else "the system refused"
        raise error(f"{path}: cannot be written ({reason}); nothing was left there") from None


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system allows it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
