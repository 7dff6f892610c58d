"""Host memory of pairs, from which a GPU copies fast."""

from __future__ import annotations

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, pinned_array


def pinned_memory(size: int, device: CudaDevice) -> NDArray[np.uint8]:
    """Return uninitialised pinned memory, uint8[size].

    Raises
    ------
    DeviceError
        The memory is too small, or the GPU failed.
    """
    with device_errors(device), cupy.cuda.Device(device.index):
        return pinned_array(size, np.uint8)
