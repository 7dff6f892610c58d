"""Check of every test: no thread, process, descriptor or shared memory is left."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from tests.runtime.processes.observed import children, descriptors


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Compare what this process has before and after a test; children that ended count, too."""
    before = _found()
    yield
    if _found() - before:
        gc.collect()  # this takes as long as most tests
    assert not _found() - before


def _found() -> set[object]:
    return {*threading.enumerate(), *children(), *descriptors().items()}
