"""INFER jointly: distributions on junction trees, fitted to all that was bought. The first tree is the model; further
trees, and the tables bought besides them all, correct what it says of single pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.core.pairs import Pairs
from privbayes.errors import UnsupportedError
from privbayes.model.chain import Chain
from privbayes.model.clique_tree import clique_tree_chain
from privbayes.model.factor import MAX_CELLS, Factor
from privbayes.model.max_entropy import FitReport, TreeFit
from privbayes.model.observations import FORMS, Form, Groups, Observation, combined, interactions, observed
from privbayes.model.pair_tables import correct, model_pairs
from privbayes.model.propagation import Propagation
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["KIND", "PAIRS_CELLS", "PAIR_CELLS", "JointModel"]

KIND = "junction trees"
PAIR_CELLS = 2**16  # of one pair's table, at most, for it to be bought, corrected or polished
PAIRS_CELLS = 2**24  # of all pairs' tables together
_RAKES = 200

Tables = Sequence[tuple[tuple[int, ...], Measurement]]


class JointModel:
    """What was released, and the potentials fitted to it on each tree. All else is derived, the same way each time.

    ``form`` says how the released integers stand for tables; ``weights`` how much each attribute counts in polishing.
    """

    def __init__(
        self,
        domain: Domain,
        tables: Tables,
        *,
        form: Form,
        total: float,
        fits: Sequence[TreeFit],
        weights: Sequence[float] | None = None,
        groups: Sequence[Groups | None] | None = None,
    ) -> None:
        if not fits or not total > 0:
            raise ValueError("a model has at least one tree and one row")
        self._domain = domain
        self.tables = tuple(tables)
        self.groups = tuple(groups) if groups is not None else (None,) * len(self.tables)
        self.form: Form = form
        self.total = total
        self.fits = tuple(fits)
        self.weights = tuple(weights) if weights is not None else (1.0,) * len(domain)
        sizes = domain.cardinalities
        self._engines = tuple(Propagation(fit.tree, sizes, max_cells=MAX_CELLS) for fit in self.fits)
        self._slots = tuple(engine.slots(fit.slots) for engine, fit in zip(self._engines, self.fits, strict=True))
        if any(slots.cells != len(fit.potentials) for slots, fit in zip(self._slots, self.fits, strict=True)):
            raise ValueError("the potentials do not fit their tables")

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @property
    def tree(self) -> CliqueTree:
        """The tree of the model itself."""
        return self.fits[0].tree

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The potentials of all trees, end to end."""
        return np.concatenate([fit.potentials for fit in self.fits])

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs whose tables the model keeps."""
        return Pairs.of(self._domain.cardinalities, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS)

    @cached_property
    def pair_tables(self) -> NDArray[np.float64]:
        """The probabilities of all pairs: as the first tree has them; what was bought outside it as the mean of the
        further trees that hold it, or, where none does, corrected by the purchase itself.
        """
        first, *further = range(len(self.fits))
        flat = model_pairs(self._engines[first], self._log_weight(first), self.pairs)
        outside = {one.attributes: one for one in self._outside}
        left = set(outside)
        sums: dict[tuple[int, ...], tuple[NDArray[np.float64], int]] = {}
        for t in further:
            held = [pair for pair in outside if self._engines[t].home(pair) is not None]
            self._engines[t].infer(self._log_weight(t))
            slots = self._engines[t].slots(held)
            values = self._engines[t].marginals(slots)
            for pair in held:
                table, count = sums.get(pair, (0.0, 0))
                sums[pair] = table + slots.over(values, pair), count + 1
        for pair, (table, count) in sums.items():
            self.pairs.table(flat, int(self.pairs.place[pair]))[:] = table / count
        correct(self.pairs, flat, self.total, [outside[pair] for pair in sorted(left - set(sums))])
        return flat

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The joint distribution of the attributes, in this order (given the evidence). Pairs are as corrected; more
        attributes are what the first tree says of them, raked to the corrected pairs.
        """
        sizes = [self._domain.cardinalities[a] for a in attributes]
        if prod(sizes) > MAX_CELLS:
            raise UnsupportedError(
                f"a table over these columns has {prod(sizes):,} cells, over the limit of {MAX_CELLS:,}; ask for fewer"
            )
        if evidence or len(attributes) < 2 or not self._outside:
            return self._chain.marginal(attributes, evidence)
        place = self.pairs.place
        known = [(i, j) for j in range(len(attributes)) for i in range(j) if place[attributes[i], attributes[j]] >= 0]
        if len(attributes) == 2 and known:
            return self._pair(*attributes)
        table = self._chain.marginal(attributes)
        bought = {frozenset(one.attributes) for one in self._outside}
        if any(frozenset((attributes[i], attributes[j])) in bought for i, j in known):
            targets = {(i, j): self._pair(attributes[i], attributes[j]) for i, j in known}
            table = _raked(table, targets)
        return table

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Rows dealt evenly and polished; under evidence, independent rows of the first tree's exact conditional."""
        from privbayes.sample.polished import PolishedSampler  # compiled: loaded only to sample

        if evidence:
            return self._chain.sampler(evidence)
        return PolishedSampler(
            self._domain.cardinalities, self.tree, self._clique_tables, self.pairs, self.pair_tables, self.weights
        )

    def structure(self) -> Mapping[str, Any]:
        """The trees by names, and how their fits ended."""
        names = self._domain.names
        return {
            "kind": KIND,
            "form": self.form,
            "total": self.total,
            "weights": list(self.weights),
            "groups": [groups and [codes.tolist() for codes in groups] for groups in self.groups],
            "trees": [
                {
                    "cliques": [[names[a] for a in clique] for clique in fit.tree.cliques],
                    "parents": list(fit.tree.parents),
                    "fitted": [[names[a] for a in slot] for slot in fit.slots],
                    "fit": fit.report.to_dict(),
                }
                for fit in self.fits
            ],
        }

    @staticmethod
    def rebuilt(
        domain: Domain, structure: Mapping[str, Any], tables: Tables, parameters: NDArray[np.float64]
    ) -> JointModel:
        """From a model file; ValueError when its parts do not fit each other."""
        place = {name: a for a, name in enumerate(domain.names)}
        if structure["form"] not in FORMS or not np.all(np.isfinite(parameters)):
            raise ValueError("unknown form, or potentials that are not numbers")
        fits, start = [], 0
        for entry in structure["trees"]:
            cliques = tuple(tuple(place[name] for name in clique) for clique in entry["cliques"])
            slots = tuple(tuple(place[name] for name in slot) for slot in entry["fitted"])
            cells = sum(prod(domain.cardinalities[a] for a in slot) for slot in slots)
            fits.append(
                TreeFit(
                    tree=CliqueTree(cliques, tuple(int(parent) for parent in entry["parents"])),
                    slots=slots,
                    potentials=parameters[start : start + cells],
                    report=FitReport(**entry["fit"]),
                )
            )
            start += cells
        if start != len(parameters) or len(structure["weights"]) != len(domain):
            raise ValueError("the potentials do not fit their tables")
        return JointModel(
            domain,
            tables,
            form=structure["form"],
            total=float(structure["total"]),
            fits=fits,
            weights=[float(weight) for weight in structure["weights"]],
            groups=_groups(domain, structure["groups"], tables),
        )

    @property
    def _observations(self) -> list[Observation]:
        return [
            observed(self._domain, axes, released, self.form, groups)
            for (axes, released), groups in zip(self.tables, self.groups, strict=True)
        ]

    @cached_property
    def _outside(self) -> list[Observation]:
        """Pairs that were bought though no clique of the first tree holds them. Of the many pairs inside blocks, those
        that were believed to depend: what no tree was fitted to is noise.
        """
        fitted = {frozenset(slot) for fit in self.fits for slot in fit.slots}
        return [
            one
            for one in (interactions if self.form == "blocks" else combined)(self._observations)
            if len(one.attributes) == 2
            and self._engines[0].home(one.attributes) is None
            and self.pairs.place[one.attributes] >= 0
            and (self.form != "blocks" or frozenset(one.attributes) in fitted)
        ]

    def _log_weight(self, t: int) -> NDArray[np.float64]:
        return self._engines[t].log_weights(self._slots[t], self.fits[t].potentials)

    @cached_property
    def _clique_tables(self) -> list[NDArray[np.float64]]:
        self._engines[0].infer(self._log_weight(0))
        return self._engines[0].clique_tables()

    @cached_property
    def _chain(self) -> Chain:
        return clique_tree_chain(self._domain, self.tree, self._clique_tables)

    def _pair(self, a: int, b: int) -> NDArray[np.float64]:
        table = self.pairs.table(self.pair_tables, int(self.pairs.place[a, b]))
        return table.copy() if a < b else table.T.copy()


