"""The errors a user can meet, each with the exit status of its kind."""

from __future__ import annotations

from typing import ClassVar


class HapgpuError(Exception):
    """A fault that the user can act on: one line that names the place and the remedy."""

    exit_code: ClassVar[int] = 1


class InputError(HapgpuError):
    """An input file or record is missing, damaged or not of the expected kind."""


class UsageError(HapgpuError):
    """The options given contradict each other or name something that does not exist."""

    exit_code = 2


class DeviceError(HapgpuError):
    """A device that was asked for cannot be used, or failed while in use."""

    exit_code = 3


class OutputError(HapgpuError):
    """A result could not be written."""

    exit_code = 4
