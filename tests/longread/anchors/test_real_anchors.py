"""Seeds and anchors of real reads against stored and, if asked for, fresh output of minimap2."""

from __future__ import annotations

import gzip
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hapgpu.longread.batches import Anchors, Seeds
from hapgpu.longread.index.build import build_index, repeat_cutoff
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.options import PRESETS, SeedOptions, SketchOptions
from hapgpu.longread.seed.anchors import expand_anchors
from hapgpu.longread.seed.seeds import find_seeds
from tests.longread.minimap2_program import NEEDS_MINIMAP2

ONT, PB, HIFI = PRESETS["map-ont"], PRESETS["map-pb"], PRESETS["map-hifi"]
WITHOUT_FLAGS = np.uint64(2**40 - 1)


class Found(NamedTuple):
    """Seeds and anchors of the reads of a file."""

    targets: tuple[str, ...]
    reads: list[str]
    seeds: Seeds
    anchors: Anchors


def find(reference: Path, reads: Path, sketched: SketchOptions, options: SeedOptions) -> Found:
    index = build_index(reference, sketched, 1)
    with gzip.open(reads, "rb") as file:
        records = [record.splitlines() for record in file.read().split(b">")[1:]]
    sequences = [b"".join(lines) for _, *lines in records]
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int32)
    starts = np.cumsum(lengths, dtype=np.int32) - lengths
    text = np.frombuffer(b"".join(sequences), dtype=np.uint8)
    minimizers = sketch(text, starts, lengths, sketched)
    seeds = find_seeds(index, minimizers, lengths, repeat_cutoff(index, options), options)
    names = [header.split()[0].decode() for header, *_ in records]
    return Found(index.names, names, seeds, expand_anchors(index, seeds, lengths))


@pytest.mark.parametrize(
    ("printed", "sketched", "options"),
    [
        ("v230_map-ont", ONT.sketch, ONT.seeds),
        (
            "v230_map-ont_f0.005_e0",
            ONT.sketch,
            SeedOptions(
                repetitive=0.005, min_cutoff=2, max_cutoff=1_000_000, occurrence_distance=0
            ),
        ),
        ("v230_map-pb", PB.sketch, PB.seeds),
    ],
)
def test_lengths_of_repeats(
    data_dir: Path, printed: str, sketched: SketchOptions, options: SeedOptions
) -> None:
    """The tag `rl` of every read that was mapped."""
    directory = data_dir / "longread" / "chain"
    found = find(directory / "ref.fa.gz", directory / "reads.fa.gz", sketched, options)
    own = defaultdict(set)
    for name, length in zip(found.reads, found.seeds.repeat_lengths.tolist(), strict=True):
        own[name].add(length)
    with gzip.open(directory / f"{printed}.paf.gz", "rt") as lines:
        fields = [line.rstrip("\n").split("\t") for line in lines]
    expected = [(line[0], int(tag[5:])) for line in fields for tag in line if tag[:5] == "rl:i:"]
    assert len(expected) == len(fields) > 1000
    assert len({length for _, length in expected}) > 20
    assert [(name, length) for name, length in expected if length not in own[name]] == []


def printed_seeds(
    reference: Path, reads: Path, arguments: str, targets: tuple[str, ...]
) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return repeat length and anchors of each read from `minimap2 --print-seeds`."""
    command = ["minimap2", *arguments.split(), "--print-seeds", reference, reads]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    numbers = {name: number for number, name in enumerate(targets)}
    printed: list[tuple[int, list[tuple[int, int]]]] = []
    for line in lines.splitlines():
        if line.startswith("RS"):
            printed.append((int(line.split("\t")[1]), []))
        elif line.startswith("SD"):
            _, name, target, strand, query, span, _ = line.split("\t")
            x = (strand == "-") << 63 | numbers[name] << 32 | int(target)
            printed[-1][1].append((x, int(span) << 32 | int(query)))
    return printed


@NEEDS_MINIMAP2
@pytest.mark.parametrize(
    ("arguments", "sketched", "options"),
    [
        ("-x map-ont", ONT.sketch, ONT.seeds),
        (
            "-x map-ont -f 0.005 -U 2,1000000 -e 0",
            ONT.sketch,
            SeedOptions(
                repetitive=0.005, min_cutoff=2, max_cutoff=1_000_000, occurrence_distance=0
            ),
        ),
        ("-x map-ont -k 14 -w 7", SketchOptions(k=14, w=7), ONT.seeds),
        ("-x map-hifi", HIFI.sketch, HIFI.seeds),
        ("-x map-pb", PB.sketch, PB.seeds),
        ("-f 3 -e 100", ONT.sketch, SeedOptions(repetitive=3, occurrence_distance=100)),
        (
            "-f 2 -e 30 --q-occ-frac 0.002",
            ONT.sketch,
            SeedOptions(repetitive=2, occurrence_distance=30, read_fraction=0.002),
        ),
    ],
)
def test_anchors(
    data_dir: Path, arguments: str, sketched: SketchOptions, options: SeedOptions
) -> None:
    """The sorted anchors of every read."""
    directory = data_dir / "longread" / "chain"
    reference, reads = directory / "ref.fa.gz", directory / "reads.fa.gz"
    found = find(reference, reads, sketched, options)
    printed = printed_seeds(reference, reads, arguments, found.targets)
    assert [length for length, _ in printed] == found.seeds.repeat_lengths.tolist()
    offsets = found.anchors.offsets.tolist()
    for number, (_, expected) in enumerate(printed):
        x = found.anchors.x[offsets[number] : offsets[number + 1]].tolist()
        y = (found.anchors.y[offsets[number] : offsets[number + 1]] & WITHOUT_FLAGS).tolist()
        assert list(zip(x, y, strict=True)) == expected