def _groups(domain: Domain, entries: Sequence[Any], tables: Tables) -> list[Groups | None]:
    """The groups of every table, as a model file has them; ValueError unless there is one group for each code."""
    found: list[Groups | None] = []
    for (axes, _), entry in zip(tables, entries, strict=True):
        groups = entry and tuple(np.array(codes, np.int64) for codes in entry)
        if groups and [len(codes) for codes in groups] != [int(domain.axis_size[axis]) for axis in axes]:
            raise ValueError("groups do not match their table")
        if groups and any(not np.array_equal(np.unique(codes), np.arange(codes.max() + 1)) for codes in groups):
            raise ValueError("groups are not numbered 0, 1, 2, ...")
        found.append(groups or None)
    return found


def _raked(table: NDArray[np.float64], targets: Mapping[tuple[int, int], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The table moved to these tables of pairs of its axes, in rounds, as far as they agree with each other."""
    for _ in range(_RAKES):
        worst = 0.0
        for (i, j), target in targets.items():
            seen = table.sum(axis=tuple(a for a in range(table.ndim) if a not in (i, j)))
            worst = max(worst, float(np.abs(seen - target).max()))
            shape = [size if a in (i, j) else 1 for a, size in enumerate(table.shape)]
            table = table * np.where(seen > 0, target / np.where(seen > 0, seen, 1.0), 0.0).reshape(shape)
        if worst < 1e-9:
            break
    shares: NDArray[np.float64] = table / table.sum()
    return shares
