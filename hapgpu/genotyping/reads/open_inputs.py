"""Open inputs of aligned reads, and their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Generic, TypeVar

from hapgpu.errors import InputError, UsageError
from hapgpu.genotyping.reads.inputs import AlignedInput
from hapgpu.io.bam.read_groups.samples import SampleTable

_Input = TypeVar("_Input", bound=AlignedInput)

_STANDARD: Final = "-"


class OpenInputs(Generic[_Input]):
    """Open inputs of one run, at least one.

    Parameters
    ----------
    paths
        Files; `-` is standard input.
    open_input
        Opens one of them.
    without_haplotypes
        As in `SampleTable.of`.

    Attributes
    ----------
    table
        The samples of the inputs.

    Raises
    ------
    InputError
        An input cannot be read, has no index or holds no alignments.
    UsageError
        An input is given twice, or none at all.
    """

    def __init__(
        self,
        paths: Sequence[str],
        open_input: Callable[[str], _Input],
        *,
        without_haplotypes: bool = False,
    ) -> None:
        _check_distinct(paths)
        with ExitStack() as stack:
            self._inputs: list[_Input] = []
            for path in paths:
                self._inputs.append(open_input(path))
                stack.callback(self._inputs[-1].close)
            headers = [input_.header for input_ in self._inputs]
            self.table = SampleTable.of(headers, paths, without_haplotypes=without_haplotypes)
            self._stack = stack.pop_all()

    def __len__(self) -> int:
        return len(self._inputs)

    def __iter__(self) -> Iterator[_Input]:
        return iter(self._inputs)

    @property
    def are_indexed(self) -> bool:
        """Whether all are read through an index: anywhere, and concurrently."""
        return all(input_.is_indexed for input_ in self._inputs)

    def check_contigs(self, lengths: Mapping[str, int], reference: Path) -> None:
        """Compare the contig lengths of the inputs and the reference.

        Raises
        ------
        InputError
            A contig of an input has another length in the reference.
        """
        for input_ in self._inputs:
            header = input_.header
            for contig, length in zip(
                header.reference_names, header.reference_lengths, strict=True
            ):
                if lengths.get(contig, length) != length:
                    raise InputError(
                        f"{input_.name}: {contig} has {length:,} bases, but {lengths[contig]:,} in "
                        f"{reference}; give the reference that the reads were aligned to"
                    )

    def close(self) -> None:
        """Close all inputs."""
        self._stack.close()


def _check_distinct(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("reads: no file given; give at least one file of aligned reads")
    for number, path in enumerate(paths):
        if any(_is_same_input(path, other) for other in paths[:number]):
            name = "standard input" if path == _STANDARD else path
            raise UsageError(f"{name}: given twice; give each input once")


def _is_same_input(one: str, other: str) -> bool:
    """Return whether two names are the same input, following links."""
    if one == other:
        return True
    is_file = _STANDARD not in {one, other} and Path(one).exists() and Path(other).exists()
    return is_file and Path(one).samefile(other)
