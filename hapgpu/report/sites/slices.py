"""Slices of reads at loci: what a browser needs to show a locus, in few bytes.

The reads of a locus are a BAM with each record twice, before and after realignment, side by side,
so that DEFLATE stores the second as a reference to the first. Read groups tell the tracks apart.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.genotyping.calls.likelihoods import NO_ALLELE, NOT_USED
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.bam.encode import EncodedRecords
from hapgpu.io.bam.header import SamHeader, encode_header
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.report.sites.evidence import SiteReads
from hapgpu.report.sites.realignment import Realignment

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_OTHER_NAME: Final = "contig"
"""Name of a contig in slices if IGV may not accept its own."""

_BEFORE, _AFTER, _HAPLOTYPES = b"bah"
_MARGIN: Final = 150
"""Bases of the reference on either side of a locus and its reads' bases near it."""
_LEVEL: Final = 9
_BLOCK_BYTES: Final = 0xFF00
_BLOCK_HEAD: Final = struct.Struct("<4BI2BH2BHH")
_BLOCK_FOOT: Final = struct.Struct("<II")
_CLEAR_FLAGS: Final = 0x2 | 0x8 | 0x20 | 0x1  # mates are not in the slice
_FIRST_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SECOND_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Slice:
    """What is shown at a locus.

    Attributes
    ----------
    labels
        The label of the record of each site in its file, such as `line 12`.
    depths
        For each site and sample, the number of fragments that support each allele.
    page
        Plain values for the page: name and `length` of the `contig`, `start` (0-based) and `bases`
        of the reference, start and end of the `locus`, `fragments` of each sample and those that
        are `shown`, number of `haplotypes`.
    bam
        The reads, as BAM.
    """

    labels: Sequence[str]
    depths: Sequence[Sequence[Sequence[int]]]
    page: dict[str, object]
    bam: bytes


