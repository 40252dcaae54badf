"""JTree's choices, one at a time: mean total variation distance over all 2-way marginals of synthetic rows.

    python benchmarks/jtree_knobs.py [--repeats 5] [--datasets nltcs acs br2000 adult]

Replace-one neighbours, as many synthetic rows as original ones; zCDP rows have delta 1e-9. A full run writes
results/jtree_knobs.json.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import Original, mean_and_error, save

import privbayes as pb

EPSILONS = (0.1, 0.4, 1.6)
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("default", {}),
    ("infer consistent", {"infer": "consistent"}),
    ("infer joint", {"infer": "joint"}),
    ("merge none", {"merge": "none"}),
    ("edges d", {"edges a column": 1}),
    ("edges 2d", {"edges a column": 2}),
    ("edges tree", {"edges": "tree"}),
    ("score I", {"score": "I"}),
    ("beta 0.1", {"beta": 0.1}),
    ("theta 8", {"theta": 8.0}),
    ("zCDP", {"delta": 1e-9}),
    ("zCDP, phi 0.1", {"delta": 1e-9, "phi": 0.1}),
    ("zCDP, phi 0.05", {"delta": 1e-9, "phi": 0.05}),
    ("zCDP, consistent", {"delta": 1e-9, "infer": "consistent"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--datasets", nargs="+", default=["nltcs", "acs", "br2000", "adult"])
    options = parser.parse_args()
    tables = [Original(name) for name in options.datasets]
    cells = [(table, epsilon) for table in tables for epsilon in EPSILONS]
    print("| variant | " + " | ".join(f"{table.name} {epsilon}" for table, epsilon in cells) + " | mean |")
    results, first = [], np.ones(len(cells))
    for name, knobs in VARIANTS:
        found = []
        for table, epsilon in cells:
            chosen = dict(knobs)
            if "edges a column" in chosen:
                chosen["edges"] = chosen.pop("edges a column") * len(table.schema.modelled)
            errors = []
            for seed in range(options.repeats):
                model = pb.fit(table.table, table.schema, epsilon=epsilon, method="jtree", **chosen)
                errors.append(table.distance(model.sample(seed=seed, as_="arrow"), 2))
            found.append(mean_and_error(errors))
        means = np.array([mean for mean, _ in found])
        first = means if name == "default" else first
        change = np.exp(np.log(means / first).mean()) - 1
        print(f"| {name} | " + " | ".join(f"{mean:.4f}" for mean in means) + f" | {change:+.0%} |", flush=True)
        for (table, epsilon), pair in zip(cells, found, strict=True):
            results.append({"variant": name, "dataset": table.name, "epsilon": epsilon, "tvd2": pair})
    if len(tables) == 4:
        save("jtree_knobs", {"repeats": options.repeats, "rows": results})


if __name__ == "__main__":
    main()
