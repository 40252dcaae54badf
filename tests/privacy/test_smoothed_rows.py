"""Rows released by the smoothed histogram: every small table, every neighbour, every whole output, in exact fractions.

The law is not written down a second time: the code that draws is run once for every way its coins can fall.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import log, prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privbayes.measure.rows import row_sensitivity
from privbayes.privacy import noise
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.smoothing import smallest_delta, smoothing_for
from privbayes.privacy.unit import Neighbours, PrivacyUnit

cached_smoothing = cache(smoothing_for)  # the same at every run over one table

Law = dict[tuple[int, ...], Fraction]
Cells = tuple[int, ...]  # a table: how many rows each cell holds


@dataclass(frozen=True)
class Rows:
    """Rows of codes, as the ledger takes them."""

    sizes: tuple[int, ...]
    codes: NDArray[np.int64]

    @staticmethod
    def of(sizes: tuple[int, ...], cells: Cells) -> Rows:
        every = list(itertools.product(*(range(size) for size in sizes)))
        codes = [every[z] for z, count in enumerate(cells) for _ in range(count)]
        return Rows(sizes, np.array(codes, np.int64).reshape(len(codes), len(sizes)))

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.codes[places]


class UnscriptedError(Exception):
    """The script ended: ``weights`` are the chances of the ways to go on."""

    def __init__(self, weights: list[Fraction]) -> None:
        self.weights = weights


def law_of(run: Any, monkeypatch: pytest.MonkeyPatch) -> Law:
    """The exact law of what ``run`` returns, over everything that `coins` and `uniform_below` can return in it."""
    script: list[int] = []
    at = 0

    def branch(weights: list[Fraction]) -> int:
        nonlocal at
        if at == len(script):
            raise UnscriptedError(weights)
        at += 1
        return script[at - 1]

    def scripted_coins(chance: Fraction, size: int) -> NDArray[np.bool_]:
        ways = list(itertools.product((False, True), repeat=size))
        picked = branch([prod((chance if head else 1 - chance for head in way), start=Fraction(1)) for way in ways])
        return np.array(ways[picked], np.bool_)

    def scripted_uniform(bound: int, size: int) -> NDArray[np.int64]:
        ways = list(itertools.product(range(bound), repeat=size))
        return np.array(ways[branch([Fraction(1, len(ways))] * len(ways))], np.int64)

    monkeypatch.setattr(noise, "coins", scripted_coins)
    monkeypatch.setattr(noise, "uniform_below", scripted_uniform)
    monkeypatch.setattr(noise, "smoothing_for", cached_smoothing)
    law: Law = {}
    todo: list[tuple[list[int], Fraction]] = [([], Fraction(1))]
    while todo:
        script, weight = todo.pop()
        at = 0
        try:
            output = tuple(run().values.tolist())
        except UnscriptedError as more:
            todo += [([*script, i], weight * chance) for i, chance in enumerate(more.weights) if chance]
        else:
            law[output] = law.get(output, Fraction(0)) + weight
    assert sum(law.values()) == 1
    return law


def released_law(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    cells: Cells,
    *,
    rows: int,
    base: int,
    budget: PrivacyBudget,
    unit: PrivacyUnit,
) -> tuple[Law, Fraction]:
    """The law of a whole output on one table, and what the ledger says that it cost."""
    source = Rows.of(sizes, cells)
    costs: set[Fraction] = set()

    def run() -> Any:
        ledger = Ledger(budget, unit)
        measured = ledger.release_rows(source, rows, base, row_sensitivity(unit.neighbours), ledger.total, "rows")
        costs.add(ledger.spent)
        return measured

    law = law_of(run, monkeypatch)
    (cost,) = costs
    return law, cost


def all_tables(cells: int, n: int) -> list[Cells]:
    if cells == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in all_tables(cells - 1, n - first)]


def neighbours_of(table: Cells, unit: PrivacyUnit) -> Iterator[Cells]:
    """All tables that one person's rows, up to ``rows_per_person`` of them, lead to."""
    seen = {table}
    for _ in range(unit.rows_per_person):
        for known in list(seen):
            grown = [tuple(np.array(known) + e) for e in np.eye(len(known), dtype=int)]
            if unit.neighbours == "add-remove":
                seen.update(tuple(int(x) for x in more) for more in grown)
            else:
                for more in grown:
                    for z, count in enumerate(more):
                        if count:
                            moved = list(more)
                            moved[z] -= 1
                            seen.add(tuple(int(x) for x in moved))
    return iter(seen - {table})


def within(ratio: Fraction, loss: Fraction) -> bool:
    """Whether ratio <= e^loss, to 60 digits and with nothing allowed beyond the last of them."""
    with localcontext() as context:
        context.prec = 60
        power = (Decimal(loss.numerator) / Decimal(loss.denominator)).exp()
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= power * (1 + Decimal(10) ** -55)


def worst_ratio(first: Law, second: Law) -> Fraction:
    assert first.keys() == second.keys()  # every output is possible under both
    return max(max(p / second[out], second[out] / p) for out, p in first.items())


# Columns, largest n, rows released: one cell, two, three, and pairs of columns.
SMALL: list[tuple[tuple[int, ...], int, int]] = [((1,), 2, 2), ((2,), 4, 1), ((2,), 3, 2), ((3,), 2, 2), ((2, 2), 3, 1)]


