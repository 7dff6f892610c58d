"""The list of compiled functions after a change, as far as it is repaired without a GPU."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hapgpu.runtime.jit import njit
from tests.record_signatures import Call, repaired

BYTES = ["array", "uint8", 1, "C", True]
WORDS = ["array", "int64", 1, "C", False]


class Columns(NamedTuple):
    first: Any
    second: Any


class Box(NamedTuple):
    columns: Columns


@njit
def on_both(a: Any, b: Any) -> None:
    pass


@njit
def on_gpu(columns: Any, size: Any) -> None:
    pass


def python(a: Any) -> None:
    pass


def call(name: str, *types: Any, module: str = __name__) -> Call:
    return Call(module, name, json.dumps(types))


def named(name: str, *fields: Any) -> list[Any]:
    return ["named", __name__, name, *fields]


def after_repair(
    *calls: Call, before: tuple[Call, ...] = (), now: tuple[Call, ...] = ()
) -> list[Call]:
    """Return a group of the GPU whose counterpart on the CPU is recorded."""
    (group,) = repaired({"x cuda": [*calls]}, {"x cpu": [*before]}, {"x cpu": [*now]}).values()
    return group


def test_what_exists_stays() -> None:
    calls = [call("on_both", BYTES, WORDS), call("on_gpu", named("Columns", BYTES, BYTES), "int64")]
    others = call("on_both", WORDS, WORDS)
    assert after_repair(*calls, before=(others,), now=(others,)) == calls


def test_what_no_longer_exists_is_dropped() -> None:
    gone = [call("absent", BYTES), call("f", module="hapgpu.absent"), call("python", BYTES)]
    kept = call("on_both", BYTES, WORDS)
    assert after_repair(*gone, kept) == [kept]


def test_types_of_a_function_that_the_cpu_calls() -> None:
    old, new = call("on_both", BYTES, BYTES), call("on_both", BYTES, WORDS)
    others = call("on_both", "int64", WORDS)
    assert after_repair(old, before=(old,), now=(new,)) == [new]
    assert after_repair(old, before=(others,), now=(others,)) == [old]
    fewer = call("on_both", BYTES)
    assert after_repair(fewer, now=(new, others)) == [new, others]
    assert after_repair(fewer, new, now=(new, others)) == [new, others]


def test_fields_of_a_tuple_that_the_cpu_makes() -> None:
    new = named("Columns", BYTES, WORDS)
    now = call("on_both", named("Box", new), WORDS)
    more_fields = call("on_gpu", named("Columns", BYTES, BYTES, BYTES), "int64")
    assert after_repair(more_fields, now=(now,)) == [call("on_gpu", new, "int64")]
    within = call("on_gpu", ["tuple", named("Box", named("Columns", BYTES))], "int64")
    assert after_repair(within, now=(now,)) == [
        call("on_gpu", ["tuple", named("Box", new)], "int64")
    ]
    same_number = named("Columns", BYTES, BYTES)
    before = call("on_both", named("Box", same_number), WORDS)
    assert after_repair(call("on_gpu", same_number, "int64"), before=(before,), now=(now,)) == [
        call("on_gpu", new, "int64")
    ]


def test_a_tuple_that_the_cpu_does_not_make_is_dropped() -> None:
    fields = [named("Columns", BYTES, WORDS), named("Columns", WORDS, WORDS)]
    of_both = [call("on_both", each, WORDS) for each in fields]
    one_field = call("on_gpu", named("Columns", BYTES), "int64")
    assert after_repair(one_field) == []
    assert after_repair(one_field, now=tuple(of_both)) == []  # which of them?
    assert after_repair(one_field, before=(of_both[0],), now=tuple(of_both)) == [
        call("on_gpu", fields[1], "int64")
    ]
    assert after_repair(call("on_gpu", named("Absent", BYTES), "int64")) == []
