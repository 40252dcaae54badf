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
from privbayes.core.workload import Workload
from privbayes.errors import UnsupportedError
from privbayes.model.chain import Chain
from privbayes.model.clique_tree import clique_tree_chain
from privbayes.model.factor import MAX_CELLS, Factor
from privbayes.model.max_entropy import FitReport, TreeFit
from privbayes.model.observations import FORMS, Form, Groups, Observation, combined, observed
from privbayes.model.pair_tables import correct, model_pairs, rake
from privbayes.model.propagation import Propagation
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["KIND", "PAIRS_CELLS", "PAIR_CELLS", "TRIPLES", "TRIPLES_CELLS", "JointModel"]

KIND = "junction trees"
PAIR_CELLS = 2**16  # of one pair's table, at most, for it to be bought, corrected or polished
PAIRS_CELLS = 2**24  # of all pairs' tables together
TRIPLES_CELLS = 2**21  # of all triples' tables that rows are polished toward
TRIPLES = 2_000
_RAKES, _FEW_RAKES = 200, 10

Tables = Sequence[tuple[tuple[int, ...], Measurement]]


class JointModel:
    """What was released, and the potentials fitted to it on each tree. All else is derived, the same way each time.

    ``form`` says how the released integers stand for tables; ``workload`` which tables rows are polished toward and how
    much each counts.
    """

    def __init__(
        self,
        domain: Domain,
        tables: Tables,
        *,
        form: Form,
        total: float,
        fits: Sequence[TreeFit],
        workload: Workload | None = None,
        groups: Sequence[Groups | None] | None = None,
        references: NDArray[np.float64] | None = None,
    ) -> None:
        if not fits or not total > 0:
            raise ValueError("a model has at least one tree and one row")
        self._domain = domain
        self.tables = tuple(tables)
        self.groups = tuple(groups) if groups is not None else (None,) * len(self.tables)
        self._references = references
        self.form: Form = form
        self.total = total
        self.fits = tuple(fits)
        self.workload = workload or Workload.pairs(len(domain))
        sizes = domain.cardinalities
        self._engines = tuple(Propagation(fit.tree, sizes, max_cells=MAX_CELLS) for fit in self.fits)
        self._slots = tuple(engine.slots(fit.slots) for engine, fit in zip(self._engines, self.fits, strict=True))
        if references is not None and len(references) != int(self.pairs.start[-1]):
            raise ValueError("the references do not fit the pairs")
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
        """The potentials of all trees, end to end, and the references where there are any."""
        references = np.zeros(0) if self._references is None else self._references
        return np.concatenate([*(fit.potentials for fit in self.fits), references])

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs whose tables the model keeps."""
        return Pairs.of(self._domain.cardinalities, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS)

    @cached_property
    def pair_tables(self) -> NDArray[np.float64]:
        """The probabilities of all pairs: as the first tree has them. What it does not hold though it was bought, or
        known beforehand: the mean of the further trees that hold it, or, where none does, what was known, corrected by
        the purchase itself.
        """
        first, *further = range(len(self.fits))
        flat = model_pairs(self._engines[first], self._log_weight(first), self.pairs)
        outside = self._outside
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
        left = sorted(outside.keys() - sums.keys())
        if self._references is not None:
            for pair in left:
                place = int(self.pairs.place[pair])
                table = self.pairs.table(flat, place)
                table[:] = rake(self.pairs.table(self._references, place), table.sum(axis=1), table.sum(axis=0))
        correct(self.pairs, flat, self.total, [one for pair in left for one in outside[pair]])
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
        if any(tuple(sorted((attributes[i], attributes[j]))) in self._outside for i, j in known):
            targets = {(i, j): self._pair(attributes[i], attributes[j]) for i, j in known}
            table = _raked(table, targets)
        return table

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Rows dealt evenly and polished; under evidence, independent rows of the first tree's exact conditional."""
        from privbayes.sample.goals import Goals
        from privbayes.sample.polished import PolishedSampler  # compiled: loaded only to sample

        if evidence:
            return self._chain.sampler(evidence)
        sizes = self._domain.cardinalities
        triples = self._polished_triples
        goals = Goals.of(
            sizes,
            [*self.pairs.members, *triples],
            np.concatenate([self.pair_tables, *(table.ravel() for table in self.clique_marginals(triples))]),
            np.array([*self.workload.of_pairs(self.pairs.members), *map(self.workload.of_triple, triples)]),
        )
        return PolishedSampler(sizes, self.tree, self._clique_tables, goals)

    def triple_tables(self, triples: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        """The tables of triples: as the first tree has them where one of its cliques holds the triple, else what the
        tables of their pairs say of them.
        """
        held = [triple for triple in triples if self._engines[0].home(triple) is not None]
        inside = dict(zip(held, self.clique_marginals(held), strict=True))
        return [inside[triple] if triple in inside else self._from_pairs(triple) for triple in triples]

    def _from_pairs(self, attributes: Sequence[int]) -> NDArray[np.float64]:
        """The product of the columns raked to the tables of all pairs among them."""
        table = np.ones(())
        for a in attributes:
            table = np.multiply.outer(table, self._chain.marginal((a,)))
        pairs = [(i, j) for j in range(len(attributes)) for i in range(j)]
        known = [(i, j) for i, j in pairs if self.pairs.place[attributes[i], attributes[j]] >= 0]
        return _raked(table, {(i, j): self._pair(attributes[i], attributes[j]) for i, j in known}, rounds=_FEW_RAKES)

    def clique_marginals(self, sets: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        """The tables of attributes that lie inside a clique of the first tree, as it has them."""
        engine = self._engines[0]
        slots = engine.slots(sets)
        engine.infer(self._log_weight(0))
        values = engine.marginals(slots)
        return [slots.over(values, members).copy() for members in sets]

    def structure(self) -> Mapping[str, Any]:
        """The trees by names, and how their fits ended."""
        names = self._domain.names
        return {
            "kind": KIND,
            "form": self.form,
            "total": self.total,
            "workload": self.workload.to_dict(names),
            "groups": [groups and [codes.tolist() for codes in groups] for groups in self.groups],
            "references": self._references is not None,
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
        references = parameters[start:] if structure["references"] else None
        if references is None and start != len(parameters):
            raise ValueError("the potentials do not fit their tables")
        return JointModel(
            domain,
            tables,
            form=structure["form"],
            total=float(structure["total"]),
            fits=fits,
            workload=Workload.from_dict(structure["workload"], domain.names),
            groups=_groups(domain, structure["groups"], tables),
            references=references,
        )

    @property
    def _observations(self) -> list[Observation]:
        return [
            observed(self._domain, axes, released, self.form, groups)
            for (axes, released), groups in zip(self.tables, self.groups, strict=True)
        ]

    @cached_property
    def _outside(self) -> dict[tuple[int, ...], list[Observation]]:
        """Pairs that no clique of the first tree holds, though something is known of them, and what was bought."""
        first, pairs = self._engines[0], self.pairs
        known = pairs.members if self._references is not None else ()
        found: dict[tuple[int, ...], list[Observation]] = {pair: [] for pair in known if first.home(pair) is None}
        for one in combined(self._observations):
            pair = one.attributes
            if len(pair) == 2 and first.home(pair) is None and pairs.place[pair] >= 0:
                found.setdefault(pair, []).append(one)
        return found

    @cached_property
    def _polished_triples(self) -> list[tuple[int, ...]]:
        """The wanted triples that the first tree can speak for, smallest first as far as there is room."""
        sizes = self._domain.cardinalities
        cells = {triple: prod(sizes[a] for a in triple) for triple in self.workload.triples_within(self.tree.cliques)}
        found = sorted(cells, key=lambda triple: (cells[triple], triple))
        room = int(np.searchsorted(np.cumsum([cells[triple] for triple in found]), TRIPLES_CELLS, side="right"))
        return found[: min(room, TRIPLES)]

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


def _raked(
    table: NDArray[np.float64], targets: Mapping[tuple[int, int], NDArray[np.float64]], rounds: int = _RAKES
) -> NDArray[np.float64]:
    """The table moved to these tables of pairs of its axes, in rounds, as far as they agree with each other."""
    for _ in range(rounds):
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
