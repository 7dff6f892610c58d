"""Reference implementation of the lines of PAF and SAM with base alignments, on text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.options import Difference, LineOptions, MappingOptions

_COMPLEMENT: Final = str.maketrans("ACGTUKMRYBVDHacgtukmrybvdh", "TGCAAMKYRVBHDtgcaamkyrvbhd")
_MAX_BAM_OPERATIONS: Final = 65_535

_Operations = list[tuple[int, str]]


class Read(NamedTuple):
    """A read: bases and qualities as in the file; `repeats` is the tag rl."""

    name: str
    bases: str
    qualities: str | None
    comment: str
    repeats: int


class Target(NamedTuple):
    """A reference sequence."""

    name: str
    bases: str


class Alignment(NamedTuple):
    """An alignment: operations, and aligned bases of read and reference, A, C, G, T and N."""

    operations: _Operations
    query: str
    target: str

    def steps(self) -> list[tuple[str, int, int, int]]:
        """Return of each operation its letter, length, and positions in both sequences."""
        found, query, target = [], 0, 0
        for length, letter in self.operations:
            found.append((letter, length, query, target))
            query += length if letter != "D" else 0
            target += length if letter != "I" else 0
        return found

    def split(self) -> _Operations:
        """Return the operations with M split into = and X."""
        found: _Operations = []
        for letter, length, query, target in self.steps():
            if letter != "M":
                found.append((length, letter))
                continue
            read = self.query[query : query + length]
            reference = self.target[target : target + length]
            equalities = [one == other for one, other in zip(read, reference, strict=True)]
            for is_equal, run in groupby(equalities):
                found.append((len(list(run)), "=" if is_equal else "X"))
        return found

    def md(self) -> str:
        """Return the value of MD."""
        text, equal = "", 0
        for letter, length, query, target in self.steps():
            if letter == "D":
                text += f"{equal}^{self.target[target : target + length]}"
                equal = 0
            for k in range(length if letter == "M" else 0):
                if self.query[query + k] == self.target[target + k]:
                    equal += 1
                else:
                    text += f"{equal}{self.target[target + k]}"
                    equal = 0
        return f"{text}{equal}" if equal else text

    def cs(self, style: Difference) -> str:
        """Return the value of cs, in short or long form, or of ds."""
        text = ""
        for letter, length, query, target in self.steps():
            read = self.query[query : query + length]
            reference = self.target[target : target + length]
            if letter == "I":
                gap = _moving(self.query, query, length) if style is Difference.DS else read
                text += f"+{gap.lower()}"
            elif letter == "D":
                gap = _moving(self.target, target, length) if style is Difference.DS else reference
                text += f"-{gap.lower()}"
            else:
                text += _matches(read, reference, is_long=style is Difference.LONG_CS)
        return text


def _matches(read: str, reference: str, *, is_long: bool) -> str:
    text = ""
    pairs = list(zip(read, reference, strict=True))
    for is_equal, run in groupby(pairs, key=lambda pair: pair[0] == pair[1]):
        same = list(run)
        if not is_equal:
            text += "".join(f"*{other}{one}".lower() for one, other in same)
        elif is_long:
            text += "=" + "".join(one for one, _ in same)
        else:
            text += f":{len(same)}"
    return text


def _moving(sequence: str, start: int, length: int) -> str:
    """Return the bases of a gap, with those that it can move over in brackets."""
    gap, end = sequence[start : start + length], start + length
    right = left = 0
    while end + right < len(sequence) and sequence[start + right] == sequence[end + right]:
        right += 1
    while start - left > 0 and sequence[start - 1 - left] == sequence[end - 1 - left]:
        left += 1
    if right + left >= length:
        return f"[{gap}]"
    parts = gap[:right], gap[right : length - left], gap[length - left :]
    return "".join(
        f"[{part}]" if part and is_moved else part
        for part, is_moved in zip(parts, (True, False, True), strict=True)
    )


def _known(bases: str) -> str:
    """Return bases in upper case, T for U and N for ambiguous ones."""
    return re.sub("[^ACGT]", "N", bases.upper().replace("U", "T"))


def _reversed(bases: str) -> str:
    return bases.translate(_COMPLEMENT)[::-1]


def _text(operations: _Operations) -> str:
    return "".join(f"{length}{letter}" for length, letter in operations)


def _alignment(
    mapping: Any, operations: NDArray[np.uint32], read: Read, target: Target
) -> Alignment:
    first = int(mapping["first_operation"])
    words = operations[first : first + int(mapping["operations"])].tolist()
    bases = _known(read.bases)[mapping["query_start"] : mapping["query_end"]]
    return Alignment(
        [(word >> 4, "MID"[word & 15]) for word in words],
        _reversed(bases) if mapping["is_reverse"] else bases,
        _known(target.bases)[mapping["target_start"] : mapping["target_end"]],
    )


def _is_primary(mapping: Any) -> bool:
    return bool(mapping["number"] == mapping["parent"])


def _distance(mapping: Any) -> int:
    return int(mapping["length"]) - int(mapping["matches"]) + int(mapping["ambiguous"])


def _tags(mapping: Any) -> list[str]:
    """Return the tags from NM to zd."""
    tags = []
    is_primary, is_aligned = _is_primary(mapping), mapping["operations"] > 0
    if is_aligned:
        tags += [f"NM:i:{_distance(mapping)}", f"ms:i:{mapping['first_dp_max']}"]
        tags += [f"AS:i:{mapping['dp_score']}", f"nn:i:{mapping['ambiguous']}"]
    kind = "SPiI"[is_primary + 2 * int(mapping["is_inversion"])]
    tags += [f"tp:A:{kind}", f"cm:i:{mapping['anchors']}", f"s1:i:{mapping['score']}"]
    if is_primary:
        tags.append(f"s2:i:{mapping['second_score']}")
    if is_aligned:
        columns = int(mapping["length"]) + int(mapping["ambiguous"])
        columns += int(mapping["gaps"]) - int(mapping["gap_bases"])
        divergence = 1 - int(mapping["matches"]) / columns
        tags.append(f"de:f:{divergence:.4f}" if divergence else "de:f:0")
    if mapping["split"]:
        tags.append(f"zd:i:{mapping['split']}")
    return tags


def _difference(alignment: Alignment, style: Difference) -> list[str]:
    if style is Difference.NONE or not alignment.operations:
        return []
    if style is Difference.MD:
        return [f"MD:Z:{alignment.md()}"]
    return [f"{'ds' if style is Difference.DS else 'cs'}:Z:{alignment.cs(style)}"]


def paf_lines(
    read: Read,
    mappings: NDArray[np.void],
    operations: NDArray[np.uint32],
    targets: Sequence[Target],
    options: MappingOptions,
    line_options: LineOptions,
) -> list[str]:
    """Return the lines of PAF of a read.

    Parameters
    ----------
    read
        The read, with its comment if comments are written.
    mappings
        MAPPING[r]: mappings of the read.
    operations
        uint32[c]: operations, as in `AlignedMappings`.
    targets
        Reference sequences.
    options, line_options
        Options for mappings and for lines.
    """
    if not len(mappings) and options.prints_unmapped:
        unmapped = [read.name, len(read.bases), 0, 0, "*", "*", 0, 0, 0, 0, 0, 0]
        return ["\t".join(map(str, [*unmapped, f"rl:i:{read.repeats}"]))]
    lines = []
    for mapping in mappings:
        if not _is_primary(mapping) and not options.prints_secondary:
            continue
        target = targets[mapping["sequence"]]
        alignment = _alignment(mapping, operations, read, target)
        fields = [read.name, len(read.bases), mapping["query_start"], mapping["query_end"]]
        fields += ["-" if mapping["is_reverse"] else "+", target.name, len(target.bases)]
        fields += [mapping["target_start"], mapping["target_end"], mapping["matches"]]
        fields += [mapping["length"], mapping["quality"], *_tags(mapping), f"rl:i:{read.repeats}"]
        if line_options.has_cigar and alignment.operations:
            written = alignment.split() if line_options.splits_matches else alignment.operations
            fields.append(f"cg:Z:{_text(written)}")
        fields += _difference(alignment, line_options.difference)
        fields += [read.comment] if read.comment else []
        lines.append("\t".join(map(str, fields)))
    return lines


def _place(mapping: Any, read: Read, target: Target) -> str:
    """Return an item of the tag SA."""
    query = int(mapping["query_end"]) - int(mapping["query_start"])
    reference = int(mapping["target_end"]) - int(mapping["target_start"])
    clips = [int(mapping["query_start"]), len(read.bases) - int(mapping["query_end"])]
    before, after = clips[::-1] if mapping["is_reverse"] else clips
    operations = [(before, "S"), (min(query, reference), "M"), (max(query - reference, 0), "I")]
    operations += [(max(reference - query, 0), "D"), (after, "S")]
    cigar = _text([operation for operation in operations if operation[0]])
    strand = "-" if mapping["is_reverse"] else "+"
    fields = [target.name, mapping["target_start"] + 1, strand, cigar, mapping["quality"]]
    return ",".join(map(str, [*fields, _distance(mapping)])) + ";"


def sam_lines(
    read: Read,
    mappings: NDArray[np.void],
    operations: NDArray[np.uint32],
    targets: Sequence[Target],
    options: MappingOptions,
    line_options: LineOptions,
) -> list[str]:
    """Return the records of SAM of a read; parameters as in `paf_lines`."""
    group = [] if line_options.read_group is None else [f"RG:Z:{line_options.read_group}"]
    comment = [read.comment] if read.comment else []
    last = [f"rl:i:{read.repeats}", *comment]
    bases = read.bases.replace("U", "T").replace("u", "t") or "*"
    if not len(mappings):
        if line_options.mapped_only:
            return []
        unmapped = [read.name, "4", "*", "0", "0", "*", "*", "0", "0", bases]
        return ["\t".join([*unmapped, read.qualities or "*", *group, *last])]
    places = [
        _place(mapping, read, targets[mapping["sequence"]])
        if _is_primary(mapping) and mapping["operations"]
        else ""
        for mapping in mappings
    ]
    lines = []
    for row, mapping in enumerate(mappings):
        is_primary = _is_primary(mapping)
        if not is_primary and not options.prints_secondary:
            continue
        target = targets[mapping["sequence"]]
        alignment = _alignment(mapping, operations, read, target)
        is_supplementary = is_primary and not mapping["is_first_primary"]
        flag = 16 * bool(mapping["is_reverse"]) + 256 * (not is_primary) + 2048 * is_supplementary
        start, end = int(mapping["query_start"]), int(mapping["query_end"])
        has_bases, is_cut = True, False
        if not line_options.soft_clips_all and flag >= 256:
            is_cut = is_supplementary or line_options.secondary_bases
            has_bases = is_cut
        clips = [(start, "H" if is_cut else "S"), (len(bases) - end, "H" if is_cut else "S")]
        written = slice(start, end) if is_cut else slice(None)
        sequence = bases[written] if has_bases else ""
        qualities = read.qualities[written] if has_bases and read.qualities else ""
        if mapping["is_reverse"]:
            clips.reverse()
            sequence, qualities = _reversed(sequence), qualities[::-1]
        inner = alignment.split() if line_options.splits_matches else alignment.operations
        cigar = [each for each in (clips[0], *inner, clips[1]) if each[0]]
        moved: list[str] = []
        if line_options.moves_long_cigars and len(cigar) > _MAX_BAM_OPERATIONS:
            words = [length << 4 | "MIDNSHP=X".index(letter) for length, letter in cigar]
            moved = ["CG:B:I," + ",".join(map(str, words))]
            span = int(mapping["target_end"]) - int(mapping["target_start"])
            cigar = [(len(sequence), "S"), (span, "N")]
        others = "".join(places[:row] + places[row + 1 :]) if places[row] else ""
        fields = [read.name, flag, target.name, mapping["target_start"] + 1, mapping["quality"]]
        fields += [_text(cigar) if inner else "*", "*", 0, 0, sequence or "*", qualities or "*"]
        fields += [*group, *_tags(mapping), *([f"SA:Z:{others}"] if others else [])]
        fields += [*_difference(alignment, line_options.difference), *moved, *last]
        lines.append("\t".join(map(str, fields)))
    return lines
