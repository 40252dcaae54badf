"""JTree's dependency graph: which pairs of attributes are linked (Chen, Zhang, Xiao, Xu; KDD 2015), by other means.

Algorithm 1 as printed compares every pair's mutual information with one noisy threshold and pays once for all answers,
however many are "yes". That is not private: a row that lowers many scores at once changes all their answers at once
(tests/privacy/test_dependency_loss.py computes the loss on two tables of all zeros but one row). In its place:

    pure epsilon  edges are drawn one by one without replacement (permute-and-flip), by score less threshold; each draw
                  costs an equal part of the share
    zCDP          all scores are released as one Gaussian vector; comparing them with thresholds is then free

Follows the paper: scores of pairs only; a pair's threshold is what a Cramer's V of ``phi`` makes of its score, from the
numbers of values alone; all pairs count against the largest sensitivity among them, scores of binary pairs being scaled
up to it. Differs from it: R is offered beside I (and the default of the method), links that would make a clique too
large are not on offer, and nothing is sampled. Sampling a fixed number n_s of n rows at best multiplies epsilon by
n / n_s (the paper's own formula gives ln(1 + (e^eps - 1) n / n_s), which is less), and one row moves R by up to 3 / n_s
instead of 3 / n: for R the ratio of signal to noise never gains, and the sample adds its own error. For I, whose bound
falls like ln(n) / n, the gain is at most the ratio of the logarithms; under zCDP there is none to be had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.backend import CountingBackend
from privbayes.counts.request import MarginalRequests
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import Neighbours
from privbayes.structure.clique_room import CliqueRoom
from privbayes.structure.score_book import score_pairs
from privbayes.structure.scores import score_sensitivity, score_unit

__all__ = [
    "dependency_threshold",
    "draw_graph",
    "exact_excess",
    "excess_sensitivity",
    "measure_graph",
]

Pair = tuple[int, int]
Progress = Callable[[int, int], None]


def dependency_threshold(score: str, sizes: Pair, phi: float) -> float:
    """Theta_kl: what a Cramer's V of ``phi`` makes of the score of two attributes with these numbers of values.

    I: min(r_k - 1, r_l - 1) phi^2 / 2 nats, as in the paper. R: phi sqrt(min(r_k - 1, r_l - 1)) / 2, since by
    Cauchy-Schwarz 2 R = sum |p - q| <= sqrt(sum (p - q)^2 / q) = phi sqrt(min(...)): a pair above it is above phi. No
    more than 1, the most that R can be.
    """
    freedom = min(sizes) - 1
    return freedom * phi**2 / 2 if score == "I" else min(1.0, phi * sqrt(freedom) / 2)


def excess_sensitivity(score: str, neighbours: Neighbours, *, n: int | None, pairs: int) -> Sensitivity:
    """Claim: a pair's score less its threshold moves by no more than the score does (`score_sensitivity`, D); all pairs
        at once move by at most T D in L1 and sqrt(T) D in L2.
    Neighbours: replace; add-remove for R only, I being refused there. ``n`` is the public number of rows, or None.
    Assumes: thresholds are constants: of the schema, phi and the number of rows as it may be known.
    Proof sketch: a constant takes nothing away from a difference; each of T entries moves by at most D.
    Checked by: tests/privacy/test_dependency_loss.py, every small table and neighbour.
    """
    one = score_sensitivity(score, neighbours=neighbours, n=n)
    bound = one.linf or 0
    return replace(
        one, claim=f"{one.claim}, less a constant, {pairs} pairs", l1=pairs * bound, l2_squared=pairs * bound**2
    )


def exact_excess(
    counts: CountingBackend, pairs: Sequence[Pair], *, score: str, neighbours: str, phi: float, n: int
) -> NDArray[np.int64]:
    """Score less threshold of every pair, in the integers of the score (exact and secret). ``n`` as it may be known."""
    domain = counts.domain
    sizes = domain.cardinalities
    requests = MarginalRequests.of([(domain.axis(a), domain.axis(b)) for a, b in pairs])
    binary = np.array([min(sizes[a], sizes[b]) <= 2 for a, b in pairs], np.bool_)
    unit = score_unit(score, neighbours=neighbours, n=n, declared_binary=binary)
    thresholds = np.array([dependency_threshold(score, (sizes[a], sizes[b]), phi) for a, b in pairs])
    whole: NDArray[np.int64] = np.rint(unit * thresholds).astype(np.int64)
    return score_pairs(counts, requests, score, neighbours) - whole


def draw_graph(
    counts: CountingBackend,
    ledger: Ledger,
    share: Fraction,
    room: CliqueRoom,
    *,
    score: str,
    phi: float,
    n: int,
    draws: int,
    tree: bool,
    progress: Progress | None = None,
) -> None:
    """Pure epsilon: link up to ``draws`` pairs of those that still fit (``tree``: and that join two components), the
    share cut equally over the draws that are left. What is not needed is not spent.
    """
    neighbours = ledger.unit.neighbours
    pairs = room.pairs
    excess = dict(
        zip(
            pairs,
            exact_excess(counts, pairs, score=score, neighbours=neighbours, phi=phi, n=n).tolist(),
            strict=True,
        )
    )
    bound = excess_sensitivity(score, neighbours, n=_public(counts, ledger), pairs=1)
    budget = share
    for t in range(draws):
        offered = room.fitting(pairs, joining=tree)
        if not offered:
            break
        before = ledger.spent
        choice = ledger.release_choice(
            np.array([excess[pair] for pair in offered], np.int64),
            bound,
            budget / (draws - t),
            f"choice {t + 1} of {draws}",
        )
        budget -= ledger.spent - before
        room.link(offered[choice.index])
        if progress is not None:
            progress(t + 1, draws)


def measure_graph(
    counts: CountingBackend,
    ledger: Ledger,
    share: Fraction,
    room: CliqueRoom,
    *,
    score: str,
    phi: float,
    n: int,
    draws: int | None,
    tree: bool,
) -> None:
    """zCDP: release all pairs' scores as one noisy vector and link, from the top, those above their thresholds
    (``draws`` None), that many, or (``tree``) those that join two components, as long as they fit.
    """
    neighbours = ledger.unit.neighbours
    pairs = room.pairs
    released = ledger.release_counts(
        exact_excess(counts, pairs, score=score, neighbours=neighbours, phi=phi, n=n),
        excess_sensitivity(score, neighbours, n=_public(counts, ledger), pairs=len(pairs)),
        share,
        f"choice of links: scores of {len(pairs)} pairs",
    )
    link_best(room, pairs, released.values, draws=draws, tree=tree)


def link_best(
    room: CliqueRoom, pairs: Sequence[Pair], excess: NDArray[np.int64], *, draws: int | None, tree: bool
) -> None:
    """From released scores to links: post-processing."""
    limit = len(pairs) if draws is None else draws
    for k in np.argsort(-excess, kind="stable"):
        if len(room.edges) >= limit or (draws is None and not tree and excess[k] <= 0):
            break
        if room.fitting([pairs[k]], joining=tree):
            room.link(pairs[k])


def _public(counts: CountingBackend, ledger: Ledger) -> int | None:
    return counts.n_rows if ledger.unit.n_is_public else None
