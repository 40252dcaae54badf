"""How far one row can move an exact integer quantity, with the reason written down beside the number."""

from __future__ import annotations

from dataclasses import dataclass, replace

from privbayes.privacy.unit import Neighbours

__all__ = ["Sensitivity"]


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Bounds on the change of an integer vector between two neighbouring tables that differ in one row.

    ``l1`` prices Laplace noise, ``l2_squared`` Gaussian noise, ``linf`` a choice among scores. A bound that was not
    proved is None and cannot be spent on. No bound exists without its neighbour relation and its claim.
    """

    neighbours: Neighbours
    claim: str
    l1: int | None = None
    l2_squared: int | None = None
    linf: int | None = None

    def __post_init__(self) -> None:
        for bound in (self.l1, self.l2_squared, self.linf):
            if bound is not None and bound < 0:
                raise ValueError("a sensitivity is not negative")

    def for_rows(self, rows: int) -> Sensitivity:
        """The bounds when a person has up to ``rows`` rows: the triangle inequality along a path of single rows."""
        if rows == 1:
            return self
        return replace(
            self,
            l1=None if self.l1 is None else rows * self.l1,
            l2_squared=None if self.l2_squared is None else rows**2 * self.l2_squared,
            linf=None if self.linf is None else rows * self.linf,
            claim=f"{self.claim}; {rows} rows a person",
        )
