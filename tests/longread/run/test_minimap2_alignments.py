"""Lines with base alignments against the `minimap2` on PATH, on made-up references and reads.

Run with HAPGPU_TEST_MINIMAP2=1 and minimap2 2.30.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CpuAligner
from hapgpu.longread.index.build import build_index_of_records
from hapgpu.simulation.long_reads import LongReadModel
from tests.longread.minimap2_options import line_options_of, options_of
from tests.longread.minimap2_program import (
    MAX_TIES,
    NEEDS_MINIMAP2,
    lines_of_minimap2,
    reads_that_differ,
)
from tests.longread.run.made_troubles import fastx_text, troubled_reads, troubled_reference
from tests.longread.stage_runs import computed

VERSION: Final = "2.30"
SETS: Final = 8
OPTIONS_PER_SET: Final = 8
PRESETS: Final = ("map-ont", "map-pb", "map-hifi", "lr:hq")
FORMS: Final = (
    ("-c",),
    ("-c", "--cs"),
    ("-c", "--cs=long", "-y"),
    ("-c", "--MD", "--eqx"),
    ("-c", "--ds"),
    ("--cs", "--paf-no-hit"),
    ("-a",),
    ("-a", "--MD", "-Y"),
    ("-a", "--cs=long", "--eqx", "-L"),
    ("-a", "--ds", "-y"),
    ("-a", "--cs", "--secondary-seq"),
    ("-a", "--sam-hit-only", "-y", "-Y"),
    ("-a", "--MD", "--cs", "--secondary-seq", "-Y"),
)
OPTION_VALUES: Final = (
    ("-k", "8", "11", "14", "21", "28"),
    ("-w", "1", "5", "20", "100"),
    ("-H",),
    ("-f", "0.05", "0.001", "3", "50"),
    ("-r", "5", "20", "100", "1", "500,500", "1000,50000", "50,300"),
    ("-g", "50", "500", "20000"),
    ("-n", "2", "5"),
    ("-m", "20", "100", "300"),
    ("-N", "1", "20", "1000"),
    ("-p", "0", "0.3", "1"),
    ("-M", "0", "0.3", "0.9"),
    ("--no-long-join",),
    ("--no-hash-name",),
    ("-P", "--secondary=no"),
    ("-z", "1", "20", "60,10", "200,100", "400,1", "5000,100", "100000"),
    ("-s", "0", "1", "40", "300", "2000"),
    ("-b", "1", "2", "4"),
    ("--score-N", "0", "1", "2"),
    ("--end-bonus", "0", "5", "50", "1000"),
    ("--min-dp-len", "0", "1", "20", "100", "1000", "100000"),
    ("--cap-sw-mem", "1k", "50k", "1m", "0", "10g"),
    ("--no-end-flt",),
)
COSTS: Final = (
    (),
    (),
    (),
    ("-A", "1"),
    ("-A", "5", "-B", "4"),
    ("-B", "3"),
    ("-B", "9"),
    ("-B", "12"),
    ("-O", "6", "-E", "2"),
    ("-O", "3", "-E", "3"),
    ("-O", "1", "-E", "1"),
    ("-O", "4,24"),
    ("-O", "5,30", "-E", "3,1"),
    ("-O", "10,40", "-E", "4,2"),
    ("-A", "2", "-B", "5", "-O", "5,56", "-E", "4,1"),
    ("-A", "1", "-B", "19", "-O", "39,81", "-E", "3,1"),
    ("-A", "1", "-B", "4", "-O", "2,5", "-E", "3,1"),
    ("-A", "20", "-B", "12"),
    ("-A", "80", "-B", "10"),
    ("-A", "3", "-O", "51", "-E", "11"),
)

pytestmark = NEEDS_MINIMAP2


def drawn_options(rng: np.random.Generator) -> list[str]:
    arguments = ["-x", PRESETS[rng.integers(len(PRESETS))], *FORMS[rng.integers(len(FORMS))]]
    arguments += COSTS[rng.integers(len(COSTS))]
    for first, *values in OPTION_VALUES:
        if rng.random() < 0.12:
            if not values or values[0].startswith("-"):
                options = [first, *values]
                arguments.append(options[rng.integers(len(options))])
            elif first.startswith("--"):
                arguments.append(f"{first}={values[rng.integers(len(values))]}")
            else:
                arguments += [first, values[rng.integers(len(values))]]
    return arguments


def lines_of(reference: Path, reads: Path, arguments: Sequence[str]) -> list[bytes]:
    lines, others = line_options_of(arguments)
    options = options_of(others)
    index, records = build_index_of_records(reference, options.sketch, threads=1)
    aligner = CpuAligner(index, code_targets(records.sequences), options, lines)
    blocks = read_blocks(reads, 1 << 20)
    return b"".join(computed(aligner, block).text.tobytes() for block in blocks).splitlines()


def made_files(rng: np.random.Generator, directory: Path) -> tuple[Path, Path, int]:
    """Write a reference and reads; return the paths, and the number of reads."""
    contigs = troubled_reference(rng, int(rng.choice([30_000, 300_000])))
    mean = int(rng.choice([500, 6000, 30_000]))
    model = LongReadModel(mean, mean // 4, rng.choice([0.001, 0.03, 0.08, 0.15]))
    reads = troubled_reads(rng, contigs, 250_000, model)
    reference_path, reads_path = directory / "reference.fa", directory / "reads.fx"
    reference_path.write_bytes(b"".join(b">chr%d\n%s\n" % pair for pair in enumerate(contigs)))
    reads_path.write_bytes(fastx_text(rng, reads, is_fasta=rng.random() < 0.3))
    return reference_path, reads_path, len(reads)


@pytest.fixture(scope="module", autouse=True)
def _needs_version() -> None:
    found = subprocess.run(["minimap2", "--version"], check=True, capture_output=True, text=True)
    if not found.stdout.startswith(VERSION):
        pytest.skip(f"minimap2 {found.stdout.strip()} on PATH, not {VERSION}")


@pytest.mark.parametrize("seed", range(SETS))
def test_lines_equal_minimap2(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reference, reads, count = made_files(rng, tmp_path)
    compared = 0
    for _ in range(OPTIONS_PER_SET):
        arguments = drawn_options(rng)
        expected = lines_of_minimap2(reference, reads, arguments)
        if expected is not None:
            differing = reads_that_differ(lines_of(reference, reads, arguments), expected)
            assert len(differing) <= max(1, MAX_TIES * count), arguments
            if differing:
                arguments.append("--no-long-join")
                expected = lines_of_minimap2(reference, reads, arguments)
                assert lines_of(reference, reads, arguments) == expected, arguments
            compared += 1
    assert compared
