"""A page in headless Chromium, for tests; they are skipped without it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
_TIMEOUT_MS = 60_000


@dataclass
class OpenPage:
    """A page, and what went wrong on it: errors, requests to a network, dialogs."""

    page: Any
    faults: list[str] = field(default_factory=list)

    def show(self, search: str) -> None:
        """Search the table, and choose the first row that is found."""
        self.page.fill("input[type=search]", search)
        row = self.page.locator("table.sites tbody tr[data-number]").first
        number = row.get_attribute("data-number")
        row.click()
        self.page.wait_for_selector(f".sites-view[data-shown='{number}']")

    def texts(self, column: int) -> list[str]:
        """Return the texts of the visible rows of a column, from 1."""
        found: list[str] = self.page.locator(
            f"table.sites tbody td:nth-child({column})"
        ).all_inner_texts()
        return found


def require_libraries() -> None:
    """Skip a test if the libraries of the pages are not installed."""
    for name in ("igv-reports", "igv-notebook", "itables", "vl-convert-python"):
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            pytest.skip(f"{name} is not installed")


@contextmanager
def opened(path: Path, width: int = 1280, *, loads: bool = True) -> Iterator[OpenPage]:
    """Open a page, or let the caller open it; check at the end that nothing went wrong."""
    program = shutil.which("chromium")
    if program is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("Chromium or playwright is not installed")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (optional)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(_TIMEOUT_MS)
        opened_page = OpenPage(page)
        faults = opened_page.faults
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.on(
            "console",
            lambda message: faults.append(message.text) if message.type == "error" else None,
        )
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("data:", "blob:", path.as_uri()))
                else faults.append(request.url)
            ),
        )
        if loads:
            page.goto(path.as_uri())
        yield opened_page
        browser.close()
        assert faults == []
