"""Blocks in groups of reads: the same lines for any group, and errors that name the read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.longread import groups
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CpuAligner, CpuChainer
from hapgpu.longread.groups import GroupWorker, ResultPart, SeededReads, group_cuts
from hapgpu.longread.index.build import build_index_of_records
from hapgpu.longread.options import LineOptions, LongReadOptions
from hapgpu.runtime.output import Divided
from tests.longread.stage_runs import computed, parts_of

LENGTHS = (900, 2500, 0, 40, 1200, 3000, 1, 700)
OPTIONS = replace(
    LongReadOptions(), mappings=replace(LongReadOptions().mappings, prints_unmapped=True)
)


@pytest.fixture(scope="module")
def genome() -> bytes:
    bases = np.frombuffer(b"ACGT", dtype=np.uint8)
    return bases[np.random.default_rng(3).integers(0, 4, 20_000)].tobytes()


@pytest.fixture(scope="module")
def make_worker(
    genome: bytes, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., GroupWorker[TextBlock]]:
    fasta = tmp_path_factory.mktemp("groups") / "ref.fa"
    fasta.write_bytes(b">ref\n" + genome + b"\n")
    index, records = build_index_of_records(fasta, OPTIONS.sketch, 1)

    def make(
        lines: LineOptions | None = None, options: LongReadOptions = OPTIONS
    ) -> GroupWorker[TextBlock]:
        if lines is None:
            return CpuChainer(index, options)
        return CpuAligner(index, code_targets(records.sequences), options, lines)

    return make


@pytest.fixture(scope="module")
def block(genome: bytes) -> ReadBlock:
    reads = [genome[1000 * k : 1000 * k + length] for k, length in enumerate(LENGTHS)]
    text = b"".join(b">r%d x\n%b\n" % (number, read) for number, read in enumerate(reads))
    return ReadBlock(np.frombuffer(text, dtype=np.uint8), is_fasta=True, first=5, name="made.fa")


@pytest.mark.parametrize("lines", [None, LineOptions(is_sam=True), LineOptions(has_cigar=True)])
@pytest.mark.parametrize("anchors", [1, 300, 700])
def test_lines_do_not_depend_on_groups(
    make_worker: Callable[..., GroupWorker[TextBlock]],
    block: ReadBlock,
    monkeypatch: pytest.MonkeyPatch,
    lines: LineOptions | None,
    anchors: int,
) -> None:
    worker = make_worker(lines)
    whole = worker(block)
    assert not isinstance(whole, Divided)
    monkeypatch.setattr(groups, "GROUP_ANCHORS", anchors)
    parts = parts_of(worker, block)
    assert len(parts) > 1
    assert b"".join(part.text.tobytes() for part in parts) == whole.text.tobytes()
    for count, number in whole.counts.items():
        assert sum(part.counts[count] for part in parts) == number


@given(st.lists(st.integers(0, 50)), st.integers(1, 100))
def test_groups_are_as_large_as_possible(anchors: list[int], most: int) -> None:
    cuts = group_cuts(np.array(anchors, dtype=np.int64), most)
    assert cuts[0] == 0
    assert cuts[-1] == len(anchors)
    for first, end in pairwise(cuts):
        assert sum(anchors[first:end]) <= most or end == first + 1
        assert end == len(anchors) or sum(anchors[first : end + 1]) > most


def test_read_of_too_many_anchors(
    make_worker: Callable[..., GroupWorker[TextBlock]], block: ReadBlock
) -> None:
    worker = make_worker(options=replace(OPTIONS, max_anchors=0))
    assert computed(worker, block).counts["reads"] == len(LENGTHS)  # an anchor per base is allowed
    worker = make_worker(options=replace(OPTIONS, max_anchors=-2700))
    with pytest.raises(InputError) as raised:
        worker(block)
    anchors = str(raised.value).partition(": has ")[2].partition(" ")[0]
    assert str(raised.value) == (
        f"made.fa, record 5, read r0: has {anchors} anchors, more than -1,800; drop frequent"
        " minimizers (-f 1000), remove the read or raise --max-record"
    )


def test_memory_runs_out(
    make_worker: Callable[..., GroupWorker[TextBlock]],
    block: ReadBlock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Groups are split as far as needed; the read that needs too much alone is named."""
    worker = make_worker()
    expected = computed(worker, block)
    compute = worker._compute

    def compute_few(group: SeededReads) -> ResultPart[TextBlock]:
        if len(group) > 2:
            raise MemoryError
        return compute(group)

    monkeypatch.setattr(worker, "_compute", compute_few)
    assert computed(worker, block).text.tobytes() == expected.text.tobytes()

    def compute_short(group: SeededReads) -> ResultPart[TextBlock]:
        if group.spans.lengths.max(initial=0) > 2000:
            raise MemoryError
        return compute(group)

    monkeypatch.setattr(worker, "_compute", compute_short)
    with pytest.raises(InputError, match=r"^made\.fa, record 6, read r1: out of memory; ") as error:
        computed(worker, block)
    assert str(error.value).endswith("use fewer threads (-t) or remove the read")


def test_large_reads_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GROUP_ANCHORS", 10)
    budget = groups._AnchorBudget(100)
    order: list[str] = []

    def hold(anchors: int, name: str) -> None:
        with budget.holding(anchors):
            order.append(name)

    threads = [Thread(target=hold, args=(anchors, str(anchors))) for anchors in (10, 40, 61, 500)]
    with budget.holding(60):
        for thread in threads[:2]:
            thread.start()
            thread.join()
        for thread in threads[2:]:
            thread.start()
        assert order == ["10", "40"]
    for thread in threads[2:]:
        thread.join()
    assert sorted(order[2:]) == ["500", "61"]


def test_a_part_of_a_group_keeps_its_text(
    make_worker: Callable[..., GroupWorker[TextBlock]],
    block: ReadBlock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts hold the arrays that their lines come from."""
    monkeypatch.setattr(groups, "GROUP_ANCHORS", 1)
    worker = make_worker(LineOptions(is_sam=True))
    copy = replace(block, text=block.text.copy())
    expected = [part.text.tobytes() for part in parts_of(worker, block)]
    divided = worker(copy)
    assert isinstance(divided, Divided)
    del copy
    rest = [part for batch in divided.rest for part in parts_of(worker, batch)]
    assert [part.text.tobytes() for part in (divided.result, *rest)] == expected
