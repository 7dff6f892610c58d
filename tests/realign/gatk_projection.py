"""GATK's projection of CIGARs onto the reference, in plain Python lists: an oracle for tests.

Written from AlignmentUtils, CigarUtils and CigarBuilder of GATK 4; shares no code with hapgpu but
the reference implementation of the aligner. A CIGAR is a list of (length, operation) pairs,
sequences are text.
"""

from __future__ import annotations

import re
from itertools import groupby

from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.realign.compiled_aligner import align

Cigar = list[tuple[int, str]]

ON_READ = "MIS=X"
ON_REFERENCE = "MDN=X"


class GatkError(Exception):
    """Raised where GATK raises an exception."""


def parse(text: str) -> Cigar:
    return [(int(length), op) for length, op in re.findall(r"(\d+)([MIDNSHP=X])", text)]


def spell(cigar: Cigar) -> str:
    return "".join(f"{length}{op}" for length, op in cigar)


def span(cigar: Cigar, operations: str) -> int:
    return sum(length for length, op in cigar if op in operations)


def tidy(elements: Cigar, *, keep_ends: bool = False) -> tuple[Cigar, int, int]:
    """Return elements as by CigarBuilder, and the deletions it removes at both ends.

    As a rule about runs of indels: all deletions of a run come first, then all insertions,
    and a run at an end or beside a clip loses its deletions. Not for the operations N and P.
    """
    elements = [element for element in elements if element[0]]
    check_order(elements, keep_ends=keep_ends)
    runs = [list(run) for _, run in groupby(elements, lambda e: "ID" if e[1] in "ID" else e[1])]
    out: Cigar = []
    removed = {"leading": 0, "trailing": 0}
    for k, run in enumerate(runs):
        deleted, inserted = span(run, "D"), span(run, "I")
        if not deleted + inserted:
            out.append((sum(length for length, _ in run), run[0][1]))
            continue
        for end, neighbour in (("leading", runs[:k][-1:]), ("trailing", runs[k + 1 :][:1])):
            if not keep_ends and all(other[0][1] in "SH" for other in neighbour):
                removed[end] += deleted
                deleted = 0
        out += [(length, op) for length, op in ((deleted, "D"), (inserted, "I")) if length]
    if not out:
        raise GatkError("nothing left")
    return out, removed["leading"], removed["trailing"]


def check_order(elements: Cigar, *, keep_ends: bool) -> None:
    """Raise unless the order is hard clip, soft clip, other, soft clip, hard clip."""
    ops = "".join(op if op in "SHD" else "m" for _, op in elements)
    if not keep_ends:  # deletions next to a clip are removed before the order is checked
        ops = re.sub("(^|[SH])D+", r"\1", ops)
    if not re.fullmatch("H*S*[mD]*S*H*", ops) or re.fullmatch("S+", ops):
        raise GatkError("clips in the middle, or nothing else")


def start_on_reference(cigar: Cigar, start: int) -> int:
    if start == 0:
        return 0
    on_haplotype = on_reference = 0
    for length, op in cigar:
        on_haplotype += length if op in ON_READ else 0
        on_reference += length if op in ON_REFERENCE else 0
        if on_haplotype >= start:
            return on_reference - (on_haplotype - start if op in ON_REFERENCE else 0)
    raise GatkError("CIGAR does not reach the read")


def trim(cigar: Cigar, first: int, last: int) -> tuple[Cigar, int, int]:
    if first < 0 or last < first:
        raise GatkError("bad range")
    kept: Cigar = []
    end = 0
    for length, op in cigar:
        start, end = end, end + (length if op in ON_READ else 0)
        if start == end:
            if first <= start <= last + 1:
                kept.append((length, op))
        elif end > first and start <= last:
            kept.append((min(end, last + 1) - max(start, first), op))
        elif start > last and end > last + 1:
            break
    if end <= last:
        raise GatkError("CIGAR too short")
    return tidy(kept)


def compose(first: Cigar, second: Cigar) -> Cigar:
    """Compose CIGARs base by base by GATK's table of transforms (applyCigarToCigar)."""
    group = {"M": "M", "=": "M", "X": "M", "I": "I", "S": "I", "D": "D"}
    table = {
        ("M", "M"): ("M", 1, 1),
        ("M", "I"): ("I", 1, 1),
        ("M", "D"): ("D", 0, 1),
        ("D", "M"): ("D", 1, 1),
        ("D", "D"): ("D", 0, 1),
        ("D", "I"): ("", 1, 1),
        ("I", "M"): ("I", 1, 0),
        ("I", "D"): ("I", 1, 0),
        ("I", "I"): ("I", 1, 0),
    }
    ops1 = [op for length, op in first for _ in range(length)]
    ops2 = [op for length, op in second for _ in range(length)]
    out: Cigar = []
    i = j = 0
    while i < len(ops1) and j < len(ops2):
        if ops1[i] not in group or ops2[j] not in group:
            raise GatkError("no transformer")
        op, step1, step2 = table[group[ops1[i]], group[ops2[j]]]
        if op:
            out.append((1, op))
        i, j = i + step1, j + step2
    return tidy(out)[0]


