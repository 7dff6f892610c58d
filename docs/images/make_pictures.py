#!/usr/bin/env python3
"""Draw the pictures of the tutorial: `deletion.png` in IGV, and `tutorial-report.png`.

Run it in the directory of the tutorial (`docs/tutorial.md`), after its commands: it reads
`example/`, `realigned.bam` and `report.html`. It needs Chromium and the packages igv-notebook (for
`igv.min.js`) and playwright.
"""

from __future__ import annotations

import argparse
import base64
import json
from importlib.metadata import files
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

LOCUS = "chr20:17617-17785"
DELETION = "17675"
DRAWING = 3000  # milliseconds: IGV draws the reads after it reports that it is ready
PANELS = (  # title; height; how much of the top is hidden: the second panel needs no ruler
    ("Before: the mapper clipped these reads. bcftools and freebayes miss the deletion.", 228, 24),
    ("After <code>hapgpu realign</code>: a deletion of 50 bases. Both find it: 1/1.", 168, 100),
)
STYLE = """
body { margin: 10px 16px 0; font: 600 15px sans-serif; color: #222; background: white }
p { margin: 0 0 6px 8px }
div.panel { overflow: hidden; width: 1068px; margin-bottom: 10px }
div.panel > div { width: 1120px }  /* the settings of the tracks lie beyond the edge */
code { font-size: 15px; background: #eee; padding: 1px 4px; border-radius: 3px }
"""


def main() -> None:
    """Write the pictures to the directory given on the command line."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the tutorial.")
    parser.add_argument("directory", type=Path, help="Where to write the pictures.")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="Browser.")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        draw_deletion(browser, options.directory / "deletion.png")
        draw_report(browser, options.directory / "tutorial-report.png")
        browser.close()


def draw_deletion(browser: Browser, picture: Path) -> None:
    """Draw the reads at the deletion, before and after realignment."""
    page = browser.new_page(viewport={"width": 1100, "height": 474}, device_scale_factor=1.5)
    page.set_content(document())
    page.wait_for_function(f"window.ready == {len(PANELS)}")
    page.wait_for_timeout(DRAWING)
    page.screenshot(path=picture)


def draw_report(browser: Browser, picture: Path) -> None:
    """Draw the table of sites with the site of the deletion open."""
    page = browser.new_page(viewport={"width": 1280, "height": 1160})
    page.goto(Path("report.html").absolute().as_uri())
    page.locator("input[type=search]").first.fill(DELETION)
    page.locator("tbody tr", has_text=DELETION).first.click()
    page.wait_for_timeout(DRAWING)
    page.get_by_role("heading", name="Sites", exact=True).evaluate("it => it.scrollIntoView()")
    page.wait_for_timeout(DRAWING)
    page.screenshot(path=picture)


def document() -> str:
    """Return a page with two instances of IGV, each with one track of reads."""
    bams = (Path("example/reads.bam"), ".bai"), (Path("realigned.bam"), ".csi")
    panels = [
        f"<p>{title}</p><div class=panel style='height:{height}px'>"
        f"<div id=panel{number} style='margin-top:-{hidden}px'></div></div>"
        f"<script>igv.createBrowser(document.getElementById('panel{number}'),"
        f"{json.dumps(browser_options(bam, suffix))})"
        ".then(() => { window.ready = (window.ready || 0) + 1 })</script>"
        for number, ((title, height, hidden), (bam, suffix)) in enumerate(
            zip(PANELS, bams, strict=True)
        )
    ]
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f"<script>{igv()}</script>{''.join(panels)}"
    )


def igv() -> str:
    """Return the source of IGV.js that the package igv-notebook holds."""
    (script,) = (path for path in files("igv-notebook") or () if path.name == "igv.min.js")
    return script.read_text()


def browser_options(bam: Path, suffix: str) -> dict[str, object]:
    """Return IGV's options for the reads of a BAM, with soft-clipped bases."""
    reference = Path("example/reference.fa")
    return {
        "loadDefaultGenomes": False,
        "showNavigation": False,
        "showIdeogram": False,
        "showTrackLabels": False,
        "locus": LOCUS,
        "reference": {
            "fastaURL": data_address(reference),
            "indexURL": data_address(reference.with_suffix(".fa.fai")),
        },
        "tracks": [
            {
                "type": "alignment",
                "format": "bam",
                "url": data_address(bam),
                "indexURL": data_address(bam.with_name(bam.name + suffix)),
                "height": 180,
                "coverageTrackHeight": 28,
                "alignmentRowHeight": 8,
                "showSoftClips": True,
            }
        ],
    }


def data_address(path: Path) -> str:
    """Return a data: address with the contents of a file."""
    return "data:application/octet-stream;base64," + base64.b64encode(path.read_bytes()).decode()


if __name__ == "__main__":
    main()
