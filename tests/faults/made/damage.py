"""Ways to damage a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from hapgpu.io.bgzf.marks import EOF_BLOCK

Damage = Callable[[Path], None]


def missing(path: Path) -> None:
    path.unlink()


def directory_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def unreadable(path: Path) -> None:
    path.chmod(0)


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def cut_at(fraction: float) -> Damage:
    def cut(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: int(fraction * len(data))])

    return cut


def without_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def without_end_block(path: Path) -> None:
    path.write_bytes(path.read_bytes().removesuffix(EOF_BLOCK))


def flipped_at(fraction: float) -> Damage:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(fraction * len(data))] ^= 0x10
        path.write_bytes(data)

    return flip


CONTENTS: Final[dict[str, Damage]] = {
    "missing": missing,
    "empty": empty,
    "unreadable": unreadable,
    "garbage": garbage,
}
CUTS: Final[dict[str, Damage]] = {
    "cut_at_start": cut_at(0.05),
    "cut_in_middle": cut_at(0.5),
    "cut_near_end": cut_at(0.95),
    "last_byte": without_last_byte,
}
FLIPS: Final[dict[str, Damage]] = {
    f"flipped_at_{fraction}": flipped_at(fraction) for fraction in (0.4, 0.6, 0.8)
}
