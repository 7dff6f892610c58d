"""Code in the documentation: every command runs and prints what the page shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.__main__ import counted
from tests.docs.pages import RUN, blocks, pages, read_page

MIN_RUN = 0.9
WITH_CODE = [page for page in pages() if any(b.language in RUN for b in blocks(read_page(page)))]
QUICK = {"README.md"}
"""Pages that each run of the tests runs; the others repeat much of them."""


@pytest.mark.parametrize(
    "page",
    [
        page if page in QUICK else pytest.param(page, marks=pytest.mark.exhaustive)
        for page in WITH_CODE
    ],
)
def test_page_runs(page: str, ran: Callable[[str], Path]) -> None:
    assert ran(page).is_dir()


def test_most_commands_are_run() -> None:
    run, not_run = counted()
    assert run >= MIN_RUN * (run + sum(not_run.values()))


@pytest.mark.parametrize("page", pages())
def test_commands_are_marked_as_such(page: str) -> None:
    """Only blocks of `sh` and `python` are run: commands have no other language."""
    for block in blocks(read_page(page)):
        # `hapgpu map: ...` is a message.
        is_command = re.match(r"(\$ )?(hapgpu|samtools|bcftools|python|pip) (?!\w+:)", block.text)
        where = f"{page}, line {block.line}"
        assert block.language not in {"bash", "shell", "console", "shell-session", "py"}, where
        assert not is_command or block.language in RUN, where
        assert not block.reason or block.language in RUN, f"{where}: no command"
