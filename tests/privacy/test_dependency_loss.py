"""JTree's graph step: the printed one breaks its promise on two tables of all zeros but one row, ours keeps it there.

The printed threshold mechanism (algorithm 1 with theorem 4) adds one Laplace variable to all thresholds and one to
every score, and claims epsilon for all answers together. One shift of the threshold makes up for scores that move
together; its proof applies one shift to the "yes" answers and another to the "no" answers, though there is only one
threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, expm1, log, log1p

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import Mechanism, OpenDPNoise
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.clique_room import CliqueRoom
from privbayes.structure.dependency import draw_graph, exact_excess, excess_sensitivity, measure_graph
from privbayes.structure.scores import information_bounds

PHI = 0.2
PAIRS_OF_3 = [(0, 1), (0, 2), (1, 2)]


def zeros_but_one(rows: int, columns: int, ones: int) -> MemoryBackend:
    """All rows zero but one, which has ones in its first columns."""
    table = np.zeros((columns, rows), np.uint8)
    table[:ones, -1] = 1
    return MemoryBackend(Domain(tuple(Attribute.flat(f"a{i}", 2) for i in range(columns))), list(table))


# ---- the printed step ----


def printed_log_probability(
    sensitivity: float, epsilon: float, scores: list[tuple[float, int, int]], threshold: float
) -> float:
    """log P of one answer vector of the printed mechanism without sampling. ``scores`` lists (score, how many pairs
    have it and answer yes, how many answer no). One integral over the noise eta of the thresholds, on a fine grid.
    """
    scale = 2 * sensitivity / epsilon
    eta = np.linspace(-60 * scale, 60 * scale, 20_001)
    total = stats.laplace.logpdf(eta, scale=scale)
    for score, yes, no in scores:
        gap = (threshold + eta - score) / scale
        total = total + yes * stats.laplace.logsf(gap) + no * stats.laplace.logcdf(gap)
    return float(logsumexp(total) + log(eta[1] - eta[0]))


def answers(n: int, columns: int, ones: int, epsilon: float) -> tuple[float, float]:
    """log P of "yes" on all pairs that the one row links and "no" on all others: on all zeros, and with that row.

    In a table of n rows, all zeros but one, two columns in which that row has ones have I equal to the sensitivity
    itself; every other pair has I = 0.
    """
    sensitivity = information_bounds(n)[0]
    linked, others = comb(ones, 2), comb(columns, 2) - comb(ones, 2)
    threshold = PHI**2 / 2
    return (
        printed_log_probability(sensitivity, epsilon, [(0.0, linked, 0), (0.0, 0, others)], threshold),
        printed_log_probability(sensitivity, epsilon, [(sensitivity, linked, 0), (0.0, 0, others)], threshold),
    )


def test_the_one_row_moves_the_pairs_it_links_by_the_whole_sensitivity() -> None:
    """So what is computed below is about real tables."""
    for n, ones in product((5, 60), (0, 2, 3)):
        table = zeros_but_one(n, 3, ones)
        excess = exact_excess(table, PAIRS_OF_3, score="I", neighbours="replace", phi=0.0, n=n)
        grid = (excess_sensitivity("I", "replace", n=n, pairs=3).linf or 0) - 2
        linked = [b < ones for _, b in PAIRS_OF_3]
        np.testing.assert_allclose(excess, np.where(linked, grid, 0), atol=1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_printed_step_loses_five_times_what_it_claims_on_ten_columns(epsilon: float) -> None:
    without, with_row = answers(1_000, 10, 5, epsilon)
    assert with_row - without > 4.9 * epsilon
    without, with_row = answers(1_000, 20, 10, epsilon)
    assert with_row - without > 22 * epsilon  # about epsilon / 2 a linked pair


def test_sampling_does_not_save_the_printed_step() -> None:
    """The whole of algorithm 1 with its own choice of n_s: Bernoulli sampling, noise by the size that came out."""
    n, epsilon, columns, ones = 1_000, 0.5, 20, 10
    sizes = np.arange(2, n + 1)
    amplified = np.log(expm1(epsilon) + sizes / n) - np.log(sizes / n)
    bounds = np.array([information_bounds(int(m))[0] for m in sizes])
    rate = float(sizes[np.argmin(bounds / amplified)]) / n
    inside = log(expm1(epsilon) + rate) - log(rate)
    spread = 6 * (n * rate * (1 - rate)) ** 0.5 + 1
    zeros, with_row = [], []
    for m in range(max(2, int(n * rate - spread)), min(n, int(n * rate + spread)) + 1):
        chance = stats.binom.logpmf(m, n, rate)
        absent, present = answers(m, columns, ones, inside)
        zeros.append(chance + absent)
        with_row.append(chance + np.logaddexp(log(m / n) + present, log1p(-m / n) + absent if m < n else -np.inf))
    assert logsumexp(with_row) - logsumexp(zeros) > 10 * epsilon


# ---- ours, as the code draws it ----


@dataclass(kw_only=True)
class Traced:
    """OpenDP's own scales and costs; choices follow ``script`` (then: the first), and the exact probability that
    permute-and-flip would have made them is added up.
    """

    script: tuple[int, ...]
    log_probability: float = 0.0
    offered: list[int] = field(default_factory=list)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        mechanism = OpenDPNoise().choose(pure=pure, sensitivity=sensitivity, share=share)

        def invoke(scores: NDArray[np.int64]) -> int:
            step = len(self.offered)
            index = self.script[step] if step < len(self.script) else 0
            self.offered.append(len(scores))
            self.log_probability += log(permute_and_flip(scores, mechanism.scale, index))
            return index

        return replace(mechanism, invoke=invoke)

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        raise NotImplementedError

    def pick_rows(self, **_: object) -> Mechanism:
        raise NotImplementedError


def permute_and_flip(scores: NDArray[np.int64], scale: float, index: int) -> float:
    """The chance of one candidate. Each comes at a uniform time x; those that came before the chosen one stayed silent,
    which for each has chance 1 - (its chance of acceptance) x.
    """
    accept = np.exp((scores - scores.max()) / scale)
    before = Polynomial([1.0])
    for j in range(len(accept)):
        if j != index:
            before *= Polynomial([1.0, -accept[j]])
    return float(accept[index] * before.integ()(1.0))


def test_the_exact_law_sums_to_one_and_is_what_is_sampled() -> None:
    scores = np.array([3, 1, 0, 3, 2])
    mechanism = OpenDPNoise().choose(
        pure=True, sensitivity=Sensitivity(neighbours="replace", claim="test", linf=1), share=Fraction(3, 2)
    )
    law = np.array([permute_and_flip(scores, mechanism.scale, i) for i in range(5)])
    assert law.sum() == pytest.approx(1)
    drawn = np.bincount([mechanism.invoke(scores) for _ in range(5_000)], minlength=5)
    assert stats.chisquare(drawn, 5_000 * law).pvalue > 1e-6


def every_output(
    table: MemoryBackend, *, score: str, neighbours: str, draws: int, tree: bool, limit: float, epsilon: float, n: int
) -> dict[tuple[tuple[int, int], ...], float]:
    """log P of every sequence of links, from the real code run along every script of choices."""
    found: dict[tuple[tuple[int, int], ...], float] = {}
    todo: list[tuple[int, ...]] = [()]
    while todo:
        noise = Traced(script=todo.pop())
        ledger = Ledger(PrivacyBudget(epsilon=epsilon), PrivacyUnit.of(neighbours, 1), noise)
        room = CliqueRoom(table.domain.cardinalities, lambda _: limit, 1e9)
        draw_graph(table, ledger, ledger.total, room, score=score, phi=PHI, n=n, draws=draws, tree=tree)
        assert ledger.spent <= ledger.total
        found[tuple(room.edges)] = noise.log_probability
        taken = len(noise.script)
        for step in range(taken, len(noise.offered)):
            prefix = (*noise.script, *([0] * (step - taken)))
            todo += [(*prefix, other) for other in range(1, noise.offered[step])]
    assert logsumexp(list(found.values())) == pytest.approx(0, abs=1e-9)
    return found


def loss(first: MemoryBackend, second: MemoryBackend, **settings: object) -> float:
    ours, theirs = (every_output(table, **settings) for table in (first, second))  # type: ignore[arg-type]
    assert ours.keys() == theirs.keys()  # what can come out does not depend on the rows
    return max(abs(ours[key] - theirs[key]) for key in ours)


@pytest.mark.parametrize("score", ["I", "R"])
@pytest.mark.parametrize(("draws", "tree", "limit"), [(3, False, 1e9), (3, True, 1e9), (5, False, 4.0)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_our_draws_keep_within_epsilon_on_the_same_pair(
    score: str, draws: int, tree: bool, limit: float, epsilon: float
) -> None:
    n = 40
    lost = loss(
        zeros_but_one(n, 4, 0),
        zeros_but_one(n, 4, 2),
        score=score,
        neighbours="replace",
        draws=draws,
        tree=tree,
        limit=limit,
        epsilon=epsilon,
        n=n,
    )
    assert 0 < lost <= epsilon * (1 + 1e-9)


def test_our_draws_keep_within_epsilon_where_the_printed_step_loses_most() -> None:
    """Six columns: three pairs rise together and twelve stay; two draws, every outcome."""
    n, epsilon = 100, 1.0
    without, with_row = answers(n, 6, 3, epsilon)
    lost = loss(
        zeros_but_one(n, 6, 0),
        zeros_but_one(n, 6, 3),
        score="I",
        neighbours="replace",
        draws=2,
        tree=False,
        limit=1e9,
        epsilon=epsilon,
        n=n,
    )
    assert lost <= epsilon * (1 + 1e-9) < with_row - without


@pytest.mark.parametrize("rows", [3, 30])
def test_our_draws_keep_within_epsilon_when_a_row_is_added(rows: int) -> None:
    """The number of rows as it was bought is the same on both sides; the true one is used in no threshold."""
    lost = loss(
        zeros_but_one(rows + 1, 4, 3),
        zeros_but_one(rows, 4, 0),
        score="R",
        neighbours="add-remove",
        draws=3,
        tree=False,
        limit=1e9,
        epsilon=0.7,
        n=25,
    )
    assert 0 < lost <= 0.7 * (1 + 1e-9)


# ---- the bound on all scores at once ----


def small_tables(shape: tuple[int, ...], rows: int) -> Iterator[MemoryBackend]:
    """Every table of so many rows, up to their order."""
    domain = Domain(tuple(Attribute.flat(f"a{i}", size) for i, size in enumerate(shape)))
    for chosen in combinations_with_replacement(list(np.ndindex(*shape)), rows):
        yield MemoryBackend(domain, list(np.array(chosen, np.uint8).reshape(rows, len(shape)).T.copy()))


@pytest.mark.parametrize(("score", "neighbours"), [("R", "replace"), ("I", "replace"), ("R", "add-remove")])
@pytest.mark.parametrize(("shape", "rows"), [((2, 2, 2), 3), ((2, 3, 2), 2)])
def test_all_scores_together_move_no_more_than_their_bound(
    score: str, neighbours: str, shape: tuple[int, ...], rows: int
) -> None:
    def vectors(count: int) -> dict[tuple[tuple[int, ...], ...], NDArray[np.int64]]:
        return {
            tuple(sorted(zip(*(c.tolist() for c in table._columns), strict=True))): exact_excess(
                table, PAIRS_OF_3, score=score, neighbours=neighbours, phi=PHI, n=rows
            )
            for table in small_tables(shape, count)
        }

    public = rows if neighbours == "replace" else None
    bound = excess_sensitivity(score, neighbours, n=public, pairs=3)  # type: ignore[arg-type]
    here = vectors(rows)
    for members, excess in here.items():
        for k in range(rows):
            kept = members[:k] + members[k + 1 :]
            others = [tuple(sorted((*kept, row))) for row in np.ndindex(*shape)] if neighbours == "replace" else []
            for other in others:
                moved = np.abs(excess - here[other])
                assert moved.max() <= (bound.linf or 0)
                assert moved.sum() <= (bound.l1 or 0)
                assert (moved.astype(object) ** 2).sum() <= (bound.l2_squared or 0)
    if neighbours == "add-remove":
        more = vectors(rows + 1)
        for members, excess in here.items():
            for row in np.ndindex(*shape):
                moved = np.abs(excess - more[tuple(sorted((*members, row)))])
                assert moved.max() <= (bound.linf or 0)
                assert (moved.astype(object) ** 2).sum() <= (bound.l2_squared or 0)


def test_the_gaussian_vector_keeps_within_rho_on_the_same_pair() -> None:
    """The divergence of two Gaussian vectors at the scale that the code asked for, on the tables above."""
    n, pairs = 60, PAIRS_OF_3
    first, second = zeros_but_one(n, 3, 0), zeros_but_one(n, 3, 3)
    ledger = Ledger(PrivacyBudget(epsilon=1.0, delta=1e-6), PrivacyUnit())
    room = CliqueRoom(first.domain.cardinalities, lambda _: 1e9, 1e9)
    measure_graph(first, ledger, ledger.total, room, score="I", phi=PHI, n=n, draws=None, tree=False)
    (receipt,) = ledger.receipts
    assert receipt.mechanism == "discrete gaussian"
    assert receipt.values == len(pairs)
    apart = [exact_excess(t, pairs, score="I", neighbours="replace", phi=PHI, n=n) for t in (first, second)]
    squared = float(((apart[0] - apart[1]).astype(np.float64) ** 2).sum())
    assert 0.99 * float(ledger.total) < squared / (2 * receipt.scale**2) <= float(ledger.total)
