"""Arrays of other libraries, from a GPU too, as NumPy's."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Sequence

import numpy as np

import hogwild
from hogwild import _check

from . import _cuda

_CUDA, _CUDA_MANAGED = 2, 13  # DLDeviceType
_LEGACY_STREAM = 1  # which a producer has wait for the array's own work
_BFLOAT = 4


class _DLTensor(ctypes.Structure):
    """The beginning of DLManagedTensor, of dlpack.h."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


def host(a: Any) -> Any:
    """A copy in NumPy's memory of an array on a GPU; what NumPy reads by itself as it is."""
    if isinstance(a, np.ndarray):
        return a
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(a, torch.Tensor):  # of any device, whose copy waits for its stream
        _check(a.layout is torch.strided, f"a tensor has the layout {a.layout}: give a.to_dense(), or a matrix of scipy.sparse")
        a = a.detach().cpu()
        own = not a.is_floating_point() or a.dtype in (torch.float16, torch.float32, torch.float64)  # NumPy's types, too
        return (a if own else a.float()).numpy()
    interface = getattr(a, "__cuda_array_interface__", None)
    if interface is not None:
        _check(interface.get("mask") is None, "an array on the GPU has a mask: fill its holes, or leave these rows out")
        return _copied(interface["data"][0], interface["shape"], np.dtype(interface["typestr"]), interface.get("strides"))
    if hasattr(a, "__dlpack_device__"):
        if a.__dlpack_device__()[0] in (_CUDA, _CUDA_MANAGED):
            return _unpacked(a.__dlpack__(stream=_LEGACY_STREAM))
        if not hasattr(a, "__array__"):
            try:
                return np.from_dlpack(a)
            except (BufferError, RuntimeError) as e:
                raise hogwild.Error(f"an array of {type(a).__name__}: {e}: give it as NumPy's") from None
    return a


def _unpacked(capsule: Any) -> Any:
    """The array of a capsule, which frees it as none took it over."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = ctypes.cast(pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    kind = {0: "i", 1: "u", 2: "f", _BFLOAT: "u", 6: "b"}.get(t.code)
    _check(kind is not None and t.bits % 8 == 0 and t.lanes == 1,
           f"an array on the GPU has DLPack's type {t.code} of {t.bits} bits: want real numbers")
    dtype = np.dtype(f"{kind}{t.bits // 8}")
    strides = [n * dtype.itemsize for n in t.strides[:t.ndim]] if t.strides else None
    values = _copied((t.data or 0) + t.offset, t.shape[:t.ndim], dtype, strides)
    return (values.astype("u4") << 16).view("f4") if t.code == _BFLOAT else values


def _copied(address: int, shape: Sequence[int], dtype: Any, strides: Any) -> Any:
    """An array on the GPU, by one copy of the memory from its first number to its last."""
    if 0 in shape:
        return np.empty(shape, dtype)
    if strides is None:
        strides = [dtype.itemsize * int(np.prod(shape[i + 1:], dtype=int)) for i in range(len(shape))]
    ends = [(n - 1) * stride for n, stride in zip(shape, strides)]
    first, last = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    memory = np.empty(last - first + dtype.itemsize, "u1")
    try:
        _cuda.copy(memory.ctypes.data, address + first, memory.nbytes)
    except _cuda.Error as e:
        raise hogwild.Error(f"an array on the GPU: {e}") from None
    return np.ndarray(shape, dtype, memory, -first, strides)
