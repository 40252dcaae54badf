"""The structure of MST (McKenna, Miklau and Sheldon 2021), bought as `best` buys: columns, the errors of all pairs, a
maximum spanning tree of them, interaction tables of its pairs and the columns once more at one common price, a joint
fit and polished rows. What is missing beside `best` are cliques of three and more, and pairs outside the tree.

For comparison only; MST itself draws its pairs one by one and buys whole tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privbayes.api import Method
from privbayes.core.clique_tree import CliqueTree
from privbayes.counts.backend import CountingBackend
from privbayes.measure.marginals import measure_total
from privbayes.methods import best
from privbayes.model.joint import JointModel
from privbayes.privacy.ledger import Ledger
from privbayes.structure.links import Links

__all__ = ["SpanningTree", "fit"]


@dataclass(frozen=True, kw_only=True)
class SpanningTree(best.BestSpec, Method):
    """`best` on a tree of pairs."""

    name: ClassVar[str] = "spanning tree"
    module: ClassVar[str] = "spanning_tree"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"


def fit(
    spec: best.BestSpec, counts: CountingBackend, ledger: Ledger, progress: Callable[..., Any] | None = None
) -> tuple[JointModel, int]:
    """As `best.fit`, with the tree chosen before anything is bought for it."""
    domain, workload, form = counts.domain, spec.wanted(counts.domain), best._form(ledger)
    n = measure_total(counts, ledger, ledger.total * best.TOTAL)
    bought = list(best._buy_columns(counts, ledger, None))
    columns = best._known_columns(domain, bought, n, ledger)
    links = spanning(best._select(counts, ledger, columns, n), len(domain))
    bought += best._buy_tables(counts, ledger, columns, links, workload, ledger.remaining, None)
    columns = best._known_columns(domain, bought, n, ledger)
    alone = set(range(len(domain))) - {a for pair in links.pairs for a in pair}
    tree = CliqueTree.of([*links.pairs, *((a,) for a in alone)], domain.cardinalities)
    return best.infer(spec, domain, bought, columns, links, form, trees=[tree]), n


def spanning(links: Links, attributes: int) -> Links:
    """Kruskal's algorithm over the released errors."""
    part = list(range(attributes))
    kept = []
    for k in np.argsort(-links.errors, kind="stable"):
        a, b = (part[one] for one in links.pairs[k])
        if a != b:
            part = [a if one == b else one for one in part]
            kept.append(int(k))
    return Links(pairs=tuple(links.pairs[k] for k in kept), errors=links.errors[kept], deviation=links.deviation)
