"""Tests gpu.py's rivals on cores, against what others find: python -m unittest -v gpu_test, from bench/rivals.

Those of cumf.cu need NVIDIA's NVRTC, and the stand-in driver in LD_LIBRARY_PATH."""

import contextlib
import ctypes
import glob
import gzip
import importlib.util
import math
import os
import struct
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy as np

import gpu
import gpu_factor
import gpu_sparse
from gpu_runs_test import job, terms

A = types.SimpleNamespace(device="cpu", gpu=0)
R = np.random.default_rng


def needs(*modules):
    gone = [m for m in modules if not importlib.util.find_spec(m)]
    return unittest.skipIf(gone, f"{sys.executable} has no {' and no '.join(gone)}")


def sparse_set(n, seed, d=40):
    """Rows of labels that a linear model explains in part, as text and as arrays; a few are empty."""
    r = R(seed)
    truth = R(7).normal(size=d)
    lines, dense = [], np.zeros((n, d))
    for i in range(n):
        at = np.sort(r.choice(d, r.integers(0, 9), replace=False))
        dense[i, at] = r.uniform(0.2, 1.5, len(at)).astype(np.float32)
    y = np.where(dense @ truth + 2 + r.normal(size=n) > 0, 1, -1)
    for i in range(n):
        lines.append(f"{y[i]:+d} " + " ".join(f"{k + 1}:{dense[i, k]:.9g}" for k in np.flatnonzero(dense[i])))
    return "\n".join(lines) + "\n", dense, y


class Sparse(unittest.TestCase):
    l2 = 0.03  # so large that it matters whether the bias shrinks too

    @classmethod
    def setUpClass(cls):
        cls.text, cls.dense, cls.y = sparse_set(1500, 1)
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = gpu.Inputs(cls.folder.name + "/train.gz", cls.folder.name + "/test", [])
        with gzip.open(cls.files.train, "wt") as f:
            f.write(cls.text)
        with open(cls.files.test, "w") as f:
            f.write(sparse_set(400, 2)[0])
        cls.sets = gpu_sparse.sets(cls.files.train, cls.files.test)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def objective(self, w):
        """On the dense rows as they were made; the bias has a scale."""
        w = np.asarray(w, float).ravel()
        z = self.y * (self.dense @ w[:-1] + self.bias() * w[-1])
        return np.logaddexp(0, -z).mean() + self.l2 / 2 * w[:-1] @ w[:-1], -z

    def bias(self):
        return np.sqrt((self.dense[self.dense != 0] ** 2).mean())

    def optimum(self):
        import scipy.optimize

        def both(w):
            f, u = self.objective(w)
            g = -self.y / (1 + np.exp(-u)) / len(self.y)
            return f, np.append(self.dense.T @ g + self.l2 * w[:-1], self.bias() * g.sum())

        return scipy.optimize.minimize(both, np.zeros(41), jac=True, method="BFGS", options={"gtol": 1e-9}).fun

    def excess(self, w):
        return self.objective(w)[0] / self.optimum() - 1

    def test_rows_read(self):
        y, ptr, idx, val = gpu_sparse.read(self.files.train)
        got = np.zeros_like(self.dense)
        got[np.repeat(np.arange(len(y)), np.diff(ptr)), idx] = val
        np.testing.assert_allclose(got, self.dense, rtol=1e-6)
        np.testing.assert_array_equal(y, self.y)

    @needs("scipy")
    def test_lbfgs_finds_the_optimum(self):
        import scipy.sparse

        for history in (3, 10):
            step, weights = gpu_sparse.lbfgs(np, scipy.sparse, self.sets[0][0], self.sets[1], self.l2, history)
            for _ in range(40):
                step()
            self.assertLess(self.excess(weights()), 1e-5)

    @needs("scipy", "torch")
    def test_sgd_comes_near_the_optimum(self):
        for make in (gpu_sparse.by_hand, gpu_sparse.bags):
            one_pass, w = make("cpu", self.sets[0][0], self.sets[1], self.l2, 100, 0.5)
            for _ in range(60):
                one_pass()
            self.assertLess(self.excess(w.detach().numpy()), 5e-3, make.__name__)

    @needs("scipy", "torch")
    def test_sides_reach_a_target_and_agree_on_the_test_loss(self):
        a9a, rows = job("a9a", l2=self.l2, target=0), []
        for way in ("PyTorch, graph", "PyTorch, EmbeddingBag", "cupy, L-BFGS"):
            side = gpu_sparse.side(A, a9a, self.files, way)
            rows.append(side.run((10,) if "L-BFGS" in way else (100, 0.5), terms(60)))
        for row in rows:
            self.assertEqual(row["ended"], "passes")
            self.assertAlmostEqual(row["loss"], rows[-1]["loss"], delta=0.01)
        j = job("a9a", l2=self.l2, target=rows[-1]["loss"] + 0.01)
        self.assertEqual(gpu_sparse.side(A, j, self.files, "cupy, L-BFGS").run((10,), terms())["ended"], "reached")


