"""Tiny valid files of every format, made by code; the same each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
import pysam
import pysam.bcftools

from hapgpu.longread.index.build import build_index as build_minimizers
from hapgpu.longread.index.files import MINIMIZER_FILE
from hapgpu.longread.index.names import default_index_path
from hapgpu.longread.options import SketchOptions
from hapgpu.shortread.api import FMIndex
from tests.fuzz.formats.framing import EOF_BLOCK, bgzf_block
from tests.fuzz.inputs.corpus_text import (
    BATCHES,
    BEDS,
    INTERVAL_LISTS,
    INTERVALS,
    LIKELIHOODS,
    PAFS,
    REGIONS,
    STATISTICS,
    fastq,
    haplotypes,
    sam,
    vcf,
)

_LETTERS: Final = "ACGT"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Valid files: files that stay as they are, and contents to mutate.

    Attributes
    ----------
    directory
        Directory of the files that stay as they are: `reference.fa`, `reads.bam` and so on.
    seeds
        Contents of valid files, by format.
    """

    directory: Path
    seeds: dict[str, list[bytes]]


def make_corpus(directory: Path) -> Corpus:
    """Make all files, in a directory that exists."""
    contigs = _contigs()
    reference = directory / "reference.fa"
    reference.write_bytes(_fasta(contigs))
    pysam.faidx(str(reference))
    texts = {name: text.encode() for name, text in haplotypes(contigs).items()}
    for name, text in texts.items():
        (directory / f"{name}.fa").write_bytes(text)
    (directory / "reads.fq").write_bytes(fastq(contigs, 4).encode())
    (directory / "sites.vcf").write_text(vcf(contigs, samples=0))
    seeds = {
        "fasta": [reference.read_bytes(), b">x d\r\nACGTNACGT\r\n\r\n>y\r\nacgtryk\r\n"],
        "haplotypes": list(texts.values()),
        "fai": [Path(f"{reference}.fai").read_bytes()],
        "fastq": [fastq(contigs, 3).encode(), b"@a/1 x\nACGTN\n+a/1 x\n!!~~I\n@b\n\n+\n\n"],
        "reads-fasta": [_fasta({"r1": contigs["chr1"][40:140], "r2 x": "ACGT"})],
        "vcf": [vcf(contigs, samples).encode() for samples in (0, 2)],
        "bed": [text.encode() for text in BEDS],
        "regions": [text.encode() for text in REGIONS],
        "intervals": [text.encode() for text in INTERVALS],
        "interval_list": [text.encode() for text in INTERVAL_LISTS],
        "batches": [text.encode() for text in BATCHES],
        "paf": [text.encode() for text in PAFS],
        "likelihoods": [text.encode() for text in LIKELIHOODS],
        "statistics": [text.encode() for text in STATISTICS],
        "npz": [_anchors(with_others=with_others) for with_others in (False, True)],
        "gzipped": _gzipped(fastq(contigs, 3).encode()),
    }
    seeds |= (
        _alignments(directory, contigs) | _indexes(directory, reference) | _compressed(reference)
    )
    seeds["bcf"] = [_bcf(directory, text) for text in seeds["vcf"]]
    return Corpus(directory, seeds)


def save_corpus(corpus: Corpus) -> None:
    """Save the contents to mutate beside the other files, for other processes."""
    for name, seeds in corpus.seeds.items():
        for number, seed in enumerate(seeds):
            directory = corpus.directory / "seeds" / name
            directory.mkdir(parents=True, exist_ok=True)
            (directory / str(number)).write_bytes(seed)


def load_corpus(directory: Path) -> Corpus:
    """Return the corpus that `save_corpus` wrote."""
    seeds = {
        kind.name: [path.read_bytes() for path in sorted(kind.iterdir())]
        for kind in (directory / "seeds").iterdir()
    }
    return Corpus(directory, seeds)


def _contigs() -> dict[str, str]:
    """Make contigs with a repeat, a run of N and other letters."""
    random = Random(14)
    repeat = "".join(random.choices(_LETTERS, k=60))
    first = "".join(random.choices(_LETTERS, k=330))
    rest = "".join(random.choices(_LETTERS, k=100))
    return {
        "chr1": f"{first}{repeat}{'N' * 20}{repeat}{rest}{'CA' * 15}",
        "chr2": f"{repeat[::-1]}RYK{rest.lower()}",
        "HLA:1": rest[:40],
    }


def _fasta(contigs: dict[str, str]) -> bytes:
    lines = []
    for name, bases in contigs.items():
        lines += [f">{name}", *(bases[at : at + 60] for at in range(0, len(bases), 60))]
    return "\n".join([*lines, ""]).encode()


