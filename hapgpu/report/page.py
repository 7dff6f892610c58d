"""The page: sections, the libraries that they need, style; one HTML file without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from hapgpu.report.libraries import scripts_of
from hapgpu.report.markup import script_source, text
from hapgpu.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """What sections need besides their file.

    Attributes
    ----------
    reads
        Alignments that belong to files of variants.
    reference
        The reference, FASTA, of variants and of CRAM.
    threads
        CPU threads.
    max_record
        Bytes of the longest record that is read.
    advance
        Called with the number of records that were read, for progress.
    """

    reads: Sequence[str]
    reference: Path | None
    threads: int
    max_record: int
    advance: Callable[[int], None]


_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "connect-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
)
"""What a browser lets the page do: nothing that needs a network.

Vega compiles expressions (`unsafe-eval`); IGV reads its data as `data:` and `blob:`.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page, such as the charts of one file.

    Attributes
    ----------
    title
        Plain text, in the heading and in the contents.
    identifier
        The `id` of its element, unique on the page: ASCII letters, digits and hyphens.
    html
        The content, in which all text from files is escaped (`hapgpu.report.markup`).
    scripts
        Names of the libraries that it needs, of `hapgpu.report.libraries.LIBRARIES`.
    """

    title: str
    identifier: str
    html: str
    scripts: frozenset[str] = frozenset()


def render(title: str, sections: Sequence[Section]) -> Iterator[str]:
    """Yield the text of the page, piece by piece.

    Parameters
    ----------
    title
        The heading of the page, plain text.
    sections
        The sections in their order.

    Yields
    ------
    str
        A piece of the page.
    """
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{text(title)}</title>\n<link rel="icon" href="data:,">\n'
    )
    yield from scripts_of(name for section in sections for name in section.scripts)
    yield f"<style>\n{_asset('page.css')}</style>\n"
    yield f"<script>\n{script_source(_script())}</script>\n</head>\n<body>\n"
    yield f"<header><h1>{text(title)}</h1></header>\n"
    if len(sections) > 1:
        yield _contents(sections)
    yield "<main>\n"
    for section in sections:
        yield f'<section id="{section.identifier}">\n<h2>{text(section.title)}</h2>\n'
        yield section.html
        yield "\n</section>\n"
    yield f"</main>\n<footer>hapgpu {text(__version__)}</footer>\n</body>\n</html>\n"


def _contents(sections: Sequence[Section]) -> str:
    links = (
        f'<li><a href="#{section.identifier}">{text(section.title)}</a></li>'
        for section in sections
    )
    return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>\n'


def _script() -> str:
    return _asset("page.js").replace('JSON.parse("CHART_CONFIG")', _asset("chart_config.json"))


def _asset(name: str) -> str:
    return (resources.files("hapgpu.report") / name).read_text(encoding="utf-8")
