"""Cache of Numba's compiled functions, whose files are checked before they are unpickled.

Numba looks up each function in the `Cache` of its dispatcher before it compiles, and stores the
compiled function there. Numba's own cache unpickles any file, and damaged files end the run.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from hapgpu.runtime import cache

_SUFFIX = ".compiled"


class CompiledFiles:
    """The compiled versions of one function, in one file; replaces Numba's files.

    Parameters
    ----------
    path
        The file; None stores nothing.
    label
        Everything that the versions depend on, except argument types and machine.
    """

    def __init__(self, path: Path | None, label: str) -> None:
        self._path = path
        self._label = label

    def load(self, key: Any) -> Any:
        """Return the data stored for a key of Numba, or None."""
        version = self._versions().get(key)
        return None if version is None else pickle.loads(version)  # noqa: S301  (see hapgpu.runtime.cache)

    def save(self, key: Any, data: Any) -> None:
        """Store data for a key, in addition to the data of other keys."""
        versions = {**self._versions(), key: dumps(data)}
        cache.store(self._path, self._label, dumps(versions))

    def flush(self) -> None:
        """Remove all versions."""
        cache.store(self._path, self._label, dumps({}))

    def _versions(self) -> dict[Any, bytes]:
        content = cache.load(self._path, self._label)
        return {} if content is None else dict(pickle.loads(content))  # noqa: S301  (as above)


class _NowhereLocator(_CacheLocator):  # type: ignore[misc]  # Numba has no types
    """Locator that Numba asks for cache files; it does not access the disk."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._file = py_file

    def ensure_cache_path(self) -> None:
        """Do nothing: the directory is made with the first file."""

    def get_cache_path(self) -> str:
        return ""

    def get_source_stamp(self) -> str:
        return _file_digest(self._file)

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> Self:
        return cls(py_func, py_file)


class _CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]  # as above
    _locator_classes = (_NowhereLocator,)


class CheckedCache(FunctionCache):  # type: ignore[misc]  # as above
    """The cache of one function; after any error of the cache, the function is compiled.

    Parameters
    ----------
    function
        The function.
    directory
        The directory of the cache file; None stores nothing.
    """

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., object], directory: Path | None) -> None:
        super().__init__(function)
        name = f"{function.__module__}.{self._impl.filename_base}"
        stamp = self._impl.locator.get_source_stamp()
        label = f"{name} {stamp} numba {numba.__version__} llvmlite {llvmlite.__version__}"
        self._path = directory and directory / f"{name}{_SUFFIX}"
        self._cache_file = CompiledFiles(self._path, label)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored version for these types; None to compile it."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  (a version that cannot be loaded is compiled)
            cache.warn_of_damage(self._path)
            return None


@functools.cache
def _file_digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
