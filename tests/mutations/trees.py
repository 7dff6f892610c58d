"""Temporary copies of the project that mutants change, and their compiled functions."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutations.mutants import ROOT, Mutant


def copy_project(directory: Path) -> None:
    """Copy the files of the checkout: those of git, and new ones that it does not ignore."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    for name in filter(None, os.fsdecode(names).split("\0")):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)


@contextmanager
def changed(tree: Path, mutant: Mutant) -> Iterator[None]:
    """Change the file of a mutant within the context; its byte code is removed before and after."""
    path = tree / mutant.path
    source = path.read_text(encoding="utf-8")
    try:
        _write(path, mutant.applied(source))
        yield
    finally:
        _write(path, source)


def _write(path: Path, source: str) -> None:
    path.write_text(source, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


@contextmanager
def compiled_without(modules: set[str], cache: Path, links: Path) -> Iterator[None]:
    """Fill the directory `links` with the compiled functions of `cache`, except of some modules.

    What other modules compile within the context is added to `cache`.
    """
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir()
    prefixes = tuple(f"{name}." for name in modules)
    for path in cache.iterdir():
        if not path.name.startswith(prefixes):
            os.link(path, links / path.name)
    yield
    for path in links.glob("*.compiled"):
        if not path.name.startswith(prefixes):
            path.replace(cache / path.name)


class Imports:
    """Which modules of the package import which.

    Parameters
    ----------
    root
        The project.
    """

    def __init__(self, root: Path) -> None:
        names = {
            ".".join(path.relative_to(root).with_suffix("").parts): path
            for path in (root / "hapgpu").rglob("*.py")
        }
        self._imports = {name: _imported(path, set(names)) for name, path in names.items()}

    def importers(self, module: str) -> set[str]:
        """Return a module and all that import it, directly or not."""
        found: set[str] = set()
        new = {module}
        while new:
            found |= new
            new = {name for name, used in self._imports.items() if used & new} - found
        return found

    def in_order(self, names: set[str]) -> list[str]:
        """Return modules in an order of imports: each after those that it imports."""
        left = set(names)
        found: list[str] = []

        def visit(name: str) -> None:
            if name in left:
                left.remove(name)
                for used in sorted(self._imports[name] & names):
                    visit(used)
                found.append(name)

        for name in sorted(names):
            visit(name)
        return found

    def independent_of(self, package: str) -> list[str]:
        """Return the modules that a package imports, directly or not, outside of it.

        They import nothing of the package, because a layer imports only those below it.
        """
        prefix = f"{package}."
        found = {name for name in self._imports if name.startswith(prefix)}
        new = set(found)
        while new:
            new = set().union(*(self._imports[name] for name in new)) - found
            found |= new
        return sorted(name for name in found if not name.startswith((prefix, package)))


def _imported(path: Path, names: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & names
