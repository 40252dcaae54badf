"""The exact privacy loss of a whole method on a pair of tables, by walking through everything it could choose.

A pure-epsilon method's output is a sequence of choices and of noisy tables. The walk takes every sequence of choices.
Noisy tables come out as the exact ones of the first table, also when the second is replayed, so that whatever follows
sees the same; their own share of the loss is added as the largest over all values they could have had.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, factorial, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import Mechanism, OpenDPNoise
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import Neighbours, PrivacyUnit

__all__ = ["Step", "neighbours_of", "permute_and_flip", "walk", "whole_losses"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that left: a choice (``picked`` of ``exact`` scores) or a table (``exact`` counts)."""

    exact: NDArray[np.int64]
    scale: float
    picked: int | None = None


@dataclass(kw_only=True)
class Walk:
    """A noise source that calibrates as the real one does, follows ``choices`` (then the first) and writes down."""

    choices: Sequence[int] = ()
    tables: Sequence[NDArray[np.int64]] | None = None
    steps: list[Step] = field(default_factory=list)

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        real = OpenDPNoise().add_noise(pure=pure, sensitivity=sensitivity, share=share)

        def invoke(values: NDArray[np.int64]) -> NDArray[np.int64]:
            told = values if self.tables is None else self.tables[sum(step.picked is None for step in self.steps)]
            self.steps.append(Step(exact=values.copy(), scale=real.scale))
            return told.copy()

        return Mechanism(name=real.name, scale=real.scale, cost=real.cost, private=True, invoke=invoke)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        real = OpenDPNoise().choose(pure=pure, sensitivity=sensitivity, share=share)

        def invoke(scores: NDArray[np.int64]) -> int:
            made = sum(step.picked is not None for step in self.steps)
            picked = self.choices[made] if made < len(self.choices) else 0
            self.steps.append(Step(exact=scores.copy(), scale=real.scale, picked=picked))
            return picked

        return Mechanism(name=real.name, scale=real.scale, cost=real.cost, private=True, invoke=invoke)

    def pick_rows(
        self, *, pure: bool, sensitivity: Sensitivity, share: Fraction, rows: int, base: int, cells: int
    ) -> Mechanism:
        raise NotImplementedError("rows that are released have a test of their own")


Fit = Callable[[MemoryBackend, Ledger], Any]


def walk(fit: Fit, domain: Domain, rows: NDArray[np.integer], noise: Walk, ledger_of: Callable[[Walk], Ledger]) -> None:
    """One run over one table."""
    fit(MemoryBackend(domain, [np.ascontiguousarray(c, np.uint8) for c in rows.T], threads=1), ledger_of(noise))


def whole_losses(
    fit: Fit,
    domain: Domain,
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    *,
    epsilon: float,
    neighbours: Neighbours = "replace",
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every sequence of choices, and the largest log-ratio, either way round, of an output with these choices."""

    def ledger_of(noise: Walk) -> Ledger:
        return Ledger(PrivacyBudget(epsilon=epsilon), PrivacyUnit(neighbours=neighbours), noise)

    todo: list[tuple[int, ...]] = [()]
    while todo:
        choices = todo.pop()
        one = Walk(choices=choices)
        walk(fit, domain, first, one, ledger_of)
        made = [step for step in one.steps if step.picked is not None]
        full = tuple(step.picked for step in made if step.picked is not None)
        for at in range(len(choices), len(made)):
            todo.extend((*full[:at], other) for other in range(1, len(made[at].exact)))
        other = Walk(choices=full, tables=[step.exact for step in one.steps if step.picked is None])
        walk(fit, domain, second, other, ledger_of)
        yield full, _loss(one.steps, other.steps)


def _loss(first: Sequence[Step], second: Sequence[Step]) -> float:
    assert [(s.picked, s.scale, s.exact.size) for s in first] == [(s.picked, s.scale, s.exact.size) for s in second]
    tables = choices = 0.0
    for a, b in zip(first, second, strict=True):
        if a.picked is None:  # discrete Laplace: met by any value beyond both counts
            tables += float(np.abs(a.exact - b.exact).sum()) / a.scale
        else:
            choices += log(permute_and_flip(a.exact, a.scale)[a.picked] / permute_and_flip(b.exact, b.scale)[b.picked])
    return tables + abs(choices)


def permute_and_flip(scores: NDArray[np.int64], scale: float) -> list[float]:
    """Its law by inclusion and exclusion: p_i = a_i sum over subsets S of the others of (-1)^|S| prod a_S / (|S|+1),
    a being exp((q - max) / scale). Visited in a random order, each is accepted with probability a.
    """
    accept = [exp(float(q - scores.max()) / scale) for q in scores]
    law = []
    for i, mine in enumerate(accept):
        # e[k]: elementary symmetric polynomials of the others
        e = [1.0] + [0.0] * (len(accept) - 1)
        for j, a in enumerate(accept):
            if j != i:
                for k in range(len(e) - 1, 0, -1):
                    e[k] += a * e[k - 1]
        law.append(mine * sum((-1) ** k * value / (k + 1) for k, value in enumerate(e)))
    return law


def permute_and_flip_by_orders(scores: NDArray[np.int64], scale: float) -> list[float]:
    """The same by its definition, for a few candidates."""
    accept = [exp(float(q - scores.max()) / scale) for q in scores]
    law = [0.0] * len(accept)
    for order in itertools.permutations(range(len(accept))):
        reached = 1.0 / factorial(len(accept))
        for candidate in order:
            law[candidate] += reached * accept[candidate]
            reached *= 1 - accept[candidate]
    return law


def neighbours_of(rows: NDArray[np.integer], sizes: Sequence[int], relation: Neighbours) -> Iterator[NDArray[np.int64]]:
    """Every neighbour of a table (as rows in order), one for each way to change it."""
    cells = [np.array(cell, np.int64) for cell in itertools.product(*(range(size) for size in sizes))]
    if relation == "add-remove":
        for cell in cells:
            yield np.vstack([rows, cell[None]]).astype(np.int64)
        return
    for i in range(len(rows)):
        for cell in cells:
            if not np.array_equal(cell, rows[i]):
                changed = np.array(rows, np.int64)
                changed[i] = cell
                yield changed
