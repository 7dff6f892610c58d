"""Arguments of a kernel, checked against its parameters and packed as the kernel takes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.gpu.kernel import (
    Array,
    Kernel,
    KernelArgument,
    Length,
    Parameter,
    Scalar,
    Struct,
    length_name,
    named_fields,
)
from hapgpu.runtime.gpu_array import GpuArray


@dataclass(frozen=True, slots=True)
class Checked:
    """Arguments checked against the parameters of a kernel.

    Attributes
    ----------
    parameters
        The parameters of the kernel.
    values
        Arrays and numbers in the order of `named_fields`, with addresses for the arrays of structs;
        then the structs, each as an array of one element, which CuPy passes by value.
    arguments
        As given; they keep the arrays of structs alive.
    """

    parameters: tuple[Parameter, ...]
    values: tuple[Any, ...]
    arguments: tuple[KernelArgument, ...]


class ArgumentTable:
    """The parameters of a kernel, with what a launch looks up of them.

    Parameters
    ----------
    kernel
        The kernel.
    device
        The GPU of all arrays.
    """

    def __init__(self, kernel: Kernel, device: int) -> None:
        self._kernel = kernel
        self._device = device
        fields = named_fields(kernel.parameters)
        indices = {name: index for index, name in enumerate(fields)}
        arrays = [
            (name, field, indices[length_name(name, field, fields)])
            for name, field in fields.items()
            if isinstance(field, Array)
        ]
        lengths = {length for _, _, length in arrays}
        self._numbers = [
            (index, int if isinstance(field, Length) else field.dtype, name)
            for index, (name, field) in enumerate(fields.items())
            if not isinstance(field, Array)
        ]
        self._new_numbers = [(*number, number[0] in lengths) for number in self._numbers]
        self._arrays = [
            (indices[name], np.dtype(field.dtype), length, name, field)
            for name, field, length in arrays
        ]
        self._in_structs = [index for index, _, _, name, _ in self._arrays if "." in name]
        self._structs = _packings(kernel.parameters)
        self._new_structs = [each for each in self._structs if each.has_numbers]
        self._passed = _passed(kernel.parameters)

    def check(self, arguments: Sequence[KernelArgument]) -> Checked:
        """Check the arguments of a launch, one per parameter.

        Raises
        ------
        TypeError, ValueError, OverflowError
            An array has another type, device or layout than declared, or is too short; a number is
            out of range.
        """
        if len(arguments) != len(self._kernel.parameters):
            message = f"{self._kernel.expression}: takes {len(self._kernel.parameters)} arguments"
            raise ValueError(f"{message}, not {len(arguments)}")
        values: list[Any] = [*arguments]
        if self._structs:
            values = self._field_values(self._kernel.parameters, arguments)
        for index, converted, _ in self._numbers:
            values[index] = converted(values[index])
        for index, dtype, length, name, parameter in self._arrays:
            array: GpuArray = values[index]
            needed = (int(values[length]) + parameter.extra) * parameter.width
            if (
                array.dtype != dtype
                or array.size < needed
                or not array.flags.c_contiguous
                or array.data.device_id != self._device
            ):
                self._refuse(name, dtype, array, needed)
        for index in self._in_structs:
            values[index] = values[index].data.ptr
        values += [each.packed(values) for each in self._structs]
        return Checked(self._kernel.parameters, tuple(values), tuple(arguments))

    def with_scalars(self, checked: Checked, scalars: Mapping[str, float]) -> list[Any]:
        """Return checked values with other numbers, which `scalars` has by name.

        Raises
        ------
        TypeError, ValueError, OverflowError
            The arguments are of other parameters, a length is larger than the one checked, or a
            number is out of range.
        """
        if checked.parameters is not self._kernel.parameters:
            message = f"{self._kernel.expression}: arguments were checked for other parameters"
            raise TypeError(message)
        values = list(checked.values)
        for index, converted, name, is_length in self._new_numbers:
            number = scalars[name]
            if is_length and not 0 <= number <= values[index]:
                message = f"{self._kernel.expression}: {name} is {number}, not at most"
                raise ValueError(f"{message} {values[index]}")
            values[index] = converted(number)
        for each in self._new_structs:
            values[each.index] = each.packed(values)
        return values

    def passed(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the checked values that the kernel takes."""
        return tuple(values if self._passed is None else [values[index] for index in self._passed])

    def _field_values(
        self, parameters: tuple[Parameter, ...], arguments: Sequence[Any]
    ) -> list[Any]:
        values: list[Any] = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            if not isinstance(parameter, Struct):
                values.append(argument)
                continue
            if len(argument) != len(parameter.fields):
                where = f"{self._kernel.expression}: {parameter.name}"
                message = f"{where} takes {len(parameter.fields)} fields, not {len(argument)}"
                raise ValueError(message)
            values += self._field_values(parameter.fields, argument)
        return values

    def _refuse(
        self, name: str, dtype: np.dtype[np.generic], array: GpuArray, needed: int
    ) -> NoReturn:
        where = f"{self._kernel.expression}: {name}"
        if array.dtype != dtype:
            message = f"{where} has type {array.dtype}, not {dtype}"
            raise TypeError(message)
        if array.size < needed:
            message = f"{where} has {array.size} elements, not {needed}"
            raise ValueError(message)
        message = f"{where} is not contiguous, or not on device {self._device}"
        raise ValueError(message)


