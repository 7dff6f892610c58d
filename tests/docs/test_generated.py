"""Parts of pages that are made from the code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hapgpu.cli.catalogue import COMMANDS, METHODS
from tests.docs.pages import DOCS, ROOT, read_page


def test_options_are_those_of_the_commands() -> None:
    run = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_with_its_options(command: str) -> None:
    page = read_page(f"docs/commands/{command}.md")
    assert page.startswith(f"# `hapgpu {command}`\n")
    for name in [f"bench {method}" for method in METHODS] if command == "bench" else [command]:
        assert f"<!-- options: begin {name} -->" in page


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    for page in DOCS.rglob("[!.]*.md"):
        name = page.relative_to(DOCS)
        if not any(part.startswith(".") for part in name.parts):
            assert f'"{name}"' in navigation, f"{page.relative_to(ROOT)} is not in the navigation"
