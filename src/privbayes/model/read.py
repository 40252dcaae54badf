"""From the structure and tables of a model file back to the model they define."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.core.network import BayesianNetwork
from privbayes.model.bayes_net import BayesNetModel
from privbayes.model.histogram import KIND, HistogramModel
from privbayes.model.joint import KIND as JOINT
from privbayes.model.joint import JointModel
from privbayes.model.junction_tree import KIND as JUNCTION_TREE
from privbayes.model.junction_tree import JunctionTreeModel
from privbayes.model.observations import observed
from privbayes.model.protocol import GenerativeModel
from privbayes.privacy.released import Measurement

__all__ = ["generator_of"]


def generator_of(
    domain: Domain,
    structure: Mapping[str, Any],
    tables: Sequence[tuple[tuple[int, ...], Measurement]],
    parameters: NDArray[np.float64],
) -> GenerativeModel:
    """Rebuild a model; ValueError when its parts do not fit each other."""
    for axes, _ in tables:
        if any(axis >= len(domain.axis_attribute) for axis in axes) or len(set(axes)) != len(axes):
            raise ValueError("a table has an axis that is not one of the schema's")
    if structure["kind"] == JOINT:
        model = JointModel.rebuilt(domain, structure, tables, parameters)
        for (axes, measurement), groups in zip(tables, model.groups, strict=True):
            observed(domain, axes, measurement, model.form, groups)  # which raises where the sizes do not fit
        return model
    if structure["kind"] == KIND:
        ((axes, released),) = tables
        if axes != tuple(domain.first_axis):
            raise ValueError("released rows cover every attribute, in order")
        return HistogramModel(domain, released)
    for axes, measurement in tables:
        attributes = {int(domain.axis_attribute[axis]) for axis in axes}
        if len(attributes) != len(axes) or domain.cells(axes) != measurement.values.size:
            raise ValueError("a table does not match its axes")
    if structure["kind"] == JUNCTION_TREE:
        return JunctionTreeModel.rebuilt(domain, structure, tables)
    if structure["kind"] != "bayesian network":
        raise ValueError("unknown kind of model")
    named = {
        str(child): [(str(name), int(level)) for name, level in parents]
        for child, parents in structure["network"].items()
    }
    return BayesNetModel(domain, BayesianNetwork.of_names(domain, named), tables)
