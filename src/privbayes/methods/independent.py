"""The baseline without structure: one noisy table a column, the whole budget on them, columns drawn independently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from privbayes.core.domain import Domain
from privbayes.core.network import AttributeParents, BayesianNetwork
from privbayes.counts.backend import CountingBackend
from privbayes.errors import UnsupportedError
from privbayes.measure.marginals import measure_marginals, measure_total
from privbayes.methods.plan import Plan
from privbayes.methods.privbayes import TOTAL_FRACTION
from privbayes.model.bayes_net import BayesNetModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.unit import PrivacyUnit

__all__ = ["IndependentSpec", "fit", "plan"]

MAX_CELLS = 2**24  # of all tables bought

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class IndependentSpec:
    """Its one knob: in ``binary`` and ``gray`` encoding the bits of a column are independent too."""

    encoding: str = "vanilla"

    def __post_init__(self) -> None:
        if self.encoding not in ("hierarchical", "vanilla", "binary", "gray"):
            raise UnsupportedError(f"encoding must be hierarchical, vanilla, binary or gray, not {self.encoding!r}")


def fit(
    spec: IndependentSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[BayesNetModel, int]:
    """Buy one table a column. Also returns the number of rows: public, or as bought."""
    domain = counts.domain
    n = measure_total(counts, ledger, ledger.total * TOTAL_FRACTION)
    report = None if progress is None else (lambda done, total: progress("tables", done, total))
    bought = measure_marginals(counts, ledger, _tables(domain), ledger.remaining, report)
    network = BayesianNetwork(tuple(AttributeParents(a) for a in range(len(domain))))
    return BayesNetModel(domain, network, [(table.axes, table.measurement) for table in bought]), n


def plan(spec: IndependentSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """What a fit would buy; nothing of it depends on the rows."""
    from privbayes.methods.rehearsal import price_tables

    total = budget.total()
    share = total if unit.n_is_public else total * (1 - TOTAL_FRACTION)
    priced = price_tables(domain, _tables(domain), share, n=n, budget=budget, unit=unit)
    return Plan(
        method="independent", form="independent", encoding=spec.encoding, degree=0, notes=priced.notes, **priced.facts
    )


def _tables(domain: Domain) -> list[tuple[int, ...]]:
    cells = sum(domain.cardinalities)
    if cells > MAX_CELLS:
        raise UnsupportedError(
            f"the tables would have {cells:,} cells, more than the {MAX_CELLS:,} that fit in memory; use fewer bins"
        )
    return [(int(axis),) for axis in domain.first_axis]
