"""Build hook of hatchling: a wheel gets man pages, made of the help of its commands.

It gets the machine code in `$HAPGPU_MACHINE_CODE`, too, the directory that `machine_code.py` wrote;
then it is for one platform.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_IMPORTED: Final = {"typer"}
"""The dependencies that the descriptions of the commands import."""


_PLATFORM: Final = "manylinux_2_28_x86_64"
"""That of Numba's wheels; machine code has no more needs, nor any of the version of Python."""


class WheelParts(BuildHookInterface):
    """Make the man pages, which a wheel installs below `share/man`, and add machine code."""

    _pages: TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return what must be installed for the build, in the versions of the project.

        An editable install, whose hook is named on pip's command line, makes no pages.
        """
        if "get_requires_for_build_editable" in sys.argv:
            return []
        lines = self.metadata.core.dependencies
        return [line for line in lines if re.match(r"[\w.-]+", line)[0] in _IMPORTED]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the pages and add machine code; an editable install has neither.

        Parameters
        ----------
        version
            The kind of the wheel: `standard` or `editable`.
        build_data
            The data of the build, to which they are added.
        """
        if version == "editable":
            return
        self._pages = TemporaryDirectory(prefix="hapgpu-man-")
        directory = self._pages.name
        paths = [self.root, *filter(None, [os.environ.get("PYTHONPATH")])]
        subprocess.run(
            [sys.executable, Path(self.root, "packaging", "man", "make_pages.py"), directory],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            check=True,
        )
        build_data["shared_data"][directory] = "share/man/man1"
        if machine_code := os.environ.get("HAPGPU_MACHINE_CODE"):
            build_data["force_include"][machine_code] = "hapgpu/machine_code"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_PLATFORM}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  (hatchling passes them)
        """Remove the pages, which the wheel has by now."""
        if self._pages is not None:
            self._pages.cleanup()
