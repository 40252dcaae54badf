"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from privbayes import api
from privbayes.demo.clinic import clinic_table
from privbayes.schema.columns import COLUMN_KINDS

from .conftest import KEPT, Run, shell

ROOT = Path(__file__).resolve().parents[2]
README, SCHEMA_PAGE, HOW_TO = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/schema.md", "docs/howto.md")
)


def blocks(page: str) -> list[str]:
    """The commands of a page."""
    return re.findall(r"```\n(.*?)```", page, re.DOTALL)


COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in blocks(README)
    for line in block.splitlines()
    if line.startswith("privbayes ")
]


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's patients.csv."""
    monkeypatch.chdir(tmp_path)
    api.write_table(clinic_table(1000).select(KEPT), "patients.csv")
    return tmp_path


@pytest.mark.usefixtures("patients")
def test_the_commands_and_the_python_example(run: Run) -> None:
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        assert run(*command).code == 0, command
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {"df": pd.read_csv("patients.csv")}
    exec(example, names)
    assert len(names["synthetic"]) == 50_000
    assert set(names["women"]["sex"]) == {"Female"}
    assert names["table"]["probability"].sum() == pytest.approx(1)


def test_the_schema_example_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "s.yaml").write_text(example, encoding="utf-8")
    assert api.Schema.load(tmp_path / "s.yaml").modelled == ("age", "smoker", "severity", "ward")


def test_the_schema_reference_is_valid_and_lists_every_kind_and_key(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", SCHEMA_PAGE, re.DOTALL)
    (tmp_path / "s.yaml").write_text(example, encoding="utf-8")
    schema = api.Schema.load(tmp_path / "s.yaml")
    assert {column.kind for column in schema.columns.values()} == set(COLUMN_KINDS)
    table = SCHEMA_PAGE[SCHEMA_PAGE.index("## Kinds") : SCHEMA_PAGE.index("## Keys")]
    described = set(re.findall(r"`(\w+)", SCHEMA_PAGE[SCHEMA_PAGE.index("## Keys") :]))
    for kind, column in COLUMN_KINDS.items():
        (row,) = [line for line in table.splitlines() if line.startswith(f"| `{kind}` ")]
        own = {field.name for field in fields(column)} - {"nullable"}
        assert set(re.findall(r"`(\w+)`", row)) - {kind} == own
        assert own <= described
    assert {"nullable", "rows_per_person"} <= described


def test_the_how_to_works_on_what_the_demo_leaves_behind(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--rows", 1000).code == 0
    commands = [line for block in blocks(HOW_TO) for line in block.splitlines()]
    assert len(commands) >= 12
    for command in commands:
        program, *words = shlex.split(command.replace("--rows 50000", "--rows 1000"))
        assert program == "privbayes"
        if "<" in words:
            given, wanted = words[words.index("<") + 1], Path(words[words.index(">") + 1])
            done = shell(*words[: words.index("<")], stdin=Path(given).read_bytes(), cwd=tmp_path)
            assert done.returncode == 0
            wanted.write_bytes(done.stdout)
        else:
            done = run(*words)
            assert (done.code, done.err) == (0, ""), command
    assert Path("demo/piped.csv").read_text(encoding="utf-8").count("\n") == 501


def test_files_that_the_documents_name_exist() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        text = document.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"
        for module in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text):
            assert any((base / module).exists() for base in (ROOT / "src" / "privbayes", ROOT)), (
                f"{document.name}: {module}"
            )
