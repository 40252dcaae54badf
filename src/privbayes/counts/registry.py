"""Engine names to engines, imported when first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.counts.backend import CountingBackend
from privbayes.errors import UnsupportedError

__all__ = ["engine_names", "open_backend"]

_ENGINES = {"memory": ("privbayes.counts.memory", "MemoryBackend")}


def engine_names() -> tuple[str, ...]:
    """The engines there are."""
    return tuple(_ENGINES)


def open_backend(
    engine: str, domain: Domain, columns: Sequence[NDArray[np.unsignedinteger]], **options: Any
) -> CountingBackend:
    """A backend of the named engine over encoded columns; ``options`` are the engine's own."""
    if engine not in _ENGINES:
        raise UnsupportedError(f"unknown engine {engine!r}; use one of: {', '.join(_ENGINES)}")
    module, name = _ENGINES[engine]
    return cast("CountingBackend", getattr(import_module(module), name)(domain, columns, **options))
