"""What a plan says, for every method: decided from the schema, the number of rows and the budget. No row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that is decided before a row is read. Errors are total variation distances caused by noise alone;
    what the structure cannot express comes on top and is not known beforehand.
    """

    method: str
    n_rows: int
    epsilon: float
    delta: float | None
    rho: float | None
    neighbours: str
    form: str
    encoding: str
    score: str | None = None
    degree: int | None = None
    cell_limit: int | None = None
    candidates: int = 0
    candidates_a_round: int = 0
    candidates_thinned: bool = False
    draws: int = 0
    share_a_draw: float = 0.0
    tables: int
    share_a_table: float
    noise: str
    noise_scale: float
    expected_cell_noise: float
    columns: tuple[dict[str, Any], ...]
    pairs: dict[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)  # what only this method has to say
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
