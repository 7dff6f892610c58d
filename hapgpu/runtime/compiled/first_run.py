"""The first run of a command on a kind of device, before which its functions are compiled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from hapgpu.runtime import cache
from hapgpu.runtime.compiled.side_by_side import compile_side_by_side
from hapgpu.runtime.compiled.signatures import Version, read_groups, read_kernels
from hapgpu.runtime.devices import CudaDevice, Device, usable_cpus
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.machine_code import kernel_directory
from hapgpu.runtime.progress import Progress

_STARTED: Final = b"started"
_COMPILED: Final = b"compiled"


class FirstRun:
    """The functions of a run that no run of this machine has compiled yet.

    Parameters
    ----------
    directory
        The directory of compiled functions; None without one.
    command
        The subcommand, such as `realign`.
    devices
        Its devices.
    arguments
        Its arguments: some options call functions of their own.
    has_functions
        Whether the package holds all functions compiled, for this machine.
    """

    def __init__(
        self,
        directory: Path | None,
        command: str,
        devices: Iterable[Device],
        arguments: Sequence[str],
        *,
        has_functions: bool = False,
    ) -> None:
        self._directory = directory
        self._has_functions = has_functions
        self._gpus = [device for device in devices if isinstance(device, CudaDevice)]
        self._group = None
        if not has_functions or self._new_architectures():
            options = {argument.partition("=")[0] for argument in arguments}
            group = _group(command, "cuda" if self._gpus else "cpu", options)
            self._group = None if group is None or self._is_compiled(group) else group

    def __bool__(self) -> bool:
        """Tell whether there are functions to compile."""
        return self._group is not None

    def __len__(self) -> int:
        """Return the number of functions and kernels to compile."""
        return len(self._versions) + len(self._kernels) * len(self._new_architectures())

    @property
    def _versions(self) -> list[Version]:
        return [] if self._has_functions else read_groups().get(self._group or "", [])

    @property
    def _kernels(self) -> list[Kernel]:
        return [Kernel(*names, ()) for names in read_kernels().get(self._group or "", [])]

    def compile(self, progress: Progress) -> None:
        """Compile functions and kernels side by side; without a cache, leave that to the run."""
        group = self._group
        if group is None or usable_cpus() == 1 or not self._can_store(group):
            return
        compile_side_by_side(self._versions, self._kernels, self._new_architectures(), progress)
        cache.store(_mark(self._directory, group), group, _COMPILED)

    def _is_compiled(self, group: str) -> bool:
        return cache.load(_mark(self._directory, group), group) == _COMPILED

    def _new_architectures(self) -> set[str]:
        """Return the architectures of GPUs whose kernels the package does not hold."""
        architectures = {gpu.architecture for gpu in self._gpus}
        return {name for name in architectures if not kernel_directory(name).is_dir()}

    def _can_store(self, group: str) -> bool:
        mark = _mark(self._directory, group)
        cache.store(mark, group, _STARTED)
        return cache.load(mark, group) is not None


def mark_compiled(directory: Path | None, kinds: Collection[str]) -> None:
    """Note that the functions of all commands are compiled, for some of `cpu` and `cuda`."""
    for group in read_groups():
        if group.split()[1] in kinds:
            cache.store(_mark(directory, group), group, _COMPILED)


def _mark(directory: Path | None, group: str) -> Path | None:
    return directory and directory / f"{group.replace(' ', '')}.ran"


def _group(command: str, kind: str, options: set[str]) -> str | None:
    """Return the group of a run: the one with the most of its options, if any."""
    best: str | None = None
    for group in sorted(read_groups(), key=len):
        own, its_kind, *needed = group.split()
        if (own, its_kind) == (command, kind) and options.issuperset(needed):
            best = group
    return best