def tag_of(site: int) -> str:
    """Return the tag that holds the supported allele at a site of a locus, by its number."""
    return _FIRST_LETTERS[site // len(_SECOND_LETTERS) % 26] + _SECOND_LETTERS[site % 62]


def slices_of(found: SiteReads, realignment: Realignment, fasta: ReferenceFasta) -> Iterator[Slice]:
    """Yield the slice of each locus.

    Parameters
    ----------
    found
        The reads of l loci.
    realignment
        Their new alignments.
    fasta
        The reference.
    """
    batch = found.batch
    contig = batch.contig if _PLAIN_NAME.fullmatch(batch.contig) else _OTHER_NAME
    header = SamHeader.from_references((contig,), (fasta.lengths[batch.contig],))
    head = encode_header(header)
    reads = _both_alignments(found, realignment)
    haplotypes = _haplotype_reads(found, realignment)
    encoded = EncodedRecords(ReadBatch.concatenate([reads, haplotypes]), header)
    offsets = encoded.offsets
    read_rows = 2 * np.searchsorted(found.loci, np.arange(len(batch.loci) + 1))
    haplotype_rows = len(reads) + np.searchsorted(realignment.haplotypes, batch.haplotypes.offsets)
    for locus in range(len(batch.loci)):
        parts = [head]
        for first, last in (haplotype_rows[locus : locus + 2], read_rows[locus : locus + 2]):
            parts.append(encoded.made(int(offsets[first]), int(offsets[last])).tobytes())
        sites = range(*batch.loci.site_offsets[locus : locus + 2].tolist())
        yield Slice(
            [f"{batch.sites.records.unit} {batch.sites.records.numbers[k]}" for k in sites],
            [_site_depths(found, site) for site in sites],
            _page_values(found, locus, fasta)
            | {
                "contig": contig,
                "haplotypes": int(haplotype_rows[locus + 1] - haplotype_rows[locus]),
            },
            _blocks(b"".join(parts)),
        )


_LABELS: Final = (
    np.array(["REF  ", *(f"ALT{n:2d}" for n in range(1, 100)), "tie  "], dtype="S6")
    .view(np.uint8)
    .reshape(-1, 6)
)
"""uint8[k, 6]: the label of each allele, closed by NUL; the last, by `NO_ALLELE`, for none clearly.

IGV shows the labels beside its groups of reads, in the order of the alphabet. Numbers would not do:
it confuses them with letters.
"""

_FIELD_BYTES: Final = 3 + _LABELS.shape[1]
_NO_TAG: Final = np.frombuffer(b"zz", dtype=np.uint8)
"""Name of the tag where a read is not used at a site: IGV puts reads without the tag last."""


def _site_depths(found: SiteReads, site: int) -> list[list[int]]:
    first, last = found.batch.sites.allele_offsets[site : site + 2]
    depths: list[list[int]] = found.depths[:, first:last].tolist()
    return depths


def _page_values(found: SiteReads, locus: int, fasta: ReferenceFasta) -> dict[str, object]:
    batch = found.batch
    start, end = int(batch.loci.starts[locus]), int(batch.loci.ends[locus])
    length = fasta.lengths[batch.contig]
    first, last = max(start - _MARGIN, 0), min(end + _MARGIN, length)
    return {
        "length": length,
        "start": first,
        "bases": fasta.fetch(Region(batch.contig, first, last)).decode("ascii").upper(),
        "locus": [start, end],
        "fragments": found.fragments[locus].tolist(),
        "shown": found.shown[locus].tolist(),
    }


def _both_alignments(found: SiteReads, realignment: Realignment) -> ReadBatch:
    """Return each read twice, with the old and with the new alignment."""
    reads = found.reads
    count = len(reads)
    twice = np.repeat(np.arange(count), 2)
    alternating = np.arange(2 * count).reshape(2, count).T.reshape(-1)
    positions = np.stack([reads.positions, realignment.positions], axis=1).reshape(-1)
    cigars = Ragged.concatenate([reads.cigars, realignment.cigars]).take(alternating)
    return replace(
        _without_mates(reads.take(twice)),
        positions=positions,
        cigars=cigars,
        tags=_tags_of_reads(found),
    )


def _without_mates(reads: ReadBatch) -> ReadBatch:
    count = len(reads)
    missing = np.full(count, -1, dtype=np.int32)
    return replace(
        reads,
        flags=reads.flags & np.uint16(~_CLEAR_FLAGS & 0xFFFF),
        reference_ids=np.zeros(count, dtype=np.int32),
        mate_reference_ids=missing,
        mate_positions=missing,
        template_lengths=np.zeros(count, dtype=np.int32),
    )


def _tags_of_reads(found: SiteReads) -> Ragged:
    bounds = np.searchsorted(found.loci, np.arange(len(found.batch.loci) + 1)).tolist()
    texts, lengths = [], []
    for first, last in pairwise(bounds):
        if first == last:
            continue
        codes = found.supported[first:last].data.reshape(last - first, -1)
        rows = _tags(np.repeat(found.samples[first:last], 2), np.repeat(codes, 2, axis=0))
        rows[0::2, 3], rows[1::2, 3] = _BEFORE, _AFTER
        texts.append(rows.reshape(-1))
        lengths.append(np.full(len(rows), rows.shape[1]))
    return _joined(texts, lengths)


def _joined(texts: list[NDArray[np.uint8]], lengths: list[NDArray[np.int64]]) -> Ragged:
    none = np.empty(0, dtype=np.int64)
    return Ragged(
        np.concatenate([none.astype(np.uint8), *texts]),
        offsets_of(np.concatenate([none, *lengths])),
    )


def _tags(samples: NDArray[np.int32], codes: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return uint8[n, ...]: the tags of n reads: a read group, and an allele at each site."""
    count, sites = codes.shape
    head = np.frombuffer(b"RGZ?000\0", dtype=np.uint8)
    rows = np.empty((count, head.size + _FIELD_BYTES * sites), dtype=np.uint8)
    rows[:, : head.size] = head
    for digit in range(3):
        rows[:, 4 + digit] += (samples // 10 ** (2 - digit) % 10).astype(np.uint8)
    fields = rows[:, head.size :].reshape(count, sites, _FIELD_BYTES)
    names = np.frombuffer("".join(map(tag_of, range(sites))).encode(), dtype=np.uint8)
    is_used = (codes != NOT_USED)[:, :, np.newaxis]
    fields[:, :, :2] = np.where(is_used, names.reshape(sites, 2), _NO_TAG)
    fields[:, :, 2] = ord("Z")
    fields[:, :, 3:] = _LABELS[np.clip(codes, NO_ALLELE, len(_LABELS) - 2)]
    return rows


def _haplotype_reads(found: SiteReads, realignment: Realignment) -> ReadBatch:
    """Return the haplotypes as reads, named by their alleles."""
    batch, rows = found.batch, realignment.haplotypes
    count = rows.size
    fragments = np.bincount(found.haplotypes, minlength=len(batch.haplotypes.sequences))
    names = [_haplotype_name(batch, row, int(fragments[row])) for row in rows.tolist()]
    texts, lengths = [], []
    for row in rows.tolist():
        tags = _tags(np.zeros(1, dtype=np.int32), found.alleles[row][np.newaxis])
        tags[:, 3] = _HAPLOTYPES
        texts.append(tags.reshape(-1))
        lengths.append(np.full(1, tags.shape[1]))
    sequences = realignment.sequences
    zeros = np.zeros(count, dtype=np.int32)
    return ReadBatch(
        names=Ragged.from_sequences(names),
        flags=zeros.astype(np.uint16),
        reference_ids=zeros,
        positions=realignment.haplotype_starts.astype(np.int32),
        mapping_qualities=np.full(count, 60, dtype=np.uint8),
        cigars=realignment.haplotype_cigars,
        mate_reference_ids=zeros - 1,
        mate_positions=zeros - 1,
        template_lengths=zeros,
        bases=sequences,
        qualities=Ragged(np.full(sequences.data.size, 40, dtype=np.uint8), sequences.offsets),
        tags=_joined(texts, lengths),
    )


def _haplotype_name(batch: LocusBatch, row: int, reads: int) -> str:
    carried = batch.haplotypes.carried[row].tolist()
    alleles = [_allele(batch, allele) for allele in carried] or ["reference"]
    name = ",".join(alleles)
    return f"{name[:200]}|{reads}_reads"


def _allele(batch: LocusBatch, row: int) -> str:
    sites = batch.sites
    site = int(sites.allele_offsets.searchsorted(row, side="right")) - 1
    before, after = (
        sites.alleles[k].tobytes().decode("ascii") for k in (int(sites.allele_offsets[site]), row)
    )
    return f"{sites.starts[site] + 1}:{before}>{after}"


def _blocks(data: bytes) -> bytes:
    """Return data as BGZF, with a better compression than a file that is written in a hurry."""
    starts = range(0, len(data), _BLOCK_BYTES)
    parts = (data[at : at + _BLOCK_BYTES] for at in starts)
    return b"".join(map(_block, (*parts, b"")))


def _block(payload: bytes) -> bytes:
    deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    deflated = deflater.compress(payload) + deflater.flush()
    size = _BLOCK_HEAD.size + len(deflated) + _BLOCK_FOOT.size
    head = _BLOCK_HEAD.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return head + deflated + _BLOCK_FOOT.pack(zlib.crc32(payload), len(payload))
