"""The Python API, through `import hapgpu` only."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pysam
import pytest

import hapgpu
from hapgpu import DeviceError, InputError, Ragged, UsageError
from hapgpu.realign import api

HEAVY = ("numpy", "numba", "cupy", "pysam", "isal", "typer", "rich", "tqdm")


def imported_by(statement: str) -> set[str]:
    command = f"{statement}; import sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, check=True, text=True
    )
    return set(run.stdout.split())


def test_importing_imports_nothing_heavy() -> None:
    assert imported_by("import hapgpu").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "call",
    [
        "align(['ACGT'], ['ACG'], device='cpu')",
        "chain_anchors((np.zeros(0, 'u8'), np.zeros(0, 'u8'), np.zeros(1, 'i8')), device='cpu')",
    ],
)
def test_computing_on_the_cpu_does_not_import_cupy(call: str) -> None:
    assert "cupy" not in imported_by(f"import hapgpu, numpy as np; hapgpu.{call}")


def test_public_names() -> None:
    names = {
        "AlignmentQueue",
        "Alignments",
        "AnchorChains",
        "Anchors",
        "Calls",
        "Chains",
        "DeviceError",
        "FMIndex",
        "Genotypes",
        "HapgpuError",
        "Hits",
        "InputError",
        "LongReadIndex",
        "OutputError",
        "Overhang",
        "PairHmmInput",
        "PendingAlignments",
        "Ragged",
        "ReadAlignments",
        "ReadMappings",
        "RealignedReads",
        "Scoring",
        "UsageError",
        "align",
        "call",
        "call_batches",
        "chain_anchors",
        "genotype",
        "genotype_batches",
        "haplotype_cigars",
        "load_anchors",
        "pair_hmm",
        "pair_hmm_batches",
        "realign_to_reference",
    }
    assert names == set(hapgpu.__all__)
    assert names <= set(dir(hapgpu))
    for name in names:
        assert getattr(hapgpu, name).__name__ == name


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="'hapgpu' has no attribute 'blast'"):
        _ = hapgpu.blast


def test_signature_of_align() -> None:
    parameters = inspect.signature(hapgpu.align).parameters
    assert list(parameters) == [
        *("references", "queries", "scoring", "overhang"),
        *("device", "threads", "progress"),
    ]
    keywords = [p for p in parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert {p.name: p.default for p in keywords} == {
        "scoring": "read-to-haplotype",
        "overhang": "softclip",
        "device": "auto",
        "threads": None,
        "progress": False,
    }


def test_alignments() -> None:
    alignments = hapgpu.align(
        ["ACGTACGTAA", "TTACGTACGT", "GGG"], ["GTACG", "ACGTACGTCC", "CCC"], device="cpu"
    )
    assert isinstance(alignments, hapgpu.Alignments)
    assert len(alignments) == 3
    assert alignments.scores.dtype == alignments.offsets.dtype == np.int32
    assert alignments.cigars.data.dtype == np.uint32
    assert alignments.scores.tolist() == [50, 80, -15]
    assert alignments.offsets[:2].tolist() == [2, 2]
    assert alignments.cigar_strings()[:2] == ["5M", "8M2S"]
    # Length in the upper bits, the operation in the lower four: M is 0, S is 4.
    assert [row.tolist() for row in alignments.cigars][:2] == [[5 << 4], [8 << 4, 2 << 4 | 4]]


def test_text_bytes_and_ragged_are_the_same() -> None:
    references, queries = ["ACGTACGTAA", "TTACGTNN"], ["GTTCG", "ACGTNNA"]
    expected = hapgpu.align(references, queries, device="cpu")
    as_bytes = [text.encode() for text in references], [text.encode() for text in queries]
    as_ragged = Ragged.from_sequences(references), Ragged.from_sequences(queries)
    for others in (as_bytes, as_ragged, (references, as_bytes[1])):
        alignments = hapgpu.align(*others, device="cpu")
        assert alignments.scores.tolist() == expected.scores.tolist()
        assert alignments.offsets.tolist() == expected.offsets.tolist()
        assert alignments.cigar_strings() == expected.cigar_strings()


@pytest.mark.parametrize(
    ("overhang", "score", "offset", "cigar"),
    [
        ("softclip", 30, 2, "3M2S"),
        ("ignore", 30, 2, "5M"),
        (hapgpu.Overhang.SOFTCLIP, 30, 2, "3M2S"),
    ],
)
def test_overhang(overhang: str | hapgpu.Overhang, score: int, offset: int, cigar: str) -> None:
    alignments = hapgpu.align(["GGACG"], ["ACGTT"], overhang=overhang, device="cpu")
    row = alignments.scores[0], alignments.offsets[0], alignments.cigar_strings()[0]
    assert row == (score, offset, cigar)


@pytest.mark.parametrize(("overhang", "cigar"), [("indel", "3D5M"), ("leading-indel", "3D5M")])
def test_substring_match_of_gatk(overhang: str, cigar: str) -> None:
    """SubstringMatch of GATK's SmithWatermanAlignerAbstractUnitTest."""
    alignments = hapgpu.align(
        ["AAACCCCC"], ["CCCCC"], scoring="original", overhang=overhang, device="cpu"
    )
    assert (alignments.offsets[0], *alignments.cigar_strings()) == (0, cigar)


