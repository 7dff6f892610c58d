"""Edit distances and differences of alignments from their bases, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pysam

_BASES = "ACGT"


@dataclass(frozen=True)
class Differences:
    """NM, MD and cs of a record."""

    edits: int
    md: str
    cs: str


def differences(record: pysam.AlignedSegment, contig: str) -> Differences:
    """Compare a record with its contig, in upper case."""
    md, cs, edits, equal = "", "", 0, 0
    for code, query, target in _operations(record, contig):
        if code == "I":
            edits += len(query)
            cs += f"+{query.lower()}"
        elif code == "D":
            edits += len(target)
            md += f"{equal}^{target}"
            equal = 0
            cs += f"-{target.lower()}"
        else:
            run = 0
            for one, other in zip(query, target, strict=True):
                edits += one != other or one not in _BASES
                if one == other:
                    run, equal = run + 1, equal + 1
                    continue
                md += f"{equal}{other}"
                cs += f":{run}" * (run > 0) + f"*{other}{one}".lower()
                run = equal = 0
            cs += f":{run}" * (run > 0)
    return Differences(edits, md + (str(equal) if equal else ""), cs)


def _operations(record: pysam.AlignedSegment, contig: str) -> Iterator[tuple[str, str, str]]:
    """Yield each operation except clips, with its bases of the read and of the contig."""
    bases = _unambiguous(record.query_sequence or "")
    at, position = 0, record.reference_start
    for operation, length in record.cigartuples or ():
        code = "MIDNSHP=X"[operation]
        query_length = length * (code in "MIS=X")
        target_length = length * (code in "MDN=X")
        if code not in "SH":
            yield (
                code,
                bases[at : at + query_length],
                _unambiguous(contig[position : position + target_length]),
            )
        at, position = at + query_length, position + target_length


def _unambiguous(bases: str) -> str:
    """Return upper-case bases with N for those other than A, C, G and T."""
    return "".join(base if base in _BASES else "N" for base in bases.upper())
