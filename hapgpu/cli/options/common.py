"""Options that several commands have: types for their parameters, and groups of options."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.models import ArgumentInfo, OptionInfo

from hapgpu.errors import UsageError
from hapgpu.io.files.record_limit import LARGEST_LIMIT, MAX_RECORD
from hapgpu.runtime.devices import parse_memory, usable_cpus

_FLAG_NAMES: Final = (
    "PAIRED",
    "PROPER_PAIR",
    "UNMAP",
    "MUNMAP",
    "REVERSE",
    "MREVERSE",
    "READ1",
    "READ2",
    "SECONDARY",
    "QCFAIL",
    "DUP",
    "SUPPLEMENTARY",
)
MAX_THREADS: Final = 4096  # more than any machine has: a typing error must not take all memory
_ALL_FLAGS: Final = 0xFFFF
_MAX_MAPPING_QUALITY: Final = 255
_EXCLUDED_FLAGS: Final = 0xF00
"""Secondary, QC-fail, duplicate and supplementary; GATK uses supplementary reads."""

SITES: Final = "Which sites"
"""Panel of the help for the options that select sites."""
_OUTPUT = "Output"
_READS = "Which reads"
_RESOURCES = "Devices and threads"
_MESSAGES = "Messages"


class OutputFormat(StrEnum):
    """Formats of alignments."""

    SAM = "sam"
    BAM = "bam"
    CRAM = "cram"


def parse_flags(text: str | int) -> int:
    """Parse SAM flags as samtools does: `1796`, `0x704`, `UNMAP,DUP`.

    Typer also passes the default of an option, which is a number.

    Raises
    ------
    typer.BadParameter
        The text is neither a number below 65536 nor a list of names.
    """
    if isinstance(text, int):
        return text
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return sum({_named_flag(name) for name in text.split(",")})
    if not 0 <= value <= _ALL_FLAGS:
        raise typer.BadParameter(f"'{text}': must be from 0 to {_ALL_FLAGS}")
    return value


def _named_flag(name: str) -> int:
    if name.upper() not in _FLAG_NAMES:
        known = ", ".join(_FLAG_NAMES)
        raise typer.BadParameter(f"'{name}': must be a number, or some of {known}")
    return 1 << _FLAG_NAMES.index(name.upper())


def _record_size(text: str | int) -> int:
    if isinstance(text, int):  # the default
        return text
    size = _memory(text)
    if size > LARGEST_LIMIT:
        raise typer.BadParameter(
            f"'{text}': must be at most {LARGEST_LIMIT:,} bytes, the limit of BAM"
        )
    return size


def _memory(text: str) -> int:
    try:
        return parse_memory(text)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error


def _option(*names: str, **settings: Any) -> OptionInfo:
    option: OptionInfo = typer.Option(*names, **settings)
    return option


def region_option(text: str, panel: str) -> OptionInfo:
    """Return `-r`, with its help and the panel for it."""
    return _option("-r", "--region", metavar="CHR:START-END", help=text, rich_help_panel=panel)


def targets_option(text: str, panel: str) -> OptionInfo:
    """Return `-L`, with its help and the panel for it."""
    return _option("-L", "--targets-file", metavar="BED", help=text, rich_help_panel=panel)


def pcr_model_option(panel: str) -> OptionInfo:
    """Return `--pcr-model` in a panel of the help."""
    return _option(
        "--pcr-model",
        case_sensitive=False,
        help="Limit gap-open qualities in tandem repeats; none: PCR-free reads. GATK: "
        "--pcr-indel-model.",
        rich_help_panel=panel,
    )


_READS_ARGUMENT: Final[ArgumentInfo] = typer.Argument(
    metavar="READS",
    help="FASTQ, FASTA, plain, gzip or bgzip, or unaligned BAM, CRAM or SAM; - is standard input.",
)
_HAPLOTYPES_ARGUMENT: Final[ArgumentInfo] = typer.Argument(
    metavar="HAPLOTYPES.fa",
    help="Haplotypes; a header such as >name chr20:101-500 gives the locus.",
)
Reads = Annotated[list[str], _READS_ARGUMENT]
OptionalReads = Annotated[list[str] | None, _READS_ARGUMENT]
Haplotypes = Annotated[Path, _HAPLOTYPES_ARGUMENT]
OptionalHaplotypes = Annotated[Path | None, _HAPLOTYPES_ARGUMENT]
AlignedReads = Annotated[
    list[str],
    typer.Argument(
        metavar="READS.bam",
        help="Aligned reads, sorted: BAM or CRAM with index, or SAM; - is standard input.",
    ),
]
Reference = Annotated[
    Path,
    typer.Argument(
        metavar="REF.fa", help="Reference: FASTA, plain or bgzipped, with its index (.fai)."
    ),
]
Sites = Annotated[
    str,
    typer.Argument(
        metavar="SITES.vcf.gz",
        help="Sites: VCF, plain or compressed, or BCF, sorted; - is standard input.",
    ),
]

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Output file; standard output if not given.",
        rich_help_panel=_OUTPUT,
    ),
]
OutputFmt = Annotated[
    OutputFormat | None,
    typer.Option(
        "-O",
        "--output-fmt",
        help="Output format; if not given, by the extension of FILE, or SAM.",
        rich_help_panel=_OUTPUT,
    ),
]
Uncompressed = Annotated[
    bool,
    typer.Option(
        "-u", "--uncompressed", help="Write uncompressed BAM, for pipes.", rich_help_panel=_OUTPUT
    ),
]
NoPG = Annotated[
    bool,
    typer.Option("--no-PG", help="Add no @PG line to the header.", rich_help_panel=_OUTPUT),
]
ReadGroupLine = Annotated[
    str | None,
    typer.Option(
        "-R",
        "--read-group",
        metavar="LINE",
        help=r"Read group of all reads, such as '@RG\tID:run1\tSM:sample'.",
        rich_help_panel=_OUTPUT,
    ),
]
HitOnly = Annotated[
    bool,
    typer.Option(
        "--sam-hit-only", help="Do not write unmapped reads in SAM.", rich_help_panel=_OUTPUT
    ),
]
SecondarySeq = Annotated[
    bool,
    typer.Option(
        "--secondary-seq",
        help="Write SEQ and QUAL of secondary alignments in SAM.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write run statistics as JSON.", rich_help_panel=_OUTPUT
    ),
]

Regions = Annotated[
    list[str] | None, region_option("Only reads that overlap this region; repeatable.", _READS)
]
TargetsFile = Annotated[
    Path | None,
    targets_option("Only reads that overlap a region of this BED file; with -r, both.", _READS),
]
SiteRegions = Annotated[
    list[str] | None,
    region_option("Only sites whose REF overlaps this region; repeatable.", SITES),
]
SiteTargetsFile = Annotated[
    Path | None,
    targets_option(
        "Only sites whose REF overlaps a region of this BED file; with -r, both.", SITES
    ),
]
RequireFlags = Annotated[
    int,
    typer.Option(
        "-f",
        "--require-flags",
        metavar="FLAGS",
        parser=parse_flags,
        help="Only reads with all of these SAM flags: 1796, 0x704 or UNMAP,DUP.",
        rich_help_panel=_READS,
    ),
]
ExcludeFlags = Annotated[
    int,
    typer.Option(
        "-F",
        "--exclude-flags",
        metavar="FLAGS",
        parser=parse_flags,
        help="Only reads with none of these SAM flags.",
        rich_help_panel=_READS,
    ),
]

MinMappingQuality = Annotated[
    int,
    typer.Option(
        "--min-mapping-quality",
        metavar="PHRED",
        min=0,
        max=_MAX_MAPPING_QUALITY,
        help="Exclude reads with MAPQ below this.",
        rich_help_panel=_READS,
    ),
]

Threads = Annotated[
    int,
    typer.Option(
        "-t",
        "--threads",
        "-@",
        metavar="INT",
        min=1,
        max=MAX_THREADS,
        default_factory=usable_cpus,
        show_default="usable CPUs",
        help="Number of CPU threads.",
        rich_help_panel=_RESOURCES,
    ),
]
ProcessNumber = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="INT",
        min=1,
        max=MAX_THREADS,
        help="Processes that the CPU threads are divided into; 1: one for all GPUs, too. Chosen if "
        "not given.",
        rich_help_panel=_RESOURCES,
    ),
]
DeviceName = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="auto|cpu|cuda|cuda:0,1",
        help="Devices; auto: all GPUs, or the CPU if there is none.",
        rich_help_panel=_RESOURCES,
    ),
]
GpuMemory = Annotated[
    int | None,
    typer.Option(
        "--gpu-mem",
        metavar="SIZE",
        parser=_memory,
        help="Memory per GPU, such as 8G; 80% of the free memory if not given.",
        rich_help_panel=_RESOURCES,
    ),
]
MaxRecord = Annotated[
    int,
    typer.Option(
        "--max-record",
        metavar="SIZE",
        parser=_record_size,
        show_default="256M",
        help="Longest record or header to accept from an input.",
        rich_help_panel=_RESOURCES,
    ),
]

Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print errors only.", rich_help_panel=_MESSAGES)
]
Verbose = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        help="Print the closing summary in pipes and log files, too.",
        rich_help_panel=_MESSAGES,
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Print all messages, and tracebacks.", rich_help_panel=_MESSAGES),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFilterOptions:
    """The options that select reads."""

    require_flags: RequireFlags = 0
    exclude_flags: ExcludeFlags = _EXCLUDED_FLAGS
    regions: Regions = None
    targets_file: TargetsFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFilterOptions:
    """The options that select sites."""

    regions: SiteRegions = None
    targets_file: SiteTargetsFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeOptions:
    """The options on devices, threads and memory."""

    threads: Threads
    processes: ProcessNumber = None
    device: DeviceName = "auto"
    gpu_mem: GpuMemory = None
    max_record: MaxRecord = MAX_RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options on messages and statistics."""

    json: Json = None
    quiet: Quiet = False
    verbose: Verbose = False
    debug: Debug = False
