"""INFER: conditionals from noisy tables, as in the paper or after the tables agree; the distribution they define."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.core.network import BayesianNetwork
from privbayes.model.chain import Chain
from privbayes.model.conditional import ConditionalTable, conditional
from privbayes.model.consistency import consistent_shares, noisy_tables
from privbayes.model.factor import Factor
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["BayesNetModel"]


class BayesNetModel:
    """The product of Pr*[X_i | Pi_i] over the network.

    ``tables`` are the released noisy counts by their axes. A pair whose own table was not bought takes it from the
    smallest bought table that contains its axes (algorithm 1, lines 7-8). Everything here is derived from released
    values, the same way each time. With a ``total`` (the number of rows) the tables are first brought to agree with
    each other and to sum to it; without, each is taken as it is, its negative counts as zero.
    """

    parameters: NDArray[np.float64] = np.empty(0)

    def __init__(
        self,
        domain: Domain,
        network: BayesianNetwork,
        tables: Sequence[tuple[tuple[int, ...], Measurement]],
        *,
        total: float | None = None,
    ) -> None:
        if total is not None and not total > 0:
            raise ValueError("a model has at least one row")
        self._domain = domain
        self.network = network
        self.tables = tuple(tables)
        self.total = total
        if total is None:
            positive = {axes: _without_negatives(domain, axes, m.values) for axes, m in self.tables}
        else:
            agreed = consistent_shares(domain, noisy_tables(domain, self.tables), total=total)
            positive = {axes: table for (axes, _), table in zip(self.tables, agreed, strict=True)}
        self._chain = Chain(
            domain,
            [
                ConditionalTable(axes[0], axes[1:], conditional(_find(domain, positive, axes)))
                for axes in (pair.axes(domain) for pair in network.pairs)
            ],
        )

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @property
    def conditionals(self) -> tuple[ConditionalTable, ...]:
        """Pr*[X_i | Pi_i], in the order of the network."""
        return self._chain.conditionals

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The exact joint distribution of the attributes under the model, in this order (given the evidence)."""
        return self._chain.marginal(attributes, evidence)

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Ancestral sampling, exact under evidence too."""
        return self._chain.sampler(evidence)

    def structure(self) -> Mapping[str, Any]:
        """The network by names, and the total its tables were brought to."""
        structure = {"kind": "bayesian network", "network": self.network.to_names(self._domain)}
        return structure if self.total is None else structure | {"total": self.total}


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
