"""The whole run on the CPU against the `minimap2` on PATH, on made-up references and reads.

Run with HAPGPU_TEST_MINIMAP2=1; versions from 2.24 on give the same lines for these options.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.longread.cpu import CpuChainer
from hapgpu.longread.index.build import build_index
from hapgpu.simulation.long_reads import LongReadModel
from tests.longread.minimap2_options import options_of
from tests.longread.minimap2_program import (
    MAX_TIES,
    NEEDS_MINIMAP2,
    lines_of_minimap2,
    reads_that_differ,
)
from tests.longread.stage_runs import computed
from tests.simulation.made_genomes import made_reads, made_reference

SETS: Final = 12
OPTIONS_PER_SET: Final = 6
PRESETS: Final = ("map-ont", "map-pb", "map-hifi", "lr:hq")
OPTION_VALUES: Final = (
    ("-k", "10", "12", "14", "18", "21", "28"),
    ("-w", "1", "5", "15", "60", "255"),
    ("-f", "0.05", "0.001", "3", "50"),
    ("-U", "2,1000000", "10,20", "100,50"),
    ("-e", "0", "50", "2000"),
    ("-r", "100", "500,500", "1000,50000", "300,4000"),
    ("-g", "50", "500", "20000"),
    ("-n", "1", "2", "10"),
    ("-m", "20", "100", "500"),
    ("-N", "1", "20", "1000"),
    ("-p", "0", "0.3", "0.95", "1"),
    ("-M", "0", "0.3", "0.9"),
    ("--q-occ-frac=0", "--q-occ-frac=0.05", "--q-occ-frac=0.5"),
    ("--max-chain-skip=0", "--max-chain-skip=5", "--max-chain-skip=1000000000"),
    ("--max-chain-iter=1", "--max-chain-iter=50"),
    ("-H",),
    ("--no-long-join",),
    ("--no-hash-name",),
    ("--paf-no-hit",),
    ("-P", "--secondary=no"),
)

pytestmark = NEEDS_MINIMAP2


def drawn_options(rng: np.random.Generator) -> list[str]:
    arguments = ["-x", PRESETS[rng.integers(len(PRESETS))]]
    for option in OPTION_VALUES:
        if rng.random() < 0.2:
            first, *values = option
            if first.startswith("--") or first in {"-H", "-P"}:
                arguments.append(option[rng.integers(len(option))])
            else:
                arguments += [first, values[rng.integers(len(values))]]
    return arguments


def lines_of(reference: Path, reads: Path, arguments: Sequence[str]) -> list[bytes]:
    options = options_of(arguments)
    chainer = CpuChainer(build_index(reference, options.sketch, threads=1), options)
    blocks = read_blocks(reads, 1 << 20)
    return b"".join(computed(chainer, block).text.tobytes() for block in blocks).splitlines()


@pytest.mark.parametrize("seed", range(SETS))
def test_lines_equal_minimap2(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sequences = made_reference(rng, int(rng.choice([30_000, 300_000])), rng.choice([0.1, 0.5]))
    mean = int(rng.choice([500, 8000, 40_000]))
    model = LongReadModel(mean, mean // 4, rng.choice([0.001, 0.05, 0.12]))
    reads = made_reads(rng, sequences, 400_000, model)
    reference_path, reads_path = tmp_path / "reference.fa", tmp_path / "reads.fa"
    reference_path.write_bytes(
        b"".join(b">chr%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(sequences))
    )
    # minimap2 gives an empty read, written with --paf-no-hit, the tag rl of the read before it.
    reads_path.write_bytes(
        b"".join(b">read%d/1 text\n%s\n" % (i, read) for i, read in enumerate(reads) if read)
    )
    compared = 0
    for arguments in [["-x", "map-ont"], *(drawn_options(rng) for _ in range(OPTIONS_PER_SET))]:
        expected = lines_of_minimap2(reference_path, reads_path, arguments)
        if expected is not None:
            found = lines_of(reference_path, reads_path, arguments)
            differing = reads_that_differ(found, expected)
            assert len(differing) <= MAX_TIES * len(reads), arguments
            if differing:
                arguments.append("--no-long-join")
                expected = lines_of_minimap2(reference_path, reads_path, arguments)
                assert lines_of(reference_path, reads_path, arguments) == expected, arguments
            compared += 1
    assert compared
