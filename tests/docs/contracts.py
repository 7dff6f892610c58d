"""Contracts of functions and classes: the dtypes and errors that their docstrings state.

An array is stated by the item of a section with its name, or beside its name in the text before:
"`rows`, int64[k]". A reference "as in `Reads`" counts if `Reads` states an array of this name. A
dtype that the annotation has, as `NDArray[np.int64]`, must be the stated one.

Errors that a function raises itself are stated by a section `Raises`, or by a sentence with "raise"
or "raises"; those of `__init__` by the docstring of the class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT

ARRAYS: Final = ("NDArray", "ndarray", "Ragged", "RaggedView", "GpuArray", "AnyArray")
"""Names of types of arrays in annotations."""
_DTYPE: Final = r"\b(?:u?int(?:8|16|32|64)\b|float(?:32|64)\b|bool\[|[Aa]ny (?:integer )?dtype)"
_RECORD: Final = re.compile(r"^([A-Z]\w*)(?:: Final)? = np\.dtype\(", re.MULTILINE)
_ANNOTATED: Final = re.compile(r"NDArray\[np\.(u?int\d+|float\d+|bool)_?\]")
_NAMES: Final = r"(?:`?\w+`?(?:, and|,| and) )*"
_LINK: Final = r"[,:]?(?: of| is| are)?(?: \[[^]]*\],?)?(?: of)?"
_SECTION: Final = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ITEM: Final = re.compile(r"^(\w[^\n]*)\n((?:\n*^ +[^\n]*\n)+)", re.MULTILINE)
_RAISES: Final = re.compile(r"\b[Rr]aises?\b")
_REFERENCE: Final = re.compile(r"(?:[Aa]s|[Aa]s in|[Cc]olumns of|arrays of)(?: an?)? `([\w.]+)`")


@dataclass(frozen=True, slots=True)
class Contract:
    """A public function or class, and what its docstring must state: arrays and errors.

    Attributes
    ----------
    path, name
        Path of the module, and the name in it.
    docstring
        The docstring, without indentation.
    arrays
        Patterns of the dtypes of parameters or fields, by name.
    is_class
        Whether it is a class, whose fields are all meant by "each".
    result
        Pattern of the dtype of the result; empty if it is no array.
    is_raising
        Whether the function itself, or `__init__` of the class, raises errors.
    """

    path: str
    name: str
    docstring: str
    arrays: Mapping[str, str]
    is_class: bool = False
    result: str = ""
    is_raising: bool = False

    def states_errors(self) -> bool:
        """Tell whether the docstring says that errors are raised, if there are any."""
        return not self.is_raising or bool(_RAISES.search(self.docstring))

    def unstated(self) -> list[str]:
        """Return the arrays whose dtype is not stated, by name; `return` is the result."""
        found = [name for name, dtype in self.arrays.items() if not self._states(name, dtype)]
        is_stated = not self.result or self._states_result(self.result)
        return found if is_stated else [*found, "return"]

    def _states(self, name: str, dtype: str, *, may_refer: bool = True) -> bool:
        prose = self._prose()
        item = self.items().get(name)
        if item is not None:
            is_stated = bool(re.search(dtype, item))
        else:
            has_all = self.is_class or re.search(rf"\b{name}\b", prose)
            of_all = re.search(rf"{dtype}\S* each\b", prose)
            is_stated = bool(re.search(_beside(name, dtype), prose) or (has_all and of_all))
        return is_stated or (
            may_refer
            and any(each._states(name, dtype, may_refer=False) for each in _referred(item or prose))
        )

    def _states_result(self, dtype: str, *, may_refer: bool = True) -> bool:
        prose, items = self._prose(), self.items()
        beside = [_beside(*array) for array in self.arrays.items() if array[0] not in items]
        if any(re.match(rf"Return (?:a |one of )?{each}", prose) for each in beside):
            return True  # a parameter, or of its dtype
        texts = self._sections().get("Returns", ""), re.sub("|".join(beside) or "$", "", prose)
        return any(re.search(dtype, text) for text in texts) or (
            may_refer
            and any(each._states_result(dtype, may_refer=False) for each in _referred(prose))
        )

    def items(self) -> dict[str, str]:
        """Return the items of parameters or attributes, by name."""
        sections = self._sections()
        return {
            name: " ".join(item[2].split())
            for title in ("Parameters", "Attributes")
            for item in _ITEM.finditer(sections.get(title, ""))
            for name in item[1].split(", ")
        }

    def _prose(self) -> str:
        """Return the text before the first section, in one line."""
        return " ".join(_SECTION.split(f"{self.docstring}\n")[0].split())

    def _sections(self) -> dict[str, str]:
        _, *rest = _SECTION.split(f"{self.docstring}\n")
        return dict(zip(rest[::2], rest[1::2], strict=True))


def _referred(text: str) -> Iterator[Contract]:
    """Yield what a text refers to."""
    for target in _REFERENCE.findall(text):
        yield from _named().get(target.split(".")[-1], ())


def _beside(name: str, dtype: str) -> str:
    """Return the pattern of a dtype directly after the name of an array, or directly before."""
    after = rf"{_NAMES}`?\b{name}\b(?:\[[^]]*\])?`?(?:(?:, and|,| and) `\w+`)*{_LINK} {dtype}"
    return rf"(?:{after}|{dtype}(?:\[[^]]*\])? {_NAMES}`?{name}\b)"


def _dtype(annotation: ast.expr | None) -> str:
    """Return the pattern of the dtypes of an annotation, or of any; empty if it is no array."""
    if annotation is None or not is_array(annotation):
        return ""
    named = _ANNOTATED.findall(ast.unparse(annotation))
    if not named:
        return any_dtype()
    exact = [rf"\b{each.replace('bool', 'bool[')}".replace("[", r"\[") for each in named]
    return rf"(?:{'|'.join(exact)}|\b[Aa]ny (?:integer )?dtype)"


@cache
def any_dtype() -> str:
    """Return the pattern of a dtype of NumPy, or of records that the code names."""
    records = [name for path in _paths() for name in _RECORD.findall(path.read_text("utf-8"))]
    return rf"(?:{_DTYPE}|`(?:{'|'.join(records)})`)"


@cache
def contracts() -> Sequence[Contract]:
    """Return the public functions, methods and classes of hapgpu."""
    return [
        contract
        for path in _paths()
        for contract in contracts_of(
            ast.parse(path.read_text("utf-8")).body, str(path.relative_to(ROOT))
        )
    ]


@cache
def _named() -> dict[str, list[Contract]]:
    """Return the contracts by the last part of their names."""
    found: dict[str, list[Contract]] = {}
    for each in contracts():
        found.setdefault(each.name.split(".")[-1], []).append(each)
    return found


def _paths() -> Sequence[Path]:
    return sorted((ROOT / "hapgpu").rglob("*.py"))


def contracts_of(body: Sequence[ast.stmt], path: str, prefix: str = "") -> Iterator[Contract]:
    """Yield the contracts of a module or class."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        name, docstring = prefix + node.name, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            yield Contract(
                *(path, name, docstring, dict(_array_fields(node))),
                is_class=True,
                is_raising=any(map(_raises, _constructors(node))),
            )
            yield from contracts_of(node.body, path, f"{name}.")
        else:
            given = node.args
            parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg)
            dtypes = {each.arg: _dtype(each.annotation) for each in parameters if each}
            arrays = {name: dtype for name, dtype in dtypes.items() if dtype}
            result, is_raising = _dtype(node.returns), _raises(node)
            yield Contract(path, name, docstring, arrays, result=result, is_raising=is_raising)


