"""InputError and UsageError are ValueErrors, DeviceError is a RuntimeError: none is caught as such.

A handler of these kinds comes after one for the errors of hapgpu, or guards code without them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USUAL = {"ValueError", "RuntimeError"}
OWN = {"HapgpuError", "InputError", "UsageError", "DeviceError"}

WITHOUT_OWN_ERRORS = {
    "hapgpu/calling/genotypes/contamination_file.py: _parsed",
    "hapgpu/calling/known/indexed_copies.py: by_position",
    "hapgpu/calling/known/indexed_vcf.py: __init__",
    "hapgpu/calling/known/indexed_vcf.py: _first_offset",
    "hapgpu/cli/gatk/arguments.py: is_default",
    "hapgpu/cli/options/common.py: parse_flags",
    "hapgpu/cli/options/input_checks.py: _is_regular",
    "hapgpu/cli/options/numbers.py: _number",
    "hapgpu/cli/options/numbers.py: _plain_number",
    "hapgpu/genotyping/calls/chromosome_counts.py: _numbers",
    "hapgpu/io/alignments/formats.py: named_references",
    "hapgpu/io/alignments/samtools_convert.py: _feed",
    "hapgpu/io/files/array_file.py: bytes_of",
    "hapgpu/io/files/array_file.py: parsed_header",
    "hapgpu/io/vcf/lines.py: _bcf_blocks",
    "hapgpu/pairhmm/dragstr/parameters.py: _row",
    "hapgpu/pairhmm/inputs.py: _row_of",
    "hapgpu/realign/scoring.py: resolve_scoring",
    "hapgpu/report/multiqc_summaries.py: parse_statistics",
    "hapgpu/report/runs.py: read_statistics",
    "hapgpu/report/sites/table.py: _integers",
    "hapgpu/report/sites/table.py: _number",
    "hapgpu/runtime/affinity.py: _near_cores",
    "hapgpu/runtime/cache.py: cache_directory",
    "hapgpu/runtime/devices.py: parse_memory",
    "hapgpu/runtime/driver.py: _are_small",
}
"""Functions that guard calls that raise no error of hapgpu, such as `float` or `json.loads`."""


def catches_own_errors(node: ast.AST) -> bool:
    """Tell whether a statement catches errors of hapgpu as errors of the usual kinds."""
    if isinstance(node, ast.With):
        managers = [ast.unparse(item.context_expr) for item in node.items]
        return any(
            text.startswith("suppress(") and any(name in text for name in USUAL)
            for text in managers
            if "CUDARuntimeError" not in text
        )
    if not isinstance(node, ast.Try):
        return False
    caught: set[str] = set()
    for handler in node.handlers:
        parts = ast.walk(handler.type) if handler.type else ()
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if names & USUAL and not caught & OWN:
            return True
        caught |= names
    return False


def guarding_functions() -> Iterator[str]:
    for path in sorted((ROOT / "hapgpu").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and any(
                map(catches_own_errors, ast.walk(function))
            ):
                yield f"{path.relative_to(ROOT)}: {function.name}"


def test_errors_of_hapgpu_are_not_caught_as_usual_errors() -> None:
    assert set(guarding_functions()) == WITHOUT_OWN_ERRORS
