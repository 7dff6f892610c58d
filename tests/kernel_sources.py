"""Parameters of CUDA kernels, read from the text of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import read_source

_TYPES: Final[dict[str, type[np.generic]]] = {
    "unsigned char": np.uint8,
    "u8": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "int2": np.int32,
    "int4": np.int32,
    "unsigned": np.uint32,
    "u32": np.uint32,
    "uint4": np.uint32,
    "Occurrences": np.uint32,
    "Mapping": np.int64,
    "Joined": np.int32,
    "Plan": np.int64,
    "PairJob": np.int32,
    "Segment": np.int64,
    "LocalPair": np.int64,
    "Slot": np.int64,
    "LineTarget": np.int64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "Word": np.uint64,
    "Counts": np.uint64,
    "float": np.float32,
    "float2": np.float32,
    "float4": np.float32,
    "double": np.float64,
}
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_BLOCK: Final = re.compile(r"{[^{}]*}")


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter or a field: a pointer to or a number of `dtype`, or a struct with `fields`."""

    name: str
    dtype: Any
    is_pointer: bool
    fields: tuple[Declared, ...] = ()


class KernelSource:
    """The text of a kernel, without comments."""

    def __init__(self, kernel: Kernel) -> None:
        self._text = _COMMENT.sub("", read_source(kernel.source))
        name = kernel.expression.partition("<")[0]
        found = re.search(rf"__global__[^;{{]*?\b{name}\(([^)]*)\)\s*{{", self._text)
        assert found is not None, kernel.expression
        self._signature = found[1]
        self.body = self._text[found.end() : _end_of_block(self._text, found.end())]
        score = np.int64 if "long long" in kernel.expression else np.int32
        self._types: dict[str, type[np.generic]] = {**_TYPES, "Score": score}

    def parameters(self) -> list[Declared]:
        """Return the parameters in order."""
        return list(self._declared(self._signature.split(",")))

    def _declared(self, declarations: Iterable[str]) -> Iterator[Declared]:
        for declaration in declarations:
            text = re.sub(r"\bconst\b|__(restrict|grid_constant)__", "", declaration)
            if not text.strip():
                continue
            for type_name in sorted(self._types, key=len, reverse=True):
                found = re.fullmatch(rf"\s*{type_name}\b\s*(\*?)\s*(\w*)\s*", text)
                if found is not None:
                    yield Declared(found[2], self._types[type_name], bool(found[1]))
                    break
            else:
                found = re.fullmatch(r"\s*(\w+)(?:<([\w ]+)>)?\s+(\w+)\s*", text)
                assert found is not None, declaration
                fields = self._fields(found[1], found[2])
                yield Declared(found[3], None, is_pointer=False, fields=fields)

    def _fields(self, struct: str, item: str | None) -> tuple[Declared, ...]:
        """Return the fields of a struct, which may have functions after them.

        `item` is the type that a template of one type is for.
        """
        found = re.search(rf"(?:<typename (\w+)>\s+)?\bstruct {struct} {{", self._text)
        assert found is not None, struct
        members = self._text[found.end() : _end_of_block(self._text, found.end())]
        if item is not None:
            members = re.sub(rf"\b{found[1]}\b", item, members)
        while (without_blocks := _BLOCK.sub(";", members)) != members:
            members = without_blocks
        return tuple(self._declared(_one_by_one(members)))


def _one_by_one(members: str) -> Iterator[str]:
    """Yield the declaration of each field; fields of a type may share one."""
    for member in members.split(";"):
        if "(" in member or not member.strip():
            continue
        first, *others = member.split(",")
        kind = re.match(r"[\w<> ]*[\w>](?=[ *]+\w+$)", first.strip())
        assert kind is not None, member
        yield first
        yield from (f"{kind[0]} {other}" for other in others)


def _end_of_block(text: str, start: int) -> int:
    """Return the position of the brace that closes the block open at `start`."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise AssertionError(text[start:])
