"""JTree (Chen, Zhang, Xiao, Xu; KDD 2015): a dependency graph, its junction tree, and noisy tables of merged cliques.

    SELECT  the dependency graph (algorithm 1, replaced), its cliques, and cliques merged into clusters (algorithm 2)
    BUY     a noisy table of each cluster, the budget in equal parts (section 4.3)
    INFER   mutual consistency and the cut of small counts; the junction tree's distribution (sections 3.2, 4.3, 4.4)

Follows the paper: the graph is one of pairs, with thresholds from Cramer's V; cliques of the triangulated graph are
merged where that lowers the total noise variance; m tables get noise of scale 2 m / eps_2; tables are brought to agree
by inverse-variance weighting over their intersections, small ones first; small counts are cut off at the threshold that
keeps the total; rows are drawn clique by clique.

Differs from it:
- The printed graph step is not private. Links are drawn one by one (pure epsilon) or all scores released as one vector
  (zCDP) instead of asked against one noisy threshold, and no rows are sampled: `structure/dependency.py` says why.
- Score R by default, which stands out further from its noise than I; I on request.
- Cliques are kept theta-useful and within memory, the paper sets no bound: a link that would make one too large is not
  on offer, judged by the schema and the links made before (`structure/clique_room.py`).
- Merging is exact or by local search; the paper's relaxation is ``merge="cccp"`` (`structure/clusters.py`).
- Cutting small counts off breaks agreement, of which the paper says nothing: the cliques' tables are calibrated along
  the tree afterwards. All tables agree on the number of rows too, which is known.
- ``infer="consistent"`` agrees and cuts off in rounds; ``infer="joint"`` fits the tree to all tables at once.
- With nothing to link the whole budget goes to the tables; under ``add-remove`` the number of rows is bought first;
  components of a disconnected graph share the budget and are one tree with empty separators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privbayes.core.clique_tree import Clique, CliqueTree
from privbayes.core.domain import Domain
from privbayes.counts.backend import CountingBackend
from privbayes.errors import BudgetError, UnsupportedError
from privbayes.measure.marginals import MeasuredTable, measure_marginals, measure_total, table_sensitivity
from privbayes.methods.plan import Plan
from privbayes.methods.privbayes import TOTAL_FRACTION
from privbayes.model.clique_fit import fit_cliques
from privbayes.model.joint import JointModel
from privbayes.model.junction_tree import INFERS, JunctionTreeModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.clique_room import CliqueRoom
from privbayes.structure.clusters import MERGES, form_clusters
from privbayes.structure.dependency import draw_graph, measure_graph
from privbayes.structure.usefulness import cell_limit, expected_noise

__all__ = ["JTreeSpec", "Shape", "choose_shape", "fit", "infer", "plan", "tables_to_buy"]

MAX_CELLS = 2**24  # of all tables bought
DRAWS = 4  # links drawn by default under pure epsilon, times the number of columns

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class JTreeSpec:
    """Every knob of JTree. ``beta`` is the share for the graph, ``theta`` the usefulness that a clique's table must
    have, ``phi`` the Cramer's V that a threshold stands for, ``edges`` how many links, or "tree"; ``merge`` how cliques
    become clusters, ``infer`` how noisy tables become a distribution.
    """

    score: str = "auto"
    encoding: str = "vanilla"
    beta: float = 0.3
    theta: float = 4.0
    phi: float = 0.2
    edges: int | str | None = None
    merge: str = "auto"
    infer: str = "paper"

    def __post_init__(self) -> None:
        if self.score not in ("auto", "I", "R"):
            raise UnsupportedError(f"score must be auto, I or R for a pair of columns, not {self.score!r}")
        if self.encoding not in ("hierarchical", "vanilla", "binary", "gray"):
            raise UnsupportedError(f"encoding must be hierarchical, vanilla, binary or gray, not {self.encoding!r}")
        if not 0 < self.beta < 1:
            raise BudgetError(
                f"beta must lie strictly between 0 and 1, not {self.beta}; edges=0 spends nothing on links"
            )
        if not self.theta > 0:
            raise BudgetError(f"theta must be positive, not {self.theta}")
        if not 0 <= self.phi < 1:
            raise UnsupportedError(f"phi must be at least 0 and less than 1, not {self.phi}")
        whole = isinstance(self.edges, int) and not isinstance(self.edges, bool)
        if self.edges is not None and self.edges != "tree" and not (whole and int(self.edges) >= 0):
            raise UnsupportedError(f"edges must be a whole number of at least 0, or 'tree', not {self.edges!r}")
        if self.merge not in MERGES:
            raise UnsupportedError(f"merge must be one of {', '.join(MERGES)}, not {self.merge!r}")
        if self.infer not in (*INFERS, "joint"):
            raise UnsupportedError(f"infer must be one of {', '.join(INFERS)}, joint, not {self.infer!r}")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What public facts decide before a row is read. ``draws`` None: every link above its threshold (zCDP)."""

    score: str
    draws: int | None
    structure: Fraction
    marginals: Fraction
    n: int
    pure: bool
    noise: float  # E|noise| on a cell if there were one table only

    @property
    def selects(self) -> bool:
        """Whether there is anything to link."""
        return self.draws != 0

    def cell_limit(self, tables: int, theta: float) -> float:
        """The most cells of a theta-useful table when so many share the budget."""
        noise = self.noise * (tables if self.pure else tables**0.5)
        return min(cell_limit(n=self.n, noise=noise, theta=theta), MAX_CELLS)

    def room(self, domain: Domain, theta: float) -> CliqueRoom:
        """No links yet, and which ones fit."""
        return CliqueRoom(domain.cardinalities, lambda tables: self.cell_limit(tables, theta), MAX_CELLS)


