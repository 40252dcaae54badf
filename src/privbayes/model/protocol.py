"""What every fitted model can do, whichever method made it. It knows released values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.model.factor import Factor
from privbayes.privacy.released import Measurement

__all__ = ["GenerativeModel", "Sampler"]


class Sampler(Protocol):
    """Draws rows of codes, one array an attribute."""

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], ...]:
        """``rows`` independent rows."""
        ...


class GenerativeModel(Protocol):
    """A distribution over the encoded domain."""

    @property
    def domain(self) -> Domain:
        """The attributes it is over."""
        ...

    @property
    def tables(self) -> Sequence[tuple[tuple[int, ...], Measurement]]:
        """The released tables it was made from, by their axes."""
        ...

    @property
    def parameters(self) -> NDArray[np.float64]:
        """What was fitted to the released tables and is kept beside them; empty where all is derived from them."""
        ...

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The exact joint distribution of the attributes under the model, in this order (given the evidence)."""
        ...

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Something that draws rows, given the evidence."""
        ...

    def structure(self) -> Mapping[str, Any]:
        """The structure in plain values, for the model file and `inspect`."""
        ...
