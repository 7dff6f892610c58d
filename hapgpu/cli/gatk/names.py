"""Names that HaplotypeCaller does not have: the argument that was probably meant."""

from __future__ import annotations

from typing import Final

from hapgpu.cli.gatk.table import ARGUMENTS, OWN_OPTIONS
from hapgpu.cli.gatk.tool import TOOL
from hapgpu.cli.terminal.suggestions import advice

_GATK_3: Final = {
    "T": "",
    "analysis_type": "",
    "o": "-O",
    "out": "-O",
    "input_file": "-I",
    "reference_sequence": "-R",
    "emitRefConfidence": "-ERC",
    "excludeIntervals": "-XL",
    "variant_index_type": "",
    "variant_index_parameter": "",
    "genotyping_mode": "--alleles",
    "gt_mode": "--alleles",
    "rf": "-RF",
    "nct": "--native-pair-hmm-threads",
    "num_cpu_threads_per_data_thread": "--native-pair-hmm-threads",
    "nt": "--native-pair-hmm-threads",
    "num_threads": "--native-pair-hmm-threads",
    "dcov": "--max-reads-per-alignment-start",
    "downsample_to_coverage": "--max-reads-per-alignment-start",
    "dt": "--max-reads-per-alignment-start",
    "downsampling_type": "--max-reads-per-alignment-start",
    "stand_emit_conf": "",
    "standard_min_confidence_threshold_for_emitting": "",
    "bamWriterType": "--bam-writer-type",
    "minPruning": "--min-pruning",
    "pcr_indel_model": "--pcr-indel-model",
    "allSitePLs": "--all-site-pls",
    "dontUseSoftClippedBases": "--dont-use-soft-clipped-bases",
    "doNotRunPhysicalPhasing": "--do-not-run-physical-phasing",
    "recoverDanglingHeads": "",
    "max_num_PL_values": "",
    "l": "--verbosity",
    "logging_level": "--verbosity",
    "log_to_file": "",
    "gt": "--alleles",
}
"""Names of GATK 3, with the argument of GATK 4; empty if that has none."""
_OF_CALL: Final = {
    "gvcf": "-ERC GVCF",
    "bp-resolution": "-ERC BP_RESOLUTION",
    "r": "-L",
    "region": "-L",
    "regions": "-L",
    "targets-file": "-L",
    "t": "--threads",
    "@": "--threads",
    "q": "--quiet",
    "v": "--verbose",
    "max-reads-per-start": "--max-reads-per-alignment-start",
    "min-mapping-quality": "--minimum-mapping-quality",
    "contamination-file": "-contamination-file",
}
"""Names of options of `call` whose argument has another name."""
_ONE_LETTER: Final = {name for name in ARGUMENTS if len(name) == 1}


def fault_of_name(word: str) -> str:
    """Return the message on a word of a command line that is no argument.

    Parameters
    ----------
    word
        With its hyphens, without a value: `--max_alternate_alleles`.
    """
    name = word.lstrip("-")
    program = f"hapgpu {TOOL}"
    if name in _GATK_3 or name.replace("_", "-") in ARGUMENTS:
        new = _GATK_3.get(name, f"--{name.replace('_', '-')}")
        return f"{word}: an argument of GATK 3; {f'give {new}' if new else 'drop it'}"
    if new := _OF_CALL.get(name) or _argument_of_option(f"--{name}"):
        return f"{word}: an option of hapgpu call; give {new}"
    if not word.startswith("--") and name[:1] in _ONE_LETTER:
        return f"{word}: no such argument; for -{name[0]}, write -{name[0]} {name[1:]}"
    known = [f"--{long_name}" for long_name in [*ARGUMENTS, *OWN_OPTIONS]]
    return f"{word}: no such argument{advice(f'--{name}', known, program)}"


def _argument_of_option(option: str) -> str:
    """Return the argument that an option of `call` stands for; empty if there is none."""
    found = (f"--{one.name}" for one in ARGUMENTS.values() if one.option == option)
    return next(found, "")
