"""The warning of ALT contigs that an aligner knew nothing of."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from hapgpu.io.alignments.alt_contigs import AlignedFile, warn_of_alt_contigs
from hapgpu.io.bam.header import SamHeader

NAMES = ("chr1", "chr1_KI270762v1_alt", "HLA-A*01:01:01:01", "chr2_KI270767v1_alt", "chr1_alt_2")
READ = "r\t0\t{}\t5\t0\t4M\t*\t0\t0\tACGT\tIIII\n"


def file_of(path: Path, contigs: tuple[str, ...], names: tuple[str, ...] = NAMES) -> AlignedFile:
    """Write SAM with a read at each of some contigs."""
    header = SamHeader.from_references(names, [100] * len(names), "SO:coordinate")
    path.write_text(header.text + "".join(map(READ.format, contigs)))
    return AlignedFile(path.name, str(path), header)


def indexed(file: AlignedFile, kind: str) -> AlignedFile:
    path = str(Path(file.path).with_suffix(f".{kind}.bam"))
    pysam.view("-b", "-o", path, file.path, catch_stdout=False)
    pysam.index(*(["-c"] if kind == "csi" else []), path)
    return file._replace(path=path)


def warnings_of(
    caplog: pytest.LogCaptureFixture, reference: Path, *files: AlignedFile
) -> list[str]:
    caplog.clear()
    warn_of_alt_contigs(files, reference)
    return [record.getMessage() for record in caplog.records]


def test_the_message(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of several files, the first with ALT contigs is named, once."""
    ordinary = file_of(tmp_path / "a.sam", (), NAMES[::2])
    files = [file_of(tmp_path / name, ()) for name in ("b.sam", "c.sam")]
    found = warnings_of(caplog, Path("ref.fa"), ordinary, *files)
    message = (
        "b.sam: 2 ALT contigs found, but no ref.fa.alt: without it, bwa gives reads mapping"
        " quality 0 there; add it, and align again"
    )
    assert found == [message]
    assert not warnings_of(caplog, Path("ref.fa"), ordinary)


@pytest.mark.parametrize("kind", ["bai", "csi"])
def test_an_index_tells_whether_alt_contigs_have_reads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    without = indexed(file_of(tmp_path / "a.sam", ("chr1", "HLA-A*01:01:01:01")), kind)
    assert not warnings_of(caplog, tmp_path / "ref.fa", without)
    both = indexed(file_of(tmp_path / "b.sam", ("chr1", "chr2_KI270767v1_alt")), kind)
    assert warnings_of(caplog, tmp_path / "ref.fa", both)[0].startswith("b.sam: 1 ALT contigs")


@pytest.mark.parametrize("path", ["-", "/dev/null", "absent.sam"])
def test_streams_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str) -> None:
    file = file_of(tmp_path / "a.sam", ())._replace(path=path)
    assert len(warnings_of(caplog, tmp_path / "ref.fa", file)) == 1


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        ("ref.fa", ["ref.fa.alt", "ref.fa.64.alt", "ref.alt", "ref.64.alt"]),
        ("ref.fasta.gz", ["ref.fasta.gz.alt", "ref.fasta.alt", "ref.fasta.64.alt", "ref.alt"]),
        ("ref.v1", ["ref.v1.alt"]),
    ],
)
def test_names_of_the_list(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, reference: str, names: list[str]
) -> None:
    file = file_of(tmp_path / "a.sam", ())
    for name in names:
        (tmp_path / name).touch()
        assert not warnings_of(caplog, tmp_path / reference, file)
        (tmp_path / name).unlink()
    (tmp_path / "other.fa.alt").touch()
    assert warnings_of(caplog, tmp_path / reference, file)
