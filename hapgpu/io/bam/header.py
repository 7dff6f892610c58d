"""Header of a SAM, BAM or CRAM file."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hapgpu.errors import InputError
from hapgpu.io.files.file_kind import BAM_MAGIC
from hapgpu.io.text.contig_names import are_contig_names, is_contig_name
from hapgpu.io.text.excerpt import excerpt
from hapgpu.io.text.positions import LAST_POSITION, parse_position

SAM_VERSION = "1.6"
_COUNT = struct.Struct("<i")
_LENGTH = struct.Struct("<I")

_SQUARE_LINE = re.compile("^@SQ\t.*$", re.MULTILINE)
_HEADING = re.compile("^@HD\t.*$", re.MULTILINE)
_PROGRAM_LINE = re.compile("^@PG\t.*$", re.MULTILINE)

# An @SQ line as programs write it: SN, LN, and fields of other names. All lines are matched in one
# call; a header with any other @SQ line is parsed line by line.
_PLAIN_SQUARE_LINE = re.compile(
    r"^@SQ\tSN:([^\t\r\n]+)\tLN:([1-9][0-9]{0,8})(?:\t(?!SN:|LN:)[^\t\r\n]*)*$", re.MULTILINE
)


@dataclass(frozen=True)
class SamHeader:
    """Text of a header, and its contigs.

    Attributes
    ----------
    text
        The header lines, each closed by a newline.
    reference_names, reference_lengths
        One per @SQ line, in order; lengths in bases.
    """

    text: str
    reference_names: tuple[str, ...]
    reference_lengths: tuple[int, ...]

    @classmethod
    def from_text(cls, text: str) -> SamHeader:
        """Read the contigs from the @SQ lines of a header.

        Raises
        ------
        InputError
            An @SQ line lacks a name or a length from 1 to 2**31 - 1, or a name occurs twice.
        """
        if text and not text.endswith("\n"):
            text += "\n"
        plain = _PLAIN_SQUARE_LINE.findall(text)
        if len(plain) == text.count("\n@SQ\t") + text.startswith("@SQ\t"):
            names = tuple(name for name, _ in plain)
            if len(set(names)) == len(names):
                return cls(text, names, tuple(int(length) for _, length in plain))
        references: dict[str, int] = {}
        for line in _SQUARE_LINE.finditer(text):
            fields = fields_of(line[0])
            length = _reference_length(fields)
            if fields["SN"] in references:
                raise InputError(
                    f"header: two @SQ lines for {fields['SN']}; run: samtools reheader"
                )
            references[fields["SN"]] = length
        return cls(text, tuple(references), tuple(references.values()))

    @classmethod
    def from_references(
        cls, names: Sequence[str], lengths: Sequence[int], order: str = "SO:unsorted"
    ) -> SamHeader:
        """Make a header of an @HD line, with the fields of `order`, and one @SQ line per contig.

        Raises
        ------
        InputError
            SAM does not allow a name or length.
        """
        return cls.from_text(
            _joined([f"@HD\tVN:{SAM_VERSION}\t{order}", *_square_lines(names, lengths)])
        )

    @property
    def is_coordinate_sorted(self) -> bool:
        """Whether the @HD line has SO:coordinate."""
        headings = map(fields_of, _HEADING.findall(self.text))
        return any(fields.get("SO") == "coordinate" for fields in headings)

    def reference_id(self, name: str) -> int | None:
        """Return the index of a contig among the @SQ lines, or None if it has no line."""
        return self._ids.get(name)

    def with_line(self, line: str) -> SamHeader:
        """Append a line, such as an @RG line."""
        return self._with_text(f"{self.text}{line}\n")

    def with_program(self, name: str, version: str, command_line: str) -> SamHeader:
        """Add one @PG line, its ID made unique, chained to the end of the last program chain."""
        programs = [fields_of(line) for line in _PROGRAM_LINE.findall(self.text)]
        taken = {fields["ID"] for fields in programs if "ID" in fields}
        identifier = name
        count = 0
        while identifier in taken:
            count += 1
            identifier = f"{name}.{count}"
        line = f"@PG\tID:{identifier}\tPN:{name}"
        if previous := _chain_end(programs):
            line += f"\tPP:{previous}"
        line += f"\tVN:{version}\tCL:{' '.join(command_line.split())}"
        return self.with_line(line)

    def with_references(self, names: Sequence[str], lengths: Sequence[int]) -> SamHeader:
        """Replace all @SQ lines; keep the other lines, and add an @HD line if there is none.

        Raises
        ------
        InputError
            SAM does not allow a name.
        """
        kept = [line for line in self._lines if not line.startswith("@SQ\t")]
        heading = [line for line in kept if line.startswith("@HD\t")]
        others = [line for line in kept if not line.startswith("@HD\t")]
        heading = heading or [f"@HD\tVN:{SAM_VERSION}"]
        text = _joined([*heading, *_square_lines(names, lengths), *others])
        if len(set(names)) == len(names) and _are_lengths(lengths):
            return SamHeader(text, tuple(names), tuple(lengths))
        return SamHeader.from_text(text)

    def with_sort_order(self, order: str) -> SamHeader:
        """Set SO on the @HD line and drop SS and GO, which described the old order."""

        def sorted_heading(line: str) -> str:
            fields = [f for f in line.split("\t") if not f.startswith(("SO:", "SS:", "GO:"))]
            return "\t".join([*fields, f"SO:{order}"])

        text = self.text if _HEADING.search(self.text) else f"@HD\tVN:{SAM_VERSION}\n{self.text}"
        return self._with_text(_HEADING.sub(lambda line: sorted_heading(line[0]), text))

    def _with_text(self, text: str) -> SamHeader:
        """Replace the text; its @SQ lines are parsed only if there are more or fewer."""
        if text.count("@SQ\t") != self.text.count("@SQ\t"):
            return SamHeader.from_text(text)
        return SamHeader(text, self.reference_names, self.reference_lengths)

    @property
    def _lines(self) -> list[str]:
        return self.text.split("\n")[:-1]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.reference_names)}


def fields_of(line: str) -> dict[str, str]:
    """Return the TAG:VALUE fields of a header line."""
    return {
        field[:2]: field[3:] for field in line.rstrip("\r").split("\t")[1:] if field[2:3] == ":"
    }


def _reference_length(fields: dict[str, str]) -> int:
    name, length = fields.get("SN"), fields.get("LN", "")
    if not name:
        raise InputError("header: an @SQ line has no name (SN); run: samtools reheader")
    bases = parse_position(length)
    if not bases:
        raise InputError(
            f"header: @SQ line of {name}: LN is '{excerpt(length)}', expected 1 to {LAST_POSITION};"
            " run: samtools reheader"
        )
    return bases


def _square_lines(names: Sequence[str], lengths: Sequence[int]) -> list[str]:
    if not are_contig_names(names):
        name = next(name for name in names if not is_contig_name(name))
        raise InputError(f"contig '{name}': a name that SAM does not allow; rename it")
    return [f"@SQ\tSN:{name}\tLN:{size}" for name, size in zip(names, lengths, strict=True)]


def _are_lengths(lengths: Sequence[int]) -> bool:
    return not lengths or 1 <= min(lengths) <= max(lengths) <= LAST_POSITION


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _chain_end(programs: list[dict[str, str]]) -> str | None:
    """Return the ID of the last program that no other program names as its predecessor."""
    previous = {fields.get("PP") for fields in programs}
    identifiers = [fields["ID"] for fields in programs if "ID" in fields]
    ends = [identifier for identifier in identifiers if identifier not in previous]
    candidates = ends or identifiers
    return candidates[-1] if candidates else None


def encode_header(header: SamHeader) -> bytes:
    """Return the header in BAM encoding."""
    text = header.text.encode("utf-8", "surrogateescape")
    return b"".join([BAM_MAGIC, _COUNT.pack(len(text)), text, encode_references(header)])


def encode_references(header: SamHeader) -> bytes:
    """Return the list of contigs in BAM encoding, with its length."""
    encoded = bytearray(_COUNT.pack(len(header.reference_names)))
    references = zip(header.reference_names, header.reference_lengths, strict=True)
    for name, length in references:
        closed = name.encode("utf-8", "surrogateescape") + b"\0"
        encoded += _COUNT.pack(len(closed)) + closed + _LENGTH.pack(length)
    return bytes(encoded)
