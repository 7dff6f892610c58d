"""Running the blocks of a page in order, in one directory, and comparing their output."""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.pages import ROOT, RUN, Block, blocks, read_page

_PROGRAMS: Final = (
    "bcftools",
    "bedtools",
    "bgzip",
    "freebayes",
    "minimap2",
    "multiqc",
    "samtools",
    "snakemake",
    "tabix",
)
"""Programs beside hapgpu that pages use: blocks are skipped where they are not installed."""
_MODULES: Final = {
    "hapgpu report": ("igv_notebook", "igv_reports", "itables", "vl_convert"),
    "to_dataframe": ("pandas",),
}
"""Commands and methods with the packages of an extra that they need."""
_TIMEOUT: Final = 600
_TOLERANCE: Final = 1e-5
_POINT: Final = re.compile(r"-?\d+\.\d+")
_ANY: Final = re.compile(r"(^\.\.\.$|…)", re.MULTILINE)


def run_page(page: str, directory: Path) -> str:
    """Run the blocks of a page, as paragraphs of a text that a reader follows.

    Parameters
    ----------
    page
        Its path from the root of the project.
    directory
        Where the blocks run: has `example/`.

    Returns
    -------
    str
        What is not installed, which ended the run; empty if all blocks ran.

    Raises
    ------
    AssertionError
        A block failed, or printed another output than the page shows.
    """
    (directory / "examples").symlink_to(ROOT / "examples")
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(read_page(page)):
        where = f"{page}, line {block.line}"
        if block.language not in RUN or block.reason:
            continue
        if lacking := _lacking(block.text):
            return f"{where}: no {lacking}"
        if block.language == "sh":
            _compare(_run_shell(block, directory, where), block, where)
        else:
            _compare(_run_python(block, directory, names), block, where)
    return ""


def _lacking(commands: str) -> str:
    """Return a program or package that commands need and that is not installed."""
    programs = rf"(?:^|[|&;(] *)({'|'.join(_PROGRAMS)})\b"
    for program in re.findall(programs, commands, re.MULTILINE):
        if not shutil.which(program):
            return program
    modules = [name for words, names in _MODULES.items() if words in commands for name in names]
    return next((name for name in modules if not find_spec(name)), "")


def _run_shell(block: Block, directory: Path, where: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["sh", "-e", "-c", block.text],
        cwd=directory,
        env=os.environ | {"PATH": path, "COLUMNS": "80", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    assert run.returncode == 0, f"{where}: status {run.returncode}\n{run.stderr}"
    return run.stdout


def _run_python(block: Block, directory: Path, names: dict[str, Any]) -> str:
    """Run in this process: the next block has the names of this one."""
    code = compile("\n" * (block.line - 1) + block.text, "page", "exec")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(directory)
        exec(code, names)  # noqa: S102  (the code of a page)
    return printed.getvalue()


def _compare(printed: str, block: Block, where: str) -> None:
    """Compare an output with the shown one, except for white space at the ends of lines."""
    if block.output is None:
        return
    found, shown = (
        "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
        for text in (printed, block.output)
    )
    is_shown = _matches(found, shown) if _ANY.search(shown) else _agree(found, shown)
    assert is_shown, f"{where}: the output is\n{found}"


def _matches(found: str, shown: str) -> bool:
    """Compare with a text in which a line `...` is any lines, and `…` any text of a line."""
    kinds = {"...": r"[\s\S]*", "…": ".*"}
    parts = [kinds.get(part) or re.escape(part) for part in _ANY.split(shown)]
    return bool(re.fullmatch("".join(parts), found))


def _agree(found: str, shown: str) -> bool:
    """Compare texts whose numbers with a point may differ by the tolerance of likelihoods."""
    numbers = ([float(number) for number in _POINT.findall(text)] for text in (found, shown))
    is_text_equal = _POINT.sub("", found) == _POINT.sub("", shown)
    return is_text_equal and all(
        math.isclose(a, b, rel_tol=0, abs_tol=_TOLERANCE) for a, b in zip(*numbers, strict=True)
    )
