"""Arrays of other libraries as data. With the stand-in driver, bin/fake in LD_LIBRARY_PATH, and HOGWILD_FAKE_DEVICES=2 they
lie in the memory of its GPUs: python3 test_arrays.py
"""

import ctypes
import os
import threading
import time
import unittest
import weakref

import numpy as np
import torch

import hogwild
from hogwild._arrays import _DLTensor, host
from hogwild._rows import Rows
from test_data import Folder, points, same

STAND_IN = os.environ.get("HOGWILD_FAKE_DEVICES") == "2"


class GPU:
    """A GPU's memory, as libraries have it: in the primary context, which is current on no thread afterwards."""

    def __init__(self, number=0):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), number)

    def call(self, name, *args):
        result = getattr(self.cuda, name)(*args)
        assert result == 0, (name, result)

    def put(self, memory, stream=None):
        """The address of a copy of an array's memory. With a stream it comes half a second later."""
        address = ctypes.c_uint64()
        source, size = ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes)
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        if stream is None:
            self.call("cuMemcpyHtoD_v2", address, source, size)
        else:
            self.late = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: time.sleep(.5))
            self.call("cuStreamCreate", ctypes.byref(stream), 1)  # which does not wait for the default stream
            self.call("cuStreamAddCallback", stream, self.late, None, 0)
            self.call("cuMemcpyHtoDAsync_v2", address, source, size, stream)
        self.call("cuCtxPopCurrent_v2", None)
        return address.value


class Interface:
    """As of cupy and numba: a view of an array whose memory is whole, on a GPU."""

    def __init__(self, gpu, view, whole=None, **more):
        whole = view if whole is None else whole
        at = gpu.put(whole) + view.ctypes.data - whole.ctypes.data if view.size else 0
        contiguous = view.flags.c_contiguous
        self.__cuda_array_interface__ = {"shape": view.shape, "typestr": view.dtype.str, "data": (at, True), "version": 3,
                                         "strides": None if contiguous else view.strides, **more}


class Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Packed:
    """An array as DLPack alone has it. freed counts what its capsules gave back."""

    freed = 0
    KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}

    def __init__(self, address, view, device=2, code=None, lanes=1):
        self.device, self.view, self.shape = device, view, (ctypes.c_int64 * view.ndim)(*view.shape)
        self.strides = (ctypes.c_int64 * view.ndim)(*(s // view.itemsize for s in view.strides))
        back = 16 if address else 0  # what byte_offset is for
        self.managed = Managed(_DLTensor(
            address - back, (device, 0), view.ndim, self.KINDS[view.dtype.kind] if code is None else code, 8 * view.itemsize, lanes,
            self.shape, None if view.flags.c_contiguous else self.strides, back))
        self.destroy = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.free)

    def free(self, capsule):
        api = ctypes.pythonapi
        api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        Packed.freed += api.PyCapsule_IsValid(capsule, b"dltensor")  # else who took it over frees it

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, *, stream=None, **_):
        assert self.device == 1 or stream == 1
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", ctypes.cast(self.destroy, ctypes.c_void_p))


def equal(test, got, want):
    test.assertIsInstance(got, np.ndarray)
    test.assertEqual(got.dtype, want.dtype)
    np.testing.assert_array_equal(got, want)


def layouts():
    """Views of an array, with the array whose memory they show."""
    whole = np.arange(60, dtype="f4").reshape(4, 5, 3) - 30
    for kind in ("f2", "f4", "f8", "i1", "u2", "i8", "u8", "?"):
        yield whole.astype(kind), None
    yield whole.astype(">f4"), None
    f = np.asfortranarray(whole[0])
    yield f, f
    for view in (whole[1:3, ::2, 1], whole[::-1, :, ::-2], whole.T, np.broadcast_to(whole[1, 2], (7, 3)), whole[2, 3, 1:2], whole[:0]):
        yield view, whole


class OnHost(Folder):
    def test_torch(self):
        X, y = points()
        expected = hogwild.train(X.astype("f4"), y == "yes", epochs=2, workers=1)
        tensor = torch.tensor(X, dtype=torch.float32, requires_grad=True)
        run = hogwild.train(tensor, torch.tensor(y == "yes"), epochs=2, workers=1)
        self.assertTrue(same(run, expected))
        np.testing.assert_array_equal(run.predict(tensor), expected.predict(X))
        for kind in (torch.float16, torch.bfloat16, torch.float8_e4m3fn):
            np.testing.assert_array_equal(host(torch.tensor(X).to(kind)), torch.tensor(X).to(kind).double().numpy())
        with self.assertRaisesRegex(hogwild.Error, "torch.sparse_coo.*to_dense"):
            hogwild.train(tensor.detach().to_sparse(), y)

    def test_dlpack(self):
        X, _ = points()
        equal(self, host(Packed(X.ctypes.data, X, 1)), X)

        class Elsewhere:
            def __dlpack_device__(self):
                return 14, 0

            def __dlpack__(self, **_):
                raise BufferError("no way to the host")

        with self.assertRaisesRegex(hogwild.Error, "an array of Elsewhere: no way to the host: give it as NumPy's"):
            hogwild.train(X, Elsewhere())

    def test_as_they_are(self):
        for a in (None, [1, 2], "titanic.csv", np.ma.masked_array([1, 2], [0, 1])):
            self.assertIs(host(a), a)


