"""Header of the realigned reads: the contigs, read groups and programs of all inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hapgpu.io.bam.header import SAM_VERSION, SamHeader, fields_of
from hapgpu.io.bam.read_groups.haplotypes import HAPLOTYPE_GROUP
from hapgpu.io.bam.read_groups.samples import ReadGroups, SampleTable
from hapgpu.version import __version__

_HAPLOTYPE_SAMPLE: Final = "HC"

GroupKey = tuple[bytes, int]
"""ID of a read group, and number of its sample; negative without one."""


@dataclass(frozen=True, slots=True)
class RealignedHeader:
    """Header of the realigned reads.

    Attributes
    ----------
    header
        Sorted by coordinate.
    new_groups
        The new IDs of read groups whose ID another input has for another sample.
    """

    header: SamHeader
    new_groups: Mapping[GroupKey, bytes]

    def with_program(self, command_line: str) -> RealignedHeader:
        """Add the @PG line of this run."""
        header = self.header.with_program("hapgpu", __version__, command_line)
        return RealignedHeader(header, self.new_groups)


def realigned_header(
    headers: Sequence[SamHeader], table: SampleTable, contigs: Iterable[str]
) -> RealignedHeader:
    """Join the headers of all inputs.

    Contigs have their first @SQ line. Read groups of one ID and sample are one, with its first
    line; if inputs have one ID for several samples, all but the first get a suffix. Of programs of
    one ID the first line is kept, so each ID that a record or another program names exists.

    Parameters
    ----------
    headers
        Of the inputs.
    table
        The samples of the inputs.
    contigs
        Names of contigs, in the order of the records; those that no input has are left out.
    """
    squares = _first_lines(headers, "SN", "@SQ\t")
    groups, new_groups = _groups(headers, table.files)
    lines = [
        f"@HD\tVN:{SAM_VERSION}\tSO:coordinate",
        *(squares[name] for name in contigs if name in squares),
        *groups,
        f"@RG\tID:{HAPLOTYPE_GROUP}\tSM:{_HAPLOTYPE_SAMPLE}",
        *_first_lines(headers, "ID", "@PG\t").values(),
        *dict.fromkeys(line for header in headers for line in _lines(header, "@CO\t")),
    ]
    text = "".join(f"{line}\n" for line in lines)
    return RealignedHeader(SamHeader.from_text(text), new_groups)


def _lines(header: SamHeader, kind: str) -> Iterator[str]:
    """Yield the lines of a kind, such as `@RG` and a tab."""
    for line in header.text.split("\n"):
        if line.startswith(kind):
            yield line.rstrip("\r")


def _first_lines(headers: Sequence[SamHeader], key: str, kind: str) -> dict[str, str]:
    """Return the first line of a kind for each value of a field, in order."""
    found: dict[str, str] = {}
    for header in headers:
        for line in _lines(header, kind):
            found.setdefault(fields_of(line).get(key, ""), line)
    return found


def _groups(
    headers: Sequence[SamHeader], files: Sequence[ReadGroups]
) -> tuple[list[str], dict[GroupKey, bytes]]:
    """Return the @RG lines, and the new IDs of the groups whose ID was taken."""
    lines: dict[GroupKey, str] = {}
    new_groups: dict[GroupKey, bytes] = {}
    taken = {HAPLOTYPE_GROUP}
    for header, file in zip(headers, files, strict=True):
        samples = _samples_by_group(file)
        for line in _lines(header, "@RG\t"):
            name = fields_of(line)["ID"]
            text = name.encode("utf-8", "surrogateescape")
            key = text, samples.get(text, file.only_sample)
            if key in lines:
                continue
            new = _not_taken(name, taken)
            taken.add(new)
            lines[key] = _with_id(line, new)
            if new != name:
                new_groups[key] = new.encode("utf-8", "surrogateescape")
    return list(lines.values()), new_groups


def _samples_by_group(file: ReadGroups) -> dict[bytes, int]:
    """Return the number of the sample of each read group that has one."""
    names = (name.tobytes() for name in file.identifiers)
    return dict(zip(names, file.samples.tolist(), strict=True))


def _not_taken(name: str, taken: set[str]) -> str:
    """Return a name, with the first suffix that makes it different from those taken."""
    new, count = name, 0
    while new in taken:
        count += 1
        new = f"{name}.{count}"
    return new


def _with_id(line: str, name: str) -> str:
    fields = line.split("\t")
    return "\t".join(f"ID:{name}" if field.startswith("ID:") else field for field in fields)
