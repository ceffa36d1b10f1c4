"""gpu.py's rivals for the entries of a matrix, factors of rank 64, the entries on the GPU:

PyTorch, graph       gradients written by hand (gather, index_add_), a pass as one CUDA graph
PyTorch, Embedding   what a user writes: two embeddings with sparse gradients
cuMF_SGD's kind      cumf.cu, built here with nvcc

The loss is (p.q - y)^2 of each entry, summed over a batch, so that rates of all batches are alike. Entries
lie in an order without meaning, and batches follow each other in it."""

import ctypes
import functools
import os
import shutil
import tempfile

import numpy as np

import gpu

SETTINGS = [("batch 16384", 0.03, 16384), ("batch 4096", 0.03, 4096), ("batch 65536", 0.01, 65536), ("batch 32768", 0.02, 32768)]


@functools.cache
def sets(train, test):
    """Rows, columns and values less their mean, of both sets; and the numbers of rows and of columns."""
    raw = [np.load(path) for path in (train, test)]
    mean = raw[0][:, 2].mean()
    sizes = [1 + int(max(r[:, i].max() for r in raw)) for i in (0, 1)]
    return [(r[:, 0].astype(np.int64), r[:, 1].astype(np.int64), (r[:, 2] - mean).astype(np.float32)) for r in raw], sizes


def first(sizes, rank, values, seed=1):
    """The first factors, of rows and then of columns: hogwild's law."""
    scale = np.sqrt(values.std() / np.sqrt(rank))
    return np.random.default_rng(seed).uniform(-scale, scale, (sum(sizes), rank)).astype(np.float32)


def by_hand(where, data, table, rows, batch, lr, seed=1):
    """A function that trains a pass, and one that returns the two tables."""
    import torch

    import gpu_torch

    u, i, y = data
    w = torch.from_numpy(table).to(where, copy=True)
    p, q = w[:rows], w[rows:]

    def step(at):
        a, b = p[u[at]], q[i[at]]
        e = ((a * b).sum(1) - y[at])[:, None] * (-2 * lr)
        p.index_add_(0, u[at], e * b)
        q.index_add_(0, i[at], e * a)

    spans = [slice(at, at + batch) for at in range(0, len(y), batch)]
    return gpu_torch.prepared(where, True, lambda: [step(s) for s in spans], lambda: step(spans[0]), lambda: [w]), lambda: (p, q)


def embeddings(where, data, table, rows, batch, lr, seed=1):
    """The same with Embedding, and another order of batches in each pass."""
    import torch

    import gpu_torch

    u, i, y = data
    w = torch.from_numpy(table).to(where, copy=True)
    p, q = (torch.nn.Embedding.from_pretrained(t.clone(), freeze=False, sparse=True) for t in (w[:rows], w[rows:]))
    optimizer, draw = torch.optim.SGD([p.weight, q.weight], lr=lr), np.random.default_rng(seed)

    def step(at):
        optimizer.zero_grad()
        ((p(u[at]) * q(i[at])).sum(1) - y[at]).square().sum().backward()
        optimizer.step()

    def steps():
        for at in draw.permutation(range(0, len(y), batch)).tolist():
            step(slice(at, at + batch))

    return gpu_torch.prepared(where, False, steps, lambda: step(slice(0, batch)), lambda: [p.weight, q.weight]), lambda: (p.weight, q.weight)


def side(a, job, files, way):
    (train, test), sizes = sets(files.train, files.test)
    if "cuMF" in way:
        return batch_hogwild(a, job, train, test, sizes)
    import torch

    import gpu_torch

    where, make = gpu_torch.device(a), by_hand if "graph" in way else embeddings
    data, (u, i, y) = ([torch.from_numpy(v).to(where) for v in s] for s in (train, test))

    @torch.no_grad()
    def score(tables):
        p, q = tables()
        parts = [((p[u[at]].double() * q[i[at]].double()).sum(1) - y[at]).square().sum() for at in torch.arange(len(y), device=where).split(1 << 18)]
        return (sum(parts) / len(y)).item(), None

    def run(point, terms):
        one_pass, tables = make(where, data, first(sizes, job.rank, train[2], terms.seed), sizes[0], *point, terms.seed)
        return gpu.until(job.target, len(train[2]), one_pass, lambda: score(tables), terms)

    return gpu.Side(gpu.points(SETTINGS), run)