@pytest.mark.parametrize(("sizes", "most", "rows"), SMALL)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_no_whole_output_tells_neighbours_apart_under_replace(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    most: int,
    rows: int,
    epsilon: float,
    rows_per_person: int,
) -> None:
    unit = PrivacyUnit(rows_per_person=rows_per_person)
    budget = PrivacyBudget(epsilon=epsilon)
    met = Fraction(1)
    for n in range(1, most + 1):
        laws = {}
        for table in all_tables(prod(sizes), n):
            laws[table], cost = released_law(monkeypatch, sizes, table, rows=rows, base=n, budget=budget, unit=unit)
            assert cost <= budget.total()
        for table, law in laws.items():
            for other in neighbours_of(table, unit):
                met = max(met, worst_ratio(law, laws[other]))
    assert within(met, Fraction(epsilon))
    print(f"{sizes} n <= {most}, k = {rows}: worst log-ratio {log(met):.6f} of {epsilon}")
    if prod(sizes) > 1 and most >= rows_per_person:
        assert log(met) > 0.999 * epsilon, "the bound is met, or delta is larger than it has to be"


@pytest.mark.parametrize(("sizes", "rows"), [((2,), 1), ((2,), 2), ((3,), 1), ((2, 2), 1)])
@pytest.mark.parametrize("base", [1, 2, 3, 5])
@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_no_whole_output_tells_neighbours_apart_under_add_remove(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], rows: int, base: int, rows_per_person: int
) -> None:
    """Whatever the true number of rows, none included, and whatever the number that was bought."""
    unit = PrivacyUnit(neighbours="add-remove", rows_per_person=rows_per_person)
    budget = PrivacyBudget(epsilon=1.0)
    most = 2 if prod(sizes) > 2 or rows > 1 else 4

    @cache
    def law(table: Cells) -> Law:
        return released_law(monkeypatch, sizes, table, rows=rows, base=base, budget=budget, unit=unit)[0]

    met = Fraction(1)
    for n in range(most + 1):
        for table in all_tables(prod(sizes), n):
            for other in neighbours_of(table, unit):
                met = max(met, worst_ratio(law(table), law(other)))
    assert within(met, Fraction(1))
    print(f"{sizes} k = {rows} N = {base}: worst log-ratio {log(met):.6f} of 1")


def renyi(first: Law, second: Law, alpha: float) -> float:
    terms = (float(p) ** alpha * float(second[out]) ** (1 - alpha) for out, p in first.items())
    return log(sum(terms)) / (alpha - 1)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("rows", [1, 2])
def test_under_zcdp_the_renyi_divergence_stays_below_alpha_rho(
    monkeypatch: pytest.MonkeyPatch, neighbours: Neighbours, rows: int
) -> None:
    unit = PrivacyUnit(neighbours=neighbours)
    for epsilon in (0.5, 4.0):
        budget = PrivacyBudget(epsilon=epsilon, delta=1e-6)
        rho = float(budget.total())
        for n in (1, 2):
            for table in all_tables(2, n):
                law, cost = released_law(monkeypatch, (2,), table, rows=rows, base=n, budget=budget, unit=unit)
                assert cost <= budget.total()
                for other in neighbours_of(table, unit):
                    theirs, _ = released_law(monkeypatch, (2,), other, rows=rows, base=n, budget=budget, unit=unit)
                    for alpha in (1.01, 1.5, 2.0, 4.0, 16.0):
                        assert renyi(law, theirs, alpha) <= alpha * rho * (1 + 1e-9)
                        assert renyi(theirs, law, alpha) <= alpha * rho * (1 + 1e-9)


def test_the_printed_formula_with_m_inverted_loses_far_more_than_it_says() -> None:
    """A study of the smoothed histogram solves for delta with m = 1/100 where the theorem means 100 equal cells: its
    delta at n = 10,000, k = 1,000 and a nominal epsilon of 1 has a true loss of about 2,400, met by k rows in a cell
    that holds one row of the one table and none of the other.
    """
    n, k, cells, nominal = 10_000, 1_000, 100, 1.0
    inverted = 1 / cells
    printed = inverted / (n * np.exp(nominal / k) + inverted - n)
    loss = k * log((1 - printed) * cells / (n * printed) + 1)
    assert 2_000 < loss < 3_000
    delta, _ = smallest_delta(Fraction(nominal) / k, base=n, cells=cells, moved=1)
    ours = k * log((1 - float(delta)) * cells / (n * float(delta)) + 1)
    assert ours == pytest.approx(nominal)
    assert ours <= nominal * (1 + 1e-12)
    assert 0.90 < delta < 0.92


def test_the_base_under_replace_is_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="base is the number of rows"):
        released_law(monkeypatch, (2,), (1, 1), rows=1, base=3, budget=PrivacyBudget(epsilon=1.0), unit=PrivacyUnit())


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_share_of_a_cell_moves_by_one_row_at_most(cells: int, neighbours: Neighbours) -> None:
    bound = row_sensitivity(neighbours).linf
    worst: dict[str, Sequence[Fraction]] = {}
    for n in range(1, 4):
        for table in all_tables(cells, n):
            for other in neighbours_of(table, PrivacyUnit(neighbours=neighbours)):
                shares = [Fraction(a, sum(table)) - Fraction(b, sum(other)) for a, b in zip(table, other, strict=True)]
                worst[str((table, other))] = [abs(share) * n for share in shares]
    assert all(share <= (bound or 0) for shares in worst.values() for share in shares)
