"""The page: text from files is escaped, and libraries stand in it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from hapgpu.errors import UsageError
from hapgpu.report import libraries
from hapgpu.report.markup import script_json, script_source, text
from hapgpu.report.page import Section, render
from hapgpu.version import __version__

HOSTILE = "</script><script>alert(1)</script>\"'&\\{{ü\u2028<!--\udcff"


def test_text_and_json_are_escaped() -> None:
    assert text('<b a="\'">&') == "&lt;b a=&quot;&#x27;&quot;&gt;&amp;"
    found = script_json({"name": HOSTILE})
    assert json.loads(found) == {"name": HOSTILE}
    assert re.fullmatch(r"[ -~]*", found)
    assert not set("<>&") & set(found)
    assert "</script" not in script_source("a = '</script><!--';")


def test_page_of_sections() -> None:
    samples = HOSTILE, *(f"sample{k}" for k in range(25))
    sections = [
        Section(HOSTILE, "one", "<p>first</p>", samples=samples),
        Section("Second", "two", "", samples=("sample0",), file="a.vcf", command="call -x"),
    ]
    page = "".join(render(HOSTILE, sections, f"hapgpu report {HOSTILE}"))
    assert "<script>alert" not in page
    assert page.count(text(HOSTILE)) == 6  # title, heading, contents, section, foot
    foot = page[page.index("<footer>") :]
    assert f"<dd>{text(HOSTILE)}, sample0," in foot
    assert "sample18 and 6 more</dd>" in foot
    assert f"<dd>hapgpu report {text(HOSTILE)}</dd>" in foot
    assert "<dd>a.vcf: call -x</dd>" in foot
    assert f"<dd>{datetime.now(UTC):%Y-%m-%d} " in foot
    assert f"<dd>hapgpu {__version__}</dd>" in foot
    assert '<a href="#two">Second</a>' in page
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)="(?!#|data:)', page)


@pytest.mark.parametrize("name", libraries.LIBRARIES)
def test_licence_stands_before_a_library(name: str) -> None:
    pytest.importorskip("vl_convert")
    script = libraries.script_of(name).partition("<script>/*!")[2]
    notice, end, _ = script.partition("*/")
    assert end
    assert "opyright" in notice
    assert "permission notice" in notice or "Redistributions" in notice


def test_missing_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = libraries.Library("no-such-distribution", str)
    monkeypatch.setitem(libraries.LIBRARIES, "missing", missing)
    expected = r"needs .*no-such-distribution.*; run: pip install 'hapgpu\[report\]'"
    with pytest.raises(UsageError, match=expected):
        libraries.require_libraries()
