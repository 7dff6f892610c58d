"""Where compiled code is kept between runs, and how: a convenience, never a condition of a run.

A file is used only if it is whole, was kept for the same purpose, and can have been written by
nobody but the user or root: what is in it will be executed. Anything else, and every fault of the
folder, means that the code is compiled anew, which is said once.
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

logger = logging.getLogger(__name__)

_DIGEST_BYTES: Final = 32
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_FOLDER_MODE, _FILE_MODE = 0o755, 0o644  # whatever the umask: others may read, never write
_STALE_SECONDS: Final = 30 * 24 * 3600
_OWN_NAME: Final = re.compile(r"[0-9a-f]{16}|[0-9a-f]{32}\.(kernel|cubin|name)")
_PROBE_BYTES: Final = 1 << 16


class _Once:
    """Says one thing in a run, the first: what follows has the same cause or the same remedy."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._said = False

    def warn(self, message: str) -> None:
        with self._lock:
            if self._said:
                return
            self._said = True
        logger.warning(message)


_once = _Once()


def cache_directory() -> Path:
    """Return `$HAPGPU_CACHE_DIR`, or `hapgpu` in the user's cache folder.

    Raises
    ------
    OSError
        There is no such variable, and the user has no home.
    """
    if chosen := os.environ.get("HAPGPU_CACHE_DIR"):
        return Path(chosen).absolute()
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "hapgpu"
    try:
        return Path.home() / ".cache" / "hapgpu"
    except RuntimeError as error:
        raise FileNotFoundError(errno.ENOENT, "there is no home folder for it") from error


def cache_path(*parts: str) -> Path | None:
    """Return a place in the cache; None if there is no folder for a cache."""
    try:
        return cache_directory().joinpath(*parts)
    except OSError:
        return None


def take(path: Path | None, label: str) -> bytes | None:
    """Return what was kept in a file for a purpose; None if nothing is there that may be used.

    Parameters
    ----------
    path
        The file, if there is a cache.
    label
        The purpose: a file kept for another one is not taken, whatever its name.
    """
    if path is None:
        _once.warn(f"there is no folder to keep compiled code in: {_without(path)}")
        return None
    try:
        content = _read_trusted(path, _digest(label))
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn_of(path.parent, error)
        return None
    if content is None:
        return None
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if digest == _digest(label, body):
        return body
    warn_of_damage(path)
    return None


def keep(path: Path | None, label: str, content: bytes) -> None:
    """Put content into a file for later runs, if that can be done.

    Other processes see all of it or nothing.
    """
    if path is None:
        return
    try:
        _make_folder(path.parent)
        _write_whole(path, _digest(label) + _digest(label, content) + content)
    except OSError as error:
        _warn_of(path.parent, error)


def warn_of_damage(path: Path | None) -> None:
    """Say, unless something was said before, that the content of a file is of no use."""
    _once.warn(f"{path} is damaged, and compiled anew; if that comes again, {_remedy(path)}")


def _warn_of(folder: Path, error: OSError) -> None:
    reason = error.strerror or error
    _once.warn(f"{folder} cannot keep compiled code ({reason}): {_without(folder)}")


def _without(place: Path | None) -> str:
    return f"this run compiles for itself; {_remedy(place)}"


def _remedy(place: Path | None) -> str:
    of_numba = os.environ.get("NUMBA_CACHE_DIR")
    is_of_numba = of_numba and place is not None and place.is_relative_to(of_numba)
    return f"set {'NUMBA' if is_of_numba else 'HAPGPU'}_CACHE_DIR to another folder"


def _digest(label: str, content: bytes = b"") -> bytes:
    digest = hashlib.sha256(os.fsencode(label) + b"\0")
    digest.update(content)
    return digest.digest()


def _read_trusted(path: Path, begin: bytes) -> bytes | None:
    """Return what follows the right beginning of a file; None if it begins in another way.

    Raises
    ------
    OSError
        It cannot be read, or others than the user and root can have written it.
    """
    # Not to wait for a pipe that somebody has put there.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise PermissionError(errno.EPERM, f"{path.name} is not a file")
        if _is_open_to_others(state):
            raise PermissionError(errno.EPERM, f"other users can write {path.name}")
        return file.read() if file.read(len(begin)) == begin else None


def is_open_to_others(path: Path) -> bool:
    """Tell whether another user, but for root, owns or may write a file or folder."""
    return _is_open_to_others(path.stat())


def _is_open_to_others(state: os.stat_result) -> bool:
    return state.st_uid not in {0, os.geteuid()} or bool(state.st_mode & _WRITABLE_BY_OTHERS)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it; unlike `mkdir`, with the mode for all of them."""
    if not folder.is_dir():
        if folder.parent != folder:
            _make_folder(folder.parent)
        folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)


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
    """Note that a file or folder of the cache is in use; where it is new, remove its stale peers.

    Stale is what nobody has used for a month.
    """
    if path is None:
        return
    try:
        os.utime(path)
    except FileNotFoundError:
        _remove_stale(path.parent)
    except OSError:
        return


def _remove_stale(folder: Path) -> None:
    """Remove what is stale of what hapgpu has kept directly in a folder.

    Nothing else is touched: neither names that are not hapgpu's, nor what another user owns, nor
    what lies behind a link.
    """
    with suppress(OSError):
        if folder.is_symlink() or is_open_to_others(folder):
            return
        for path in folder.iterdir():
            if _OWN_NAME.fullmatch(path.name) and _is_stale(path.lstat()):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _is_stale(state: os.stat_result) -> bool:
    return state.st_uid == os.geteuid() and time.time() - state.st_mtime > _STALE_SECONDS


def probe(folder: Path) -> None:
    """Make sure that files can be kept in a folder, which is made if it is not there.

    Raises
    ------
    OSError
        They cannot.
    """
    _make_folder(folder)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_PROBE_BYTES))
