"""What a plan says, for every method: decided from the schema, the number of rows and the budget. No row is read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
    score: str
    encoding: str
    degree: int | None
    cell_limit: int | None
    candidates: int
    candidates_a_round: int
    candidates_thinned: bool
    draws: int
    share_a_draw: float
    tables: int
    share_a_table: float
    noise: str
    noise_scale: float
    expected_cell_noise: float
    columns: tuple[dict[str, Any], ...]
    pairs: dict[str, Any]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
