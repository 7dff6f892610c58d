"""The header of a SAM, BAM or CRAM file."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hapgpu.errors import InputError
from hapgpu.io.files.file_kind import BAM_MAGIC
from hapgpu.io.text.contig_names import is_contig_name
from hapgpu.io.text.excerpt import shown
from hapgpu.io.text.positions import LAST_POSITION, parse_position

SAM_VERSION = "1.6"
_COUNT = struct.Struct("<i")
_LENGTH = struct.Struct("<I")

_SQUARE_LINE = re.compile("^@SQ\t.*$", re.MULTILINE)


@dataclass(frozen=True)
class SamHeader:
    """The text of a header and the reference sequences that it declares.

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
        """Read the references from the @SQ lines of a header.

        Raises
        ------
        InputError
            An @SQ line lacks its name or a length from 1 to 2**31 - 1, or a name comes twice.
        """
        if text and not text.endswith("\n"):
            text += "\n"
        references: dict[str, int] = {}
        for line in _SQUARE_LINE.finditer(text):
            fields = fields_of(line[0])
            length = _reference_length(fields)
            if fields["SN"] in references:
                raise InputError(f"the header has two @SQ lines for {fields['SN']}")
            references[fields["SN"]] = length
        return cls(text, tuple(references), tuple(references.values()))

    @classmethod
    def from_references(
        cls, names: Sequence[str], lengths: Sequence[int], order: str = "SO:unsorted"
    ) -> SamHeader:
        """Make a header of an @HD line, with the fields of `order`, and one @SQ line per reference.

        Raises
        ------
        InputError
            A name or length is not one that SAM allows.
        """
        return cls.from_text(
            _joined([f"@HD\tVN:{SAM_VERSION}\t{order}", *_square_lines(names, lengths)])
        )

    @property
    def is_coordinate_sorted(self) -> bool:
        """Whether the @HD line says so."""
        headings = [fields_of(line) for line in self._lines if line.startswith("@HD\t")]
        return any(fields.get("SO") == "coordinate" for fields in headings)

    def reference_id(self, name: str) -> int | None:
        """Return the place of a reference among the @SQ lines, or None if it has none."""
        return self._ids.get(name)

    def with_line(self, line: str) -> SamHeader:
        """Add a line, such as an @RG one, below all others."""
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
        """Replace all @SQ lines; every other line stays, and an @HD line is there.

        Raises
        ------
        InputError
            A name is not one that SAM allows.
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
        return {name: place for place, name in enumerate(self.reference_names)}


def fields_of(line: str) -> dict[str, str]:
    """Return the TAG:VALUE fields of a header line."""
    return {
        field[:2]: field[3:] for field in line.rstrip("\r").split("\t")[1:] if field[2:3] == ":"
    }


def _reference_length(fields: dict[str, str]) -> int:
    name, length = fields.get("SN"), fields.get("LN", "")
    if not name:
        raise InputError("the header has an @SQ line without a name (SN)")
    bases = parse_position(length)
    if not bases:
        raise InputError(
            f"the header's @SQ line for {name} has no valid length: LN is '{shown(length)}',"
            f" expected 1 to {LAST_POSITION}; correct it (samtools reheader)"
        )
    return bases


def _square_lines(names: Sequence[str], lengths: Sequence[int]) -> list[str]:
    for name in names:
        if not is_contig_name(name):
            raise InputError(f"SAM does not allow '{name}' as the name of a reference; rename it")
    return [f"@SQ\tSN:{name}\tLN:{size}" for name, size in zip(names, lengths, strict=True)]


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _chain_end(programs: list[dict[str, str]]) -> str | None:
    """Return the ID of the last program that no other one names as its predecessor."""
    previous = {fields.get("PP") for fields in programs}
    identifiers = [fields["ID"] for fields in programs if "ID" in fields]
    ends = [identifier for identifier in identifiers if identifier not in previous]
    candidates = ends or identifiers
    return candidates[-1] if candidates else None


def encode_header(header: SamHeader) -> bytes:
    """Write a header as it stands at the beginning of a BAM file."""
    text = header.text.encode("utf-8", "surrogateescape")
    references = zip(header.reference_names, header.reference_lengths, strict=True)
    parts = [BAM_MAGIC, _COUNT.pack(len(text)), text, _COUNT.pack(len(header.reference_names))]
    for name, length in references:
        closed = name.encode("utf-8", "surrogateescape") + b"\0"
        parts += [_COUNT.pack(len(closed)), closed, _LENGTH.pack(length)]
    return b"".join(parts)
