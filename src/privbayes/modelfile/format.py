"""The layout of a model file: a fixed prefix, a JSON header, raw arrays. Nothing in it is code, nothing is exact.

    bytes 0-7     b"PRIVBAYE"
    bytes 8-11    format version, little-endian
    bytes 12-19   length of the header, little-endian
    bytes 20-51   SHA-256 of everything after byte 51
    then          the header (UTF-8 JSON), then the arrays, each in C order, without gaps: little-endian int64 for
                  released tables, then little-endian float64 for what was fitted to them

The size of a file depends on the schema, the structure that was released and the numbers of cells, never on a count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.privacy.released import Guarantee, Measurement, Receipt

__all__ = ["DIGEST", "LENGTH", "MAGIC", "PREFIX", "VERSION", "ModelRecord"]

MAGIC = b"PRIVBAYE"
VERSION = 1
LENGTH = slice(12, 20)
DIGEST = slice(20, 52)
PREFIX = 52


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelRecord:
    """All that a model file holds, and nothing else."""

    method: str
    schema: Mapping[str, Any]
    spec: Mapping[str, Any]
    structure: Mapping[str, Any]
    tables: Sequence[tuple[tuple[int, ...], Measurement]]
    parameters: NDArray[np.float64]
    n_rows: int
    guarantee: Guarantee
    receipts: Sequence[Receipt]
    output: Mapping[str, Any]
