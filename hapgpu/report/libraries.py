"""JavaScript libraries of the pages, out of installed Python packages: no network is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata, util
from typing import Final

from hapgpu.errors import UsageError
from hapgpu.report.markup import script_source
from hapgpu.runtime import cache


@dataclass(frozen=True, slots=True)
class Library:
    """A JavaScript library.

    Attributes
    ----------
    distribution
        The Python distribution that holds it.
    source
        Returns its program, a classic script that sets global names.
    style
        Returns its style sheet.
    """

    distribution: str
    source: Callable[[], str]
    style: Callable[[], str] = str


def _file_of(distribution: str, name: str) -> str:
    """Return the text of a file of an installed distribution, which is not imported."""
    for path in metadata.files(distribution) or ():
        if path.name == name:
            return path.read_text()
    raise UsageError(f"{distribution}: holds no {name}; run: pip install 'hapgpu[report]'")


_VEGA_NAMES: Final = "window.vegaEmbed=vegaEmbed;window.vega=vega;window.vegaLite=vegaLite;"


def _vega() -> str:
    """Return the bundle of Vega-Lite, which takes a second to make: it is stored."""
    label = f"Vega-Lite of vl-convert {metadata.version('vl-convert-python')}"
    path = cache.cache_path("libraries", "vega.js")
    stored = cache.load(path, label)
    if stored is not None:
        return stored.decode()
    import vl_convert  # noqa: PLC0415  (optional)

    program = _enclosed(vl_convert.javascript_bundle(_VEGA_NAMES))
    cache.store(path, label, program.encode())
    return program


def _datatables() -> str:
    # A module cannot be imported from the page itself: its exports become global names.
    program, exports = re.subn(
        r"export ?\{.*?(\w+) as default,.*?(\w+) as jQuery.*?\};?",
        r"window.DataTable=\1;window.jQuery=\2;",
        _file_of("itables", "dt_bundle.js"),
        flags=re.DOTALL,
    )
    if exports != 1:
        raise UsageError("itables: unknown version; run: pip install 'hapgpu[report]'")
    return _enclosed(program)


def _enclosed(module: str) -> str:
    """Return a module as a classic script; its names stay inside."""
    return f"(()=>{{'use strict';{module}\n}})();"


LIBRARIES: Final = {
    "vega": Library("vl-convert-python", _vega),
    "datatables": Library("itables", _datatables, lambda: _file_of("itables", "dt_bundle.css")),
    "igv": Library("igv-notebook", lambda: _file_of("igv-notebook", "igv.min.js")),
}
"""The libraries by the names that `Section.scripts` holds.

`vega` sets `vegaEmbed`, `vega` and `vegaLite`; `datatables` sets `DataTable` and `jQuery`; `igv`
sets `igv`. A library stands before all sections: their scripts may use it at once.
"""

_PACKAGES: Final = {"igv-reports": "igv_reports"}
"""Distributions of the extra that are imported, with their modules."""


def require_libraries() -> None:
    """Check that the optional packages are installed.

    Raises
    ------
    UsageError
        One is missing.
    """
    needed = [library.distribution for library in LIBRARIES.values()]
    missing = [name for name in needed if not _is_installed(name)]
    missing += [name for name, module in _PACKAGES.items() if util.find_spec(module) is None]
    if missing:
        raise UsageError(f"needs {', '.join(missing)}; run: pip install 'hapgpu[report]'")


def _is_installed(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def script_of(name: str) -> str:
    """Return the `<script>` of a library with its licence, and its `<style>` before it.

    Parameters
    ----------
    name
        A key of `LIBRARIES`.
    """
    library = LIBRARIES[name]
    style = library.style().replace("</style", "<\\/style")
    return (f"<style>{style}</style>\n" if style else "") + (
        f"<script>/*!\n{script_source(_licence_of(library))}\n*/\n"
        f"{script_source(library.source())}</script>\n"
    )


def _licence_of(library: Library) -> str:
    """Return the licence of the package that holds a library: a copy needs the notice with it."""
    for path in metadata.files(library.distribution) or ():
        if path.name.startswith("LICENSE") and path.parts[0].endswith(".dist-info"):
            return path.read_text().replace("*/", "* /")
    return ""


def scripts_of(names: Iterable[str]) -> Iterable[str]:
    """Yield the `<script>` of each library, in a fixed order."""
    chosen = set(names)
    return (script_of(name) for name in LIBRARIES if name in chosen)


def versions_of(names: Iterable[str]) -> Iterable[str]:
    """Yield the distribution and version of each library, in a fixed order."""
    chosen = set(names)
    distributions = (LIBRARIES[name].distribution for name in LIBRARIES if name in chosen)
    return (f"{name} {metadata.version(name)}" for name in distributions)
