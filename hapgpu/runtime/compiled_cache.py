"""Numba's compiled functions in hapgpu's cache: checked before they are unpickled.

Numba looks up a function that it is to compile in the `Cache` of its dispatcher, and hands it over
there once it is compiled. Numba's own unpickles whatever the files hold, and lets their faults end
the run.
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
    """The compiled versions of one function, in one file; it takes Numba's files' place.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    label
        What the versions depend on, beside the types of the arguments and the machine.
    """

    def __init__(self, path: Path | None, label: str) -> None:
        self._path = path
        self._label = label

    def load(self, key: Any) -> Any:
        """Return what was kept for a key of Numba's, or None."""
        version = self._versions().get(key)
        return None if version is None else pickle.loads(version)  # noqa: S301  (see hapgpu.runtime.cache)

    def save(self, key: Any, data: Any) -> None:
        """Keep something for a key, beside what there is."""
        versions = {**self._versions(), key: dumps(data)}
        cache.keep(self._path, self._label, dumps(versions))

    def flush(self) -> None:
        """Forget everything."""
        cache.keep(self._path, self._label, dumps({}))

    def _versions(self) -> dict[Any, bytes]:
        content = cache.take(self._path, self._label)
        return {} if content is None else dict(pickle.loads(content))  # noqa: S301  (as above)


class _NowhereLocator(_CacheLocator):  # type: ignore[misc]  # Numba has no types
    """Numba's question where files lie, answered without a look at the disk."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._file = py_file

    def ensure_cache_path(self) -> None:
        """Do nothing: the folder is made with the first file."""

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
    """The cache of one function, of which every fault means that the function is compiled.

    Parameters
    ----------
    function
        Whose compiled versions are kept.
    folder
        Where; None keeps nothing.
    """

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., object], folder: Path | None) -> None:
        super().__init__(function)
        name = f"{function.__module__}.{self._impl.filename_base}"
        stamp = self._impl.locator.get_source_stamp()
        label = f"{name} {stamp} numba {numba.__version__} llvmlite {llvmlite.__version__}"
        self._path = folder and folder / f"{name}{_SUFFIX}"
        self._cache_file = CompiledFiles(self._path, label)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function as compiled before for these types; None to compile it."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  (whatever cannot be loaded is compiled)
            cache.warn_of_damage(self._path)
            return None


@functools.cache
def _file_digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
