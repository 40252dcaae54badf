"""PrivABN as printed (Lan, Hong, Chen, Cai and Wang 2021) does not keep its promise: two pairs of tables that show it.

Each pair breaks one printed step; beside it stands the exact loss of our method on the same pair, over everything that
it can put out. The pair for JTree's printed algorithm 1 is in the tests of that method.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf, log

import numpy as np
import pytest
from exact_loss import whole_losses
from numpy.typing import NDArray

from privbayes.api import PrivABN
from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.methods.privabn import fit
from privbayes.privacy.ledger import Ledger

Table = NDArray[np.int64]
Parents = frozenset[int]
Network = tuple[tuple[int, Parents], ...]


def our_loss(first: Table, second: Table, epsilon: float, start: str) -> float:
    """The largest log-ratio over all networks and tables that our PrivABN can put out."""
    d = first.shape[1]
    domain = Domain(tuple(Attribute.flat("abc"[i], 2) for i in range(d)))

    def ours(counts: MemoryBackend, ledger: Ledger) -> None:
        fit(PrivABN(epsilon=epsilon, first=start), counts, ledger)

    return max(loss for _, loss in whole_losses(ours, domain, first, second, epsilon=epsilon))


# ---- algorithm 4: noise on conditionals ----


def seen_once(n: int) -> tuple[Table, Table]:
    """Columns (child, parent). The parent value 1 is seen in one row, whose child is 0 in one table and 1 in the other;
    the other rows have parent 0, and child 1 in half of them.
    """
    first = np.zeros((n, 2), np.int64)
    first[: n // 2, 0] = 1
    first[0] = (0, 1)
    second = first.copy()
    second[0] = (1, 1)
    return first, second


def conditional(table: Table) -> NDArray[np.float64]:
    """Pr[child | parent], one row a parent value."""
    counts = np.zeros((2, 2))
    np.add.at(counts, (table[:, 1], table[:, 0]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def laplace_above(threshold: float, mean: float, scale: float) -> float:
    """The chance of mean + Laplace(scale) > threshold."""
    gap = (threshold - mean) / scale
    return 0.5 * exp(-gap) if gap > 0 else 1 - 0.5 * exp(gap)


@pytest.mark.parametrize("n", [100, 1_000, 10_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_noise_on_conditionals_does_not_hide_a_parent_value_that_is_seen_once(n: int, epsilon: float) -> None:
    first, second = seen_once(n)
    attributes, share = 2, epsilon / 2  # m, epsilon_2
    scale = 2 * attributes / (n * share)  # line 5
    moved = np.abs(conditional(first) - conditional(second))

    # The density of what line 5 releases: the ratio is met beyond both values. It grows with n, without bound.
    printed = float(moved[1].sum()) / scale
    assert moved[1].sum() == 2  # (1, 0) becomes (0, 1), where the noise is made for a change of 2/n
    assert printed == pytest.approx(n * epsilon / 4)
    assert printed > 20 * epsilon

    # And it survives lines 6 to 10: that child 0 gets more than half of Pr*[child | parent = 1] needs only the noise on
    # one entry, and is what a reader sees in the rows with parent 1.
    event = [laplace_above(0.5, conditional(table)[1, 0], scale) for table in (first, second)]
    seen = log(event[0] / event[1]) if event[1] > 0 else inf
    assert seen > epsilon * n / 20

    assert our_loss(first, second, epsilon, "b") <= epsilon * (1 + 1e-9)


def test_the_step_is_not_a_matter_of_a_larger_constant() -> None:
    """Conditionals move by 2 however many rows there are; only noise that leaves nothing of them would be enough."""
    for n in (10, 1_000, 100_000):
        first, second = seen_once(n)
        assert np.abs(conditional(first) - conditional(second))[1].sum() == 2
        joint = [np.bincount(table[:, 1] * 2 + table[:, 0], minlength=4) for table in (first, second)]
        assert np.abs(joint[0] - joint[1]).sum() == 2  # in counts, and so 2/n in shares: what joint noise is made for


# ---- algorithm 3: parent sets compared exactly ----


def information(table: Table, child: int, parents: Parents) -> float:
    """I(child, parents)."""
    code = np.zeros(len(table), np.int64)
    for parent in sorted(parents):
        code = 2 * code + table[:, parent]
    joint = np.zeros((2, 2 ** len(parents)))
    np.add.at(joint, (table[:, child], code), 1 / len(table))
    seen = joint > 0
    product = joint.sum(1, keepdims=True) * joint.sum(0)
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


def printed_networks(table: Table, first: int) -> Iterator[Network]:
    """Every network to which algorithms 2 and 3 give a chance: any candidate may be drawn, no other can."""
    d = table.shape[1]

    def grow(pairs: Network, best: dict[tuple[int, int], Parents], last: int) -> Iterator[Network]:
        placed = [child for child, _ in pairs]
        if len(placed) == d:
            yield pairs
            return
        best = dict(best)
        for child in set(range(d)) - set(placed):
            for i in range(1, len(placed) + 1):  # algorithm 3
                joined = best.get((child, i - 1), frozenset()) | {last}
                known = best.get((child, i))
                if known is None or information(table, child, joined) >= information(table, child, known):
                    best[child, i] = joined
        for child in set(range(d)) - set(placed):
            for i in range(1, len(placed) + 1):
                yield from grow((*pairs, (child, best[child, i])), best, child)

    yield from grow(((first, frozenset()),), {}, first)


def a_row_that_decides(n: int) -> tuple[Table, Table]:
    """Columns a, b, c. In one table c depends a little more on a than on b, in the other a little more on b."""
    rows = np.array([(i % 2, i % 2, i % 2) for i in range(n)], np.int64)
    first, second = rows.copy(), rows.copy()
    first[0] = (0, 1, 0)  # b errs once about c, a never
    second[0] = (1, 0, 0)  # a errs once
    return first, second


@pytest.mark.parametrize("n", [12, 200])
def test_exact_comparison_puts_networks_out_that_a_neighbour_rules_out(n: int) -> None:
    first, second = a_row_that_decides(n)
    assert (first != second).any(axis=1).sum() == 1
    possible = [set(printed_networks(table, first=0)) for table in (first, second)]
    telling: Network = ((0, frozenset()), (1, frozenset({0})), (2, frozenset({0})))
    assert telling in possible[0]
    assert telling not in possible[1]  # the loss is infinite, whatever epsilon is
    for epsilon in (1.0, 20.0):
        assert our_loss(first, second, epsilon, "a") <= epsilon * (1 + 1e-9)


def test_our_candidates_are_the_same_on_both_tables() -> None:
    """What may come out does not depend on the rows: the same sequences of choices are possible on both."""
    found = []
    for pair in (a_row_that_decides(200), a_row_that_decides(200)[::-1]):
        domain = Domain(tuple(Attribute.flat(name, 2) for name in "abc"))

        def ours(counts: MemoryBackend, ledger: Ledger) -> None:
            fit(PrivABN(epsilon=20.0, first="a"), counts, ledger)

        found.append({choices for choices, _ in whole_losses(ours, domain, *pair, epsilon=20.0)})
    assert found[0] == found[1]
    assert len(found[0]) > 3
