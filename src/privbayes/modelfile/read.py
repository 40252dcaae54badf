"""Reading a model file: every field is checked, and whatever is wrong ends in one clear error."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from privbayes.errors import ModelFileError
from privbayes.modelfile.format import DIGEST, LENGTH, MAGIC, PREFIX, VERSION, ModelRecord
from privbayes.privacy.released import Guarantee, Measurement, Receipt

__all__ = ["from_bytes", "read_model"]

_LARGEST = 2.0**64


def read_model(path: str | Path) -> ModelRecord:
    """Read and check a model file."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(len(MAGIC))
            if data == MAGIC:  # a file of another kind may be as large as a table: it is not read any further
                data += file.read()
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror or 'unreadable'}") from None
    return from_bytes(data, str(path))


def from_bytes(data: bytes, name: str) -> ModelRecord:
    """Check and parse the bytes of a model file."""
    if data[: len(MAGIC)] != MAGIC:
        raise ModelFileError(f"{name} is not a privbayes model; `privbayes fit` makes one")
    if len(data) < PREFIX:
        raise ModelFileError(f"{name} is cut short; copy or fit it again")
    version = int.from_bytes(data[8:12], "little")
    if version != VERSION:
        raise ModelFileError(
            f"{name} has format version {version}, this program reads version {VERSION}; update privbayes"
        )
    body = data[PREFIX:]
    if hashlib.sha256(body).digest() != data[DIGEST]:
        raise ModelFileError(f"{name} is damaged or cut short (its checksum does not match); copy or fit it again")
    length = int.from_bytes(data[LENGTH], "little")
    try:
        return _parse(json.loads(body[:length]), body[length:])
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise ModelFileError(f"{name} is not a valid model file (a field is missing or wrong)") from None


def _parse(header: Mapping[str, Any], arrays: bytes) -> ModelRecord:
    tables: list[tuple[tuple[int, ...], Measurement]] = []
    start = 0
    for entry in header["tables"]:
        cells = _natural(entry["cells"])
        values = np.frombuffer(arrays, "<i8", count=cells, offset=start).astype(np.int64)
        start += 8 * cells
        scale, unit = float(entry["scale"]), float(entry.get("unit", 1.0))
        if not (0 <= scale <= _LARGEST and 0 < unit <= _LARGEST):  # and so neither is infinite, or no number
            raise ValueError("scale")
        axes = tuple(_natural(axis) for axis in entry["axes"])
        label, noise = str(entry["label"]), str(entry["noise"])
        tables.append((axes, Measurement(label=label, values=values, noise=noise, scale=scale, unit=unit)))
    fitted = _natural(header.get("parameters", 0))
    parameters = np.frombuffer(arrays, "<f8", count=fitted, offset=start).astype(np.float64)
    start += 8 * fitted
    if start != len(arrays):
        raise ValueError("length")
    return ModelRecord(
        method=str(header["method"]),
        schema=dict(header["schema"]),
        spec=dict(header["spec"]),
        structure=dict(header["structure"]),
        tables=tables,
        parameters=parameters,
        n_rows=_natural(header["n_rows"]),
        guarantee=Guarantee.from_dict(header["guarantee"]),
        receipts=[Receipt.from_dict(entry) for entry in header["receipts"]],
        output=dict(header["output"]),
    )


def _natural(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("not a natural number")
    return value
