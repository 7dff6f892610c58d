"""The page: sections, the libraries that they need, style; one HTML file without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Final

from hapgpu.report.libraries import scripts_of, versions_of
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
    samples
        Names of the samples of its file, plain text.
    file
        Name of its file, plain text.
    command
        The last command line in the header of the file, plain text; empty if it has none.
    """

    title: str
    identifier: str
    html: str
    scripts: frozenset[str] = frozenset()
    samples: tuple[str, ...] = ()
    file: str = ""
    command: str = ""


_MAX_SAMPLES: Final = 20
"""Samples that the foot of a page names, at most."""

_MAX_COMMAND: Final = 1000
"""Characters of the command line of a file in the foot of a page, at most."""


def render(title: str, sections: Sequence[Section], command_line: str = "") -> Iterator[str]:
    """Yield the text of the page, piece by piece; its foot names the day and the versions.

    Parameters
    ----------
    title
        The heading of the page, plain text.
    sections
        The sections in their order.
    command_line
        What made the page, plain text.

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
    scripts = {name for section in sections for name in section.scripts}
    yield from scripts_of(scripts)
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
    yield f"</main>\n{_foot(sections, command_line, scripts)}</body>\n</html>\n"


def _foot(sections: Sequence[Section], command_line: str, scripts: Iterable[str]) -> str:
    """Return the foot of the page: samples, command line, date, versions."""
    samples = list(dict.fromkeys(name for section in sections for name in section.samples))
    more = f" and {len(samples) - _MAX_SAMPLES:,} more" if len(samples) > _MAX_SAMPLES else ""
    lines = [
        ("Sample" + "s" * (len(samples) > 1), ", ".join(samples[:_MAX_SAMPLES]) + more),
        *(("File", _origin(section)) for section in sections if section.command),
        ("Command", command_line),
        ("Made", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        ("Versions", ", ".join([f"hapgpu {__version__}", *versions_of(scripts)])),
    ]
    rows = (f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>\n" for name, value in lines if value)
    return f"<footer><dl>\n{''.join(rows)}</dl></footer>\n"


def _origin(section: Section) -> str:
    """Return the name of a file, and the last command in its header."""
    command = section.command
    more = "…" * (len(command) > _MAX_COMMAND)
    return f"{section.file}: {command[:_MAX_COMMAND]}{more}"


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
