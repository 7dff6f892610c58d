"""Header of a SAM, BAM or CRAM file."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hapgpu.errors import InputError
from hapgpu.io.files.file_kind import BAM_MAGIC
from hapgpu.io.text.contig_names import is_contig_name
from hapgpu.io.text.excerpt import excerpt
from hapgpu.io.text.positions import LAST_POSITION, parse_position

SAM_VERSION = "1.6"
_COUNT = struct.Struct("<i")
_LENGTH = struct.Struct("<I")

_SQUARE_LINE = re.compile("^@SQ\t.*$", re.MULTILINE)


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
        headings = [fields_of(line) for line in self._lines if line.startswith("@HD\t")]
        return any(fields.get("SO") == "coordinate" for fields in headings)

    def reference_id(self, name: str) -> int | None:
        """Return the index of a contig among the @SQ lines, or None if it has no line."""
        return self._ids.get(name)

    def with_line(self, line: str) -> SamHeader:
        """Append a line, such as an @RG line."""
        return self._with_lines([*self._lines, line])

    def with_program(self, name: str, version: str, command_line: str) -> SamHeader:
        """Add one @PG line, its ID made unique, chained to the end of the last program chain."""
        programs = [fields_of(line) for line in self._lines if line.startswith("@PG\t")]
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
        return self._with_lines([*heading, *_square_lines(names, lengths), *others])

    def with_sort_order(self, order: str) -> SamHeader:
        """Set SO on the @HD line and drop SS and GO, which described the old order."""

        def sorted_heading(line: str) -> str:
            fields = [f for f in line.split("\t") if not f.startswith(("SO:", "SS:", "GO:"))]
            return "\t".join([*fields, f"SO:{order}"])

        return self._with_heading(sorted_heading)

    def _with_heading(self, change: Callable[[str], str]) -> SamHeader:
        lines = self._lines
        if not any(line.startswith("@HD\t") for line in lines):
            lines = [f"@HD\tVN:{SAM_VERSION}", *lines]
        return self._with_lines([change(li) if li.startswith("@HD\t") else li for li in lines])

    def _with_lines(self, lines: Iterable[str]) -> SamHeader:
        return SamHeader.from_text(_joined(lines))

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
    for name in names:
        if not is_contig_name(name):
            raise InputError(f"contig '{name}': a name that SAM does not allow; rename it")
    return [f"@SQ\tSN:{name}\tLN:{size}" for name, size in zip(names, lengths, strict=True)]


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
    references = zip(header.reference_names, header.reference_lengths, strict=True)
    parts = [BAM_MAGIC, _COUNT.pack(len(text)), text, _COUNT.pack(len(header.reference_names))]
    for name, length in references:
        closed = name.encode("utf-8", "surrogateescape") + b"\0"
        parts += [_COUNT.pack(len(closed)), closed, _LENGTH.pack(length)]
    return b"".join(parts)
