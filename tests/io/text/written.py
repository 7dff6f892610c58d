"""Texts of the functions that write one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from hapgpu.arrays.memory import memory_of
from hapgpu.io.text.builder import SLACK

_ROOM: Final = 64
_START: Final = 2
_UNTOUCHED: Final = ord("#")


def written(put: Callable[..., int], *arguments: object) -> str:
    """Return what a function writes; without room, it must tell the same end and stay inside."""
    text = _put(_ROOM, put, *arguments)
    for room in range(_START, _START + len(text)):
        out = np.full(room + SLACK + 1, _UNTOUCHED, dtype=np.uint8)
        assert put(memory_of(out[:-1]), _START, *arguments) == _START + len(text)
        assert out[-1] == _UNTOUCHED
    return text


def _put(room: int, put: Callable[..., int], *arguments: object) -> str:
    out = np.full(room + SLACK, _UNTOUCHED, dtype=np.uint8)
    end = put(memory_of(out), _START, *arguments)
    assert end <= room
    assert (out[:_START] == _UNTOUCHED).all()
    return out[_START:end].tobytes().decode()
