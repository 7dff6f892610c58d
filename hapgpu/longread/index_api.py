"""Python API of long-read mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias, Unpack, cast

import numpy as np

from hapgpu.arrays.arguments import PathName, check_replaced, file_name
from hapgpu.arrays.ragged import Ragged, row_texts
from hapgpu.arrays.sequences import Sequences, is_record, listed, record_names, sequence_rows
from hapgpu.errors import InputError, UsageError
from hapgpu.io.fastx.block_workers import BlockTransfer, workers_for
from hapgpu.io.fastx.given_reads import blocks_of_reads
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.files.index_file import check_digest
from hapgpu.longread.align.batches import TargetCodes
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.longread.cpu import GroupAligner, GroupChainer
from hapgpu.longread.index.build import build_index_of_records, read_reference
from hapgpu.longread.index.files import MINIMIZER_FILE, load_index
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.names import index_command
from hapgpu.longread.options import PRESETS, LongReadOptions
from hapgpu.longread.output.columns import MappingTable, aligned_table, chained_table
from hapgpu.longread.output.rows import AlignedBlock, LineTargets
from hapgpu.longread.pipeline import ALIGNERS_PER_GPU, WORKERS_PER_GPU, block_transfer
from hapgpu.longread.results import (
    MappedReads,
    ReadAlignments,
    ReadMappings,
    read_alignments,
    read_mappings,
)
from hapgpu.longread.setting_values import checked_settings
from hapgpu.longread.settings import (
    AlignSettings,
    MapSettings,
    SketchSettings,
    long_read_options,
    sketch_options,
)
from hapgpu.runtime.devices import CudaDevice, Device, given_threads, resolve_devices
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import Progress, showing_phases, shown_progress

_Worker: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class LongReadIndex:
    """A minimizer index of a reference for long reads, made by `build` or `load`.

    Attributes
    ----------
    data
        The arrays of the index.
    preset
        minimap2's preset for the reads: `map-ont`, `map-pb`, `map-hifi` or `lr:hq`.
    targets
        The bases of the reference, for `align`; None if loaded without the reference.
    """

    data: MinimizerIndex
    preset: str
    targets: TargetCodes | None

    @classmethod
    def build(
        cls,
        reference: PathName,
        *,
        preset: str = "map-ont",
        threads: int | None = None,
        progress: bool = False,
        **settings: Unpack[SketchSettings],
    ) -> Self:
        """Index a FASTA file, plain or gzip-compressed, on the CPU.

        Parameters
        ----------
        reference
            The file.
        preset
            `map-ont`, `map-pb`, `map-hifi` or `lr:hq`: the kind of the reads. It sets the
            minimizers, and what `map` and `align` do by default.
        threads
            CPU threads, from 1; None: one per usable CPU. The index does not depend on them.
        progress
            Whether to show a bar, in bases.
        **settings
            Minimizers other than those of the preset: see `SketchSettings`.

        Raises
        ------
        InputError
            The file cannot be read or is not FASTA.
        UsageError
            An argument has the wrong type or value.
        """
        own = checked_settings(settings, SketchSettings.__optional_keys__)
        sketch = sketch_options(_options_of(preset).sketch, cast("SketchSettings", own))
        fasta, count = Path(file_name(reference, "reference")), given_threads(threads)
        with showing_phases("indexing", "bases", is_shown=progress) as shown:
            index, records = build_index_of_records(fasta, sketch, count, shown)
        return cls(index, preset, code_targets(records.sequences, count))

    @classmethod
    def load(
        cls,
        path: PathName,
        *,
        preset: str = "map-ont",
        reference: PathName | None = None,
        threads: int | None = None,
    ) -> Self:
        """Load an index from the file that `save`, or `hapgpu index --minimizers`, wrote.

        Parameters
        ----------
        path
            The file.
        preset
            As for `build`, except that the index keeps its minimizers; a warning says so if those
            of the preset are others.
        reference
            The FASTA file that was indexed. `align` needs it, `map` does not.
        threads
            CPU threads that unpack the reference; None for one per usable CPU.

        Raises
        ------
        InputError
            A file cannot be read; the index is of another version, damaged, or not the
            reference's.
        UsageError
            An argument has the wrong type or value.
        """
        count, file = given_threads(threads), Path(file_name(path, "path"))
        index = load_index(file, _options_of(preset).sketch)
        if reference is None:
            return cls(index, preset, None)
        fasta = Path(file_name(reference, "reference"))
        digest = (index.fasta_bytes, index.fasta_digest)
        check_digest(fasta, digest, file, index_command(fasta, index.sketch))
        with Pool(count) as pool:
            records = read_reference(fasta, pool)
        return cls(index, preset, code_targets(records.sequences, count))

    def save(self, path: PathName) -> None:
        """Write the index, without the bases of the reference, to a file; it appears complete.

        Raises
        ------
        OutputError
            The file cannot be written.
        UsageError
            There is a file that is no such index, for example the reference.
        """
        name = file_name(path, "path")
        check_replaced(name, MINIMIZER_FILE.is_index)
        MINIMIZER_FILE.save(self.data, name)

    @property
    def contig_names(self) -> tuple[str, ...]:
        """Names of the contigs, as in the FASTA file."""
        return self.data.names

    @property
    def contig_lengths(self) -> tuple[int, ...]:
        """Bases of the contigs."""
        return tuple(self.data.lengths.tolist())

    @property
    def k(self) -> int:
        """Length of the k-mers."""
        return self.data.sketch.k

    @property
    def w(self) -> int:
        """K-mers per window, of which one is the minimizer."""
        return self.data.sketch.w

    def map(
        self,
        reads: Sequences,
        *,
        names: Sequence[str | bytes] | None = None,
        device: str = "auto",
        threads: int | None = None,
        progress: bool = False,
        **settings: Unpack[MapSettings],
    ) -> ReadMappings:
        """Map reads without base alignment: the rows of `hapgpu chain --paf`.

        Parameters
        ----------
        reads
            A list of str, bytes or pysam.AlignedSegment, or a Ragged of uint8 text, in either case.
            U counts as T; the other letters of IUPAC, and gaps, count as N. A record gives its
            bases as sequenced.
        names
            A name per read. Ties between mappings are broken by the name up to its first blank, as
            in minimap2. None: the names of records, or else the number of the read, from 0, as
            text.
        device
            `auto`, `cpu`, `cuda` or `cuda:N`; the mappings do not depend on it.
        threads
            CPU threads, from 1; None: one per usable CPU. The mappings do not depend on them.
        progress
            Whether to show a bar, in reads.
        **settings
            The options of `hapgpu chain`: see `MapSettings`.

        Raises
        ------
        InputError
            A read has a character that is no base, more than 100 million bases or too many anchors.
        UsageError
            An argument has the wrong type or value.
        DeviceError
            A named device cannot be used, has too little memory for one read, or fails.
        """
        options = self._options(settings, MapSettings.__optional_keys__)
        given = _GivenReads(reads, names)
        count = given_threads(threads)
        devices, _ = resolve_devices(device, threads=count)
        open_worker = partial(_chainer, self.data, options, partial(chained_table, options))
        workers = workers_for(devices, open_worker, per_gpu=WORKERS_PER_GPU)
        shown = shown_progress("mapping", "reads", is_shown=progress)
        table = _computed(given, workers, block_transfer(devices, count), shown)
        return read_mappings(table, given.mapped(self.contig_names))

    def align(
        self,
        reads: Sequences,
        *,
        names: Sequence[str | bytes] | None = None,
        device: str = "auto",
        threads: int | None = None,
        progress: bool = False,
        **settings: Unpack[AlignSettings],
    ) -> ReadAlignments:
        """Map reads with base alignment: the rows of `hapgpu chain -c`.

        Parameters
        ----------
        reads, names, device, threads, progress
            As for `map`.
        **settings
            The options of `hapgpu chain`: see `MapSettings` and `AlignSettings`.

        Raises
        ------
        InputError, DeviceError
            As for `map`.
        UsageError
            An argument has the wrong type or value, or the index was loaded without the reference.
        """
        targets = self.targets
        if targets is None:
            raise UsageError("index: has no bases to align; load it with reference=REF.fa")
        options = self._options(settings, AlignSettings.__optional_keys__)
        given = _GivenReads(reads, names)
        lines = LineTargets.of(self.data.names, targets.lengths, targets)
        make_table = partial(
            aligned_table, options, lines, splits_matches=settings.get("eqx", False)
        )

        count = given_threads(threads)
        devices, _ = resolve_devices(device, threads=count)
        open_worker = partial(_aligner, self.data, targets, options, make_table)
        workers = workers_for(devices, open_worker, per_gpu=ALIGNERS_PER_GPU)
        shown = shown_progress("aligning", "reads", is_shown=progress)
        table = _computed(given, workers, block_transfer(devices, count), shown)
        return read_alignments(table, given.mapped(self.contig_names))

    def _options(self, settings: Mapping[str, object], known: frozenset[str]) -> LongReadOptions:
        """Return the options of the preset for this index, changed by settings."""
        own = checked_settings(settings, known)
        base = replace(_options_of(self.preset), sketch=self.data.sketch)
        return long_read_options(base, cast("AlignSettings", own))


class _GivenReads:
    """Reads with their names; text is made of them piece by piece.

    Parameters
    ----------
    reads
        As given to `LongReadIndex.map`.
    names
        As given; None for the names of records, or else the row numbers.
    """

    def __init__(self, reads: Sequences, names: Sequence[str | bytes] | None) -> None:
        self._reads = reads if isinstance(reads, Ragged) else listed(reads, "read")
        given = record_names(reads) if names is None else names
        self._names = None if given is None else sequence_rows(given, "name")
        if self._names is not None and len(self._names) != len(reads):
            message = f"names: {len(self._names)} for {len(reads)} reads; give one per read"
            raise UsageError(message)
        self._lengths = [np.empty(0, dtype=np.int64)]

    def __len__(self) -> int:
        return len(self._reads)

    def blocks(self, transfer: BlockTransfer) -> Iterator[ReadBlock]:
        """Yield the reads as blocks.

        Raises
        ------
        InputError, UsageError
            A read is too long, has a line break, or is no sequence; the message has its row.
        """
        first = 0
        for rows in self._pieces(transfer.size):
            if len(rows) and rows.lengths.max() > LONG_READS.max_bases:
                row, most = first + int(rows.lengths.argmax()), LONG_READS.max_bases
                raise InputError(f"read {row}: more than {most:,} bases; give shorter reads")
            names = None if self._names is None else self._names[first : first + len(rows)]
            yield from blocks_of_reads(rows, names, transfer.size, transfer.allocate, first)
            self._lengths.append(rows.lengths)
            first += len(rows)

    def _pieces(self, size: int) -> Iterator[Ragged]:
        """Yield uint8 rows of about `size` bases: large texts would be new memory each time."""
        if isinstance(self._reads, Ragged):
            yield sequence_rows(self._reads, "read")
            return
        start = bases = 0
        rows: list[Any] = []
        for row, read in enumerate(self._reads):
            rows.append(read)
            bases += len(read) if isinstance(read, str | bytes) else _length_of(read)
            if bases >= size or row == len(self._reads) - 1:
                yield sequence_rows(rows, "read", as_sequenced=True, first=start)
                start, bases, rows = row + 1, 0, []

    def mapped(self, contig_names: tuple[str, ...]) -> MappedReads:
        """Return what was mapped to these contigs, after all blocks."""
        texts = None if self._names is None else tuple(row_texts(self._names))
        return MappedReads(np.concatenate(self._lengths), texts, contig_names)


def _options_of(preset: str) -> LongReadOptions:
    if not isinstance(preset, str) or preset not in PRESETS:
        raise UsageError(f"preset {preset!r}: unknown; give one of {', '.join(PRESETS)}")
    return PRESETS[preset]


def _length_of(read: object) -> int:
    return read.query_length if is_record(read) else 0


def _chainer(
    index: MinimizerIndex,
    options: LongReadOptions,
    make_table: Callable[[NamedReads, Mappings], MappingTable],
    device: Device,
) -> _Worker:
    """Return a worker that maps blocks of reads on a device to a `MappingTable`."""
    if isinstance(device, CudaDevice):
        from hapgpu.longread.cuda.stages import BlockChainer  # noqa: PLC0415  (imports CuPy)

        return BlockChainer(
            index,
            options,
            device,
            lambda reads, mappings, _anchors: make_table(reads, mappings),
            MappingTable.joined([]),
        )
    return GroupChainer(
        index,
        options,
        lambda reads, mappings, _anchors: partial(make_table, reads, mappings),
    )


def _aligner(
    index: MinimizerIndex,
    targets: TargetCodes,
    options: LongReadOptions,
    make_table: Callable[[AlignedBlock], MappingTable],
    device: Device,
) -> _Worker:
    """Return a worker that aligns blocks of reads on a device to a `MappingTable`."""
    if isinstance(device, CudaDevice):
        from hapgpu.longread.cuda.aligners import (  # noqa: PLC0415  (imports CuPy)
            BlockAligner,
            block_on_host,
        )

        return BlockAligner(
            index,
            targets,
            options,
            device,
            lambda block, _anchors: make_table(block_on_host(block)),
            MappingTable.joined([]),
        )
    return GroupAligner(index, targets, options, lambda block, _anchors: partial(make_table, block))


def _computed(
    given: _GivenReads, workers: Sequence[_Worker], transfer: BlockTransfer, progress: Progress
) -> MappingTable:
    """Compute the mappings of all reads, block by block."""
    tables: list[MappingTable] = []

    def keep(table: MappingTable) -> int:
        tables.append(table)
        return table.repeat_lengths.size

    run_pipeline(
        given.blocks(transfer),
        workers,
        keep,
        progress=progress,
        extent=len(given),
        threaded=len(workers) > 1,
    )
    return MappingTable.joined(tables)
