"""The tables of all pairs of attributes that a junction tree implies, and their correction by tables bought besides."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from privbayes.core.pairs import Pairs
from privbayes.core.residuals import centred
from privbayes.model.observations import Observation
from privbayes.model.propagation import Propagation

__all__ = ["correct", "model_pairs", "rake"]

_FLOOR = 1e-9  # of a row: keeps odds finite

Table = NDArray[np.float64]


def model_pairs(engine: Propagation, log_weight: Table, pairs: Pairs) -> Table:
    """Every pair's probabilities, exactly: inside a clique they are read off; elsewhere one of the two attributes is
    fixed to each of its values in turn, one propagation each. Leaves the engine calibrated.
    """
    flat = np.zeros(int(pairs.start[-1]))
    engine.infer(log_weight)
    inside = [k for k, pair in enumerate(pairs.members) if engine.home(pair) is not None]
    slots = engine.slots([pairs.members[k] for k in inside])
    ones = engine.slots([(a,) for a in range(len(pairs.sizes))])
    values, columns = engine.marginals(slots), engine.marginals(ones)
    for k in inside:
        pairs.table(flat, k)[:] = slots.over(values, pairs.members[k])
    open_pairs = set(range(len(pairs))) - set(inside)
    for a in sorted(range(len(pairs.sizes)), key=lambda a: (pairs.sizes[a], a)):
        partners = [b for b in range(len(pairs.sizes)) if pairs.place[a, b] in open_pairs]
        if not partners:
            continue
        share = ones.over(columns, (a,))
        for code, given in enumerate(engine.given_each_value(log_weight, a, ones)):
            for b in partners:
                table = pairs.table(flat, int(pairs.place[a, b]))
                row = table[code] if a < b else table[:, code]
                row[:] = share[code] * ones.over(given, (b,))
        open_pairs -= {int(pairs.place[a, b]) for b in partners}
    engine.infer(log_weight)
    return flat


def correct(pairs: Pairs, flat: Table, total: float, observations: Iterable[Observation]) -> None:
    """In place: a bought table moves the model's table of its pair by what it saw beyond it, cell by cell shrunk by
    empirical Bayes: a cell's prior deviation is proportional to its expected count, by a factor read off the excess of
    the whole table over its noise. The columns' shares are kept.
    """
    for one in observations:
        a, b = one.attributes
        table = pairs.table(flat, int(pairs.place[a, b]))
        if a > b:
            table = table.T
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        groups = one.values(0), one.values(1)
        seen = np.zeros(one.table.shape)
        np.add.at(seen, np.ix_(*groups), total * table)
        expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / total
        missing = one.table - (centred(seen) if one.centred else seen)
        freedom = int(groups[0].max()) * int(groups[1].max())  # one less than the groups of each
        excess = max(float((missing**2).sum()) - one.variance * freedom, 0.0)
        signal = expected**2 * excess
        shrink = signal / (signal + one.variance * (expected**2).sum() + 1e-300)
        moved = np.maximum(seen + centred(missing * shrink), 0.0) + _FLOOR
        factor = moved / np.maximum(seen, _FLOOR)
        table[:] = rake(table * factor[np.ix_(*groups)], rows, columns)


def rake(table: Table, rows: Table, columns: Table, rounds: int = 30) -> Table:
    """The table with these shares of rows and columns and the odds ratios it had (iterative proportional fitting)."""
    fitted = table / table.sum()
    for _ in range(rounds):
        fitted = fitted * (rows / np.maximum(fitted.sum(axis=1), 1e-300))[:, None]
        fitted = fitted * (columns / np.maximum(fitted.sum(axis=0), 1e-300))[None, :]
    shares: Table = fitted / fitted.sum()
    return shares