@unittest.skipUnless(STAND_IN, "not the stand-in driver")
class OnGPU(Folder):
    def setUp(self):
        super().setUp()
        self.gpu = GPU()

    def test_layouts(self):
        for view, whole in layouts():
            with self.subTest(dtype=view.dtype, shape=view.shape, strides=view.strides):
                equal(self, host(Interface(self.gpu, view, whole)), view)
                if view.dtype.isnative:
                    memory = view if whole is None else whole
                    at = self.gpu.put(memory) + view.ctypes.data - memory.ctypes.data if view.size else 0
                    freed = Packed.freed
                    equal(self, host(Packed(at, view)), view)
                    self.assertEqual(Packed.freed, freed + 1)

    def test_bfloat16(self):
        tensor = torch.randn(5, 7).bfloat16()
        bits = tensor.view(torch.int16).numpy().view("u2")
        equal(self, host(Packed(self.gpu.put(bits), bits, code=4)), tensor.float().numpy())

    def test_same_weights(self):
        X, y = points()
        yes, weight = (y == "yes").astype("i8"), np.linspace(0, 2, len(y)).astype("f4")
        wide = np.zeros((300, 9))
        wide[:, 2:7] = X
        memory = yes.copy()
        packed = Packed(self.gpu.put(memory), memory)
        given = Interface(self.gpu, wide[:, 2:7], wide), packed, Interface(self.gpu, weight)
        expected = hogwild.train(X, yes, sample_weight=weight, epochs=2, workers=1, test=(X, yes))
        run = hogwild.train(given[0], packed, sample_weight=given[2], epochs=2, workers=1, test=given[:2])
        self.assertTrue(same(run, expected))
        self.assertEqual(run.history[-1]["test_loss"], expected.history[-1]["test_loss"])
        np.testing.assert_array_equal(run.predict(given[0]), expected.predict(X))
        data = hogwild.Dataset(given[0], packed, sample_weight=given[2])
        self.assertTrue(same(hogwild.train(data, epochs=2, workers=1), expected))
        plain = hogwild.train(X, yes, epochs=2, workers=1)
        parts = [tuple(Interface(self.gpu, np.ascontiguousarray(a[p])) for a in (X, yes)) for p in (slice(0, 99), slice(99, 300))]
        self.assertTrue(same(hogwild.train(hogwild.Dataset.from_batches(parts), epochs=2, workers=1), plain))
        classes = Interface(self.gpu, yes.astype("f4"))  # whole floats are classes of a softmax
        self.assertEqual(hogwild.train(given[0], classes, model="logistic", epochs=1).classes.tolist(), [0, 1])

    def test_copy_is_not_kept(self):
        X, _ = points()
        rows, room = Rows(Interface(self.gpu, X)), bytearray(4 * X.size)
        copied = weakref.ref(rows.X)
        rows.fill(room, {"x": 0})
        self.assertIsNone(copied())
        np.testing.assert_array_equal(np.frombuffer(room, "f4").reshape(X.shape), X.astype("f4"))

    def test_estimators(self):
        from hogwild.sklearn import HogwildClassifier, HogwildRegressor
        X, y = points()
        yes, weight = (y == "yes").astype("i8"), np.linspace(.5, 2, len(y))
        there = Interface(self.gpu, X)
        for estimator, target in ((HogwildClassifier, yes), (HogwildRegressor, X[:, 0] * 2)):
            ours, theirs = (estimator(max_iter=2, random_state=0).fit(*given) for given in (
                (there, Interface(self.gpu, np.ascontiguousarray(target)), Interface(self.gpu, weight)), (X, target, weight)))
            np.testing.assert_array_equal(ours.coef_, theirs.coef_)
            np.testing.assert_array_equal(ours.predict(there), theirs.predict(X))

    def test_ratings(self):
        users, items = np.random.RandomState(0).randint(0, 9, (2, 200))
        values = np.linspace(1, 5, 200)
        there = [Interface(self.gpu, a) for a in (users, items, values)]
        ours, theirs = (hogwild.Factorization(4, epochs=2, workers=1).fit(*given) for given in (there, (users, items, values)))
        np.testing.assert_array_equal(ours.user_factors, theirs.user_factors)
        np.testing.assert_array_equal(ours.predict(*there[:2]), theirs.predict(users, items))

    def test_waits_for_streams(self):
        """The numbers are still on their way, on a stream of either GPU that waits for no other."""
        for gpu in (self.gpu, GPU(1)):
            X, stream = np.arange(6.).reshape(2, 3), ctypes.c_void_p()
            array = Interface(gpu, X)
            array.__cuda_array_interface__["data"] = (gpu.put(X, stream), False)
            array.__cuda_array_interface__["stream"] = stream.value
            equal(self, host(array), X)

    def test_thread_without_context(self):
        X, got = np.arange(6.).reshape(2, 3), []
        array = Interface(self.gpu, X)
        thread = threading.Thread(target=lambda: got.append(host(array)))
        thread.start()
        thread.join()
        equal(self, got[0], X)

    def test_one_line(self):
        X, y = points()
        lost = Interface(self.gpu, X)
        lost.__cuda_array_interface__["data"] = (64, False)
        for words, wrong in (
                ("has a mask", Interface(self.gpu, X, mask=Interface(self.gpu, X > 0))),
                ("type complex128: want real numbers", Interface(self.gpu, X * 1j)),
                ("DLPack's type 10 of 8 bits", Packed(64, X.astype("u1"), code=10)),
                ("nothing in it", Interface(self.gpu, X[:0])), ("X has the shape .300,.", Interface(self.gpu, X[:, 0].copy())),
                ("an array on the GPU: no GPU has memory at 0x40 in this process's primary context", lost)):
            with self.subTest(words), self.assertRaisesRegex(hogwild.Error, words) as raised:
                hogwild.train(wrong, y)
            self.assertNotIn("\n", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
