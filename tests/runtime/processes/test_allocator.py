"""Freed memory is kept: arrays that come and go take no pages from the system again."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PAGES_OF_NEW_ARRAYS = """
import resource
import numpy as np
from hapgpu.runtime.processes.allocator import keep_freed_memory

def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(20 << 20, dtype=np.uint8) for _ in range(3)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

{setting}
faults()
print(faults())
"""


def pages(setting: str) -> int:
    code = PAGES_OF_NEW_ARRAYS.format(setting=setting)
    done = subprocess.run((sys.executable, "-c", code), check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_freed_memory_is_kept() -> None:
    kept, returned = pages("keep_freed_memory()"), pages("")
    assert kept < 10
    assert kept < returned
