"""A small table with its schema and a fitted model, and a way to run a command line as a shell would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from privbayes import api
from privbayes.cli.main import main
from privbayes.demo.clinic import clinic_schema, clinic_table

KEPT = ("patient_id", "age", "sex", "smoker", "severity")


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: its exit code, and what it said on either stream."""

    code: int
    out: str
    err: str

    def refused(self, code: int, *words: str) -> None:
        """It said one line that holds these words, on stderr alone, and left with this code."""
        assert self.code == code, self
        assert self.out == ""
        assert self.err.startswith("privbayes: ")
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err, self.err


Run = Callable[..., Outcome]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def run_it(*arguments: object) -> Outcome:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return run_it


def shell(*arguments: object, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command line in a process of its own, streams connected to pipes."""
    command = [sys.executable, "-c", "from privbayes.cli.main import run; run()", *map(str, arguments)]
    source = str(Path(api.__file__).parents[1])
    return subprocess.run(
        command, input=stdin, capture_output=True, timeout=120, cwd=cwd, env={**os.environ, "PYTHONPATH": source}
    )


@dataclass(frozen=True)
class Clinic:
    """Files of a small made-up clinic."""

    table: Path
    schema: Path
    model: Path
    n_rows: int


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    """500 patients, five columns, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("clinic")
    made = Clinic(folder / "table.csv", folder / "schema.yaml", folder / "model.pbm", 500)
    api.write_table(clinic_table(made.n_rows).select(KEPT), str(made.table))
    columns = {name: rule for name, rule in clinic_schema()["columns"].items() if name in KEPT}
    schema = api.Schema.from_dict({"columns": columns})
    schema.save(made.schema)
    api.fit(str(made.table), schema, epsilon=5.0).save(made.model)
    return made
