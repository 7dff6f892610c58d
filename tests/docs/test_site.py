"""The site: built without a warning, every link has a target, and a browser shows it."""

from __future__ import annotations

import http.server
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import hapgpu
from tests.docs.pages import DOCS, ROOT, pages

pytestmark = pytest.mark.exhaustive
CHROMIUM = shutil.which("chromium")
WIDTHS = (1280, 400)
SEARCHED = {"soft clip": "methods/realign.html", "no such file": "troubleshooting.html"}


class Page(HTMLParser):
    """Anchors, links and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in {"img", "script", "source", "iframe"} and "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") != "canonical":
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site out of a copy."""
    program = shutil.which("zensical")
    if not program:
        pytest.skip("no zensical: its packages are the group 'docs' of pyproject.toml")
    base = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, base / "docs", ignore=shutil.ignore_patterns(".*"))
    (base / "hapgpu").symlink_to(ROOT / "hapgpu")
    command = [program, "build", "--strict", "--config-file", "docs/zensical.toml"]
    # Beside it is ruff, which breaks the lines of long signatures.
    path = os.pathsep.join([str(Path(program).resolve().parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path}
    run = subprocess.run(
        command, cwd=base, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return base / "docs" / ".site"


def test_every_page_is_built(site: Path) -> None:
    for page in pages():
        if page.startswith("docs/"):
            assert (site / page.removeprefix("docs/")).with_suffix(".html").is_file()


def test_no_link_is_broken_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    parsed = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in parsed.items():
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            where = f"{path.relative_to(site)}: {link}"
            if parts.scheme:
                assert link in page.links, f"{where} is loaded"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), where
            if parts.fragment and target in parsed:
                assert unquote(parts.fragment) in parsed[target].anchors, where


def test_every_public_name_is_described(site: Path) -> None:
    paths = [site / "python.html", *(site / "python").glob("*.html")]
    anchors = set().union(*(Page(path).anchors for path in paths))
    assert {f"hapgpu.{name}" for name in hapgpu.__all__} <= anchors


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(site))
    ) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM:
        pytest.skip("no chromium")
    library = pytest.importorskip("playwright.sync_api")
    with library.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_the_window(browser: Any, address: str, width: int) -> None:
    faults: list[str] = []
    requested: set[str] = set()
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.on("request", lambda request: requested.add(request.url))
    tab.on("pageerror", lambda error: faults.append(str(error)))
    for page in pages():
        if page.startswith("docs/"):
            name = page.removeprefix("docs/").replace(".md", ".html")
            tab.goto(f"{address}/{name}")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
    tab.close()
    assert not faults
    assert all(url.startswith((address, "data:", "blob:")) for url in requested)


@pytest.mark.parametrize("words", SEARCHED)
def test_search(browser: Any, address: str, words: str) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{address}/install.html", wait_until="networkidle")
    tab.keyboard.press("Control+k")
    # Before the field is open, letters are shortcuts: p is the previous page.
    tab.locator("input[aria-label=Search]").fill(words)
    # A link of the navigation has no such query.
    tab.wait_for_selector(f"a[href*='{SEARCHED[words]}?h=']")
    tab.close()
