"""The mutants of `python -m tests.mutations`, and changes in memory."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.explained import COMPARISONS, EXPLAINED, name_of
from tests.mutations.loads import Loads, all_names, changes_in, places_of
from tests.mutations.mutants import (
    COMMANDS,
    COMPARISON,
    CONSTANT,
    ROOT,
    SWITCHES,
    SWITCHES_BYTES,
    Mutant,
    mutants_in,
    mutants_of,
)
from tests.mutations.patching import patch
from tests.mutations.switched import with_switches
from tests.mutations.trees import Imports

SOURCE = '''
from typing import Final

LIMIT: Final = 10
"""Not a number: 12."""
MASK: Final = 1 << 4
RATE, _TWO = 0.5, -2
BANDS: Final = (*range(1, 61), 99)
A, B = range(2)


class Options:
    ploidy: int = 2


def is_far(a, b):
    near = 3
    return a < b <= LIMIT or a == b


class Reader:
    def reads(self):
        return self.é != 0 and "ü" < "z"
'''


def test_constants_and_comparisons_are_changed_one_at_a_time() -> None:
    found = list(mutants_in("method", "hapgpu.module", SOURCE))
    constants = [(m.name, m.after) for m in found if m.kind == CONSTANT]
    assert constants == [
        ("LIMIT#1", "11"),
        ("MASK#1", "(1 << 4) + 1"),
        ("(RATE, _TWO)#1", "0.505"),
        ("(RATE, _TWO)#2", "(-2) + 1"),
        ("BANDS#1", "2"),
        ("BANDS#2", "62"),
        ("BANDS#3", "100"),
        ("Options.ploidy#1", "3"),
    ]
    comparisons = [(m.name, m.before, m.after) for m in found if m.kind == COMPARISON]
    assert comparisons == [
        ("is_far#1", "<", "<="),
        ("is_far#2", "<=", "<"),
        ("is_far#3", "==", "!="),
        ("Reader.reads#1", "!=", "=="),
        ("Reader.reads#2", "<", "<="),
    ]
    for mutant in found:
        changed = mutant.applied(SOURCE)
        assert changed != SOURCE
        ast.parse(changed)


@pytest.mark.parametrize("method", COMMANDS)
def test_keys_of_mutants_are_unique(method: str) -> None:
    keys = [mutant.key for mutant in mutants_of(method)]
    assert len(keys) == len(set(keys)) > 100


def test_what_is_explained_exists() -> None:
    mutants = [mutant for method in COMMANDS for mutant in mutants_of(method)]
    assert EXPLAINED.keys() <= {name_of(mutant) for mutant in mutants}
    assert COMPARISONS.keys() <= {mutant.key.rpartition(":")[0] for mutant in mutants}
    assert all(COMPARISONS.values())


def test_importers_come_after_what_they_import() -> None:
    imports = Imports(ROOT)
    found = imports.in_order(imports.importers("hapgpu.realign.scoring"))
    assert found[0] == "hapgpu.realign.scoring"
    assert found.index("hapgpu.realign.align.cpu") < found.index("hapgpu.realign.pipeline")
    below = imports.independent_of("hapgpu.realign")
    assert "hapgpu.cigar.encoding" in below
    assert not [name for name in below if name.startswith("hapgpu.realign")]


def test_functions_and_values_of_imported_modules_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "hapgpu"
    package.mkdir()
    sources = {
        "made_limits": "LIMIT = 10\ndef is_far(a, b=LIMIT):\n    return a > b\n",
        "made_user": "from hapgpu.made_limits import LIMIT, is_far\nTWICE = 2 * LIMIT\n",
    }
    import hapgpu  # noqa: PLC0415  (its path is extended)

    monkeypatch.setattr(hapgpu, "__path__", [*hapgpu.__path__, str(package)])
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, f"hapgpu.{name}", raising=False)
    from hapgpu import made_user  # type: ignore[attr-defined]  # noqa: PLC0415  (made above)

    monkeypatch.setitem(sys.modules, "hapgpu.made_user", made_user)
    is_far = made_user.is_far
    number, comparison = mutants_in("made", "hapgpu.made_limits", sources["made_limits"])
    assert (made_user.TWICE, is_far(10), is_far(11)) == (20, False, True)
    patch(number, Imports(tmp_path), tmp_path)
    assert (made_user.LIMIT, made_user.TWICE, is_far(11)) == (11, 22, False)
    patch(comparison, Imports(tmp_path), tmp_path)
    assert (made_user.TWICE, is_far(10)) == (20, True)
    assert isinstance(number, Mutant)
    for name in sources:
        monkeypatch.delitem(sys.modules, f"hapgpu.{name}")


SWITCHED = """
from numba import njit


