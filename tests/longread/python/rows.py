"""Columns of the Python API as lines of minimap2, and lines cut to what columns have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pysam

import hapgpu
from tests.cli.in_process import status_of_command

ON_CPU = ("-q", "--device", "cpu", "-t", "1")
_CLIPS = re.compile(r"^\d+[SH]|\d+[SH]$")
_REVERSE, _SECONDARY, _SUPPLEMENTARY = 16, 256, 2048
_TYPES = "SPiI"
_KEPT = frozenset({"NM", "ms", "AS", "nn", "tp", "cm", "s1", "s2", "de", "zd", "rl"})


def command_lines(output: Path, *arguments: str | Path) -> list[str]:
    """Run `hapgpu chain` on the CPU; return its lines."""
    output.unlink(missing_ok=True)
    assert status_of_command("chain", *arguments, *ON_CPU, "-o", output) == 0
    return output.read_text().splitlines()


def records_of(path: Path) -> tuple[list[str], list[str]]:
    """Return the names and the bases of the reads of a file."""
    with pysam.FastxFile(str(path)) as file:
        records = [(record.name, record.sequence or "") for record in file]
    return [name for name, _ in records], [bases for _, bases in records]


def paf_lines(index: hapgpu.LongReadIndex, mappings: hapgpu.ReadMappings) -> list[str]:
    """Write rows as lines of PAF: with the tag cg if bases are aligned."""
    return ["\t".join([*_columns(index, row), *_tags(row)]) for row in _rows(mappings)]


def sam_rows(lines: Sequence[str]) -> list[list[str]]:
    """Return the mapped records of lines of SAM: without clips, bases, and the tag SA."""
    rows = []
    for line in lines:
        fields = line.split("\t")
        if line.startswith("@") or int(fields[1]) & 4:
            continue
        cigar = _CLIPS.sub("", _CLIPS.sub("", fields[5]))
        rows.append([*fields[:5], cigar, *(tag for tag in fields[11:] if tag[:2] in _KEPT)])
    return rows


def expected_sam_rows(alignments: hapgpu.ReadAlignments) -> list[list[str]]:
    """Write rows as `sam_rows` returns them."""
    rows = []
    for row in _rows(alignments):
        flag = _REVERSE * row["strands"] + _SECONDARY * (not row["is_primary"])
        flag += _SUPPLEMENTARY * row["is_supplementary"]
        contig, quality = row["contig"], row["mapping_qualities"]
        start = row["starts"] + 1
        tags = [tag for tag in _tags(row) if tag[:2] in _KEPT]
        rows.append([row["name"], *map(str, (flag, contig, start, quality)), row["cigar"], *tags])
    return rows


def _rows(mappings: hapgpu.ReadMappings) -> Iterator[dict[str, Any]]:
    """Yield the values of each row by the name of the column."""
    columns = {
        each.name: column.tolist()
        for each in fields(mappings)
        if isinstance(column := getattr(mappings, each.name), np.ndarray)
    }
    read_lengths = columns.pop("read_lengths")
    if isinstance(mappings, hapgpu.ReadAlignments):
        columns["cigar"] = mappings.cigar_strings()
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        number = row["reads"]
        names = mappings.read_names
        row["name"] = str(number) if names is None else names[number]
        row["read_length"] = read_lengths[number]
        row["contig"] = mappings.contig_names[row["contigs"]]
        yield row


def _columns(index: hapgpu.LongReadIndex, row: dict[str, Any]) -> list[str]:
    lengths = dict(zip(index.contig_names, index.contig_lengths, strict=True))
    strand, length = "+-"[row["strands"]], lengths[row["contig"]]
    columns = (row["read_starts"], row["read_ends"], strand, row["contig"], length)
    counts = (row["starts"], row["ends"], row["matches"], row["block_lengths"])
    return list(map(str, (row["name"], row["read_length"], *columns, *counts, row[_QUALITY])))


_QUALITY = "mapping_qualities"


def _tags(row: dict[str, Any]) -> list[str]:
    is_aligned, has_alignment = "cigar" in row, row.get("cigar", "*") != "*"
    tags = []
    if has_alignment:
        tags += [f"NM:i:{row['edit_distances']}", f"ms:i:{row['best_scores']}"]
        tags += [f"AS:i:{row['alignment_scores']}", f"nn:i:{row['ambiguous_bases']}"]
    tags += [f"tp:A:{_TYPES[row['is_primary'] + 2 * row.get('is_inversion', False)]}"]
    tags += [f"cm:i:{row['anchor_counts']}", f"s1:i:{row['chain_scores']}"]
    if row["second_scores"] >= 0:
        tags.append(f"s2:i:{row['second_scores']}")
    if has_alignment or not is_aligned:
        fraction = row["divergences"]
        text = f"{fraction:.4f}" if fraction else "0"
        tags.append(f"{'de' if is_aligned else 'dv'}:f:{text}")
    if row.get("splits"):
        tags.append(f"zd:i:{row['splits']}")
    tags.append(f"rl:i:{row['repeat_lengths']}")
    return [*tags, f"cg:Z:{row['cigar']}"] if has_alignment else tags