def choose_shape(domain: Domain, spec: JTreeSpec, *, n: int, pure: bool, unit: PrivacyUnit, budget: Fraction) -> Shape:
    """The split beta and the number of draws, from the schema, the number of rows and the budget alone."""
    score = "R" if spec.score == "auto" else spec.score
    if score == "I" and not unit.n_is_public:
        raise UnsupportedError("score I has no finite bound when the number of rows is private (add-remove); use R")
    if sum(domain.cardinalities) > MAX_CELLS:
        raise UnsupportedError(
            f"the columns alone have {sum(domain.cardinalities):,} values, more than the {MAX_CELLS:,} cells that fit "
            "in memory; use fewer bins"
        )
    sensitivity = table_sensitivity(unit.neighbours).for_rows(unit.rows_per_person)

    def split(structure: Fraction, draws: int | None) -> Shape:
        left = budget - structure
        noise = expected_noise(pure=pure, sensitivity=sensitivity, tables=1, share=left)
        return Shape(score=score, draws=draws, structure=structure, marginals=left, n=n, pure=pure, noise=noise)

    shape = split(budget * Fraction(spec.beta), None)
    room = shape.room(domain, spec.theta)
    if spec.edges == 0 or not room.fitting(room.pairs):
        return split(Fraction(0), 0)
    return replace(shape, draws=_draws(spec, room, pure=pure))


def _draws(spec: JTreeSpec, room: CliqueRoom, *, pure: bool) -> int | None:
    if isinstance(spec.edges, int):
        return min(spec.edges, len(room.pairs))
    if spec.edges == "tree":
        return len(room.sizes) - 1
    return min(DRAWS * len(room.sizes), len(room.pairs)) if pure else None