@njit
def compiled(a, b):
    return (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b)


def in_python(a, b):
    return compiled.py_func(a, b) + 64 * (0 <= a < b)
"""

CHOOSE_COMPARISON = """
import sys
from importlib import import_module
from itertools import product

switches, mutant = import_module("tests.mutations.switches"), import_module("mutant")
for number in range(-1, int(sys.argv[1])):
    switches.choose(number)
    for a, b in product((0, 1, 2.5), (0, 1, 2.5)):
        print(number, a, b, mutant.compiled(a, b), switches.noted(), mutant.in_python(a, b))
        switches.noted()
"""


def printed(directory: Path, code: str, mutants: int) -> list[str]:
    """Run code that imports modules with switches from a directory; return its lines."""
    (directory / "file").write_bytes(bytes(SWITCHES_BYTES))
    environment = {
        **os.environ,
        SWITCHES: str(directory / "file"),
        "PYTHONPATH": os.pathsep.join([str(directory), str(ROOT)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(mutants)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def test_switches_choose_one_mutant(tmp_path: Path) -> None:
    """In Python and in compiled code; a note tells where the result of a comparison differs."""
    mutants = list(mutants_in("method", "mutant", SWITCHED))
    numbers = {mutant.start: number for number, mutant in enumerate(mutants)}
    (tmp_path / "mutant.py").write_text(with_switches(SWITCHED, numbers, Loads({})))
    found = printed(tmp_path, CHOOSE_COMPARISON, len(mutants))
    expected = []
    for number, a, b in product(range(-1, len(mutants)), (0, 1, 2.5), (0, 1, 2.5)):
        source = SWITCHED if number < 0 else mutants[number].applied(SWITCHED)
        names: dict[str, Any] = {}
        exec(source, names)  # noqa: S102
        noted = [0, 1, 2, 3, 4, 5] if a == b else [4, 5]
        value = names["compiled"].py_func(a, b)
        expected.append(f"{number} {a} {b} {value} {noted} {names['in_python'](a, b)}")
    assert found == expected


LOADED = {
    "limits": """
from typing import Final
import numpy as np

LIMIT: Final = 3
MOST: Final = 2**64 - 1
_ONE, _HALF = np.uint64(1), 0.5


def inner(value=LIMIT):
    return value + LIMIT
""",
    "user": """
import numpy as np
from limits import LIMIT as NEAR, MOST, _HALF, _ONE, inner
from numba import njit


@njit
def compiled(a):
    return np.uint64(a) + _ONE, a + NEAR, a * _HALF, MOST


def in_python(a):
    return *compiled.py_func(a), inner()
""",
}

CHOOSE_CONSTANT = """
import sys
from importlib import import_module

switches, user = import_module("tests.mutations.switches"), import_module("user")
for number in range(-1, int(sys.argv[1])):
    switches.choose(number)
    print(number, *map(float, user.compiled(5)), switches.noted())
    print(number, *map(float, user.in_python(5)), switches.noted())
"""


def test_switches_choose_one_constant(tmp_path: Path) -> None:
    """In functions of the module, and of one that imports it; numbers keep their type."""
    mutants = dict(enumerate(mutants_in("method", "limits", LOADED["limits"])))
    assert [mutant.name for mutant in mutants.values()] == [
        *("LIMIT#1", "MOST#1", "(_ONE, _HALF)#1", "(_ONE, _HALF)#2")
    ]
    changes = list(changes_in(LOADED["limits"], mutants))
    names = all_names(LOADED, {"limits": places_of(changes)})
    for module, source in LOADED.items():
        loads = Loads(names[module], changes if module == "limits" else ())
        (tmp_path / f"{module}.py").write_text(with_switches(source, {}, loads))
    found = printed(tmp_path, CHOOSE_CONSTANT, len(mutants))
    most = float(2**64 - 1)
    expected = []
    for number in range(-1, len(mutants)):
        limit, one, half = 3 + (number == 0), 1 + (number == 2), 0.505 if number == 3 else 0.5
        numbers = f"{number} {5.0 + one} {5.0 + limit} {5 * half} {most}"
        # 2**64 does not fit, so it is no switch.
        expected += [f"{numbers} [0, 2, 3]", f"{numbers} {3.0 + limit} [0, 2, 3]"]
    assert found == expected
