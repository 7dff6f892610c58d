"""The options of `hapgpu chain` on base alignment: their values, and the form of the output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hapgpu.cli.commands import chain as command
from hapgpu.cli.options.align import AlignmentForm
from hapgpu.longread import pipeline
from hapgpu.longread.options import PRESETS, AlignOptions, Difference, LineOptions, LongReadOptions
from tests.cli.chain.command import Sample, status_of

Chosen = tuple[LongReadOptions, AlignmentForm | None]
SHORT, LONG, MD, DS = Difference.CS, Difference.LONG_CS, Difference.MD, Difference.DS


@pytest.fixture
def chosen(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Chosen]:
    """Return a function that returns the options that the command would run with."""
    used: list[Chosen] = []
    monkeypatch.setattr(command, "_output_of", lambda form, *_: form)
    monkeypatch.setattr(
        pipeline,
        "align_long_reads",
        lambda _run, _fasta, _reads, options, _lines, form: used.append((options, form)),
    )
    monkeypatch.setattr(
        pipeline,
        "map_long_reads",
        lambda _run, _fasta, _reads, options, _output: used.append((options, None)),
    )

    def run(*arguments: str, output: str = "out") -> Chosen:
        files = sample.fasta, sample.fastq, "-o", tmp_path / output
        assert status_of(*files, *arguments, "-q", "--device", "cpu") == 0
        return used.pop()

    return run


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ("-A 3 -B 5", {"match": 3, "mismatch": 5}),
        ("-b 2", {"transition": 2}),
        ("--score-N 0", {"ambiguous": 0}),
        ("-O 5,30", {"gap_open": 5, "gap_open2": 30}),
        ("-O 5,30 -O bam", {"gap_open": 5, "gap_open2": 30}),
        ("-O sam -O 5,30", {"gap_open": 5, "gap_open2": 30}),
        ("-O bam", {}),
        ("-O 5,30 -O 6,40", {"gap_open": 6, "gap_open2": 40}),
        ("-E 3,2", {"gap_extend": 3, "gap_extend2": 2}),
        (
            "-O 6 -E 2",
            {"gap_open": 6, "gap_open2": 6, "gap_extend": 2, "gap_extend2": 2},
        ),
        ("-z 300", {"drop": 300, "inversion_drop": 300}),
        ("-z 1k,100", {"drop": 1000, "inversion_drop": 100}),
        ("-s 40", {"min_score": 40}),
        ("--end-bonus 10", {"end_bonus": 10}),
        ("--cap-sw-mem 4g", {"max_cells": 4_000_000_000}),
        ("--cap-sw-mem 0", {"max_cells": 0}),
        ("--min-dp-len 50", {"min_piece": 50}),
        ("--no-end-flt", {"filters_ends": False}),
    ],
)
def test_letters(chosen: Callable[..., Chosen], arguments: str, fields: dict[str, Any]) -> None:
    options, _ = chosen(*arguments.split(), "-a")
    assert options.align == replace(AlignOptions(), **fields)
    assert options == replace(LongReadOptions(), align=options.align)


@pytest.mark.parametrize("name", PRESETS)
def test_presets(chosen: Callable[..., Chosen], name: str) -> None:
    """A preset sets what no option sets, before and after it."""
    assert chosen("-c", "-x", name)[0] == PRESETS[name]
    changed = replace(PRESETS[name], align=replace(PRESETS[name].align, mismatch=5))
    assert chosen("-c", "-B", "5", "-x", name)[0] == chosen("-c", "-x", name, "-B5")[0] == changed


def test_presets_have_the_scores_of_minimap2() -> None:
    dual = AlignOptions(gap_open=4, gap_extend=2, gap_open2=24, gap_extend2=1, min_score=80)
    precise = AlignOptions(
        match=1, gap_open=6, gap_extend=2, gap_open2=26, gap_extend2=1, min_score=200
    )
    scores = {name: preset.align for name, preset in PRESETS.items()}
    assert scores == {"map-ont": dual, "map-pb": dual, "map-hifi": precise, "lr:hq": dual}


@pytest.mark.parametrize(
    ("arguments", "output", "form"),
    [
        ("", "out", None),
        ("", "out.paf", None),
        ("--paf", "out.paf.gz", None),
        ("-c", "out", ""),
        ("-c", "out.paf", ""),
        ("--cs", "out", ""),
        ("-c --paf", "out.gz", ""),
        ("-a", "out", "sam"),
        ("-a", "out.sam.gz", "sam"),
        ("-a -O sam", "out.txt", "sam"),
        ("-a", "out.bam", "bam"),
        ("-c", "out.bam", "bam"),
        ("", "out.sam", "sam"),
        ("", "out.SAM.bgz", "sam"),
        ("", "out.BAM", "bam"),
        ("", "out.cram", "cram"),
        ("-O bam", "out", "bam"),
        ("-a -O cram", "out.cram", "cram"),
        ("--output-fmt sam", "out.sam", "sam"),
        ("--output-fmt bam -O sam", "out", "bam"),
        ("-c -O 5,30", "out", ""),
    ],
)
def test_formats(
    chosen: Callable[..., Chosen], arguments: str, output: str, form: str | None
) -> None:
    """A form without a format is PAF; without a form, bases are not aligned."""
    _, found = chosen(*arguments.split(), output=output)
    assert (found and (found.format or "")) == form
    if found:
        assert found.lines.is_sam == bool(form)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ("-c", {"has_cigar": True}),
        ("--cs", {"difference": SHORT}),
        ("--cs=short", {"difference": SHORT}),
        ("--cs=long", {"difference": LONG}),
        ("-c --MD", {"has_cigar": True, "difference": MD}),
        ("-c --ds", {"has_cigar": True, "difference": DS}),
        ("--cs --ds", {"difference": DS}),
        ("--cs --MD", {"difference": MD}),
        ("-c --eqx", {"has_cigar": True, "splits_matches": True}),
        ("-c -y", {"has_cigar": True, "copies_comments": True}),
        ("-a", {"is_sam": True}),
        ("-a -c", {"is_sam": True, "has_cigar": True}),
        ("-a -L", {"is_sam": True, "moves_long_cigars": True}),
        ("-a -Y", {"is_sam": True, "soft_clips_all": True}),
        ("-a --sam-hit-only", {"is_sam": True, "mapped_only": True}),
        ("-a --secondary-seq", {"is_sam": True, "secondary_bases": True}),
        (r"-a -R @RG\tID:x\tSM:y", {"is_sam": True, "read_group": "x"}),
        ("-a -y", {"is_sam": True, "copies_comments": True}),
    ],
)
def test_lines(chosen: Callable[..., Chosen], arguments: str, fields: dict[str, Any]) -> None:
    _, form = chosen(*arguments.split())
    assert form is not None
    assert form.lines == LineOptions(**fields)
    assert form.has_program
    assert form.group is None or form.group.line == "@RG\tID:x\tSM:y"


def test_no_pg(chosen: Callable[..., Chosen]) -> None:
    _, form = chosen("-a", "--no-PG")
    assert form is not None
    assert not form.has_program
