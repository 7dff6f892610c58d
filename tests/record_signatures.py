"""Record which compiled functions and CUDA kernels each command calls, with which types.

    python tests/record_signatures.py [cpu | cuda:0] [COMMAND]

writes `hapgpu/runtime/compiled/signatures.json`, from which the first run of a command compiles
its functions side by side, and `hapgpu doctor --compile` all of them. With a GPU, only the groups
of the GPU are replaced, and with a command only its groups. Run it for both devices after a change
of compiled functions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hapgpu.cli.app import main as run_command
from hapgpu.runtime.compiled.dispatcher import CompiledFunction
from hapgpu.runtime.compiled.signatures import PATH, text_of
from hapgpu.runtime.gpu import launch
from hapgpu.runtime.gpu.kernel import Kernel

ROOT = Path(__file__).resolve().parent.parent

RUNS = {
    "realign": "realign {data}/reads.bam {data}/haplotypes.fa -o {out}/a.bam",
    "realign --reference": "realign {data}/reads.bam {data}/haplotypes.fa -o {out}/b.bam"
    " --reference {data}/reference.fa",
    "realign --alleles-table": "realign {data}/reads.bam {data}/haplotypes.fa -o {out}/r.bam"
    " --alleles-table {out}/r.tsv",
    "pairhmm": "pairhmm {data}/reads.bam {data}/haplotypes.fa -o {out}/c.tsv",
    "pairhmm --batches": "pairhmm --batches {data}/tiny.in -o {out}/d.tsv",
    "call": "call {data}/reads.bam {data}/reference.fa -o {out}/m.vcf.gz",
    "call --bam-out": "call {data}/reads.bam {data}/reference.fa -o {out}/n.vcf.gz"
    " --bam-out {out}/n.bam",
    "call --gvcf": "call {data}/reads.bam {data}/reference.fa -o {out}/o.vcf.gz --gvcf",
    "genotype": "genotype {data}/reads.bam {data}/reference.fa {data}/sites.vcf -o {out}/e.vcf",
    "haplotypes": "haplotypes {data}/reference.fa {data}/sites.vcf -o {out}/f.fa",
    "index": "index {data}/reference.fa -o {out}/g.hgx",
    "index --minimizers": "index --minimizers {data}/reference.fa -o {out}/h.hgm",
    "map": "map {data}/reference.fa {data}/reads.fastq.gz -o {out}/i.sam",
    "chain": "chain {data}/reference.fa {data}/long_reads.fastq.gz -o {out}/j.paf",
    "chain -a": "chain -a {data}/reference.fa {data}/long_reads.fastq.gz -o {out}/p.sam",
    "chain -c": "chain -c --cs {data}/reference.fa {data}/long_reads.fastq.gz -o {out}/q.paf",
    "report": "report {out}/b.bam {out}/c.tsv {out}/j.paf -o {out}/k.html",
    "report --reads": "report {out}/e.vcf --reads {data}/reads.bam"
    " --reference {data}/reference.fa -o {out}/l.html",
}
"""The run that is recorded, by the name of its group."""

ON_CPU = {
    "chain -a",
    "chain -c",
    "haplotypes",
    "index --minimizers",
    "report",
    "report --reads",
}

READ = "ACGTTGCAAC" * 4


def main() -> None:
    """Record every run in a process of its own."""
    device, *commands = sys.argv[1:] or ["cpu"]
    kind = device.partition(":")[0]
    recorded: dict[str, dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))
    for table in recorded.values():
        for group in list(table):
            command, its_kind, *_ = group.split()
            if its_kind == kind and command in (commands or [command]):
                del table[group]
    with tempfile.TemporaryDirectory() as directory:
        make_data(Path(directory))
        for name, run in RUNS.items():
            command, *options = name.split()
            if (kind == "cuda" and name in ON_CPU) or command not in (commands or [command]):
                continue
            called = recorded_process(run.format(data=directory, out=directory), device)
            for table_name, calls in called.items():
                if calls:
                    recorded[table_name][" ".join([command, kind, *options])] = calls
            sys.stderr.write(f"{name}: {', '.join(f'{len(called[k])} {k}' for k in called)}\n")
    write(recorded)


def write(recorded: dict[str, dict[str, Any]]) -> None:
    """Write the list: a line per function and kernel."""
    tables = []
    for name, groups in sorted(recorded.items()):
        texts = [
            f"{json.dumps(group)}: [\n" + ",\n".join(map(json.dumps, calls)) + "\n]"
            for group, calls in sorted(groups.items())
        ]
        tables.append(f"{json.dumps(name)}: {{\n" + ",\n".join(texts) + "\n}")
    PATH.write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")


def make_data(directory: Path) -> None:
    """Write the example data, and a text batch."""
    script = ROOT / "examples" / "make_example.py"
    subprocess.run([sys.executable, script, directory], check=True)
    lines = [" ".join([READ, *["I" * len(READ)] * 3, "+" * len(READ)])] * 2
    (directory / "tiny.in").write_text("\n".join(["2 2", *lines, *[f"TTGAC{READ}GGATC"] * 2, ""]))


def recorded_process(run: str, device: str) -> dict[str, list[list[str]]]:
    """Return the functions, the largest first, and the kernels that a command calls."""
    has_device = not run.startswith(("haplotypes", "report"))
    chosen = ["--device", device] if has_device else []
    code = "from tests.record_signatures import record; record()"
    ended = subprocess.run(
        [sys.executable, "-c", code, *run.split(), *chosen, "-q"],
        check=True,
        cwd=ROOT,
        env={**os.environ, "HAPGPU_CACHE_DIR": "/dev/null/none"},
        stdout=subprocess.PIPE,
        text=True,
    )
    called: dict[str, list[list[str]]] = json.loads(ended.stdout.splitlines()[-1])
    return called


def record() -> None:
    """Run the command line of this process, and print the functions that it called."""
    called: dict[tuple[str, str, str], int] = {}
    kernels: list[tuple[str, str]] = []
    find_cubin = launch.cached_cubin
    original = CompiledFunction._compile_for_args

    def noting(self: Any, *arguments: Any, **others: Any) -> Any:
        known = set(self.overloads)
        result = original(self, *arguments, **others)
        for types in set(self.overloads) - known:
            size = len(self.overloads[types].library._compiled_object or b"")
            text = json.dumps([text_of(kind) for kind in types])
            called[self.__module__, self.__qualname__, text] = size
        return result

    def noting_kernel(kernel: Kernel, architecture: str) -> tuple[bytes, str]:
        kernels.append((kernel.source, kernel.expression))
        return find_cubin(kernel, architecture)

    CompiledFunction._compile_for_args = noting
    launch.cached_cubin = noting_kernel
    real_exit = os._exit

    def print_and_exit(status: int) -> None:
        with suppress(BrokenPipeError):
            versions = sorted(called, key=lambda version: (-called[version], version))
            sys.stdout.write(json.dumps({"functions": versions, "kernels": sorted({*kernels})}))
            sys.stdout.flush()
        real_exit(status)

    os._exit = print_and_exit  # type: ignore[assignment]
    sys.argv[0] = "hapgpu"
    run_command()


if __name__ == "__main__":
    main()
