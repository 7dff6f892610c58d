"""Fixtures shared by the tests of the cache."""

from __future__ import annotations

import logging

import pytest

from hapgpu.runtime import cache


@pytest.fixture(autouse=True)
def warnings_of_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> pytest.LogCaptureFixture:
    """Let the cache log its one warning again."""
    monkeypatch.setattr(cache, "_first_warning", cache._FirstWarning())
    monkeypatch.setattr(logging.getLogger("hapgpu"), "propagate", True)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return caplog
