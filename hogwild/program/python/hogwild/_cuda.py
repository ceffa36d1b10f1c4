"""Opens the GPU memory in which hogwild keeps the weights of a run with --gpu.

The coordinator of the run makes one CUDA allocation and exports it. Each program opens it through its IPC handle, so that
all of them read and write the same weights. On several GPUs a program opens a replica on a GPU of its own, which the
worker's process has allocated and merges. This file needs only ctypes and the driver, libcuda.so.1: no CUDA toolkit.

The rules of CUDA's memory that processes share:

- An update of PyTorch is a kernel of plain loads and stores: it loads w, subtracts, and stores w. Aligned floats are never
  torn, but an update that lands between another's load and store is lost. That is Hogwild! as on cores. hogwild's own
  kernels add atomically and lose none.
- Nothing orders the work of two processes on a GPU. Stores are sure to be visible to others when the work's stream has been
  synchronized. So a program synchronizes before it answers "trained": the run then copies or averages the weights.
- The L1 caches of a GPU's multiprocessors are not coherent, but a kernel does not find in them what an earlier kernel has
  read. So a step sees what others have written until its kernels started.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import ctypes
import os
import sys
import uuid
from typing import Any, Iterator

_LIBRARY = "libcuda.so.1"
_LAZY_PEER_ACCESS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: the only flag there is
_HANDLE_BYTES = 64
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class Error(RuntimeError):
    """The driver refused a call, or is not there."""


class _Handle(ctypes.Structure):
    """CUipcMemHandle. The driver takes it by value."""

    _fields_ = [("reserved", ctypes.c_ubyte * _HANDLE_BYTES)]


# The calls, with the types of their arguments. All return a CUresult.
_CALLS: dict[str, list[Any]] = {
    "cuInit": [ctypes.c_uint],
    "cuDeviceGetCount": [ctypes.POINTER(ctypes.c_int)],
    "cuDeviceGet": [ctypes.POINTER(ctypes.c_int), ctypes.c_int],
    "cuDeviceGetUuid": [ctypes.POINTER(ctypes.c_ubyte * 16), ctypes.c_int],
    "cuDevicePrimaryCtxRetain": [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int],
    "cuDevicePrimaryCtxRelease_v2": [ctypes.c_int],
    "cuDevicePrimaryCtxGetState": [ctypes.c_int, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_int)],
    "cuPointerGetAttribute": [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64],
    "cuMemcpyDtoH_v2": [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t],
    "cuCtxSetCurrent": [ctypes.c_void_p],
    "cuCtxPushCurrent_v2": [ctypes.c_void_p],
    "cuCtxPopCurrent_v2": [ctypes.POINTER(ctypes.c_void_p)],
    "cuCtxSynchronize": [],
    "cuIpcOpenMemHandle_v2": [ctypes.POINTER(ctypes.c_uint64), _Handle, ctypes.c_uint],
    "cuIpcCloseMemHandle": [ctypes.c_uint64],
    "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuGetErrorString": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
}

# What results mean that a user meets here.
_EXPLAINED = {
    2: "out of GPU memory: lower --workers, since each program has a CUDA context, or train a smaller model",
    46: "the GPU is in exclusive mode, and each program is a process on it: ask for the default mode, "
        "or start a Multi-Process Service (hogwild doctor says how)",
    100: "no GPU: CUDA_VISIBLE_DEVICES of the program hides it",
    201: "the program runs in another container than hogwild, or hogwild has ended",
    400: "hogwild has freed this memory",
}


class _Driver:
    """libcuda.so.1, each of whose calls is checked."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError as e:
            raise Error(f"the data is on a GPU, but the program finds no NVIDIA driver ({e}): "
                        "start it in the environment and the container of hogwild") from None
        for name, types in _CALLS.items():
            try:
                call = getattr(self._library, name)
            except AttributeError:
                raise Error(f"{_LIBRARY} has no {name}: install driver 525 (CUDA 12.0) or newer") from None
            call.argtypes, call.restype = types, ctypes.c_int

    def call(self, doing: str, name: str, *args: Any) -> None:
        """Calls the driver, and raises what it says of a failure."""
        result = self.result(name, *args)
        if result:
            why = _EXPLAINED.get(result)
            raise Error(f"{doing}: {name}: {self._says(result)}" + (f": {why}" if why else ""))

    def result(self, name: str, *args: Any) -> int:
        return int(getattr(self._library, name)(*args))

    @contextlib.contextmanager
    def current(self, context: Any) -> Iterator[None]:
        """The context for a while: the script may have made another GPU current, or be in another thread."""
        self.call("using the GPU", "cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.call("leaving the GPU", "cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _says(self, result: int) -> str:
        """The driver's name for a result, and its explanation."""
        texts = [ctypes.c_char_p(), ctypes.c_char_p()]
        for name, text in zip(("cuGetErrorName", "cuGetErrorString"), texts):
            if getattr(self._library, name)(result, ctypes.byref(text)) or text.value is None:
                return f"CUDA error {result}"
        return f"CUDA error {result} ({', '.join(t.value.decode() for t in texts if t.value)})"


def copy(to: int, address: int, size: int) -> None:
    """Copies bytes of a GPU on which this process has memory, when all that it has begun there is done: streams need not be
    known. The primary context, which CUDA's runtime and so the libraries use, is left as it was."""
    driver, context = _Driver(), ctypes.c_void_p()
    count, device, active, on, flags = (*(ctypes.c_int() for _ in range(4)), ctypes.c_uint())
    driver.call("starting the driver", "cuInit", 0)
    driver.call("counting GPUs", "cuDeviceGetCount", ctypes.byref(count))
    for i in range(count.value):
        driver.call(f"looking at GPU {i}", "cuDeviceGet", ctypes.byref(device), i)
        driver.call(f"looking at GPU {i}", "cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(active))
        if not active.value:
            continue
        driver.call(f"opening GPU {i}", "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        try:
            with driver.current(context):
                if driver.result("cuPointerGetAttribute", ctypes.byref(on), _DEVICE_ORDINAL, address) or on.value != i:
                    continue
                driver.call(f"waiting for GPU {i}", "cuCtxSynchronize")
                driver.call(f"copying from GPU {i}", "cuMemcpyDtoH_v2", to, address, size)
                return
        finally:
            driver.call(f"closing GPU {i}", "cuDevicePrimaryCtxRelease_v2", device)
    raise Error(f"no GPU has memory at {address:#x} in this process's primary context: give the array as NumPy's")


class Array:
    """Floats of the memory, for whatever knows CUDA's array interface."""

    def __init__(self, memory: Memory, offset: int, count: int) -> None:
        self.memory = memory  # it lives as long as the arrays
        # No stream to wait for: whoever wrote the weights has synchronized before it sent the message that led here.
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (memory.address + offset, False),
            "version": 3, "strides": None, "stream": None}


class Memory:
    """The run's GPU, and of a worker the allocation with the weights, open until the process exits.

    welcome is "gpu" of hogwild's welcome: uuid, and of a worker handle and size. A process opens a handle once, so there is
    one Memory. It is not closed before the process exits, because the module's parameters lie in it, and the script may use
    them after the last batch."""

    _opened = False

    def __init__(self, welcome: dict[str, Any]) -> None:
        if Memory._opened:
            raise Error("the weights on the GPU are open in this process already")
        self.size: int = welcome.get("size", 0)  # bytes; 0: the evaluator opens nothing
        self.address = 0
        self._driver, self._process = _Driver(), os.getpid()
        self._driver.call("starting the driver", "cuInit", 0)
        self.ordinal = self._find(welcome["uuid"])
        self.device = f"cuda:{self.ordinal}"  # PyTorch counts as the driver does
        self._use()
        if "handle" in welcome:
            self._open(base64.b64decode(welcome["handle"]))
        Memory._opened = True
        atexit.register(self._leave)

    def _open(self, handle: bytes) -> None:
        if len(handle) != _HANDLE_BYTES:
            raise Error(f"the handle of the GPU memory has {len(handle)} bytes, want {_HANDLE_BYTES}")
        address = ctypes.c_uint64()
        self._driver.call("opening the weights on the GPU", "cuIpcOpenMemHandle_v2", ctypes.byref(address),
                          _Handle.from_buffer_copy(handle), _LAZY_PEER_ACCESS)
        self.address = address.value

    def _find(self, wanted: str) -> int:
        """The GPU by its UUID: the numbers of GPUs depend on CUDA_VISIBLE_DEVICES."""
        count, device = ctypes.c_int(), ctypes.c_int()
        self._driver.call("counting GPUs", "cuDeviceGetCount", ctypes.byref(count))
        for i in range(count.value):
            raw = (ctypes.c_ubyte * 16)()
            self._driver.call(f"looking at GPU {i}", "cuDeviceGet", ctypes.byref(device), i)
            self._driver.call(f"looking at GPU {i}", "cuDeviceGetUuid", ctypes.byref(raw), device)
            if f"GPU-{uuid.UUID(bytes=bytes(raw))}" == wanted:
                self._gpu = device.value
                return i
        raise Error(f"GPU {wanted}, which has the weights, is not visible to the program: "
                    "CUDA_VISIBLE_DEVICES must be that of hogwild")

    def _use(self) -> None:
        """Makes the primary context current. PyTorch uses the same one, since CUDA's runtime does."""
        self._context = ctypes.c_void_p()
        self._driver.call(f"opening GPU {self.ordinal}", "cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._gpu)
        self._driver.call(f"using GPU {self.ordinal}", "cuCtxSetCurrent", self._context)

    def array(self, offset: int, count: int) -> Array:
        """count floats, from offset bytes on."""
        if offset < 0 or offset % 4 or count < 0 or offset + 4 * count > self.size:
            raise Error(f"{count} floats at byte {offset} are not within the {self.size} bytes of the GPU memory")
        return Array(self, offset, count)

    def tensor(self, offset: int, count: int) -> Any:
        """The same floats as a tensor of PyTorch, which the caller has imported."""
        torch: Any = sys.modules["torch"]
        tensor = torch.as_tensor(self.array(offset, count), device=self.device)
        if count and tensor.data_ptr() != self.address + offset:
            raise Error(f"PyTorch {torch.__version__} has copied the weights instead of sharing them: install a newer one")
        return tensor

    def moved(self, batch: Any) -> Any:
        """A batch of a Dataset with its tensors on the GPU, as PyTorch's pin_memory walks through one."""
        if hasattr(batch, "to"):
            return batch.to(self.device)
        if isinstance(batch, dict):
            return type(batch)((name, self.moved(part)) for name, part in batch.items())
        if isinstance(batch, (tuple, list)):
            parts = [self.moved(part) for part in batch]
            return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
        return batch

    def synchronize(self) -> None:
        """Waits until all work of this process is done, and visible to others."""
        with self._driver.current(self._context):
            self._driver.call("waiting for the GPU", "cuCtxSynchronize")

    def close(self) -> None:
        """Closes the memory: no array may be used any more. hogwild frees it when all have done so."""
        if self.address:
            with self._driver.current(self._context):
                self._driver.call("closing the weights on the GPU", "cuIpcCloseMemHandle", self.address)
            self.address = self.size = 0
        self._driver.call(f"closing GPU {self.ordinal}", "cuDevicePrimaryCtxRelease_v2", self._gpu)

    def _leave(self) -> None:
        """close, when the process exits. A child that it has forked has no CUDA."""
        if os.getpid() != self._process:
            return
        try:
            self.close()
        except Error as e:
            if not hasattr(sys, "last_type"):  # else the script has died of an error, which is the one that counts
                print(f"hogwild: {e}", file=sys.stderr)