def factor_set(n, seed, rows=60, columns=40, rank=3):
    """Entries of a matrix of that rank, with noise of deviation 0.1."""
    p, q = (R(s).normal(size=(m, rank)) / rank ** 0.25 for s, m in ((1, rows), (2, columns)))
    r = R(seed)
    u, i = r.integers(0, rows, n), r.integers(0, columns, n)
    return np.column_stack([u, i, (p[u] * q[i]).sum(1) + 0.1 * r.normal(size=n)])


FLOOR = 0.01  # the variance of the noise


class Factors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = gpu.Inputs(cls.folder.name + "/train.npy", cls.folder.name + "/test.npy", [])
        np.save(cls.files.train, factor_set(12000, 3))
        np.save(cls.files.test, factor_set(2000, 4))
        (cls.train, cls.test), cls.sizes = gpu_factor.sets(cls.files.train, cls.files.test)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @needs("torch")
    def test_pytorch_comes_near_the_noise(self):
        for way in ("PyTorch, graph", "PyTorch, Embedding"):
            side = gpu_factor.side(A, job("factor", target=2 * FLOOR), self.files, way)
            row = side.run((64, 0.02), terms(60))
            self.assertEqual(row["ended"], "reached", row)

    @needs("torch")
    def test_gradients_by_hand_are_autograds(self):
        import torch

        data = [torch.from_numpy(v) for v in self.train]
        table = gpu_factor.first(self.sizes, 64, self.train[2])
        ends = []
        for make in (gpu_factor.by_hand, gpu_factor.embeddings):
            one_pass, tables = make("cpu", data, table, self.sizes[0], len(self.train[2]), 1e-4)
            one_pass()
            ends.append(torch.cat(tables()).detach().numpy())
        self.assertGreater(np.abs(ends[0] - table).max(), 1e-3)
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)

    def test_kernel_of_cumfs_kind_comes_near_the_noise(self):
        found = glob.glob(os.path.join(os.path.dirname(np.__path__[0]), "nvidia", "*", "lib", "libnvrtc.so.*"))
        if not found or "fake" not in os.environ.get("LD_LIBRARY_PATH", ""):
            self.skipTest("there is no libnvrtc.so, or no stand-in driver in LD_LIBRARY_PATH")
        self.assertGreater(len(compiled(found[0], b"-arch=sm_90")), 1000)  # machine code: all of it is valid
        image = compiled(found[0], b"-arch=compute_90")
        j = job("factor", target=2 * FLOOR)
        a = types.SimpleNamespace(device="cuda", gpu=0)
        side = gpu_factor.batch_hogwild(a, j, self.train, self.test, self.sizes, image)
        for point in ((256, 0.03), (50, 0.03)):  # 50: the last lanes of a run have no entry of their own
            row = side.run(point, terms(15))
            self.assertEqual(row["ended"], "reached", row)
        # One run is the work of one warp: the entries in their order, as NumPy takes them.
        few = [v[:500] for v in self.train]
        half = gpu_factor.first(self.sizes, 64, few[2], 3).astype(np.float16)
        side = gpu_factor.batch_hogwild(a, job("factor", target=0), few, self.test, self.sizes, image)
        p, q = half[: self.sizes[0]], half[self.sizes[0]:]
        for u, i, y in zip(*few):
            b, c = p[u].astype(np.float32), q[i].astype(np.float32)
            step = np.float32(0.06) * (y - b @ c)
            p[u], q[i] = b + step * c, c + step * b
        u, i, y = self.test
        want = (((p[u].astype(float) * q[i]).sum(1) - y) ** 2).mean()
        self.assertAlmostEqual(side.run((512, 0.03), terms(1, seed=3))["loss"] / want, 1, places=3)


def compiled(path, option):
    """cumf.cu by NVRTC, which needs no GPU. The stand-in takes the PTX of CUDA 12; this has nothing newer."""
    lib, program, size = ctypes.CDLL(path), ctypes.c_void_p(), ctypes.c_size_t()
    with open(os.path.join(os.path.dirname(gpu_factor.__file__), "cumf.cu"), "rb") as f:
        source = f.read()

    def ask(what):
        assert not getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        assert not getattr(lib, "nvrtcGet" + what)(program, text)
        return text.raw

    assert not lib.nvrtcCreateProgram(ctypes.byref(program), source, b"cumf.cu", 0, None, None)
    failed = lib.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(option))
    assert not failed, ask("ProgramLog").decode()
    if b"sm_" in option:
        return ask("CUBIN")
    head, _, rest = ask("PTX").partition(b".version ")
    return head + b".version 8.5" + rest[rest.index(b"\n"):]


