"""CUDA sources, compilation, cache and launches, mostly without a GPU."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np
import pytest
from cupy.cuda import nvrtc

from hapgpu.cli.kernels import all_kernels
from hapgpu.errors import DeviceError
from hapgpu.longread.cuda.chains import TRACE_CHAINS
from hapgpu.longread.cuda.join import COUNT_MERGED, MERGE_CHAINS
from hapgpu.longread.cuda.mappings import MEASURE_MAPPINGS
from hapgpu.longread.cuda.seeds import WRITE_SEEDS
from hapgpu.realign.align.cuda.kernels import MAX_COLUMNS, ScoreType, kernel_for
from hapgpu.realign.projection.cuda import COMPARE_ALIGNMENTS
from hapgpu.realign.records.cuda import WRITE_RECORDS
from hapgpu.runtime.gpu import launch
from hapgpu.runtime.gpu.kernel import (
    Array,
    Kernel,
    Length,
    Parameter,
    Scalar,
    Struct,
    named_fields,
)
from hapgpu.runtime.gpu.launch import (
    LoadedKernel,
    compile_kernel,
    load_kernel,
    read_source,
    smoke_test,
    source_directory,
)
from hapgpu.shortread.sam.cuda import COUNT_RECORDS, MEASURE_LINES, WRITE_LINES
from tests.compile_kernels import usage
from tests.kernel_sources import Declared, KernelSource

ARCHITECTURES = [70, 75, 80, 86, 89, 90, 100, 120]
ADD = Kernel(
    "common/smoke.cu", "double_all", (Array("values", np.int32, "n"), Scalar("n", np.int32))
)


def architecture(number: int) -> str:
    """Return an architecture; skip if this compiler is too new or too old for it."""
    if number not in nvrtc.getSupportedArchs():
        major, minor = nvrtc.getVersion()
        pytest.skip(f"NVRTC {major}.{minor} does not compile for sm_{number}")
    return f"sm_{number}"


def is_elf(code: bytes) -> bool:
    return code.startswith(b"\x7fELF")


@pytest.mark.parametrize("number", ARCHITECTURES)
def test_smoke_kernel_compiles(number: int) -> None:
    compiled = compile_kernel(ADD, architecture(number))
    assert is_elf(compiled.cubin)
    assert compiled.lowered_name == "double_all"
    assert compiled.lowered_name.encode() in compiled.cubin
    used = usage(compiled)
    assert used.registers > 0
    assert used.stack_bytes == used.spill_bytes == 0


@pytest.mark.parametrize(
    "number",
    [
        number if number in {70, 120} else pytest.param(number, marks=pytest.mark.exhaustive)
        for number in ARCHITECTURES
    ],
)
@pytest.mark.parametrize("score_type", MAX_COLUMNS)
def test_aligner_compiles(number: int, score_type: ScoreType) -> None:
    for with_trace in (True, False):
        kernel = kernel_for(MAX_COLUMNS[score_type], score_type, with_trace=with_trace)
        compiled = compile_kernel(kernel, architecture(number))
        assert is_elf(compiled.cubin)
        assert compiled.lowered_name.encode() in compiled.cubin
        assert 0 < usage(compiled).registers <= 255


@pytest.mark.parametrize("score_type", MAX_COLUMNS)
def test_aligner_compiles_for_few_columns(score_type: ScoreType) -> None:
    for columns in range(1, 6):  # 1 is a special case, and four bases share a register
        kernel = kernel_for(columns, score_type, with_trace=True)
        assert is_elf(compile_kernel(kernel, "sm_90").cubin)


def declared(parameters: Iterable[Parameter]) -> Iterator[Declared]:
    """Parameters as the source should declare them."""
    for each in parameters:
        if isinstance(each, Struct):
            yield Declared(each.name, None, is_pointer=False, fields=(*declared(each.fields),))
        elif not isinstance(each, Length):
            yield Declared(each.name, each.dtype, isinstance(each, Array))


def without_names(parameters: Iterable[Declared]) -> list[Declared]:
    """Parameters whose own names do not matter; names of fields do."""
    return [replace(parameter, name="") for parameter in parameters]


@pytest.mark.parametrize("kernel", all_kernels(), ids=lambda kernel: kernel.expression)
def test_parameters_equal_the_source(kernel: Kernel) -> None:
    in_source = KernelSource(kernel).parameters()
    assert without_names(declared(kernel.parameters)) == without_names(in_source)


@pytest.mark.parametrize("kernel", all_kernels(), ids=lambda kernel: kernel.expression)
def test_kernels_use_all_parameters(kernel: Kernel) -> None:
    source = KernelSource(kernel)
    names = [parameter.name for parameter in source.parameters()]
    assert all(names)
    assert [name for name in names if not re.search(rf"\b{name}\b", source.body)] == []


def test_unknown_architecture_is_reported_with_the_log() -> None:
    with pytest.raises(DeviceError, match=r"(?s)smoke\.cu: double_all for sm_11.*gpu-architecture"):
        compile_kernel(ADD, "sm_11")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace `cuda/` by an empty directory."""
    directory = tmp_path / "sources"
    directory.mkdir()
    monkeypatch.setattr(launch, "source_directory", lambda: directory)
    return directory