def _alignments(directory: Path, contigs: dict[str, str]) -> dict[str, list[bytes]]:
    """Make SAM, BAM with indexes of both kinds, and CRAM with and without compression."""
    texts = [sam(contigs, reads) for reads in (8, 1)]
    bams, crams = [], []
    for number, text in enumerate(texts):
        path = directory / f"made{number}.sam"
        path.write_text(text)
        bam = directory / ("reads.bam" if number == 0 else "other.bam")
        pysam.view("--no-PG", "-b", "-o", str(bam), str(path), catch_stdout=False)
        bams.append(bam.read_bytes())
        for options in ("level=0,no_ref=1", "no_ref=1,version=3.0,use_rans=0"):
            cram = directory / "made.cram"
            kind = f"cram,{options}"
            pysam.view("--no-PG", "-O", kind, "-o", str(cram), str(path), catch_stdout=False)
            crams.append(cram.read_bytes())
    (directory / "reads.cram").write_bytes(crams[0])
    pysam.index(str(directory / "reads.cram"))
    bam = directory / "reads.bam"
    pysam.index(str(bam))
    pysam.index("-c", "-o", str(directory / "reads.csi"), str(bam))
    return {
        "sam": [text.encode() for text in texts],
        "bam": bams,
        "cram": crams,
        "bai": [(directory / "reads.bam.bai").read_bytes()],
        "csi": [(directory / "reads.csi").read_bytes()],
        "crai": [(directory / "reads.cram.crai").read_bytes()],
    }


def _compressed(reference: Path) -> dict[str, list[bytes]]:
    """Make a reference of several BGZF blocks, with its two indexes."""
    path = Path(f"{reference}.gz")
    data = reference.read_bytes()
    blocks = [bgzf_block(data[at : at + 300]) for at in range(0, len(data), 300)]
    path.write_bytes(b"".join([*blocks, EOF_BLOCK]))
    pysam.faidx(str(path))
    fai, gzi = (Path(f"{path}.{end}").read_bytes() for end in ("fai", "gzi"))
    return {"fai-compressed": [fai], "gzi": [gzi]}


def _indexes(directory: Path, reference: Path) -> dict[str, list[bytes]]:
    """Make both kinds of FM indexes, and minimizers with and without runs of bases joined."""
    full, low = (
        _saved(
            FMIndex.build(reference, device="cpu", low_memory=is_low).save, directory / "made.hgx"
        )
        for is_low in (False, True)
    )
    Path(f"{reference}.hgx").write_bytes(full)
    minimizers = []
    for sketch in (SketchOptions(), SketchOptions(k=5, w=3, is_hpc=True)):
        index = build_minimizers(reference, sketch, 1)
        MINIMIZER_FILE.save(index, default_index_path(reference, sketch))
        minimizers.append(default_index_path(reference, sketch).read_bytes())
    return {"hgx": [full, low], "hgm": minimizers}


def _saved(save: Callable[[Path], None], path: Path) -> bytes:
    save(path)
    return path.read_bytes()


def _bcf(directory: Path, text: bytes) -> bytes:
    source, target = directory / "made.vcf", directory / "made.bcf"
    source.write_bytes(text)
    pysam.bcftools.view("--no-version", "-Ob", "-o", str(target), str(source), catch_stdout=False)
    return target.read_bytes()


def _anchors(*, with_others: bool) -> bytes:
    """Make anchors of two reads, in the arrays that `hapgpu chain --anchors` reads."""
    positions = np.arange(12, dtype=np.uint64) * 20
    x = np.concatenate([positions + 100, positions + 50])
    y = np.concatenate([positions + 15, positions + 30]) | np.uint64(15 << 32)
    offsets = np.array([0, 12, 12, 24], dtype=np.int64)
    others = {"names": np.array([1, 2], dtype=np.int64)} if with_others else {}
    file = BytesIO()
    np.savez(file, x=x, y=y, offsets=offsets, **others)
    return file.getvalue()


def _gzipped(text: bytes) -> list[bytes]:
    """Compress a text as one gzip member, as two, and as BGZF."""
    half = text.index(b"\n@") + 1
    plain = bytes.fromhex("1f8b08000000000000ff")
    blocks = [bgzf_block(part) for part in (text[:half], text[half:])]
    members = [plain + bgzf_block(part)[18:] for part in (text, text[:half], text[half:])]
    return [members[0], members[1] + members[2], b"".join([*blocks, EOF_BLOCK])]
