"""docs/developers/architecture.md and the directories it describes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "developers" / "architecture.md").read_text(encoding="utf-8")
MIN_FILES, MAX_FILES = 3, 20
"""Python files of a directory with modules."""


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


def test_packages_are_neither_tiny_nor_large() -> None:
    for directory, files in directories_of("hapgpu", (".py",)).items():
        assert MIN_FILES <= len([*files, "__init__.py"]) <= MAX_FILES, directory


def test_no_directory_has_many_files() -> None:
    for root in ("cuda", "tests"):
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


def compiled_functions(module: str) -> set[str]:
    """Return the names of the functions of a module of hapgpu that Numba compiles."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    if not path.is_file():
        return set()
    return {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any("njit" in ast.unparse(part) for part in node.decorator_list)
    }


def test_oracles_share_nothing_with_what_they_check() -> None:
    """They take options, parameters and the forms of batches, but call nothing compiled."""
    oracles = sorted((ROOT / "tests").rglob("reference.py"))
    assert oracles
    for oracle in oracles:
        for node in ast.walk(ast.parse(oracle.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hapgpu"):
                module = str(node.module)
                assert not {"cpu", "cuda", "jit"} & set(module.split(".")), oracle
                assert not compiled_functions(module) & {name.name for name in node.names}, oracle


def test_paths_in_comments_of_kernels_exist() -> None:
    for source in [*(ROOT / "cuda").rglob("*.cu"), *(ROOT / "cuda").rglob("*.cuh")]:
        for path in re.findall(r"hapgpu/[\w/]+\.py", source.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), f"{source.name}: {path}"