def test_odd_no_alignment_of_gatk() -> None:
    """OddNoAlignment of GATK's SmithWatermanAlignerAbstractUnitTest."""
    for scoring in (hapgpu.Scoring(50, -100, -220, -12), "50,-100,-220,-12"):
        alignments = hapgpu.align(["AAAGACTACTG"], ["AACGGACACTG"], scoring=scoring, device="cpu")
        assert (alignments.offsets[0], *alignments.cigar_strings()) == (1, "2M2I3M1D4M")


def test_no_pairs() -> None:
    alignments = hapgpu.align([], [], device="cpu")
    assert len(alignments) == 0
    assert alignments.cigar_strings() == []
    assert alignments.scores.dtype == alignments.offsets.dtype == np.int32


@pytest.mark.parametrize(
    ("references", "queries", "error", "message"),
    [
        (["ACGT"], [""], InputError, "query 0: no bases; give at least one"),
        (["ACGT", ""], ["A", "A"], InputError, "reference 1: no bases"),
        (["ACGT"], ["A", "A"], UsageError, "references: 1 for 2 queries; give as many"),
    ],
)
def test_bad_sequences(
    references: list[str], queries: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        hapgpu.align(references, queries, device="cpu")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "best"}, "scoring 'best': unknown"),
        ({"overhang": "clip"}, "overhang 'clip': unknown"),
        ({"device": "tpu"}, "device 'tpu': unknown"),
    ],
)
def test_unknown_names(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        hapgpu.align(["A"], ["A"], **{"device": "cpu"} | options)


def test_a_missing_gpu() -> None:
    with pytest.raises(DeviceError, match="cuda:4000"):
        hapgpu.align(["A"], ["A"], device="cuda:4000")


def test_haplotype_cigars() -> None:
    found = hapgpu.haplotype_cigars(["ACGTACGT"], ["ACGTACGT"], device="cpu")
    assert found == ["8M"]


def test_records_are_aligned_as_they_are() -> None:
    record = pysam.AlignedSegment()
    record.query_sequence = "GTTCG"
    record.is_reverse = True
    found = hapgpu.align(["ACGTACGTAA"], [record], device="cpu")
    expected = hapgpu.align(["ACGTACGTAA"], ["GTTCG"], device="cpu")
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.cigar_strings() == expected.cigar_strings()


@pytest.mark.parametrize(
    ("queries", "error", "message"),
    [
        ([5], UsageError, "query 0: of type int; give str, bytes or pysam.AlignedSegment"),
        (["A", None], UsageError, "query 1: of type NoneType"),
        (["A", "\u00e9"], InputError, "query 1: contains a non-ASCII character"),
        ("ACGT", UsageError, "querys?: not a list|queries: not a list"),
    ],
    ids=["number", "none", "letter", "text"],
)
def test_queries_of_other_kinds(queries: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hapgpu.align(["ACGT"] * 2, queries, device="cpu")


def test_errors_are_usual_errors() -> None:
    with pytest.raises(ValueError, match="query 0: no bases"):
        hapgpu.align(["A"], [""], device="cpu")
    with pytest.raises(RuntimeError, match="cuda:4000"):
        hapgpu.align(["A"], ["A"], device="cuda:4000")


def test_threads_and_parts_change_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    references, queries = ["ACGTACGTAA", "TTACGTNN", "GGGA"], ["GTTCG", "ACGTNNA", "GA"]
    expected = hapgpu.align(references, queries, device="cpu")
    monkeypatch.setattr(api, "_PAIRS_PER_PART", 2)
    for threads in (1, 3):
        found = hapgpu.align(references, queries, device="cpu", threads=threads, progress=True)
        assert found.scores.tolist() == expected.scores.tolist()
        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.cigar_strings() == expected.cigar_strings()
        assert "aligning: 100%" in capsys.readouterr().err
    with pytest.raises(UsageError, match="threads=0: out of range"):
        hapgpu.align(references, queries, device="cpu", threads=0)


def test_table_of_alignments() -> None:
    pytest.importorskip("pandas")
    alignments = hapgpu.align(["ACGTACGTAA", "TTACGTACGT"], ["GTACG", "ACGTACGTCC"], device="cpu")
    table = alignments.to_dataframe()
    assert table.to_dict("list") == {
        "score": [50, 80],
        "offset": [2, 2],
        "cigar": ["5M", "8M2S"],
    }


def test_auto_is_any_device() -> None:
    automatic = hapgpu.align(["ACGTACGTAA"], ["GTTCG"])
    named = hapgpu.align(["ACGTACGTAA"], ["GTTCG"], device="cpu")
    assert automatic.scores.tolist() == named.scores.tolist()
    assert automatic.cigar_strings() == named.cigar_strings()
