"""Cache of compiled code between runs: a convenience that no run depends on.

A file is used only if it is complete, was stored for the same purpose, and can have been written
by the user or root only, because its content is executed. In all other cases, and after every
error of the directory, the code is compiled again, with one warning per run.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

from hapgpu.runtime import leftovers
from hapgpu.runtime.processes.locks import held_at_forks

logger = logging.getLogger(__name__)

_PACKAGE: Final = Path(__file__).parents[1]
_DIGEST_BYTES: Final = 32
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_DIRECTORY_MODE, _FILE_MODE = 0o755, 0o644  # whatever the umask: others may read, never write
_STALE_SECONDS: Final = 30 * 24 * 3600
_OWN_NAME: Final = re.compile(r"[0-9a-f]{16}|[0-9a-f]{32}\.(kernel|cubin|name)")
_PROBE_BYTES: Final = 1 << 16


class _FirstWarning:
    """Logger of the first warning of a run only: later ones have the same cause or remedy."""

    def __init__(self) -> None:
        self._lock = held_at_forks(Lock())
        self._is_logged = False

    def warn(self, message: str) -> None:
        with self._lock:
            if self._is_logged:
                return
            self._is_logged = True
        logger.warning(message)


_first_warning = _FirstWarning()


def cache_directory() -> Path:
    """Return `$HAPGPU_CACHE_DIR`, or `hapgpu` in the user's cache directory.

    Raises
    ------
    OSError
        The variable is not set, and the user has no home directory.
    """
    if own := os.environ.get("HAPGPU_CACHE_DIR"):
        return Path(own).absolute()
    if of_user := os.environ.get("XDG_CACHE_HOME"):
        return Path(of_user) / "hapgpu"
    try:
        return Path.home() / ".cache" / "hapgpu"
    except RuntimeError as error:
        raise FileNotFoundError(errno.ENOENT, "the user has no home directory") from error


def cache_path(*parts: str) -> Path | None:
    """Return a path in the cache; None if there is no cache directory."""
    try:
        return cache_directory().joinpath(*parts)
    except OSError:
        return None


def load(path: Path | None, label: str) -> bytes | None:
    """Return the content stored in a file; None if the file is missing or may not be used.

    Parameters
    ----------
    path
        The file; None without a cache.
    label
        The purpose of the content: files stored with another label are not used.
    """
    if path is None:
        _first_warning.warn(f"no directory to store compiled code in; {_without(path)}")
        return None
    try:
        content = _read_trusted(path, _digest(label))
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn_of_directory(path.parent, error)
        return None
    return None if content is None else _checked(path, label, content)


def load_installed(path: Path, label: str) -> bytes | None:
    """Return the content stored in a file of the installed package; None as `load`.

    The file may be of any user: modules of the package, which run anyway, are beside it.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    prefix = _digest(label)
    is_of_label = content.startswith(prefix)
    return _checked(path, label, content[len(prefix) :]) if is_of_label else None


def _checked(path: Path, label: str, content: bytes) -> bytes | None:
    """Return what follows the digest of it and the label; None, with a warning, if they differ."""
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if digest == _digest(label, body):
        return body
    warn_of_damage(path)
    return None


def store(path: Path | None, label: str, content: bytes) -> None:
    """Store content in a file for later runs, if possible.

    Other processes see the complete file or none.
    """
    if path is None:
        return
    try:
        _make_directory(path.parent)
        _write_whole(path, _digest(label) + _digest(label, content) + content)
    except OSError as error:
        _warn_of_directory(path.parent, error)


def warn_of_damage(path: Path | None) -> None:
    """Warn that the content of a file is damaged, unless this run has warned before."""
    _first_warning.warn(f"{path}: damaged, compiled again; if this recurs, {_remedy(path)}")


def _warn_of_directory(directory: Path, error: OSError) -> None:
    fault = f"cannot store compiled code ({error.strerror or error})"
    _first_warning.warn(f"{directory}: {fault}; {_without(directory)}")


def _without(path: Path | None) -> str:
    return f"compiled for this run only; {_remedy(path)}"


def _remedy(path: Path | None) -> str:
    if path is not None and path.is_relative_to(_PACKAGE):
        return "reinstall hapgpu"
    of_numba = os.environ.get("NUMBA_CACHE_DIR")
    is_of_numba = of_numba and path is not None and path.is_relative_to(of_numba)
    return f"set {'NUMBA' if is_of_numba else 'HAPGPU'}_CACHE_DIR to another directory"


def _digest(label: str, content: bytes = b"") -> bytes:
    digest = hashlib.sha256(os.fsencode(label) + b"\0")
    digest.update(content)
    return digest.digest()


def _read_trusted(path: Path, prefix: bytes) -> bytes | None:
    """Return the content of a file after its prefix; None if the prefix differs.

    Raises
    ------
    OSError
        The file cannot be read, or users other than the owner and root may have written it.
    """
    # O_NONBLOCK: if the file is a pipe, do not wait for it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise PermissionError(errno.EPERM, f"{path.name} is not a regular file")
        if _is_open_to_others(state):
            raise PermissionError(errno.EPERM, f"other users can write {path.name}")
        return file.read() if file.read(len(prefix)) == prefix else None


def is_open_to_others(path: Path) -> bool:
    """Tell whether a user other than this one and root owns or may write a file or directory."""
    return _is_open_to_others(path.stat())


def _is_open_to_others(state: os.stat_result) -> bool:
    return state.st_uid not in {0, os.geteuid()} or bool(state.st_mode & _WRITABLE_BY_OTHERS)


def _make_directory(directory: Path) -> None:
    """Make a directory and its parents; unlike `mkdir`, all with the same mode."""
    if not directory.is_dir():
        if directory.parent != directory:
            _make_directory(directory.parent)
        directory.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)


def _write_whole(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with leftovers.steady():
        descriptor = os.open(temporary, flags, _FILE_MODE)
        number = leftovers.register(temporary.unlink)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    finally:
        leftovers.forget(number)


def mark_used(path: Path | None) -> None:
    """Mark a file or directory of the cache as used; if it is new, remove stale ones beside it.

    Stale means unused for 30 days.
    """
    if path is None:
        return
    try:
        os.utime(path)
    except FileNotFoundError:
        _remove_stale(path.parent)
    except OSError:
        return


def _remove_stale(directory: Path) -> None:
    """Remove stale files and directories that hapgpu has stored directly in a directory.

    Names that hapgpu does not give, files of other users and targets of links are kept.
    """
    with suppress(OSError):
        if directory.is_symlink() or is_open_to_others(directory):
            return
        for path in directory.iterdir():
            if _OWN_NAME.fullmatch(path.name) and _is_stale(path.lstat()):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _is_stale(state: os.stat_result) -> bool:
    return state.st_uid == os.geteuid() and time.time() - state.st_mtime > _STALE_SECONDS


def probe(directory: Path) -> None:
    """Check that files can be written to a directory, which is made if it is missing.

    Raises
    ------
    OSError
        The directory cannot be made, or a file in it cannot be written.
    """
    _make_directory(directory)
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(bytes(_PROBE_BYTES))