def left_align(cigar: Cigar, ref: str, read: str, start: int) -> tuple[Cigar, int, int]:
    indels = [k for k, (_, op) in enumerate(cigar) if op in "ID"]
    if not indels:
        return cigar, 0, 0
    if start + span(cigar[: indels[-1] + 1], ON_REFERENCE) > len(ref):
        raise GatkError("read goes past end of reference")
    if span(cigar, ON_READ) != len(read):
        raise GatkError("CIGAR does not account for the read")
    backwards: Cigar = []
    # [start, end) in the reference and in the read, of the indel that is moved
    r = [start + span(cigar, ON_REFERENCE)] * 2
    q = [len(read)] * 2
    for k in reversed(range(len(cigar))):
        length, op = cigar[k]
        on_ref = length if op in ON_REFERENCE else 0
        on_read = length if op in ON_READ else 0
        if op in "ID":
            r[0] -= on_ref
            q[0] -= on_read
        elif r[0] == r[1] and q[0] == q[1]:
            backwards.append((length, op))
            r = [r[0] - on_ref] * 2
            q = [q[0] - on_read] * 2
        else:
            most = length if op in "M=X" else 0
            shift, end_shift = normalize(ref, r, read, q, most)
            backwards.append((end_shift, "M"))
            trimmed = -shift if shift < 0 else 0
            left = length if shift < 0 else length - shift
            if k == 0 or shift < most or op not in "M=X":
                backwards += [(r[1] - r[0], "D"), (q[1] - q[0], "I")]
                r = [r[0] - trimmed - (left if on_ref else 0)] * 2
                q = [q[0] - trimmed - (left if on_read else 0)] * 2
            backwards += [(trimmed, "M"), (left, op)]
    backwards += [(r[1] - r[0], "D"), (q[1] - q[0], "I")]
    return tidy(backwards[::-1])


def normalize(ref: str, r: list[int], read: str, q: list[int], most: int) -> tuple[int, int]:
    """Normalize two sequences as normalizeAlleles; change the ranges in place."""
    shift = end_shift = 0
    while min(r[1] - r[0], q[1] - q[0]) > 0 and ref[r[1] - 1] == read[q[1] - 1]:
        r[1], q[1], end_shift = r[1] - 1, q[1] - 1, end_shift + 1
    while min(r[1] - r[0], q[1] - q[0]) > 0 and ref[r[0]] == read[q[0]]:
        r[0], q[0], shift = r[0] + 1, q[0] + 1, shift - 1
    while shift < most and ref[r[0] - 1] == read[q[0] - 1] and ref[r[1] - 1] == read[q[1] - 1]:
        r[:] = [r[0] - 1, r[1] - 1]
        q[:] = [q[0] - 1, q[1] - 1]
        shift, end_shift = shift + 1, end_shift + 1
    return shift, end_shift


def project(
    read: str,
    to_haplotype: Cigar,
    offset: int,
    haplotype_cigar: Cigar,
    reference: str,
    *,
    clip_ends: bool = False,
) -> tuple[int, Cigar]:
    """Return start and CIGAR as createReadAlignedToRef after its alignment.

    Unlike GATK, insertions at the ends may be clipped before indels are left-aligned.
    """
    sw = tidy(to_haplotype)[0]
    padded = tidy([*tidy(haplotype_cigar, keep_ends=True)[0], (1000, "M")])[0]
    start = start_on_reference(padded, offset)
    haplotype_to_reference = trim(padded, offset, span(padded, ON_READ) - 1)[0]
    composed = compose(sw, haplotype_to_reference)
    leading, trailing = (0, 0) if not clip_ends else inserted_ends(composed)
    if clip_ends:
        matches = [k for k, (_, op) in enumerate(composed) if op == "M"]
        if not matches:
            raise GatkError("nothing is aligned")
        start += span(composed[: matches[0]], "D")
        composed = composed[matches[0] : matches[-1] + 1]
    read = read[leading : len(read) - trailing]
    aligned, removed, _ = left_align(composed, reference, read, start)
    if span(aligned, ON_READ) != len(read):
        raise GatkError("CIGAR length is not the read length")
    clips = [[(n, "S")] * (n > 0) for n in (leading, trailing)]
    return start + removed, [*clips[0], *aligned, *clips[1]]


def inserted_ends(cigar: Cigar) -> tuple[int, int]:
    """Return the numbers of inserted bases before the first and after the last aligned base."""
    matches = [k for k, (_, op) in enumerate(cigar) if op == "M"]
    if not matches:
        return 0, 0
    return span(cigar[: matches[0]], "I"), span(cigar[matches[-1] + 1 :], "I")


def calculate_cigar(
    reference: str, haplotype: str, scoring: Scoring, overhang: Overhang
) -> Cigar | None:
    """Return CigarUtils.calculateCigar; None also where GATK raises an exception."""
    if not haplotype:
        return [(len(reference), "D")]
    if reference == haplotype:
        return [(len(reference), "M")]
    pads = [f"{'N' * 10}{bases}{'N' * 10}".encode() for bases in (reference, haplotype)]
    _, offset, cigar = align(*pads, scoring, overhang)
    if offset > 0 or any(op == "S" for _, op in cigar):
        return None
    try:
        trimmed, leading, trailing = trim(cigar, 10, 9 + len(haplotype))
        if trailing:
            trimmed = [*trimmed, (trailing, "D")]
        aligned, more, trailing = left_align(trimmed, reference, haplotype, leading)
    except GatkError:
        return None
    front: Cigar = [(leading + more, "D")] if leading + more else []
    back: Cigar = [(trailing, "D")] if trailing else []
    return front + aligned + back


def create_read_aligned_to_ref(
    read: str, haplotype: str, haplotype_cigar: str, reference: str, starts: tuple[int, int]
) -> tuple[int, str] | None:
    """Return createReadAlignedToRef; `starts` are the starts of haplotype and reference."""
    _, offset, cigar = align(
        haplotype.encode(), read.encode(), PRESETS["read-to-haplotype"], Overhang.SOFTCLIP
    )
    try:
        start, aligned = project(read, cigar, offset, parse(haplotype_cigar), reference)
    except GatkError:
        return None
    return sum(starts) + start, spell(aligned)
