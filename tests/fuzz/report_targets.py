"""Targets of the fuzzer for the files that `hapgpu report` reads: to the sections of the page."""

from __future__ import annotations

from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.report.page import SectionOptions
from hapgpu.report.sections import kinds_of, sections_of
from tests.fuzz.read_targets import Run
from tests.fuzz.sandbox import Sandbox


def report_of(suffix: str) -> Run:
    """Return the target of a file whose section needs no other file."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        options = SectionOptions(
            reads=(), reference=None, threads=1, max_record=MAX_RECORD, advance=_uncounted
        )
        with sandbox.file(data, suffix) as path:
            for section in sections_of(
                [path], kinds_of([path], has_reads=False, has_reference=False), options
            ):
                assert section.html

    return run


def report_of_reads(sandbox: Sandbox, data: bytes) -> None:
    """Make the section of sites with the reads of a mutated SAM."""
    sites = sandbox.known("sites.vcf")
    with sandbox.file(data, "sam") as path:
        options = SectionOptions(
            reads=(str(path),),
            reference=sandbox.known("reference.fa"),
            threads=1,
            max_record=MAX_RECORD,
            advance=_uncounted,
        )
        for section in sections_of(
            [sites], kinds_of([sites], has_reads=True, has_reference=True), options
        ):
            assert section.html


def _uncounted(_: int) -> None:
    """Ignore a number of records."""
