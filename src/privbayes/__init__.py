"""privbayes: a private table in, a synthetic table with a differential-privacy guarantee out.

import privbayes as pb
model = pb.fit(df, pb.Schema.load("table.schema.yaml"), epsilon=1.0)
synthetic = model.sample(10_000, seed=7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privbayes.api import (
        Best,
        Independent,
        JTree,
        Model,
        Plan,
        PrivABN,
        PrivBayes,
        Schema,
        SmoothedHistogram,
        check_schema,
        draft_schema,
        fit,
        load,
        plan,
    )
    from privbayes.errors import (
        BudgetError,
        ModelFileError,
        PrivBayesError,
        SchemaError,
        TableError,
        UnsupportedError,
    )

__all__ = [
    "Best",
    "BudgetError",
    "Independent",
    "JTree",
    "Model",
    "ModelFileError",
    "Plan",
    "PrivABN",
    "PrivBayes",
    "PrivBayesError",
    "Schema",
    "SchemaError",
    "SmoothedHistogram",
    "TableError",
    "UnsupportedError",
    "check_schema",
    "draft_schema",
    "fit",
    "load",
    "plan",
]


def __getattr__(name: str) -> Any:
    """Load the library on first use: `import privbayes` itself stays instant."""
    if name not in __all__:
        raise AttributeError(f"module 'privbayes' has no attribute {name!r}")
    import importlib

    module = importlib.import_module("privbayes.errors" if name.endswith("Error") else "privbayes.api")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
