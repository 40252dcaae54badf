"""Everything that crosses the privacy line: noisy tables, choices, and the receipts of what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import exp, expm1, inf, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Choice", "Guarantee", "Measurement", "Receipt"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """Noisy integers as the ledger released them, with the noise that was added. ``unit``: how many rows an integer
    stands for (1 for counts).
    """

    label: str
    values: NDArray[np.int64]
    noise: str
    scale: float
    unit: float = 1.0

    @property
    def variance(self) -> float:
        """Variance of the noise on one value."""
        if self.noise == "discrete laplace":
            q = exp(-1.0 / self.scale) if self.scale > 0 else 0.0
            return 2.0 * q / expm1(-1.0 / self.scale) ** 2 if q else 0.0
        if self.noise == "discrete gaussian":
            return self.scale**2
        return 0.0

    @property
    def expected_absolute_noise(self) -> float:
        """E|noise| on one value, in rows, by the continuous law (the discrete one is never larger)."""
        if self.noise == "discrete laplace":
            return self.scale * self.unit
        return self.scale * self.unit * sqrt(2.0 / pi) if self.noise == "discrete gaussian" else 0.0


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The index that a private draw chose among candidates."""

    label: str
    index: int


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """One spend: what for, by which mechanism, under which bound, at which cost (epsilon, or rho under zCDP)."""

    label: str
    mechanism: str
    neighbours: str
    sensitivity: str
    scale: float
    values: int
    cost: Fraction
    private: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the exact cost as a fraction in text beside its float."""
        return {**asdict(self), "cost": float(self.cost), "cost_exact": str(self.cost)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Receipt:
        """The inverse of `to_dict`."""
        known = {name: values[name] for name in ("label", "mechanism", "neighbours", "sensitivity")}
        return Receipt(
            **known,
            scale=float(values["scale"]),
            values=int(values["values"]),
            cost=Fraction(values["cost_exact"]),
            private=bool(values["private"]),
        )


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What the model promises: (epsilon, delta) under a neighbour relation, and rho when noise was Gaussian."""

    epsilon: float
    delta: float
    rho: float | None
    neighbours: str
    rows_per_person: int
    private: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values; an infinite epsilon (not private) becomes None, which JSON can say."""
        return {**asdict(self), "epsilon": self.epsilon if self.private else None}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Guarantee:
        """The inverse of `to_dict`."""
        private = bool(values["private"])
        return Guarantee(
            epsilon=float(values["epsilon"]) if private else inf,
            delta=float(values["delta"]),
            rho=None if values["rho"] is None else float(values["rho"]),
            neighbours=str(values["neighbours"]),
            rows_per_person=int(values["rows_per_person"]),
            private=private,
        )

    def sentence(self) -> str:
        """The guarantee in one line."""
        if not self.private:
            return "NOT PRIVATE: made with scripted noise, for tests only"
        amount = f"epsilon = {self.epsilon:g}" + (
            f", delta = {self.delta:g} (rho = {self.rho:.4g})" if self.rho else ""
        )
        people = "one row" if self.rows_per_person == 1 else f"one person's rows (up to {self.rows_per_person})"
        change = "replacing" if self.neighbours == "replace" else "adding or removing"
        return f"differential privacy with {amount}, for {change} {people}"
