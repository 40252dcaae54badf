"""INFER jointly: one distribution on a junction tree, fitted to all that was bought, and corrected where tables were
bought besides the tree.
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
from privbayes.model.max_entropy import FitReport, Observation
from privbayes.model.pair_tables import correct, model_pairs
from privbayes.model.propagation import Propagation
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["KIND", "PAIR_CELLS", "PAIRS_CELLS", "JointModel"]

KIND = "joint"
PAIR_CELLS = 2**16  # of one pair's table, at most, for it to be bought, corrected or polished
PAIRS_CELLS = 2**24  # of all pairs' tables together
_RAKES = 200


class JointModel:
    """What was released, the tree, and the potentials fitted to it. Everything else is derived, the same way each time.

    ``tables`` are the released coordinates by their axes; ``outside`` the observations of pairs that no clique holds.
    """

    def __init__(
        self,
        domain: Domain,
        tables: Sequence[tuple[tuple[int, ...], Measurement]],
        *,
        tree: CliqueTree,
        slots: Sequence[tuple[int, ...]],
        potentials: NDArray[np.float64],
        total: float,
        outside: Sequence[Observation],
        report: FitReport,
    ) -> None:
        self._domain = domain
        self.tables = tuple(tables)
        self.tree = tree
        self.total = total
        self.report = report
        self.outside = tuple(outside)
        self._engine = Propagation(tree, domain.cardinalities, max_cells=MAX_CELLS)
        self._slots = self._engine.slots(slots)
        self.potentials = potentials
        if self._slots.cells != len(potentials):
            raise ValueError("the potentials do not fit their tables")

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs whose tables the model keeps."""
        return Pairs.of(self._domain.cardinalities, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS)

    @cached_property
    def _log_weight(self) -> NDArray[np.float64]:
        return self._engine.log_weights(self._slots, self.potentials)

    @cached_property
    def pair_tables(self) -> NDArray[np.float64]:
        """The probabilities of all pairs: as the tree has them, corrected by what was bought outside it."""
        flat = model_pairs(self._engine, self._log_weight, self.pairs)
        correct(self.pairs, flat, self.total, self.outside)
        return flat

    @cached_property
    def _clique_tables(self) -> list[NDArray[np.float64]]:
        self._engine.infer(self._log_weight)
        return self._engine.clique_tables()

    @cached_property
    def _chain(self) -> Chain:
        return clique_tree_chain(self._domain, self.tree, self._clique_tables)

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The joint distribution of the attributes, in this order (given the evidence). Pairs are as corrected; more
        attributes are what the tree says of them, raked to the corrected pairs.
        """
        sizes = [self._domain.cardinalities[a] for a in attributes]
        if prod(sizes) > MAX_CELLS:
            raise UnsupportedError(
                f"a table over these columns has {prod(sizes):,} cells, over the limit of {MAX_CELLS:,}; ask for fewer"
            )
        if evidence or len(attributes) < 2 or not self.outside:
            return self._chain.marginal(attributes, evidence)
        if len(attributes) == 2 and self.pairs.place[attributes[0], attributes[1]] >= 0:
            return self._pair(*attributes)
        table = self._chain.marginal(attributes)
        corrected = {frozenset(one.attributes) for one in self.outside}
        wanted = [
            (i, j)
            for j in range(len(attributes))
            for i in range(j)
            if self.pairs.place[attributes[i], attributes[j]] >= 0
        ]
        if not any(frozenset((attributes[i], attributes[j])) in corrected for i, j in wanted):
            return table
        for _ in range(_RAKES):
            worst = 0.0
            for i, j in wanted:
                target = self._pair(attributes[i], attributes[j])
                rest = tuple(a for a in range(table.ndim) if a not in (i, j))
                seen = table.sum(axis=rest)
                worst = max(worst, float(np.abs(seen - target).max()))
                shape = [size if a in (i, j) else 1 for a, size in enumerate(sizes)]
                table = table * np.where(seen > 0, target / np.where(seen > 0, seen, 1.0), 0.0).reshape(shape)
            if worst < 1e-9:
                break
        shares: NDArray[np.float64] = table / table.sum()
        return shares

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Rows dealt evenly and polished; under evidence, independent rows of the tree's exact conditional."""
        from privbayes.sample.polished import PolishedSampler  # compiled: loaded only to sample

        if evidence:
            return self._chain.sampler(evidence)
        return PolishedSampler(
            self._domain.cardinalities, self.tree, self._clique_tables, self.pairs, self.pair_tables
        )

    def structure(self) -> Mapping[str, Any]:
        """The tree by names, and how the fit ended."""
        names = self._domain.names
        return {
            "kind": KIND,
            "cliques": [[names[a] for a in clique] for clique in self.tree.cliques],
            "parents": list(self.tree.parents),
            "total": self.total,
            "fitted": [[names[a] for a in slot] for slot in self._slots.attributes],
            "fit": self.report.to_dict(),
        }

    def _pair(self, a: int, b: int) -> NDArray[np.float64]:
        table = self.pairs.table(self.pair_tables, int(self.pairs.place[a, b]))
        return table.copy() if a < b else table.T.copy()
