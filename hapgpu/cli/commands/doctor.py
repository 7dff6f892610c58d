"""`hapgpu doctor`: what hapgpu finds on this machine, and what is missing."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Final

import typer

from hapgpu.cli.options.common import Debug, DeviceName
from hapgpu.cli.options.effects import needs
from hapgpu.cli.options.files import CommandFiles
from hapgpu.errors import DeviceError, UsageError
from hapgpu.runtime.devices import CudaDevice, discover, resolve_devices

EXAMPLES: Final = """Check a GPU before a run:
hapgpu doctor --device cuda:0

Compile everything for an image, without a GPU:
hapgpu doctor --compile --arch sm_80,sm_90"""

FILES: Final = CommandFiles()

NO_EFFECT: Final = (needs("compile_", "--compile", "arch"),)

_ARCHITECTURE: Final = re.compile(r"sm_\d{2,3}")


def doctor(
    *,
    device: DeviceName = "auto",
    compile_: Annotated[
        bool,
        typer.Option(
            "--compile", help="Compile everything now, for images and clusters, into the cache."
        ),
    ] = False,
    arch: Annotated[
        str,
        typer.Option(
            "--arch",
            metavar="sm_80,sm_90",
            help="With --compile: GPUs to compile for, besides those of this machine.",
        ),
    ] = "",
    debug: Debug = False,  # noqa: ARG001  (the command line reads it)
) -> None:
    """Show what hapgpu finds on this machine, and what is missing.

    With --device, the exit status is 3 if that device cannot be used.
    """
    from hapgpu.cli.compilation import compile_all
    from hapgpu.cli.findings import find, kernel_faults_of, print_findings

    architectures = _architectures(arch)
    report = discover()
    kernel_faults = kernel_faults_of(report)
    print_findings(find(report, kernel_faults))
    devices, _ = resolve_devices(device)
    for chosen in devices:
        fault = kernel_faults.get(chosen.index) if isinstance(chosen, CudaDevice) else None
        if fault and device != "auto":
            raise DeviceError(f"{chosen.name}: cannot be used ({fault})")
    if compile_:
        own = {"sm_{}{}".format(*gpu.compute_capability) for gpu in report.gpus}
        sys.stderr.write(f"hapgpu doctor: {compile_all(architectures | own)}\n")


def _architectures(text: str) -> set[str]:
    """Return the architectures of `sm_80,sm_90`."""
    names = text.split(",") if text else []
    if wrong := [name for name in names if not _ARCHITECTURE.fullmatch(name)]:
        raise UsageError(f"--arch '{wrong[0]}': not an architecture; give sm_80 or sm_80,sm_90")
    return {*names}
