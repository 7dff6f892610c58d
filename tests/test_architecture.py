"""docs/architecture.md and the directories it describes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAX_FILES = 20


def directories_of(root: str, suffixes: tuple[str, ...]) -> dict[Path, list[Path]]:
    """Return the source files of each directory."""
    files: dict[Path, list[Path]] = {}
    for path in sorted((ROOT / root).rglob("*")):
        if path.suffix in suffixes and path.name != "__init__.py":
            files.setdefault(path.parent, []).append(path)
    return files


def rule_of(package: Path) -> str:
    text = (package / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]


def test_no_directory_has_many_files() -> None:
    for root in ("hapgpu", "cuda", "tests"):
        for directory, files in directories_of(root, (".py", ".cu", ".cuh")).items():
            assert len(files) <= MAX_FILES, directory


def test_the_page_lists_every_directory_with_its_rule() -> None:
    packages = {path.parent for path in (ROOT / "hapgpu").rglob("__init__.py")}
    expected = {
        f"{path.relative_to(ROOT / 'hapgpu')}/": rule_of(path)
        for path in packages - {ROOT / "hapgpu"}
    }
    assert dict(re.findall(r"^\| `(\S+/)` \| (.+) \|$", PAGE, re.MULTILINE)) == expected


def test_paths_in_the_page_exist() -> None:
    _, table = PAGE.split("## Where do I change ...?")
    for path in re.findall(r"`([\w/]+/[\w/.]*|[\w/]+\.py)`", table):
        assert (ROOT / "hapgpu" / path).exists() or (ROOT / path).exists(), path


def test_paths_of_the_project_in_all_pages_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        if page.name == "testing.md":  # a log: its paths belong to its commits
            continue
        for path in re.findall(
            r"(?<![\w/])(?:hapgpu|cuda|tests)/[\w/.]*\w/?", page.read_text(encoding="utf-8")
        ):
            is_pattern = re.search(r"/(M|S|STAGE)(/|\.|$)", path)
            assert is_pattern or (ROOT / path).exists(), f"{page.name}: {path}"
