"""Headers parsed line by line: an oracle for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hapgpu.errors import InputError
from hapgpu.io.text.values import LAST_POSITION, excerpt, is_contig_name, parse_position

Header = tuple[str, list[str], list[int]]


def parsed(text: str) -> Header:
    """Return text, names and lengths of a header, as `SamHeader.from_text`."""
    if text and not text.endswith("\n"):
        text += "\n"
    references: dict[str, int] = {}
    for line in text.split("\n"):
        if not line.startswith("@SQ\t"):
            continue
        fields = [field for field in line.rstrip("\r").split("\t")[1:] if field[2:3] == ":"]
        values = {field[:2]: field[3:] for field in fields}
        name, length = values.get("SN"), values.get("LN", "")
        if not name:
            raise InputError("header: an @SQ line has no name (SN); run: samtools reheader")
        if not parse_position(length):
            raise InputError(
                f"header: @SQ line of {name}: LN is '{excerpt(length)}', expected 1 to"
                f" {LAST_POSITION}; run: samtools reheader"
            )
        if name in references:
            raise InputError(f"header: two @SQ lines for {name}; run: samtools reheader")
        references[name] = int(length)
    return text, list(references), list(references.values())


def with_references(text: str, names: Sequence[str], lengths: Sequence[int]) -> Header:
    """Replace the @SQ lines, as `SamHeader.with_references`."""
    kept = [line for line in text.split("\n")[:-1] if not line.startswith("@SQ\t")]
    heading = [line for line in kept if line.startswith("@HD\t")] or ["@HD\tVN:1.6"]
    for name in names:
        if not is_contig_name(name):
            raise InputError(f"contig '{name}': a name that SAM does not allow; rename it")
    lines = [f"@SQ\tSN:{name}\tLN:{size}" for name, size in zip(names, lengths, strict=True)]
    others = [line for line in kept if not line.startswith("@HD\t")]
    return parsed("".join(f"{line}\n" for line in [*heading, *lines, *others]))


def with_sort_order(text: str, order: str) -> Header:
    """Set the order, as `SamHeader.with_sort_order`."""
    lines = text.split("\n")[:-1]
    if not any(line.startswith("@HD\t") for line in lines):
        lines.insert(0, "@HD\tVN:1.6")
    for number, line in enumerate(lines):
        if line.startswith("@HD\t"):
            kept = [x for x in line.split("\t") if not x.startswith(("SO:", "SS:", "GO:"))]
            lines[number] = "\t".join([*kept, f"SO:{order}"])
    return parsed("".join(f"{line}\n" for line in lines))


def with_line(text: str, line: str) -> Header:
    """Append a line, as `SamHeader.with_line`."""
    return parsed(f"{text}{line}\n")


def outcome(make: Callable[[], Header]) -> Header | str:
    """Return a header, or the message of its error."""
    try:
        return make()
    except InputError as error:
        return str(error)