def _constructors(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield `__init__` and `__post_init__` of a class."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name in {"__init__", "__post_init__"}:
            yield each


def _raises(node: ast.AST) -> bool:
    """Tell whether a function raises a new error itself, not in a function within."""
    return any(
        (isinstance(each, ast.Raise) and each.exc is not None)
        or (not isinstance(each, ast.FunctionDef | ast.Lambda) and _raises(each))
        for each in ast.iter_child_nodes(node)
    )


def _array_fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the public fields that are arrays, but not fields with a docstring of their own."""
    for field, after in zip_longest(node.body, node.body[1:]):
        if isinstance(field, ast.AnnAssign) and is_array(field.annotation):
            name = ast.unparse(field.target)
            own = ast.unparse(after) if isinstance(after, ast.Expr) else ""
            dtype = _dtype(field.annotation)
            if not name.startswith("_") and not re.search(dtype, own):
                yield name, dtype


def is_array(annotation: ast.expr | None) -> bool:
    """Tell whether values of an annotation are or contain arrays; functions of arrays do not."""
    match annotation:
        case None | ast.Subscript(ast.Name("Callable" | "Literal")):
            return False
        case ast.Subscript(ast.Name("Annotated"), ast.Tuple([annotated, *_])):
            return is_array(annotated)
        case ast.Name(name):
            return name in ARRAYS
        case ast.Constant(str(text)):
            return is_array(ast.parse(text, mode="eval").body)
    parts = ast.iter_child_nodes(annotation)
    return any(is_array(part) for part in parts if isinstance(part, ast.expr))