def test_faulty_source_is_reported_with_the_log(sources: Path) -> None:
    (sources / "bad.cu").write_text('extern "C" __global__ void bad() { undeclared = 1; }\n')
    with pytest.raises(DeviceError, match=r"(?s)bad\.cu: bad for sm_90.*\"undeclared\""):
        compile_kernel(Kernel("bad.cu", "bad", ()), "sm_90")


def test_headers_are_spliced_in_once(sources: Path) -> None:
    (sources / "a.cu").write_text('#include "b.cuh"\n#include "c.cuh"\nint a;\n')
    (sources / "b.cuh").write_text('#include "c.cuh"\nint b;\n')
    (sources / "c.cuh").write_text("int c;\n")
    lines = [line for line in read_source("a.cu").splitlines() if line]
    assert lines == ["int c;", "int b;", "int a;"]


def test_sources_of_the_package_are_complete() -> None:
    assert (source_directory() / "common/smoke.cu").is_file()
    for source in source_directory().glob("*.cu"):
        assert '#include "' not in read_source(source.name)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("HAPGPU_CACHE_DIR", str(directory))
    return directory


def stored_in(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.kernel"))


def refuse_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "compile_kernel", lambda *_: pytest.fail("compiled again"))


def test_cubins_are_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cubin, name = launch.cached_cubin(ADD, "sm_90")
    assert len(stored_in(cache)) == 1
    assert is_elf(cubin)
    assert name == "double_all"
    refuse_to_compile(monkeypatch)
    assert launch.cached_cubin(ADD, "sm_90") == (cubin, name)


