"""Cache of Numba's compiled functions, whose files are checked before they are unpickled.

Numba looks up each function in the cache of its dispatcher before it compiles, and stores the
compiled function there. Numba's own cache unpickles any file, damaged files end the run, and each
load imports Numba's compiler and parses the LLVM code, which takes longer than the rest of it.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from hapgpu.runtime import cache
from hapgpu.runtime.machine_code import InstalledFunctions

if TYPE_CHECKING:
    from numba.core.cpu import CPUContext
    from numba.core.typing import Signature

_SUFFIX: Final = ".compiled"
_STUB: Final = 'define void @"{}"() {{ ret void }}'


class CheckedCache:
    """The cache of one function; after any error of the cache, the function is compiled.

    Each version, for other types of arguments, is a file.

    Parameters
    ----------
    function
        The function.
    directory
        The directory of the files; None stores nothing.
    installed
        Functions of the installed package, which are looked up first.
    """

    def __init__(
        self,
        function: Callable[..., object],
        directory: Path | None,
        installed: InstalledFunctions | None = None,
    ) -> None:
        self._function = function
        self._installed = installed
        self.cache_path = directory

    def load_overload(self, sig: Signature, target_context: CPUContext) -> CompileResult | None:
        """Return the stored version for these types; None to compile it."""
        if self._installed is not None:
            name, label = self._version(sig, self._installed.level.machine)
            path = self._installed.directory / name
            version = _rebuilt(path, cache.load_installed(path, label), target_context)
            if version is not None:
                return version
        stored, label = self._place(sig, target_context)
        return _rebuilt(stored, cache.load(stored, label), target_context)

    def save_overload(self, sig: Signature, result: CompileResult) -> None:
        """Store the version for these types, unless it refers to objects of this process."""
        if result.library.has_dynamic_globals:
            return
        symbols = _symbols(result.library._final_module)
        (name, kind, (machine_code, _)), *state, environments = result._reduce()
        inner = [(env.globals["__name__"], env.consts, env.env_name) for env in environments]
        library = (name, kind, (machine_code, _stub(result.fndesc.llvm_cpython_wrapper_name)))
        path, label = self._place(sig, result.target_context)
        cache.store(path, label, dumps((symbols, inner, (library, *state))))

    def _place(self, sig: Signature, target_context: CPUContext) -> tuple[Path | None, str]:
        """Return the path of the version for these types in the directory, and its label."""
        name, label = self._version(sig, _machine(target_context))
        return self.cache_path and self.cache_path / name, label

    def _version(self, sig: Signature, machine: tuple[str, str]) -> tuple[str, str]:
        """Return the name of the file of the version for these types and a CPU, and its label."""
        code = self._function.__code__
        name = f"{self._function.__module__}.{self._function.__qualname__}-{code.co_firstlineno}"
        types = f"{name} {sig} {machine}"
        short = hashlib.sha256(types.encode()).hexdigest()[:16]
        return f"{name}.{short}{_SUFFIX}", f"{types} {_file_digest(code.co_filename)} {VERSIONS}"


VERSIONS: Final = f"numba {numba.__version__} llvmlite {llvmlite.__version__}"
"""The versions of what compiles."""


def _rebuilt(
    path: Path | None, content: bytes | None, target_context: CPUContext
) -> CompileResult | None:
    """Return a version from the content of its file; None if there is none to use."""
    if content is None:
        return None
    try:
        symbols, inner, state = pickle.loads(content)  # noqa: S301  (see hapgpu.runtime.cache)
        _find_symbols(symbols, target_context)
        environments = tuple(_environment(*parts) for parts in inner)
        return CompileResult._rebuild(target_context, *state, environments)
    except Exception:  # noqa: BLE001  (a version that cannot be loaded is compiled)
        cache.warn_of_damage(path)
        return None


@functools.cache
def _machine(target_context: CPUContext) -> tuple[str, str]:
    """Return Numba's name of the CPU, and its features."""
    _, cpu, features = target_context.codegen().magic_tuple()
    return cpu, features


@functools.cache
def _file_digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _symbols(module: llvm.ModuleRef) -> list[str]:
    """Return what LLVM code declares and does not define, except instructions of LLVM's."""
    values = [*module.functions, *module.global_variables]
    declared = [value.name for value in values if value.is_declaration]
    return [name for name in declared if not name.startswith("llvm.")]


def _stub(name: str) -> bytes:
    """Return LLVM code that defines nothing but a name.

    Numba looks the functions of a library up in its LLVM code, which is 20 times as slow to parse
    as its machine code is to load.
    """
    bitcode: bytes = llvm.parse_assembly(_STUB.format(name)).as_bitcode()
    return bitcode


def _environment(module: str, constants: Sequence[object], name: str) -> Environment:
    """Return the environment of a function that is linked into a version.

    Numba would import the module, such as its linear algebra, for names that no compiled code
    without Python objects reads.
    """
    environment = lookup_environment(name)
    if environment is None:
        names = vars(sys.modules[module]) if module in sys.modules else {"__name__": module}
        environment = Environment(names)
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


def _find_symbols(names: Sequence[str], target_context: CPUContext) -> None:
    """Let Numba define the symbols that machine code refers to.

    LLVM would end the process at a symbol that is not defined. Nearly all are defined by imports
    or by Numba's runtime; Numba's compiler, which defines the others, is slow to import.
    """
    if not _are_defined(names):
        rtsys.initialize(target_context)
        if not _are_defined(names):
            target_context.refresh()


def _are_defined(names: Sequence[str]) -> bool:
    return all(llvm.address_of_symbol(name) is not None for name in names)