def fit(
    spec: JTreeSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[JunctionTreeModel | JointModel, int]:
    """Select, buy, infer. Also returns the number of rows: public, or as bought."""
    domain = counts.domain
    n = measure_total(counts, ledger, ledger.total * TOTAL_FRACTION)
    shape = choose_shape(domain, spec, n=n, pure=ledger.budget.is_pure, unit=ledger.unit, budget=ledger.remaining)
    cliques = _select(spec, shape, counts, ledger, _stage(progress, "structure"))
    tables = tables_to_buy(domain, cliques, spec.merge, pure=shape.pure)
    bought = measure_marginals(counts, ledger, tables, ledger.remaining, _stage(progress, "tables"))
    return infer(domain, cliques, bought, n, spec.infer, _stage(progress, "fit")), n


def tables_to_buy(domain: Domain, cliques: Sequence[Clique], merge: str, *, pure: bool) -> list[tuple[int, ...]]:
    """Algorithm 2, lines 2 to 5: the axes of each cluster."""
    clusters = form_clusters(cliques, domain.cardinalities, merge=merge, most_cells=MAX_CELLS, power=2 if pure else 1)
    tables = [tuple(domain.axis(a) for a in cluster) for cluster in clusters.tables]
    if sum(map(domain.cells, tables)) > MAX_CELLS:  # merged they would not fit, as they are they do
        tables = [tuple(domain.axis(a) for a in clique) for clique in cliques]
    return tables


def infer(
    domain: Domain,
    cliques: Sequence[Clique],
    bought: Sequence[MeasuredTable],
    n: int,
    how: str,
    report: Callable[[int, int], None] | None = None,
) -> JunctionTreeModel | JointModel:
    """From what was released to the model: all of it is post-processing."""
    tree = CliqueTree.of(cliques, domain.cardinalities)
    tables = [(table.axes, table.measurement) for table in bought]
    if how == "joint":
        return fit_cliques(domain, tree, tables, total=float(n), progress=report)
    return JunctionTreeModel(domain, tree, tables, total=float(n), infer=how)


def plan(spec: JTreeSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """What a fit would buy, from public facts alone: rehearsed with links drawn at random from those that fit."""
    from privbayes.methods.rehearsal import price_tables, rehearsal_generator

    total = budget.total()
    left = total if unit.n_is_public else total * (1 - TOTAL_FRACTION)
    shape = choose_shape(domain, spec, n=n, pure=budget.is_pure, unit=unit, budget=left)
    room, candidates = _rehearse(domain, spec, shape, rehearsal_generator())
    tables = tables_to_buy(domain, room.cliques, spec.merge, pure=budget.is_pure)
    priced = price_tables(domain, tables, shape.marginals, n=n, budget=budget, unit=unit)
    draws = (shape.draws or 0) if budget.is_pure else int(shape.selects)
    return Plan(
        method="jtree",
        form="junction tree",
        score=shape.score,
        encoding=spec.encoding,
        candidates=candidates,
        draws=draws,
        share_a_draw=float(shape.structure / draws) if draws else 0.0,
        details={
            "links": len(room.edges),
            "cliques": len(room.cliques),
            "largest_useful_clique_cells": int(shape.cell_limit(len(room.cliques), spec.theta)),
            "clusters": len(tables),
            "largest_cluster_cells": max(map(domain.cells, tables)),
        },
        notes=(*_notes(spec, shape), *priced.notes),
        **priced.facts,
    )


def _rehearse(domain: Domain, spec: JTreeSpec, shape: Shape, rng: np.random.Generator) -> tuple[CliqueRoom, int]:
    """A graph as a fit could draw it, and how many pairs were on offer on the way."""
    room = shape.room(domain, spec.theta)
    if not shape.selects:
        return room, 0
    met = 0
    for _ in range(_draws(spec, room, pure=True) or 0):
        offered = room.fitting(room.pairs, joining=spec.edges == "tree")
        if not offered:
            break
        met += len(offered)
        room.link(offered[int(rng.integers(len(offered)))])
    return room, met if shape.pure else len(room.pairs)


def _notes(spec: JTreeSpec, shape: Shape) -> tuple[str, ...]:
    if not shape.selects:
        return ("no table of two columns would stand out from the noise: columns are modelled as independent",)
    notes = ["which tables are bought depends on private choices: this is a rehearsal with random ones"]
    if shape.draws is None:
        notes.append(f"links are those whose noisy score passes the threshold (phi = {spec.phi:g}): there may be fewer")
    return tuple(notes)


def _select(
    spec: JTreeSpec,
    shape: Shape,
    counts: CountingBackend,
    ledger: Ledger,
    report: Callable[[int, int], None] | None,
) -> tuple[Clique, ...]:
    """The cliques of the triangulated dependency graph."""
    room = shape.room(counts.domain, spec.theta)
    tree = spec.edges == "tree"
    if not shape.selects:
        return room.cliques
    if shape.pure:
        draw_graph(
            counts, ledger, shape.structure, room, score=shape.score, phi=spec.phi, n=shape.n,
            draws=shape.draws or 0, tree=tree, progress=report,
        )  # fmt: skip
    else:
        measure_graph(
            counts, ledger, shape.structure, room, score=shape.score, phi=spec.phi, n=shape.n,
            draws=shape.draws, tree=tree,
        )  # fmt: skip
    return room.cliques


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(name, done, total)