@needs("torch")
class Dense(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        r = R(5)
        shapes = r.integers(0, 255, (10, 28, 28)) * (r.random((10, 28, 28)) < 0.3)
        for part, n in (("train", 1000), ("t10k", 300)):
            y = r.integers(0, 10, n)
            x = np.clip(shapes[y] * r.uniform(0.3, 1, (n, 1, 1)) + r.normal(0, 90, (n, 28, 28)), 0, 255).astype(np.uint8)
            for name, v in (("images-idx3", x), ("labels-idx1", y.astype(np.uint8))):
                with gzip.open(f"{cls.folder.name}/{part}-{name}-ubyte.gz", "wb") as f:
                    f.write(struct.pack(f">BBBB{v.ndim}I", 0, 0, 8, v.ndim, *v.shape) + v.tobytes())
        cls.files = gpu.Inputs(gpu.unpacked(cls.folder.name, cls.folder.name + "/bytes"), "", [])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_images_are_as_other_rivals_have_them(self):
        import gpu_dense
        import mnist

        for model, how in (("convnet", f"{mnist.MEAN},{mnist.STD}"), ("softmax", "standard")):
            x, y, test, labels = gpu_dense.images(self.files.train, model, "cpu")
            mean = mnist.scaling(how, self.folder.name)[0]
            for part, got, of in (("train", x, y), ("t10k", test, labels)):
                raw, want = mnist.load(self.folder.name, part)
                np.testing.assert_allclose(got.numpy(), mnist.inputs(raw, mean, dtype=got.dtype).numpy(), atol=1e-6)
                np.testing.assert_array_equal(of.numpy(), want.numpy())

    def test_a_graph_is_replayed_before_the_clock_starts(self):
        import torch

        import gpu_torch

        w, played = torch.ones(3), []

        class Graph:  # plays what the capture ran
            def replay(self):
                played.append("replay")
                w.add_(1)

        with unittest.mock.patch.multiple(torch.cuda, Stream=lambda: None, stream=lambda s: contextlib.nullcontext(), synchronize=lambda: None,
                                          CUDAGraph=Graph, graph=lambda g: contextlib.nullcontext()):
            run = gpu_torch.prepared("cuda", True, lambda: played.append("capture"), lambda: w.mul_(2), lambda: [w])
            self.assertEqual(played, ["capture", "replay"])
            self.assertEqual(w.tolist(), [1, 1, 1])
            run()
        self.assertEqual((played[2:], w.tolist()), (["replay"], [2, 2, 2]))

    def test_seeds_are_other_runs(self):
        import gpu_dense

        side = gpu_dense.side(A, job("softmax", target=0), self.files, "PyTorch, eager")
        losses = [side.run((100, 0.003), terms(1, seed=seed))["loss"] for seed in (1, 2, 1)]
        self.assertEqual(losses[0], losses[2])
        self.assertNotEqual(losses[0], losses[1])

    def test_softmax_is_numpys(self):
        import torch

        import gpu_dense

        x, y, *_ = gpu_dense.images(self.files.train, "softmax", "cpu")
        one_pass, net = gpu_dense.trainer("cpu", "softmax", "graph, fp32", (x, y), 100, 0.001)
        w, b = (p.detach().numpy().astype(float).copy() for p in net.parameters())
        torch.manual_seed(3)
        order = torch.randperm(1000).view(-1, 100).numpy()
        torch.manual_seed(3)
        one_pass()
        x, y = x.numpy().reshape(1000, 784).astype(float), np.eye(10)[y.numpy()]
        v, c = np.zeros_like(w), np.zeros_like(b)
        for at in order:
            z = x[at] @ w.T + b
            g = np.exp(z) / np.exp(z).sum(1, keepdims=True) - y[at]
            v, c = 0.9 * v + g.T @ x[at] / 100, 0.9 * c + g.mean(0)
            w, b = w - 0.001 * v, b - 0.001 * c
        for got, want in zip(net.parameters(), (w, b)):
            np.testing.assert_allclose(got.detach().numpy(), want, atol=1e-4)

    def test_sides_reach_a_target(self):
        import gpu_dense

        for name, way, point, target in (("softmax", "PyTorch, graph, bf16", (100, 0.003), 0.1), ("mlp128", "PyTorch, eager", (100, 0.02), 0.1),
                                         ("mlp128", "PyTorch, graph, tf32", (100, 0.02), 0.1), ("convnet", "PyTorch, graph, bf16", (50, 0.02), 1.2)):
            row = gpu_dense.side(A, job(name, target=target), self.files, way).run(point, terms(20))
            self.assertEqual(row["ended"], "reached", (name, way, row))


if __name__ == "__main__":
    unittest.main()
