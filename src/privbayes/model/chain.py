"""A distribution as a chain of conditionals: exact marginals by elimination, rows by ancestral sampling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.errors import UnsupportedError
from privbayes.model.conditional import ConditionalTable, conditional
from privbayes.model.factor import MAX_CELLS, Factor, eliminate, elimination_order, joint
from privbayes.model.protocol import Sampler

__all__ = ["Chain"]


class Chain:
    """The product of conditional tables, listed so that what a table depends on comes before it: one table for each
    attribute. A parent may be an attribute at a coarser level.
    """

    def __init__(self, domain: Domain, conditionals: Sequence[ConditionalTable]) -> None:
        self._domain = domain
        self.conditionals = tuple(conditionals)

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The exact joint distribution of the attributes, in this order (given the evidence)."""
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

        forward = AncestralSampler(self._domain, self.conditionals)
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
        posterior = [
            ConditionalTable(s.axis, s.neighbours, conditional(s.table.reshape(-1, s.table.shape[-1]).T))
            for s in reversed(steps)
        ]
        later = [c for c in self.conditionals if int(self._domain.axis_attribute[c.axis]) not in closure]
        return AncestralSampler(self._domain, [*posterior, *later])

    @property
    def _sizes(self) -> list[int]:
        return [int(size) for size in self._domain.axis_size]

    def _ancestors(self, axes: set[int]) -> set[int]:
        """The attributes of these axes and all that they depend on."""
        owner = self._domain.axis_attribute
        parents = {int(owner[c.axis]): [int(owner[axis]) for axis in c.parents] for c in self.conditionals}
        found: set[int] = set()
        todo = [int(owner[axis]) for axis in axes]
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
        for table in self.conditionals:
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