class Driver:
    """The CUDA driver, as far as two kernels need it. The context is the one that PyTorch and cupy use."""

    def __init__(self, number):
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise gpu.Missing("CUDA", e)
        self("cuInit", 0)
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(self.device), number)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise OSError(f"{name}: CUDA error {status}")

    def attribute(self, number):
        v = ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(v), number, self.device)
        return v.value

    def kernels(self, image, *names):
        module, all = ctypes.c_void_p(), []
        self("cuModuleLoadData", ctypes.byref(module), image)
        for name in names:
            all.append(ctypes.c_void_p())
            self("cuModuleGetFunction", ctypes.byref(all[-1]), module, name.encode())
        return all

    def memory(self, array):
        """A copy of the array on the GPU."""
        at = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(array.nbytes))
        self.fill(at, array)
        return at

    def fill(self, at, array):
        self("cuMemcpyHtoD_v2", at, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))

    def read(self, at, array):
        self("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), at, ctypes.c_size_t(array.nbytes))
        return array

    def launch(self, kernel, blocks, threads, *arguments):
        """Runs the kernel and waits for it."""
        places = (ctypes.c_void_p * len(arguments))(*(ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in arguments))
        self("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, None, places, None)
        self("cuCtxSynchronize")


def build(arch):
    """cumf.cu as machine code."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        raise gpu.Missing("nvcc", "not installed: no kernel of cuMF_SGD's kind")
    with tempfile.TemporaryDirectory() as folder:
        gpu.command(nvcc, "-O3", f"-arch={arch}", "-cubin", "-o", f"{folder}/cumf", f"{os.path.dirname(os.path.abspath(__file__))}/cumf.cu", limit=60)
        with open(f"{folder}/cumf", "rb") as f:
            return f.read()


def batch_hogwild(a, job, train, test, sizes, image=None):
    if a.device != "cuda":
        raise gpu.Missing("cumf.cu", "needs a GPU")
    cuda = Driver(a.gpu)
    learn, judge = cuda.kernels(image or build("sm_%d%d" % (cuda.attribute(75), cuda.attribute(76))), "learn", "judge")
    entry = np.dtype([("u", np.int32), ("i", np.int32), ("y", np.float32)])
    packed = [np.rec.fromarrays(s, dtype=entry) for s in (train, test)]
    entries, tests = (cuda.memory(s) for s in packed)
    table = lambda seed: first(sizes, job.rank, train[2], seed).astype(np.float16)
    w = cuda.memory(table(1))
    blocks = 2048 // 256 * cuda.attribute(16)  # all threads of all multiprocessors
    sums = np.zeros(blocks * 256 // 32)
    partial, rows, numbers = cuda.memory(sums), ctypes.c_int(sizes[0]), [ctypes.c_longlong(len(s)) for s in packed]

    def score():
        cuda.launch(judge, blocks, 256, tests, numbers[1], w, rows, partial)
        return float(cuda.read(partial, sums).sum() / len(packed[1])), None

    def run(point, terms):
        length, lr = point
        cuda.fill(w, table(terms.seed))
        turn = ctypes.c_longlong(0)

        def one_pass():
            turn.value += 7919  # each pass begins elsewhere
            cuda.launch(learn, blocks, 256, entries, numbers[0], w, rows, ctypes.c_float(lr), ctypes.c_int(length), turn)

        return gpu.until(job.target, len(packed[0]), one_pass, score, terms)

    return gpu.Side(gpu.points([(f"runs of {n}, fp16", 0.03, n) for n in (256, 64, 1024, 16)]), run)