class _Packing:
    """Packing of a struct: the bytes of C of its fields, which start at `first` in all values."""

    def __init__(self, fields: tuple[Parameter, ...], first: int, index: int) -> None:
        layout = struct.Struct(f"@{_codes(fields)}")
        leaves = named_fields(fields).values()
        self._pack = layout.pack
        self._dtype = np.dtype((np.void, layout.size))
        self._members = [
            first + at for at, field in enumerate(leaves) if not isinstance(field, Length)
        ]
        self.index = index
        self.has_numbers = any(isinstance(field, Scalar) for field in leaves)

    def packed(self, values: Sequence[Any]) -> NDArray[np.void]:
        """Return the struct as an array of one element."""
        return np.frombuffer(self._pack(*[values[index] for index in self._members]), self._dtype)


def _packings(parameters: tuple[Parameter, ...]) -> list[_Packing]:
    """Return the packing of each struct."""
    packings: list[_Packing] = []
    first, end = 0, sum(map(_count, parameters))
    for parameter in parameters:
        if isinstance(parameter, Struct):
            packings.append(_Packing(parameter.fields, first, end + len(packings)))
        first += _count(parameter)
    return packings


def _codes(fields: tuple[Parameter, ...]) -> str:
    """Return the format of a struct for the module `struct`.

    A struct starts and ends as aligned as its widest member.
    """
    codes = [_code(field) for field in fields if not isinstance(field, Length)]
    widest = max("".join(codes).replace("0", ""), key=struct.calcsize)
    return f"0{widest}{''.join(codes)}0{widest}"


def _code(field: Array | Scalar | Struct) -> str:
    """Return the format of a member for the module `struct`."""
    if isinstance(field, Struct):
        return _codes(field.fields)
    return np.dtype(field.dtype).char if isinstance(field, Scalar) else "P"


def _passed(parameters: tuple[Parameter, ...]) -> list[int] | None:
    """Return the indices in all values of what the kernel takes; None stands for all in order."""
    if all(isinstance(parameter, Array | Scalar) for parameter in parameters):
        return None
    passed = []
    index, struct_index = 0, sum(map(_count, parameters))
    for parameter in parameters:
        if isinstance(parameter, Struct):
            passed.append(struct_index)
            struct_index += 1
        elif not isinstance(parameter, Length):
            passed.append(index)
        index += _count(parameter)
    return passed


def _count(parameter: Parameter) -> int:
    """Return how many values a parameter has."""
    return len(named_fields((parameter,)))
