"""Who is protected: the neighbour relation, rows per person, and what that makes public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from privbayes.errors import BudgetError

__all__ = ["Neighbours", "PrivacyUnit"]

Neighbours = Literal["replace", "add-remove"]


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """Two tables are neighbours when one person's rows (at most ``rows_per_person``) are replaced by others
    (``replace``: the number of rows n is public), or are added or removed (``add-remove``: n is private).
    """

    neighbours: Neighbours = "replace"
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in get_args(Neighbours):
            raise BudgetError(f"neighbours must be one of {', '.join(get_args(Neighbours))}, not {self.neighbours!r}")
        if self.rows_per_person < 1:
            raise BudgetError(f"rows_per_person must be at least 1, not {self.rows_per_person}")

    @property
    def n_is_public(self) -> bool:
        """Whether the number of rows may be used without being bought."""
        return self.neighbours == "replace"

    @staticmethod
    def of(neighbours: str, rows_per_person: int) -> PrivacyUnit:
        """From plain values, checked."""
        return PrivacyUnit(neighbours=cast("Neighbours", neighbours), rows_per_person=rows_per_person)
