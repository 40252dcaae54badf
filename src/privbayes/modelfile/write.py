"""Writing a model file, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from privbayes.core.atomic import atomic_file
from privbayes.errors import ModelFileError
from privbayes.modelfile.format import MAGIC, VERSION, ModelRecord

__all__ = ["to_bytes", "write_model"]


def write_model(record: ModelRecord, path: str | Path) -> None:
    """Write, whole or not at all."""
    data = to_bytes(record)
    with atomic_file(path, ModelFileError) as file:
        file.write(data)


def to_bytes(record: ModelRecord) -> bytes:
    """The bytes of a model file."""
    arrays = [measurement.values.astype("<i8").tobytes() for _, measurement in record.tables]
    arrays.append(record.parameters.astype("<f8").tobytes())
    header = {
        "method": record.method,
        "guarantee": record.guarantee.to_dict() | {"sentence": record.guarantee.sentence()},
        "n_rows": record.n_rows,
        "schema": dict(record.schema),
        "spec": dict(record.spec),
        "structure": dict(record.structure),
        "output": dict(record.output),
        "receipts": [receipt.to_dict() for receipt in record.receipts],
        "parameters": int(record.parameters.size),
        "tables": [
            {
                "axes": list(axes),
                "label": measurement.label,
                "noise": measurement.noise,
                "scale": measurement.scale,
                "unit": measurement.unit,
                "cells": int(measurement.values.size),
            }
            for axes, measurement in record.tables
        ],
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    body = b"".join([text, *arrays])
    digest = hashlib.sha256(body).digest()
    return b"".join([MAGIC, VERSION.to_bytes(4, "little"), len(text).to_bytes(8, "little"), digest, body])