@pytest.mark.parametrize("length", [0, 40, 64, 500, -1])
def test_a_cubin_cut_short_is_compiled_again(
    length: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = launch.cached_cubin(ADD, "sm_90")
    (file,) = stored_in(cache)
    file.write_bytes(file.read_bytes()[:length])
    assert launch.cached_cubin(ADD, "sm_90") == compiled
    refuse_to_compile(monkeypatch)
    assert launch.cached_cubin(ADD, "sm_90") == compiled


def test_a_cubin_of_another_architecture_is_compiled_again(cache: Path) -> None:
    right = launch.cached_cubin(ADD, "sm_90")
    (path,) = stored_in(cache)
    launch.cached_cubin(ADD, "sm_80")
    (other,) = set(stored_in(cache)) - {path}
    other.replace(path)
    assert launch.cached_cubin(ADD, "sm_90") == right


def test_cubins_depend_on_text_options_and_architecture(cache: Path, sources: Path) -> None:
    def count(number: int = 90, *, flushes: bool = False) -> int:
        kernel = Kernel("k.cu", "k", (), flushes_subnormals=flushes)
        launch.cached_cubin(kernel, f"sm_{number}")
        return len(stored_in(cache))

    (sources / "k.cu").write_text('#include "h.cuh"\nextern "C" __global__ void k() {}\n')
    (sources / "h.cuh").write_text("constexpr int h = 1;\n")
    assert count() == count() == 1
    assert count(80) == 2
    (sources / "h.cuh").write_text("constexpr int h = 2;\n")
    assert count() == 3
    assert count(flushes=True) == 4


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setenv("HAPGPU_CACHE_DIR", str(occupied))
    cubin, _ = launch.cached_cubin(ADD, "sm_90")
    assert is_elf(cubin)


INT32, FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


@dataclass
class DeviceArray:
    """The attributes of a device array that a launch uses."""

    size: int
    dtype: np.dtype[Any] = INT32
    contiguous: bool = True
    device_id: int = 0
    address: int = 0

    @property
    def flags(self) -> SimpleNamespace:
        return SimpleNamespace(c_contiguous=self.contiguous)

    @property
    def data(self) -> SimpleNamespace:
        return SimpleNamespace(device_id=self.device_id, ptr=self.address)


@dataclass
class RecordingFunction:
    """Stand-in for the function of a loaded module."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, *arguments: Any) -> None:
        self.calls.append(arguments)


@pytest.fixture
def function() -> RecordingFunction:
    return RecordingFunction()


@pytest.fixture
def loaded(function: RecordingFunction) -> LoadedKernel:
    parameters = (
        Array("values", np.int32, "n"),
        Array("offsets", np.int32, "n", extra=1),
        Scalar("n", np.int32),
        Scalar("total", np.int64),
    )
    return LoadedKernel(Kernel("k.cu", "k", parameters), function, device=0)


def test_right_arguments_are_launched(loaded: LoadedKernel, function: RecordingFunction) -> None:
    values, offsets = DeviceArray(5), DeviceArray(6)
    loaded.launch(3, 128, (values, offsets, 5, 2**40))
    [(grid, block, arguments)] = function.calls
    assert (grid, block) == ((3,), (128,))
    assert arguments[0] is values
    assert arguments[1] is offsets
    assert arguments[2:] == (5, 2**40)
    assert [type(argument) for argument in arguments[2:]] == [np.int32, np.int64]


def test_checked_arguments_are_launched_with_other_scalars(
    loaded: LoadedKernel, function: RecordingFunction
) -> None:
    values, offsets = DeviceArray(5), DeviceArray(6)
    checked = loaded.check((values, offsets, 5, 7))
    for n in (5, 3, 0):
        loaded.launch_checked(1, 32, checked, {"n": n, "total": n + 2**40, "other": 1})
    assert [call[2] for call in function.calls] == [
        (values, offsets, n, n + 2**40) for n in (5, 3, 0)
    ]
    assert {tuple(map(type, call[2][2:])) for call in function.calls} == {(np.int32, np.int64)}


@pytest.mark.parametrize("n", [6, -1])
def test_arrays_must_hold_the_other_lengths(loaded: LoadedKernel, n: int) -> None:
    checked = loaded.check((DeviceArray(9), DeviceArray(9), 5, 7))
    with pytest.raises(ValueError, match=f"k: n is {n}, not at most 5"):
        loaded.launch_checked(1, 32, checked, {"n": n, "total": 0})


def test_a_context_around_each_launch(loaded: LoadedKernel, function: RecordingFunction) -> None:
    launched = []

    @contextmanager
    def context() -> Iterator[None]:
        before = len(function.calls)
        yield
        launched.append((before, len(function.calls)))

    arguments = (DeviceArray(5), DeviceArray(6), 5, 7)
    loaded.launch(1, 32, arguments)
    with launch.around_launches(context):
        loaded.launch(1, 32, arguments)
        loaded.launch_checked(1, 32, loaded.check(arguments), {"n": 5, "total": 7})
    loaded.launch(1, 32, arguments)
    assert launched == [(1, 2), (2, 3)]
    assert len(function.calls) == 4


def test_arguments_of_other_parameters_are_not_launched(loaded: LoadedKernel) -> None:
    other = LoadedKernel(Kernel("k.cu", "other", ()), RecordingFunction(), device=0)
    with pytest.raises(TypeError, match="other parameters"):
        loaded.launch_checked(1, 32, other.check(()), {"n": 1, "total": 1})


def test_longer_arrays_are_fine(loaded: LoadedKernel, function: RecordingFunction) -> None:
    loaded.launch(1, 32, (DeviceArray(9), DeviceArray(9), 5, 0))
    assert len(function.calls) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((DeviceArray(5, np.dtype(np.int64)), DeviceArray(6), 5, 0), TypeError, "values.*int64"),
        ((DeviceArray(5, np.dtype(np.uint32)), DeviceArray(6), 5, 0), TypeError, "not int32"),
        ((DeviceArray(4), DeviceArray(6), 5, 0), ValueError, "values has 4 elements, not 5"),
        ((DeviceArray(5), DeviceArray(5), 5, 0), ValueError, "offsets has 5 elements, not 6"),
        ((DeviceArray(5, contiguous=False), DeviceArray(6), 5, 0), ValueError, "contiguous"),
        ((DeviceArray(5), DeviceArray(6, device_id=1), 5, 0), ValueError, "device 0"),
        ((DeviceArray(5), DeviceArray(6), 5), ValueError, "takes 4 arguments"),
        ((DeviceArray(5), DeviceArray(6), 5, 0, 0), ValueError, "takes 4 arguments"),
        ((DeviceArray(5), DeviceArray(6), 2**31, 0), OverflowError, "2147483648"),
    ],
)
def test_wrong_arguments_are_not_launched(
    arguments: tuple[Any, ...],
    error: type[Exception],
    message: str,
    loaded: LoadedKernel,
    function: RecordingFunction,
) -> None:
    with pytest.raises(error, match=message):
        loaded.launch(1, 32, arguments)
    assert function.calls == []


class Rows(ctypes.Structure):
    """The struct of `rows_kernel`, as a C compiler lays it out."""

    _fields_ = (
        *(("level", ctypes.c_uint8), ("values", ctypes.c_void_p), ("count", ctypes.c_int32)),
        *(("ratio", ctypes.c_double), ("offsets", ctypes.c_void_p), ("sign", ctypes.c_int16)),
    )


@pytest.fixture
def rows_kernel(function: RecordingFunction) -> LoadedKernel:
    rows = (
        Scalar("level", np.uint8),
        *(Array("values", np.float32, "total", width=2), Length("total")),
        *(Scalar("count", np.int32), Scalar("ratio", np.float64)),
        *(Array("offsets", np.int64, "count", extra=1), Scalar("sign", np.int16)),
    )
    parameters = (
        Struct("rows", rows),
        *(Array("sums", np.float32, "rows.count"), Length("bins"), Scalar("count", np.int32)),
        Struct("bins", (Array("bounds", np.int32, "bins"),)),
    )
    return LoadedKernel(Kernel("k.cu", "k", parameters), function, device=0)


class Reads(ctypes.Structure):
    """The struct of `reads_kernel`, as a C compiler lays it out."""

    _fields_ = (
        *(("level", ctypes.c_uint8), ("rows", Rows), ("is_last", ctypes.c_uint8)),
        *(("starts", ctypes.c_void_p), ("text", ctypes.c_void_p), ("ends", ctypes.c_void_p)),
    )


@pytest.fixture
def reads_kernel(rows_kernel: LoadedKernel, function: RecordingFunction) -> LoadedKernel:
    reads = (
        *(Scalar("level", np.uint8), rows_kernel.parameters[0], Scalar("is_last", np.uint8)),
        Array("starts", np.int32, "rows.count"),
        Struct("names", (Array("text", np.uint8, "size"), Length("size"))),
        *(Array("ends", np.int32, "count"), Length("count")),
    )
    return LoadedKernel(Kernel("k.cu", "k", (Struct("reads", reads),)), function, device=0)


def rows_arguments(**changes: Any) -> tuple[Any, ...]:
    """Return arguments for `rows_kernel`, with changed fields of `rows`."""
    fields = {
        "level": 200,
        "values": DeviceArray(14, FLOAT32, address=2**40 + 8),
        "total": 7,
        "count": 3,
        "ratio": 0.25,
        "offsets": DeviceArray(4, np.dtype(np.int64), address=2**63 + 16),
        "sign": -2,
    }
    rows = tuple((fields | changes).values())
    return rows, DeviceArray(3, FLOAT32), 5, 9, (DeviceArray(5, address=24),)


def unpacked(argument: Any) -> Rows:
    """Return a struct that was passed by value."""
    assert isinstance(argument, np.ndarray)
    assert argument.shape == (1,)
    assert argument.nbytes == ctypes.sizeof(Rows)
    return Rows.from_buffer_copy(argument)


def test_structs_are_passed_by_value(
    rows_kernel: LoadedKernel, function: RecordingFunction
) -> None:
    arguments = rows_arguments()
    rows_kernel.launch(1, 32, arguments)
    [(_, _, (rows, sums, count, bins))] = function.calls
    found = unpacked(rows)
    assert (found.level, found.count, found.ratio, found.sign) == (200, 3, 0.25, -2)
    assert (found.values, found.offsets) == (2**40 + 8, 2**63 + 16)
    assert sums is arguments[1]
    assert (type(count), count) == (np.int32, 9)
    assert bins.tobytes() == (24).to_bytes(8, "little")


def test_checked_structs_are_launched_with_other_scalars(
    rows_kernel: LoadedKernel, function: RecordingFunction
) -> None:
    checked = rows_kernel.check(rows_arguments())
    others = {"rows.level": 1, "rows.ratio": 8.0, "rows.sign": 4, "count": 6, "bins": 5}
    for rows in (3, 2, 0):
        rows_kernel.launch_checked(
            1, 32, checked, {**others, "rows.total": 2 * rows, "rows.count": rows}
        )
    assert [unpacked(call[2][0]).count for call in function.calls] == [3, 2, 0]
    for _, _, (packed, _, count, _) in function.calls:
        found = unpacked(packed)
        assert (found.level, found.ratio, found.sign, count) == (1, 8.0, 4, 6)
        assert (found.values, found.offsets) == (2**40 + 8, 2**63 + 16)


TEXT = DeviceArray(4, np.dtype(np.uint8), address=32)


def reads_arguments(*, starts: int = 3, ends: int = 2, names: tuple[Any, ...] = (TEXT, 4)) -> Any:
    """Return arguments for `reads_kernel`."""
    rows = rows_arguments()[0]
    own = (DeviceArray(starts, address=8), names, DeviceArray(ends, address=16), 2)
    return ((7, rows, 1, *own),)


def test_structs_have_structs(reads_kernel: LoadedKernel, function: RecordingFunction) -> None:
    reads_kernel.launch(1, 32, reads_arguments())
    [(_, _, (reads,))] = function.calls
    assert reads.nbytes == ctypes.sizeof(Reads)
    found = Reads.from_buffer_copy(reads)
    assert (found.level, found.is_last) == (7, 1)
    assert (found.starts, found.text, found.ends) == (8, 32, 16)
    assert (found.rows.level, found.rows.count, found.rows.ratio) == (200, 3, 0.25)
    assert (found.rows.offsets, found.rows.sign) == (2**63 + 16, -2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (reads_arguments(starts=2), "k: reads.starts has 2 elements, not 3"),
        (reads_arguments(ends=1), "k: reads.ends has 1 elements, not 2"),
        (reads_arguments(names=(TEXT, 5)), "k: reads.names.text has 4 elements, not 5"),
        (reads_arguments(names=(TEXT,)), "k: names takes 2 fields, not 1"),
    ],
)
def test_wrong_structs_of_structs_are_not_launched(
    arguments: Any, message: str, reads_kernel: LoadedKernel, function: RecordingFunction
) -> None:
    with pytest.raises(ValueError, match=message):
        reads_kernel.launch(1, 32, arguments)
    assert function.calls == []


@pytest.mark.parametrize("name", ["rows.total", "rows.count", "bins"])
def test_lengths_of_structs_only_shrink(name: str, rows_kernel: LoadedKernel) -> None:
    checked = rows_kernel.check(rows_arguments())
    others = {"rows.level": 1, "rows.ratio": 8.0, "rows.sign": 4, "count": 10**6}
    lengths = {"rows.total": 7, "rows.count": 3, "bins": 5}
    rows_kernel.launch_checked(1, 32, checked, {**others, **lengths})
    with pytest.raises(ValueError, match=f"k: {name} is 8, not at most {lengths[name]}"):
        rows_kernel.launch_checked(1, 32, checked, {**others, **lengths, name: 8})


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"values": DeviceArray(14)}, TypeError, "k: rows.values has type int32, not float32"),
        ({"total": 8}, ValueError, "k: rows.values has 14 elements, not 16"),
        ({"count": 4}, ValueError, "k: rows.offsets has 4 elements, not 5"),
        ({"values": DeviceArray(14, FLOAT32, contiguous=False)}, ValueError, "contiguous"),
        ({"values": DeviceArray(14, FLOAT32, device_id=1)}, ValueError, "device 0"),
        ({"level": 256}, OverflowError, "256"),
        ({"other": 0}, ValueError, "k: rows takes 7 fields, not 8"),
    ],
)
def test_wrong_structs_are_not_launched(
    changes: dict[str, Any],
    error: type[Exception],
    message: str,
    rows_kernel: LoadedKernel,
    function: RecordingFunction,
) -> None:
    with pytest.raises(error, match=message):
        rows_kernel.launch(1, 32, rows_arguments(**changes))
    assert function.calls == []


def test_arrays_beside_a_struct_have_its_lengths(rows_kernel: LoadedKernel) -> None:
    rows, _, *others = rows_arguments()
    with pytest.raises(ValueError, match="k: sums has 2 elements, not 3"):
        rows_kernel.launch(1, 32, (rows, DeviceArray(2, FLOAT32), *others))


def made_arguments(
    parameters: Iterable[Parameter], changes: Mapping[str, int], prefix: str = ""
) -> tuple[Any, ...]:
    """Make long arrays, and 3 for each number; `changes` are other sizes and numbers by name."""
    arguments: list[Any] = []
    for each in parameters:
        name = f"{prefix}{each.name}"
        if isinstance(each, Struct):
            arguments.append(made_arguments(each.fields, changes, f"{name}."))
        elif isinstance(each, Array):
            arguments.append(DeviceArray(changes.get(name, 100), np.dtype(each.dtype)))
        else:
            arguments.append(changes.get(name, 3))
    return tuple(arguments)


@pytest.mark.parametrize(
    ("kernel", "array", "count"),
    [
        (TRACE_CHAINS, "traces.chains", "ends.count"),
        (TRACE_CHAINS, "traces.path_starts", "ends.count"),
        (TRACE_CHAINS, "traces.chain_scores", "ends.count"),
        (COMPARE_ALIGNMENTS, "others.offsets", "ones.count"),
        (COMPARE_ALIGNMENTS, "other_positions", "ones.count"),
        (WRITE_RECORDS, "alignments.cigars.offsets", "alignments.count"),
        (WRITE_RECORDS, "alignments.mismatches.offsets", "alignments.count"),
        (WRITE_SEEDS, "seeds.offsets", "minimizers.reads"),
        (COUNT_MERGED, "joined.offsets", "kept.reads"),
        (MERGE_CHAINS, "joined.offsets", "kept.reads"),
        (MERGE_CHAINS, "merged.offsets", "kept.reads"),
        (MEASURE_MAPPINGS, "seeds.offsets", "chains.reads"),
        (MEASURE_MAPPINGS, "means", "chains.reads"),
        (COUNT_RECORDS, "hits.exact", "reads"),
        (COUNT_RECORDS, "hits.inexact", "reads"),
        (MEASURE_LINES, "hits.offsets", "spans.reads"),
        (WRITE_LINES, "hits.offsets", "spans.reads"),
    ],
    ids=lambda value: value.expression if isinstance(value, Kernel) else None,
)
def test_arrays_of_a_struct_have_the_lengths_of_another(
    kernel: Kernel, array: str, count: str, function: RecordingFunction
) -> None:
    """A kernel loops over the rows of one struct, and reads the arrays of another."""
    loaded = LoadedKernel(kernel, function, device=0)
    declared_array = named_fields(kernel.parameters)[array]
    assert isinstance(declared_array, Array)
    size = 4 + declared_array.extra
    loaded.launch(1, 32, made_arguments(kernel.parameters, {count: 4, array: size}))
    assert len(function.calls) == 1
    too_short = made_arguments(kernel.parameters, {count: 4, array: size - 1})
    message = f"{kernel.expression}: {array} has {size - 1} elements, not {size}"
    with pytest.raises(ValueError, match=re.escape(message)):
        loaded.launch(1, 32, too_short)
    assert len(function.calls) == 1


@pytest.mark.gpu
def test_smoke_test_of_a_gpu() -> None:
    assert smoke_test(0) is None


@pytest.mark.gpu
def test_launches_on_a_gpu_are_checked(cache: Path) -> None:
    with cupy.cuda.Device(0):
        load_kernel.cache_clear()
        loaded = load_kernel(ADD, 0)
        assert stored_in(cache)
        values = cupy.arange(100, dtype=np.int32)
        loaded.launch(1, 128, (values, 100))
        assert values.tolist() == [2 * k for k in range(100)]
        with pytest.raises(TypeError, match="float32"):
            loaded.launch(1, 128, (values.astype(np.float32), 100))
        with pytest.raises(ValueError, match="50 elements"):
            loaded.launch(1, 128, (values[:50], 100))
        with pytest.raises(ValueError, match="contiguous"):
            loaded.launch(1, 128, (values[::2], 50))
        assert values.tolist() == [2 * k for k in range(100)]


@pytest.mark.gpu
@pytest.mark.usefixtures("cache")
def test_structs_reach_a_gpu(sources: Path) -> None:
    (sources / "k.cu").write_text("""
struct Rows { unsigned char level; const int* values; int count; double ratio; short sign; };
struct Sum { double* sum; };
extern "C" __global__ void k(Rows rows, Sum sum) {
    for (int i = 0; i < rows.count; ++i) *sum.sum += rows.values[i] * rows.ratio * rows.sign;
    *sum.sum += rows.level;
}
""")
    rows = (
        *(Scalar("level", np.uint8), Array("values", np.int32, "count"), Scalar("count", np.int32)),
        *(Scalar("ratio", np.float64), Scalar("sign", np.int16)),
    )
    sums = (Array("sum", np.float64, "one"), Length("one"))
    parameters = (Struct("rows", rows), Struct("sum", sums))
    with cupy.cuda.Device(0):
        loaded = load_kernel(Kernel("k.cu", "k", parameters), 0)
        values, total = cupy.arange(10, dtype=np.int32), cupy.zeros(1)
        loaded.launch(1, 1, ((200, values, 10, 0.5, -2), (total, 1)))
        assert float(total[0]) == 200 - 45


@pytest.mark.gpu
@pytest.mark.parametrize("length", [0, 100, 1000])
def test_a_damaged_cache_on_a_gpu(cache: Path, length: int) -> None:
    load_kernel.cache_clear()
    assert smoke_test(0) is None
    (file,) = stored_in(cache)
    file.write_bytes(file.read_bytes()[:length])
    load_kernel.cache_clear()
    assert smoke_test(0) is None
    load_kernel.cache_clear()


def test_usage_without_a_report_is_an_error() -> None:
    with pytest.raises(DeviceError, match="did not report"):
        usage(launch.Compiled(b"", "k", "no such line"))
