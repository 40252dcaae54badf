"""INFER, as in the paper: conditionals from noisy tables, and the distribution they define."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.core.network import BayesianNetwork
from privbayes.errors import UnsupportedError
from privbayes.model.conditional import ConditionalTable, conditional
from privbayes.model.factor import MAX_CELLS, Factor, eliminate, elimination_order, joint
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["BayesNetModel"]


class BayesNetModel:
    """The product of Pr*[X_i | Pi_i] over the network.

    ``tables`` are the released noisy counts by their axes. A pair whose own table was not bought takes it from the
    smallest bought table that contains its axes (algorithm 1, lines 7-8). Everything here is derived from released
    values, the same way each time.
    """

    def __init__(
        self, domain: Domain, network: BayesianNetwork, tables: Sequence[tuple[tuple[int, ...], Measurement]]
    ) -> None:
        self._domain = domain
        self.network = network
        self.tables = tuple(tables)
        positive = {axes: _without_negatives(domain, axes, m.values) for axes, m in self.tables}
        self._conditionals = tuple(
            ConditionalTable(axes[0], axes[1:], conditional(_find(domain, positive, axes)))
            for axes in (pair.axes(domain) for pair in network.pairs)
        )

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @property
    def conditionals(self) -> tuple[ConditionalTable, ...]:
        """Pr*[X_i | Pi_i], in the order of the network."""
        return self._conditionals

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The exact joint distribution of the attributes under the model, in this order (given the evidence)."""
        keep = [self._domain.axis(a) for a in attributes]
        wanted = {*keep, *(axis for factor in evidence for axis in factor.scope)}
        table = joint([*self._factors(wanted), *evidence], keep, self._sizes)
        total = table.sum()
        if not total > 0:
            raise UnsupportedError("the model gives this condition no probability")
        shares: NDArray[np.float64] = table / total
        return shares

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Ancestral sampling; under evidence the ancestors of what is fixed are drawn from their exact posterior first
        (or, where its tables would be too large, by rejection).

        The posterior is itself a chain of conditionals: what each step of variable elimination saw, read backwards.
        """
        from privbayes.sample.ancestral import AncestralSampler  # compiled: loaded only to sample
        from privbayes.sample.rejection import RejectionSampler

        forward = AncestralSampler(self._domain, self._conditionals)
        if not evidence:
            return forward
        fixed = {axis for factor in evidence for axis in factor.scope}
        closure = self._ancestors(fixed)
        factors = [*self._factors(fixed), *evidence]
        drop = {axis for factor in factors for axis in factor.scope}
        order, cells = elimination_order([factor.scope for factor in factors], drop, self._sizes)
        if cells > MAX_CELLS:
            return RejectionSampler(self._domain, forward, evidence)
        rest, steps = eliminate(factors, order, self._sizes)
        if not prod(float(factor.values) for factor in rest) > 0:
            raise UnsupportedError("the model gives this condition no probability")
        chain = [
            ConditionalTable(s.axis, s.neighbours, conditional(s.table.reshape(-1, s.table.shape[-1]).T))
            for s in reversed(steps)
        ]
        later = [c for c in self._conditionals if int(self._domain.axis_attribute[c.axis]) not in closure]
        return AncestralSampler(self._domain, [*chain, *later])

    def structure(self) -> Mapping[str, Any]:
        """The network by names."""
        return {"kind": "bayesian network", "network": self.network.to_names(self._domain)}

    @property
    def _sizes(self) -> list[int]:
        return [int(size) for size in self._domain.axis_size]

    def _ancestors(self, axes: set[int]) -> set[int]:
        """The attributes of these axes and all that they depend on."""
        parents = {pair.child: [p.attribute for p in pair.parents] for pair in self.network.pairs}
        found: set[int] = set()
        todo = [int(self._domain.axis_attribute[axis]) for axis in axes]
        while todo:
            attribute = todo.pop()
            if attribute not in found:
                found.add(attribute)
                todo += parents[attribute]
        return found

    def _factors(self, axes: set[int]) -> list[Factor]:
        """Conditionals of the ancestors; a generalised parent is an axis of its own, tied to its attribute."""
        domain = self._domain
        closure = self._ancestors(axes)
        factors: list[Factor] = []
        tied: set[int] = set()
        for table in self._conditionals:
            if int(domain.axis_attribute[table.axis]) in closure:
                scope = (*table.parents, table.axis)
                factors.append(Factor.of(scope, table.probabilities.reshape([self._sizes[a] for a in scope])))
                tied.update(a for a in table.parents if domain.axis_level(a) > 0)
        for axis in sorted(tied):
            level_0 = int(domain.first_axis[domain.axis_attribute[axis]])
            codes = domain.axis_codes(axis)
            tie = np.zeros((len(codes), self._sizes[axis]))
            tie[np.arange(len(codes)), codes] = 1.0
            factors.append(Factor.of((level_0, axis), tie))
        return factors


def _without_negatives(domain: Domain, axes: tuple[int, ...], values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Line 5 of algorithms 1 and 3; normalising is left to the conditionals."""
    return np.maximum(values, 0).astype(np.float64).reshape([int(domain.axis_size[a]) for a in axes])


def _find(
    domain: Domain, tables: Mapping[tuple[int, ...], NDArray[np.float64]], axes: tuple[int, ...]
) -> NDArray[np.float64]:
    """The table over these axes, child by parents, projected from the smallest that has them all."""
    source = min((held for held in tables if set(axes) <= set(held)), key=lambda held: (domain.cells(held), held))
    table = tables[source].sum(axis=tuple(i for i, axis in enumerate(source) if axis not in axes))
    kept = [axis for axis in source if axis in axes]
    ordered = np.transpose(table, [kept.index(axis) for axis in axes])
    return ordered.reshape(ordered.shape[0], -1)
