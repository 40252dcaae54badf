"""Writing a model file: to a temporary neighbour first, so that no half file ever stands under the final name."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from privbayes.errors import ModelFileError
from privbayes.modelfile.format import MAGIC, VERSION, ModelRecord

__all__ = ["to_bytes", "write_model"]


def write_model(record: ModelRecord, path: str | Path) -> None:
    """Write, whole or not at all."""
    data = to_bytes(record)
    try:
        with _whole_file(Path(path)) as file:
            file.write(data)
    except OSError as error:
        raise ModelFileError(f"cannot write {path}: {error.strerror or 'the disk refused'}") from None


def to_bytes(record: ModelRecord) -> bytes:
    """The bytes of a model file."""
    arrays = [measurement.values.astype("<i8").tobytes() for _, measurement in record.tables]
    header = {
        "method": record.method,
        "guarantee": record.guarantee.to_dict() | {"sentence": record.guarantee.sentence()},
        "n_rows": record.n_rows,
        "schema": dict(record.schema),
        "spec": dict(record.spec),
        "structure": dict(record.structure),
        "output": dict(record.output),
        "receipts": [receipt.to_dict() for receipt in record.receipts],
        "tables": [
            {
                "axes": list(axes),
                "label": measurement.label,
                "noise": measurement.noise,
                "scale": measurement.scale,
                "cells": int(measurement.values.size),
            }
            for axes, measurement in record.tables
        ],
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    body = b"".join([text, *arrays])
    digest = hashlib.sha256(body).digest()
    return b"".join([MAGIC, VERSION.to_bytes(4, "little"), len(text).to_bytes(8, "little"), digest, body])


@contextmanager
def _whole_file(path: Path) -> Iterator[BinaryIO]:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent or None)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
