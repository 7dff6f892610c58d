"""Record which compiled functions and CUDA kernels each command calls, with which types.

    python tests/record_signatures.py [cpu | cuda:0] [COMMAND]

writes `hapgpu/runtime/compiled/signatures.json`, from which the first run of a command compiles
its functions side by side, and `hapgpu doctor --compile` all of them. With a GPU, only the groups
of the GPU are replaced, and with a command only its groups.

For the CPU, this also repairs the other groups, as far as it can be done without a GPU: functions,
kernels and types that no longer exist are dropped, and types that have changed are replaced by the
recorded ones. What is dropped is compiled when a run calls it.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, reduce
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pysam

from hapgpu.cli.app import main as run_command
from hapgpu.cli.kernels import all_kernels
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
    "map": "map {data}/reference.fa {data}/reads.fastq.gz -o {out}/i.bam",
    "chain": "chain {data}/reference.fa {data}/long_reads.fastq.gz -o {out}/j.paf",
    "chain -a": "chain -a {data}/reference.fa {data}/long_reads.fastq.gz -o {out}/p.bam",
    "chain -c": "chain -c --cs {data}/reference.fa {data}/long_reads.fastq.gz -o {out}/q.paf",
    "report": "report {out}/b.bam {out}/c.tsv {out}/j.paf -o {out}/k.html",
    "report --reads": "report {out}/e.vcf --reads {data}/reads.bam"
    " --reference {data}/reference.fa -o {out}/l.html",
}
"""The run that is recorded, by the name of its group."""

OTHER_INPUTS = {
    "realign": "realign {data}/deep.bam {data}/haplotypes.fa -o {out}/s.bam --processes 1",
    "realign --reference": "realign {data}/deep.bam {data}/haplotypes.fa -o {out}/t.bam"
    " --reference {data}/reference.fa --processes 1",
    "pairhmm": "pairhmm {data}/deep.bam {data}/haplotypes.fa -o {out}/u.tsv --processes 1",
    "call": "call {data}/deep.bam {data}/reference.fa -o {out}/v.vcf --processes 1",
    "genotype": "genotype {data}/deep.bam {data}/reference.fa {data}/sites.vcf -o {out}/w.vcf"
    " --processes 1",
    "index": "index --low-memory {data}/repeats.fa -o {out}/repeats.hgx",
    "map": "map {data}/reference.fa {data}/reads.fastq -o {out}/x.sam",
    "chain": "chain {data}/reference.hgm {data}/long_reads.fa -o {out}/y.paf",
    "chain -a": "chain -a {data}/reference.fa {data}/long_reads.fa -o {out}/z.sam",
    "chain -c": "chain -c --cs {data}/reference.fa {data}/long_reads.fa -o {out}/z.paf",
}
"""Runs whose functions are recorded, too: files of several pieces, without compression."""

ON_CPU = {
    "haplotypes",
    "index --minimizers",
    "report",
    "report --reads",
}

READ = "ACGTTGCAAC" * 4
COPIES = 40


class Call(NamedTuple):
    """A compiled function, and the types of its arguments as JSON of `text_of`."""

    module: str
    name: str
    arguments: str


Functions: TypeAlias = dict[str, list[Call]]
Kernels: TypeAlias = dict[str, list[tuple[str, str]]]


def main() -> None:
    """Record every run in a process of its own."""
    device, *commands = sys.argv[1:] or ["cpu"]
    kind = device.partition(":")[0]
    functions, kernels = read()
    before = {group: functions.pop(group) for group in [*functions] if is_of(group, kind, commands)}
    for group in [*kernels]:
        if is_of(group, kind, commands):
            del kernels[group]
    now: Functions = {}
    with tempfile.TemporaryDirectory() as directory:
        make_data(Path(directory))
        for name, run in RUNS.items():
            command, *options = name.split()
            if (kind == "cuda" and name in ON_CPU) or command not in (commands or [command]):
                continue
            runs = [each for each in (run, OTHER_INPUTS.get(name)) if each]
            called = recorded_group(
                [each.format(data=directory, out=directory) for each in runs], device
            )
            group = " ".join([command, kind, *options])
            if called["functions"]:
                now[group] = [Call(*call) for call in called["functions"]]
            if called["kernels"]:
                kernels[group] = [(source, expression) for source, expression in called["kernels"]]
            sys.stderr.write(f"{name}: {', '.join(f'{len(called[k])} {k}' for k in called)}\n")
    if kind == "cpu":
        functions = repaired(functions, before, now)
        existing = {(kernel.source, kernel.expression) for kernel in all_kernels()}
        kernels = {
            group: [kernel for kernel in listed if kernel in existing]
            for group, listed in kernels.items()
        }
    write({**functions, **now}, kernels)


def recorded_group(runs: Iterable[str], device: str) -> dict[str, list[tuple[str, ...]]]:
    """Return what `recorded_process` does for all runs of a group, each function once."""
    found = [recorded_process(run, device) for run in runs]
    return {
        kind: [*dict.fromkeys(tuple(call) for called in found for call in called[kind])]
        for kind in found[0]
    }


def is_of(group: str, kind: str, commands: list[str]) -> bool:
    """Tell whether a group is one of a kind of device, and of some commands, if any is given."""
    command, its_kind, *_ = group.split()
    return its_kind == kind and command in (commands or [command])


class Repair:
    """Replacements of types that have changed, from groups before and after they are recorded."""

    def __init__(self, before: Functions, now: Functions) -> None:
        calls_before, calls = ({*all_calls(groups)} for groups in (before, now))
        named_before, named = (
            {text for call in each for text in named_types(json.loads(call.arguments))}
            for each in (calls_before, calls)
        )
        self._calls = [*all_calls(now)]
        self._gone = calls_before - calls
        self._gone_types = named_before - named
        self._new_types = named - named_before
        self._types = named

    def calls(self, call: Call) -> list[Call]:
        """Return what replaces a call: itself if nothing has changed; nothing if it is unknown."""
        if argument_count(call) is None:
            return []
        types = json.loads(call.arguments)
        is_old = call in self._gone or not self._gone_types.isdisjoint(named_types(types))
        if not is_old and is_sound(call):
            return [call]
        recorded = [each for each in self._calls if each[:2] == call[:2]]
        if recorded:
            return recorded
        changed = call._replace(arguments=json.dumps([self._replaced(text) for text in types]))
        return [changed] if is_sound(changed) else []

    def _replaced(self, text: Any) -> Any:
        if not isinstance(text, list) or text[0] not in {"named", "tuple"}:
            return text
        if text[0] == "tuple":
            return ["tuple", *map(self._replaced, text[1:])]
        if json.dumps(text) not in self._gone_types and has_its_fields(text):
            return [*text[:3], *map(self._replaced, text[3:])]
        start = json.dumps(text[:3])[:-1]
        for types in (self._new_types, self._types):
            found = [each for each in types if each.startswith(f"{start},")]
            if len(found) == 1:
                return json.loads(found[0])
        return text


def repaired(functions: Functions, before: Functions, now: Functions) -> Functions:
    """Return groups without functions and types that no longer exist.

    Parameters
    ----------
    functions
        Groups that are not recorded now.
    before, now
        The other groups, before and after they are recorded.
    """
    repair = Repair(before, now)
    return {
        group: [*dict.fromkeys(each for call in calls for each in repair.calls(call))]
        for group, calls in functions.items()
    }


def is_sound(call: Call) -> bool:
    """Tell whether a function takes as many arguments, and all their types can be made."""
    types = json.loads(call.arguments)
    return argument_count(call) == len(types) and all(map(has_its_fields, within(types)))


@cache
def argument_count(call: Call) -> int | None:
    """Return the number of arguments of a compiled function; None if there is none."""
    try:
        function: Any = found(call.module, call.name)
    except (ImportError, AttributeError):
        return None
    is_compiled = isinstance(function, CompiledFunction)
    return function.py_func.__code__.co_argcount if is_compiled else None


def has_its_fields(text: Any) -> bool:
    """Tell whether a NamedTuple exists and has as many fields; other types are as they are."""
    if isinstance(text, str) or text[0] != "named":
        return True
    _, module, name, *fields = text
    try:
        return len(found(module, name)._fields) == len(fields)
    except (ImportError, AttributeError):
        return False


def found(module: str, name: str) -> Any:
    """Return what has a qualified name in a module."""
    return reduce(getattr, name.split("."), import_module(module))


def within(types: Iterable[Any]) -> Iterator[Any]:
    """Yield types, and the types of the fields of tuples."""
    for text in types:
        yield text
        if isinstance(text, list) and text[0] in {"named", "tuple"}:
            yield from within(text[1 if text[0] == "tuple" else 3 :])


def named_types(types: Iterable[Any]) -> set[str]:
    """Return the NamedTuples within types, as JSON."""
    texts = (text for text in within(types) if isinstance(text, list))
    return {json.dumps(text) for text in texts if text[0] == "named"}


def all_calls(functions: Functions) -> Iterator[Call]:
    """Yield the calls of all groups."""
    return chain.from_iterable(functions.values())


def read() -> tuple[Functions, Kernels]:
    """Read the list; types are written out."""
    content = json.loads(PATH.read_text(encoding="utf-8"))

    def full(text: Any) -> Any:
        if isinstance(text, int):
            return full(content["types"][text])
        first = {"named": 3, "tuple": 1}.get(text[0]) if isinstance(text, list) else None
        return text if first is None else [*text[:first], *map(full, text[first:])]

    calls = [
        Call(module, name, json.dumps([*map(full, arguments)]))
        for module, name, arguments in content["versions"]
    ]
    functions = {
        group: [calls[number] for number in numbers]
        for group, numbers in content["functions"].items()
    }
    kernels = {
        group: [(source, expression) for source, expression in listed]
        for group, listed in content["kernels"].items()
    }
    return functions, kernels


def write(functions: Functions, kernels: Kernels) -> None:
    """Write the list: a line per type, function, group and kernel."""
    calls = sorted({*all_calls(functions)})
    numbers: dict[str, int] = {}

    def short(text: Any) -> Any:
        """Return the number of a type other than a number, which is added if it is new."""
        if isinstance(text, str):
            return text
        first = {"named": 3, "tuple": 1}.get(text[0], len(text))
        parts = [*text[:first], *map(short, text[first:])]
        return numbers.setdefault(json.dumps(parts), len(numbers))

    versions = [
        json.dumps([call.module, call.name, [*map(short, json.loads(call.arguments))]])
        for call in calls
    ]
    places = {call: number for number, call in enumerate(calls)}
    of_groups = [
        f"{json.dumps(group)}: {json.dumps([places[call] for call in listed])}"
        for group, listed in sorted(functions.items())
    ]
    of_kernels = [
        f"{json.dumps(group)}: [\n" + ",\n".join(map(json.dumps, listed)) + "\n]"
        for group, listed in sorted(kernels.items())
    ]
    tables = [
        '"types": [\n' + ",\n".join(numbers) + "\n]",
        '"versions": [\n' + ",\n".join(versions) + "\n]",
        '"functions": {\n' + ",\n".join(of_groups) + "\n}",
        '"kernels": {\n' + ",\n".join(of_kernels) + "\n}",
    ]
    PATH.write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")


def make_data(directory: Path) -> None:
    """Write the example data, larger files of it without compression, and a text batch."""
    script = ROOT / "examples" / "make_example.py"
    subprocess.run([sys.executable, script, directory], check=True)
    reads, long_reads = directory / "reads.fastq", directory / "long_reads.fa"
    reads.write_bytes(COPIES * gzip.decompress((directory / "reads.fastq.gz").read_bytes()))
    with pysam.FastxFile(str(directory / "long_reads.fastq.gz")) as records:
        text = "".join(f">{read.name}\n{read.sequence}\n" for read in records)
    long_reads.write_text(COPIES * text)
    write_copies(directory / "reads.bam", directory / "deep.bam")
    (directory / "repeats.fa").write_text(f">repeats\n{10 * READ}N{10 * READ}\n")
    index = "index", "--minimizers", directory / "reference.fa", "-o", directory / "reference.hgm"
    command = "from hapgpu.cli.app import main; main()"
    subprocess.run([sys.executable, "-c", command, *index, "-q"], check=True, cwd=ROOT)
    lines = [" ".join([READ, *["I" * len(READ)] * 3, "+" * len(READ)])] * 2
    (directory / "tiny.in").write_text("\n".join(["2 2", *lines, *[f"TTGAC{READ}GGATC"] * 2, ""]))


def write_copies(path: Path, copy: Path) -> None:
    """Write a BAM with several copies of each record, without compression, and its index.

    Its blocks end within records, as those of htsjdk do.
    """
    whole = copy.with_suffix(".whole.bam")
    with (
        pysam.AlignmentFile(str(path)) as reads,
        pysam.AlignmentFile(str(whole), "wb", template=reads) as records,
    ):
        for read in reads:
            for _ in range(COPIES):
                records.write(read)
    with pysam.BGZFile(str(copy), "wb0") as out:
        out.write(gzip.decompress(whole.read_bytes()))
    pysam.index(str(copy))


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
