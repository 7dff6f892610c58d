"""Errors reported to the user, one class per exit status."""

from __future__ import annotations

from typing import ClassVar


class HapgpuError(Exception):
    """An error that the user can act on: one line, `WHERE: WHAT; REMEDY`."""

    exit_code: ClassVar[int] = 1


class InputError(HapgpuError, ValueError):
    """An input file or record is missing, damaged or not of the expected kind."""


class UsageError(HapgpuError, ValueError):
    """Options contradict each other or name something that does not exist."""

    exit_code = 2


class DeviceError(HapgpuError, RuntimeError):
    """A named device cannot be used, or a device failed."""

    exit_code = 3


class OutputError(HapgpuError):
    """A result could not be written."""

    exit_code = 4
