"""Locks that a forked process must find free."""

from __future__ import annotations

import os
import sys
from threading import Lock, get_ident
from typing import TypeVar

_Lock = TypeVar("_Lock", bound=Lock)


def held_at_forks(lock: _Lock) -> _Lock:
    """Return a lock that the forking thread holds at each fork of this program.

    Otherwise a thread may hold it that the forked process does not have, and nobody there could
    get it. For locks of modules, which live as long as the program.
    """
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )
    return lock


def others_import() -> bool:
    """Tell, in a forked process, whether another thread imported a module at the fork.

    Then the process has half a module, whose lock nobody gives back. Numba, for instance, imports a
    module of NumPy with the first call of a compiled function, in whichever thread that is.
    """
    # Python has no function for it.
    locks = vars(sys.modules["_frozen_importlib"]).get("_module_locks", {})
    owners = {getattr(lock(), "owner", None) for lock in list(locks.values())}
    return bool(owners - {None, get_ident()})
