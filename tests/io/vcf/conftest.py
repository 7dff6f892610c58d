"""Files of VCF."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a file, and return its path."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "calls.vcf"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
