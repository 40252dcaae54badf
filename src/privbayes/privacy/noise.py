"""The only door to randomness that protects: OpenDP's exact samplers, priced by OpenDP's own maps, and exact coins from
the operating system for what OpenDP has no sampler for. Never seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import inf, isqrt, log, nextafter, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privbayes.errors import BudgetError
from privbayes.privacy.coins import coins, uniform_below
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.smoothing import smoothing_for

__all__ = [
    "Mechanism",
    "NoiseSource",
    "OpenDPNoise",
    "RowSource",
    "ScriptedNoise",
    "epsilon_for",
    "public_generator",
    "rho_for",
]

_LARGE_RHO = 100.0


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A calibrated mechanism: its cost is known before it sees a value."""

    name: str
    scale: float
    cost: Fraction
    private: bool
    invoke: Callable[[Any], Any] = field(repr=False)


class RowSource(Protocol):
    """Rows of codes (exact and secret), of columns with ``sizes`` values each."""

    @property
    def n_rows(self) -> int:
        """How many there are."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """How many values each column has (public)."""
        ...

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows at these places, one a line."""
        ...


class NoiseSource(Protocol):
    """Makes mechanisms that cost at most a share. ``pure`` says in which unit the share is."""

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """Integers in, noisy integers out."""
        ...

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """Integer scores in, the index of a high one out."""
        ...

    def pick_rows(
        self, *, pure: bool, sensitivity: Sensitivity, share: Fraction, rows: int, base: int, cells: int
    ) -> Mechanism:
        """A `RowSource` in, ``rows`` rows of codes out; see `Ledger.release_rows`."""
        ...


class OpenDPNoise:
    """Discrete Laplace and permute-and-flip under pure epsilon; discrete Gaussian and the exponential mechanism
    (Gumbel noisy max) under zCDP. Operating-system randomness.
    """

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """The least noise whose map fits the share."""
        if pure:
            return _least_laplace(_proved(sensitivity.l1, "L1", sensitivity), share)
        return _least_gaussian(_proved(sensitivity.l2_squared, "L2", sensitivity), share)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """Permute-and-flip (pure), or the exponential mechanism, which costs eps^2/8 under zCDP by bounded range."""
        dp = _opendp()
        d_in = _proved(sensitivity.linf, "L-infinity", sensitivity)
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
        return _calibrate(
            "permute-and-flip" if pure else "exponential mechanism",
            lambda scale: dp.m.make_noisy_max(*space, measure, scale=scale),
            d_in,
            share,
            start=float(2 * d_in / share) if pure else d_in / sqrt(2 * share),
            invoke=lambda measurement, scores: int(measurement(scores)),
        )

    def pick_rows(
        self, *, pure: bool, sensitivity: Sensitivity, share: Fraction, rows: int, base: int, cells: int
    ) -> Mechanism:
        """The least smoothing whose price fits the share. The scale of the mechanism is its delta."""
        moved = _proved(sensitivity.linf, "L-infinity", sensitivity)
        if share <= 0:
            raise BudgetError("nothing is left of the budget for this step")
        delta, cost = smoothing_for(share, rows, pure=pure, base=base, cells=cells, moved=moved)
        invoke = partial(_smoothed_rows, delta, rows, base)
        return Mechanism(name="smoothed rows", scale=float(delta), cost=cost, private=True, invoke=invoke)


@dataclass(kw_only=True)
class ScriptedNoise:
    """Noise that is no noise, for tests and replays: adds the given offsets (default 0) and makes the given choices
    (default: the best score). Whatever is made with it says that it is not private.
    """

    offsets: Callable[[int], Sequence[int]] | None = None
    choices: list[int] | None = None

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """Adds the script's offsets."""

        def invoke(values: NDArray[np.int64]) -> NDArray[np.int64]:
            extra = 0 if self.offsets is None else np.asarray(self.offsets(len(values)), np.int64)
            return values + extra

        return Mechanism(name="scripted", scale=0.0, cost=share, private=False, invoke=invoke)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """Follows the script, or takes the best score."""

        def invoke(scores: NDArray[np.int64]) -> int:
            return int(np.argmax(scores)) if self.choices is None else self.choices.pop(0)

        return Mechanism(name="scripted", scale=0.0, cost=share, private=False, invoke=invoke)

    def pick_rows(
        self, *, pure: bool, sensitivity: Sensitivity, share: Fraction, rows: int, base: int, cells: int
    ) -> Mechanism:
        """The rows of the table in order, over and over, without smoothing."""

        def invoke(source: RowSource) -> NDArray[np.int64]:
            if not source.n_rows:
                return np.zeros((rows, len(source.sizes)), np.int64)
            return source.rows(np.arange(rows, dtype=np.int64) % source.n_rows)

        return Mechanism(name="scripted", scale=0.0, cost=share, private=False, invoke=invoke)


