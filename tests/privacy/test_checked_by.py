"""A proof sketch names the test that checks it: the test has to be there, and to test something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# The sentence ends at a full stop before a capital or the end; file names run on over line ends.
SENTENCE = re.compile(r"Checked by:(.*?)(?:\.\s+[A-Z]|\.?\s*$)", re.DOTALL)
NAMED = re.compile(r"tests/[\w/]+\.py")


def docstrings(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in ast.walk(tree) if isinstance(node, documented) and (text := ast.get_docstring(node))]


CLAIMS = [
    (path.relative_to(ROOT).as_posix(), sentence)
    for path in SOURCES
    for text in docstrings(path)
    for sentence in SENTENCE.findall(text)
]


def test_claims_are_found() -> None:
    written = sum(path.read_text().count("Checked by:") for path in SOURCES)
    assert len(CLAIMS) == written >= 10


@pytest.mark.parametrize(("source", "sentence"), CLAIMS, ids=[source for source, _ in CLAIMS])
def test_what_checks_a_claim_is_there(source: str, sentence: str) -> None:
    named = NAMED.findall(sentence)
    assert named, f"{source}: Checked by:{sentence} names no test file"
    for name in named:
        path = ROOT / name
        assert path.exists(), f"{source} refers to {name}, which does not exist"
        assert "def test_" in path.read_text()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_sensitivity_says_what_checks_it(path: Path) -> None:
    """A function that makes a `Sensitivity` has a claim and names its test."""
    if path.name == "sensitivity.py":
        return
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and makes_sensitivity(node):
            text = ast.get_docstring(node) or ""
            assert "Claim:" in text, f"{path.name}: {node.name} states no claim"
            assert "Checked by:" in text, f"{path.name}: {node.name} names no test"


def makes_sensitivity(function: ast.FunctionDef) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == "Sensitivity" for called in calls)
