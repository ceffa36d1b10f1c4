"""gpu.py's rivals for sparse rows, logistic regression with a bias, the rows on the GPU:

PyTorch, graph          gradients written by hand (gather, index_add_), a pass as one CUDA graph
PyTorch, EmbeddingBag   what a user writes: sums of weighted embeddings, sparse gradients
cupy, L-BFGS            the whole gradient, by two products with the matrix, and a line search

Rows are shuffled once, by the seed; a batch is some that follow each other. The graph takes the batches in that order,
EmbeddingBag in another each pass."""

import functools
import gzip

import numpy as np

import gpu


@functools.cache
def read(path):
    """The signs, offsets, indices from 0 and values of a LIBSVM file."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        text = f.read()
    raw = np.frombuffer(text, np.uint8)
    colons, ends = np.flatnonzero(raw == ord(":")), np.flatnonzero(raw == ord("\n"))
    ptr = np.append(0, np.searchsorted(colons, ends))
    numbers = np.fromstring(text.replace(b":", b" "), sep=" ")
    at = 2 * ptr[:-1] + np.arange(len(ends))  # of the labels
    y, pairs = numbers[at], np.delete(numbers, at).reshape(-1, 2)
    return np.where(y > 0, 1, -1).astype(np.float32), ptr, pairs[:, 0].astype(np.int64) - 1, pairs[:, 1].astype(np.float32)


def shuffled(rows, d, bias, seed):
    """The rows in another order, each with a bias: column d, as large as other values are, that its rate suits it too."""
    y, ptr, idx, val = rows
    idx, val, ptr = np.insert(idx, ptr[1:], d), np.insert(val, ptr[1:], bias), ptr + np.arange(len(ptr))
    order = np.random.default_rng(seed).permutation(len(y))
    counts = np.diff(ptr)[order]
    to = np.append(0, np.cumsum(counts))
    at = np.arange(to[-1]) + np.repeat(ptr[:-1][order] - to[:-1], counts)
    return y[order], to, idx[at], val[at]


def sets(train, test, seed=1):
    """Both sets and the number of columns, the last of which is the bias."""
    both = read(train), read(test)
    d = 1 + max(int(rows[2].max()) for rows in both)
    bias = np.sqrt(np.square(both[0][3]).mean())
    return [shuffled(rows, d, bias, seed) for rows in both], d + 1


def decays(d, lr, l2, **of):
    """What a step multiplies the weights by: all but the bias shrink."""
    import torch

    w = torch.full((d,), 1 - lr * l2, **of)
    w[-1] = 1
    return w


def by_hand(where, rows, d, l2, batch, lr, seed=1):
    """A function that trains a pass, and the weights."""
    import torch

    import gpu_torch

    y, ptr, idx, val = rows
    row = torch.from_numpy(np.repeat(np.arange(len(y)), np.diff(ptr)) % batch).to(where)
    y, idx, val = (torch.from_numpy(v).to(where) for v in (y, idx, val))
    w, decay = torch.zeros(d, device=where), decays(d, lr, l2, device=where)
    spans = [(slice(a, b := min(a + batch, len(y))), slice(int(ptr[a]), int(ptr[b]))) for a in range(0, len(y), batch)]

    def step(rows, entries):
        i, v, r, signs = idx[entries], val[entries], row[entries], y[rows]
        z = torch.zeros_like(signs).index_add_(0, r, v * w[i])
        g = torch.sigmoid(-signs * z) * signs * (lr / len(signs))
        if l2:
            w.mul_(decay)
        w.index_add_(0, i, v * g[r])

    return gpu_torch.prepared(where, True, lambda: [step(*s) for s in spans], lambda: step(*spans[0]), lambda: [w]), w


def bags(where, rows, d, l2, batch, lr, seed=1):
    """The same with EmbeddingBag."""
    import torch

    import gpu_torch

    y, ptr, idx, val = (torch.from_numpy(v).to(where) for v in rows)
    table = torch.nn.EmbeddingBag(d, 1, mode="sum", sparse=True, include_last_offset=True, device=where)
    w, decay = table.weight, decays(d, lr, l2, device=where)
    optimizer, draw = torch.optim.SGD(table.parameters(), lr=lr), np.random.default_rng(seed)
    with torch.no_grad():
        w.zero_()

    def step(a):
        b = min(a + batch, len(y))
        entries, signs = slice(rows[1][a], rows[1][b]), y[a:b]
        optimizer.zero_grad()
        z = table(idx[entries], ptr[a:b + 1] - ptr[a], per_sample_weights=val[entries])[:, 0]
        torch.nn.functional.softplus(-signs * z).mean().backward()
        if l2:
            with torch.no_grad():
                w.mul_(decay[:, None])
        optimizer.step()

    def steps():
        for a in draw.permutation(range(0, len(y), batch)).tolist():
            step(a)

    return gpu_torch.prepared(where, False, steps, lambda: step(0), lambda: [w]), w


def lbfgs(xp, sp, rows, d, l2, history):
    """A function that takes a step, and the weights. A is the matrix with the rows times their signs."""
    y, ptr, idx, val = rows
    A = sp.csr_matrix((xp.asarray(val * np.repeat(y, np.diff(ptr))), xp.asarray(idx), xp.asarray(ptr)), shape=(len(y), d))
    T = A.T.tocsr()  # products with A.T itself add with atomics
    ridge = xp.full(d, l2, np.float32)
    ridge[-1] = 0
    w, z = xp.zeros(d, np.float32), xp.zeros(len(y), np.float32)
    steps = xp.asarray(2.0 ** np.arange(3, -9, -1), np.float32)

    def slope():
        return T @ (-1 / (1 + xp.exp(z)) / len(y)) + ridge * w

    past, g = [], slope()

    def step():
        nonlocal w, z, g
        q, used = g.copy(), []
        for s, t, rho in reversed(past):
            used.append(rho * (s @ q))
            q -= used[-1] * t
        if past:
            s, t, rho = past[-1]
            q *= 1 / (rho * (t @ t))
        for (s, t, rho), a in zip(past, reversed(used)):
            q += (a - rho * (t @ q)) * s
        if not past or not float(q @ g) > 0:  # at first, or when single precision is exhausted
            past.clear()
            q = g / xp.sqrt(g @ g)
        down = A @ q
        # The losses of all steps at once: each needs no product with the matrix, and the host waits once.
        at = w[:, None] - q[:, None] * steps
        losses = xp.logaddexp(0, -(z[:, None] - down[:, None] * steps)).mean(0) + (ridge @ (at * at)) / 2
        a = steps[int(losses.argmin())]
        w, z = w - a * q, z - a * down
        new = slope()
        t = new - g
        if float(t @ q) < 0:  # along -q the slope rises, as it does on a convex function
            past.append((-a * q, t, 1 / (-a * (t @ q))))
            del past[:-history]
        g = new

    return step, lambda: w


def side(a, job, files, way):
    (train, test), d = sets(files.train, files.test)
    if "L-BFGS" in way:
        return solver(a, job, train, test, d)
    import torch

    import gpu_torch

    where, make = gpu_torch.device(a), by_hand if "graph" in way else bags
    entries = [torch.from_numpy(v).to(where) for v in (test[2], np.repeat(np.arange(len(test[0])), np.diff(test[1])), test[3], test[0])]

    @torch.no_grad()
    def score(w):
        i, r, v, y = entries
        z = y * torch.zeros(len(y), dtype=torch.float64, device=where).index_add_(0, r, v * w.double().flatten()[i])
        return torch.nn.functional.softplus(-z).mean().item(), (z > 0).double().mean().item()

    def run(point, terms):
        rows = train if terms.seed == 1 else sets(files.train, files.test, terms.seed)[0][0]
        one_pass, w = make(where, rows, d, job.l2, *point, terms.seed)
        return gpu.until(job.target, len(train[0]), one_pass, lambda: score(w), terms)

    middle = {"a9a": (0.1, 0.3, 0.8, 0.05), "rcv1": (50, 120, 400, 25)}[job.name]
    return gpu.Side(gpu.points([(f"batch {b}", lr, b) for b, lr in zip((64, 256, 1024, 32), middle)]), run)


def solver(a, job, train, test, d):
    import dataclasses

    if a.device == "cuda":
        import cupy as xp
        import cupyx.scipy.sparse as sp

        xp.cuda.Device(a.gpu).use()
        wait = xp.cuda.get_current_stream().synchronize
    else:
        import numpy as xp
        import scipy.sparse as sp

        wait = int
    y, ptr, idx, val = test
    T = sp.csr_matrix((xp.asarray((val * np.repeat(y, np.diff(ptr))).astype(np.float64)), xp.asarray(idx), xp.asarray(ptr)), shape=(len(y), d))

    def run(point, terms):
        step, weights = lbfgs(xp, sp, train, d, job.l2, point[0])

        def score():
            z = T @ weights().astype(np.float64)
            return float(xp.logaddexp(0, -z).mean()), float((z > 0).mean())

        lbfgs(xp, sp, train, d, job.l2, point[0])[0]()  # compiles cupy's kernels
        return gpu.until(job.target, len(train[0]), lambda: (step(), wait()), score, dataclasses.replace(terms, passes=200))

    return gpu.Side([(f"history {m}", None, (m,)) for m in (10, 5, 20, 40)], run, like="-")