def public_generator() -> np.random.Generator:
    """Fresh randomness for what is decided without looking at the rows: first attribute, thinning. Not seedable."""
    return np.random.default_rng()


@lru_cache(maxsize=64)
def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho found, by bisection over OpenDP's own conversion, with rho-zCDP implying (epsilon, delta)-DP."""
    low, high = 0.0, 1.0
    while epsilon_for(high, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if epsilon_for(middle, delta) <= epsilon else (low, middle)
    if low <= 0:
        raise BudgetError(f"epsilon = {epsilon} with delta = {delta} leaves no budget; raise epsilon")
    return low


@lru_cache(maxsize=512)
def epsilon_for(rho: float, delta: float) -> float:
    """The epsilon at this delta that rho-zCDP implies, by OpenDP's conversion.

    Beyond the range of its arithmetic (epsilon of many hundreds) the looser closed form of Bun and Steinke (2016) is
    used, rho + 2 sqrt(rho ln(1/delta)), rounded up.
    """
    if rho <= 0:
        return 0.0
    if rho > _LARGE_RHO:
        return (rho + 2 * sqrt(rho * log(1 / delta))) * (1 + 2.0**-40)
    dp = _opendp()
    unit = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="f64"), scale=1.0)
    profile = dp.c.make_zCDP_to_approxDP(unit).map(_sqrt_up_float(2 * rho))
    return float(profile.epsilon(delta=delta))


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")  # the samplers are proved; "contrib" marks API maturity
    return dp


def _smoothed_rows(delta: Fraction, rows: int, base: int, source: RowSource) -> NDArray[np.int64]:
    """Each row: with probability delta a uniform cell; else place u of max(n, base) places, the row there if u < n and
    a uniform cell if not. Every decision is exact; the domain is never laid out: a uniform cell is one code a column.
    """
    n = source.n_rows
    codes = np.stack([uniform_below(size, rows) for size in source.sizes], axis=1)
    places = uniform_below(max(n, base), rows)
    taken = np.flatnonzero(~coins(delta, rows) & (places < n))
    codes[taken] = source.rows(places[taken])
    return codes


def _as_integers(measurement: Any, values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(measurement(values), np.int64)


@lru_cache(maxsize=4_096)  # a wide table is bought in thousands of small ones at a few prices
def _least_laplace(l1: int, share: Fraction) -> Mechanism:
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return _calibrate(
        "discrete laplace",
        lambda scale: dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale),
        l1,
        share,
        start=float(l1 / share),
        invoke=_as_integers,
    )


@lru_cache(maxsize=4_096)
def _least_gaussian(l2_squared: int, share: Fraction) -> Mechanism:
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return _calibrate(
        "discrete gaussian",
        lambda scale: dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale),
        _sqrt_up(l2_squared),
        share,
        start=sqrt(l2_squared / (2 * share)),
        invoke=_as_integers,
    )


def _calibrate(
    name: str,
    make: Callable[[float], Any],
    d_in: float,
    share: Fraction,
    *,
    start: float,
    invoke: Callable[[Any, NDArray[np.int64]], Any],
) -> Mechanism:
    """The smallest scale near its closed form for which OpenDP's map stays within the share."""
    if share <= 0:
        raise BudgetError("nothing is left of the budget for this step")
    scale, step = start, start * 2.0**-52
    while True:
        if not scale < inf:
            raise BudgetError("this share of the budget is too small to calibrate noise; raise epsilon")
        measurement = make(scale)
        cost = Fraction(float(measurement.map(d_in)))
        if cost <= share:
            return Mechanism(name=name, scale=scale, cost=cost, private=True, invoke=partial(invoke, measurement))
        scale, step = scale + step, 2 * step


def _proved(bound: int | None, norm: str, sensitivity: Sensitivity) -> int:
    if bound is None:
        raise BudgetError(f"no {norm} bound is proved for this quantity ({sensitivity.claim})")
    return bound


def _sqrt_up(square: int) -> float:
    """A float no smaller than the square root."""
    root = isqrt(square)
    return float(root) if root * root == square else _sqrt_up_float(float(square))


def _sqrt_up_float(square: float) -> float:
    root = sqrt(square)
    while Fraction(root) ** 2 < Fraction(square):
        root = nextafter(root, inf)
    return root
