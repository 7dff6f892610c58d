"""Links between the pages, as on GitHub: files and anchors exist."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import DOCS, ROOT, pages, read_page, without_code

PAGES = [*pages(), "CONTRIBUTING.md", "CHANGELOG.md"]
_LINK = re.compile(
    r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|<(https?:[^>]*)>|(?:src|href)=\"([^\"]*)\""
)


def links(page: str) -> list[str]:
    """Return the targets of the links and pictures of a page."""
    return ["".join(groups) for groups in _LINK.findall(without_code(read_page(page)))]


@cache
def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^(```+).*?^\1$", "", read_page(page), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        candidates = (name, *(f"{name}-{number}" for number in range(1, 100)))
        found.add(next(candidate for candidate in candidates if candidate not in found))
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


@pytest.mark.parametrize("page", PAGES)
def test_links_have_targets(page: str) -> None:
    for link in links(page):
        where = f"{page}: {link}"
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in {"http", "https", "mailto"}, where
            assert "." in parts.netloc or parts.scheme == "mailto", where
            continue
        target = (ROOT / page).parent / unquote(parts.path) if parts.path else ROOT / page
        assert target.exists(), where
        assert target.is_file() or not parts.fragment, where
        name = str(target.resolve().relative_to(ROOT))
        assert not parts.fragment or parts.fragment in anchors(name), where


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_links_stay_in_the_site(page: str) -> None:
    """The site has no page for files outside `docs/`."""
    for link in links(page):
        if not urlsplit(link).scheme and urlsplit(link).path:
            target = ((ROOT / page).parent / urlsplit(link).path).resolve()
            assert target.is_relative_to(DOCS), f"{page}: {link}"


def test_anchors() -> None:
    assert "when-a-read-moves" in anchors("docs/methods/realign.md")
    assert "text-batches---batches-file" in anchors("docs/methods/pairhmm.md")
