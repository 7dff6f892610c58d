"""Assembly on a GPU against the CPU's: strings, bits of scores, flags."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.calling.assembly.haplotypes import LEFT
from hapgpu.calling.options import AssemblyOptions
from hapgpu.runtime.devices import first_device
from tests.calling.assembly.kmer_graphs.made_graphs import reads_of
from tests.calling.assembly.plain_assembly import Region
from tests.calling.assembly.test_assembler import columns_of, random_bases
from tests.calling.assembly.test_assembly_emulated import check

pytestmark = pytest.mark.gpu


def made_region(seed: int) -> Region:
    """Make a region of up to 60,000 bases, with SNVs, indels, and errors in its reads."""
    rng = np.random.default_rng(seed)
    reference = random_bases(int(rng.integers(5, 500)), rng)
    other = list(reference)
    for at in rng.integers(len(other), size=3):
        other[at] = random_bases(int(rng.integers(4)), rng)
    texts = []
    for _ in range(rng.integers(200)):
        text = reference if rng.random() < 0.5 else "".join(other)
        start = int(rng.integers(len(text) + 1))
        read = list(text[start : start + 150] or "A")
        read[rng.integers(len(read))] = str(rng.choice(list("ACGTN")))
        texts.append("".join(read))
    return Region(reference, reads_of(*texts))


@pytest.mark.parametrize("count", [0, 1, 3, 400])
def test_made_regions(count: int) -> None:
    from hapgpu.calling.assembly import cuda  # noqa: PLC0415  (imports CuPy)

    device = first_device("cuda:0")
    columns = columns_of([made_region(seed) for seed in range(count)])
    for is_strict in (False, True):
        found = check(cuda, columns, AssemblyOptions(is_strict=is_strict), device)
        # Of short references, some have a cycle, or all larger k are too long.
        assert count < 10 or (found.outcomes & LEFT == 0).mean() > 0.8


def test_many_haplotypes_are_left_to_the_cpu() -> None:
    from hapgpu.calling.assembly import cuda  # noqa: PLC0415  (imports CuPy)

    columns = columns_of([made_region(seed) for seed in range(3)])
    options = AssemblyOptions(max_haplotypes=513)
    found = check(cuda, columns, options, first_device("cuda:0"))
    assert found.outcomes.tolist() == [LEFT] * 3
