"""The encoded private table: one array of codes per attribute; it hides itself and refuses to be saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["CodeArray", "EncodedTable"]

CodeArray = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """Level-0 codes of every attribute of a domain, in its order: uint8, uint16 or uint32, C-contiguous, one length."""

    columns: tuple[CodeArray, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("an encoded table needs at least one attribute")
        for column in self.columns:
            if column.dtype not in (np.uint8, np.uint16, np.uint32) or not column.flags.c_contiguous:
                raise ValueError("codes must be contiguous arrays of uint8, uint16 or uint32")
            if column.shape != (len(self.columns[0]),):
                raise ValueError("all attributes must have the same number of rows")

    @property
    def n_rows(self) -> int:
        """Exact number of rows: public under ``replace``, private under ``add-remove``."""
        return len(self.columns[0])

    def __repr__(self) -> str:
        return "<encoded private table, hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an encoded private table cannot be pickled, copied or saved")
