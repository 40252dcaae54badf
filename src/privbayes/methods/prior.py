"""A prior for `best`: an earlier release of the same table, whose purchases are taken over, or a model of another
table, whose pairs are the reference instead of independence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.pairs import Pairs
from privbayes.counts.backend import CountingBackend
from privbayes.errors import UnsupportedError
from privbayes.measure.marginals import MeasuredTable
from privbayes.model.columns import Columns
from privbayes.model.guide import Guide
from privbayes.model.joint import PAIR_CELLS, PAIRS_CELLS, JointModel
from privbayes.model.protocol import GenerativeModel
from privbayes.privacy.ledger import Ledger
from privbayes.structure.pair_errors import choose_reference

__all__ = ["PRIOR_OF", "Prior", "choose_guide", "take_up"]

PRIOR_OF = ("this-table", "another-table")
HANDICAP = 2.0  # how much better than independence another reference must be, in units of the choice's noise
SHARE = Fraction(3, 100)  # of the budget: buys how far the other model is believed
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """``model``: what was released or is public, over the same attributes; ``of`` says which table it is a model of;
    ``total`` and ``total_variance`` its number of rows and the noise in that, ``words`` what it promised.
    """

    model: GenerativeModel
    of: str
    total: float
    total_variance: float
    words: str

    def __str__(self) -> str:
        return f"a model of {self.of.replace('-', ' ')} by {self.words}"

    def earlier(self, domain: Domain, ledger: Ledger, n: int) -> tuple[list[MeasuredTable], int]:
        """What was bought of this very table before, and the number of rows as both releases know it."""
        if self.of != PRIOR_OF[0]:
            return [], n
        if not isinstance(self.model, JointModel) or self.model.form != "residual":
            raise UnsupportedError("a prior of this table must be a release by method best with delta")
        before = self.model.domain
        bought = []
        for (axes, measurement), groups in zip(self.model.tables, self.model.groups, strict=True):
            codes = [before.axis_codes(axis) for axis in axes]
            if groups is not None:
                codes = [group[code] for group, code in zip(groups, codes, strict=True)]
            attributes = [int(before.axis_attribute[axis]) for axis in axes]
            sizes = [domain.cardinalities[a] for a in attributes]
            whole = [int(code.max()) + 1 for code in codes] == sizes
            bought.append(
                MeasuredTable(
                    axes=tuple(domain.axis(a) for a in attributes),
                    measurement=measurement,
                    groups=None if whole else tuple(codes),
                )
            )
        if not ledger.unit.n_is_public and self.total_variance > 0:
            fresh = ledger.receipts[0].scale ** 2
            weight = self.total_variance / (fresh + self.total_variance)
            n = max(1, round(weight * n + (1 - weight) * self.total))
        return bought, n

    def guide(self, domain: Domain) -> Guide | None:
        """What the model of another table says of columns and pairs."""
        if self.of != PRIOR_OF[1]:
            return None
        pairs = Pairs.of(domain.cardinalities, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS)
        tables = [self.model.marginal(pair).ravel() for pair in pairs.members]
        return Guide(
            columns=tuple(self.model.marginal([a]) for a in range(len(domain))),
            pairs=pairs,
            tables=np.concatenate([np.zeros(0), *tables]),
        )


def take_up(
    prior: Prior | None, domain: Domain, ledger: Ledger, n: int
) -> tuple[list[MeasuredTable], Guide | None, int]:
    """What a prior gives before anything else is known: earlier purchases, a guide, the number of rows."""
    if prior is None:
        return [], None, n
    if ledger.budget.is_pure:
        raise UnsupportedError("a prior needs delta: under pure epsilon, method best cannot make use of one")
    bought, n = prior.earlier(domain, ledger, n)
    return bought, prior.guide(domain), n


def choose_guide(
    guide: Guide | None, counts: CountingBackend, ledger: Ledger, columns: Columns, n: int
) -> Guide | None:
    """How far the other model is to be believed: the weight whose references are nearest to all pairs' tables, chosen
    privately. None when independent columns are.
    """
    if guide is None:
        return None
    sizes = counts.domain.cardinalities
    pairs: Sequence[tuple[int, int]] = [pair for pair in guide.pairs.members if min(sizes[a] for a in pair) > 1]
    if not pairs:
        return None
    guides = [replace(guide, weight=weight) for weight in WEIGHTS]
    references = [partial(one.reference, columns) for one in guides]
    share = ledger.total * SHARE
    chosen = choose_reference(counts, ledger, pairs, columns.shares, n, references, share, handicap=HANDICAP)
    return guides[chosen] if WEIGHTS[chosen] > 0 else None
