"""Times fits of arrays in memory, all that a caller waits for, in turns: docs/results/python.md has what came out.

HOGWILD_BINARY=bin/hogwild PYTHONPATH=hogwild/program/python python3 bench/python/fit.py imdb a9a w8a dense iris

It reads $HOGWILD_DATA/{imdb,a9a,w8a}, and keeps what it has read and the optima in the temporary folder."""

import argparse
import os
import resource
import statistics
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_svmlight_file
from sklearn.linear_model import LogisticRegression, SGDClassifier

from hogwild.sklearn import HogwildClassifier

FILES = {"imdb": "imdb/imdb_ltc_train.gz", "a9a": "a9a/a9a", "w8a": "w8a/w8a"}
WORKERS = len(os.sched_getaffinity(0))


def objective(fitted, X, y, alpha):
    """F: the mean logistic loss and l2/2 of the weights, without the intercept's."""
    return np.logaddexp(0, -y * (X @ fitted.coef_.ravel() + fitted.intercept_)).mean() + alpha / 2 * (fitted.coef_ ** 2).sum()


def sparse_set(name):
    """Rows, classes -1 and 1, and the least F of l2 = 1/n."""
    path = os.path.join(tempfile.gettempdir(), f"hogwild-fit-{name}.npz")
    if not os.path.exists(path):
        X, y = load_svmlight_file(os.path.join(os.environ["HOGWILD_DATA"], FILES[name]))
        best = LogisticRegression(tol=1e-6, max_iter=1000, solver="newton-cg" if name == "imdb" else "newton-cholesky").fit(X, y)
        tight = HogwildClassifier(alpha=1 / len(y), tol=1e-6, n_jobs=WORKERS, random_state=0).fit(X, y)
        least = min(objective(fitted, X, y, 1 / len(y)) for fitted in (best, tight))
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y, least=least)
    f = np.load(path)
    return sp.csr_matrix((f["data"], f["indices"], f["indptr"]), f["shape"]), f["y"], float(f["least"])


def seconds(fit):
    begin = time.perf_counter()
    fitted = fit()
    return time.perf_counter() - begin, fitted


def sparse(name, rounds, solvers):
    X, y, least = sparse_set(name)
    alpha = 1 / len(y)
    sides = {
        f"hogwild, {WORKERS} workers": lambda seed: HogwildClassifier(alpha=alpha, n_jobs=WORKERS, random_state=seed),
        "hogwild, 1 worker": lambda seed: HogwildClassifier(alpha=alpha, random_state=seed),
        "SGDClassifier": lambda seed: SGDClassifier("log_loss", alpha=alpha, random_state=seed),
        **{solver: lambda seed, solver=solver: LogisticRegression(solver=solver, max_iter=1000, random_state=seed)
           for solver in solvers}}
    took = {side: [] for side in sides}
    over = {side: [] for side in sides}
    for seed in range(rounds):
        for side, make in sides.items():
            time_taken, fitted = seconds(lambda: make(seed).fit(X, y))
            took[side].append(time_taken)
            over[side].append(objective(fitted, X, y, alpha) / least - 1)
    print(f"\n{name}, {X.shape[0]} x {X.shape[1]}, l2 1/n, least F {least:.6f}, {rounds} rounds\n")
    print("| | seconds, median (range) | F over the optimum, worst |\n|---|---|---|")
    for side, times in took.items():
        print(f"| {side} | {statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f}) | {max(over[side]):.1e} |")


def copied(X):
    """The seconds that a copy of X as float32 takes, in its order, to new memory that other processes can map."""
    file, step = os.memfd_create("copy"), max(1, (1 << 18) // X.shape[1])

    def block(start):
        os.pwrite(file, X[start:start + step].astype("f4", copy=False), 4 * start * X.shape[1])

    with ThreadPoolExecutor(WORKERS) as threads:
        took, _ = seconds(lambda: list(threads.map(block, range(0, len(X), step))))
    os.close(file)
    return took


def dense(rounds):
    random = np.random.default_rng(0)
    X = random.standard_normal((1_000_000, 100), dtype=np.float32)
    y = X[:, :10].sum(axis=1) + random.standard_normal(len(X), dtype=np.float32) > 0
    kinds = [X.astype(np.float64), X]
    print(f"\n1e6 x 100, {WORKERS} workers, {rounds} rounds\n\n| | seconds, median (range) | of training alone | ratio | "
          "of a copy | ratio to copy and training |\n|---|---|---|---|---|---|")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took, alone, floor = {}, {}, {}
    for seed in range(rounds):
        for X in kinds:
            floor.setdefault(str(X.dtype), []).append(copied(X))
            time_taken, fitted = seconds(lambda: HogwildClassifier(n_jobs=WORKERS, random_state=seed).fit(X, y))
            took.setdefault(str(X.dtype), []).append(time_taken)
            alone.setdefault(str(X.dtype), []).append(fitted.result_["seconds"])
    for kind, times in took.items():
        ratio = statistics.median(t / a for t, a in zip(times, alone[kind]))
        least = statistics.median(t / (a + c) for t, a, c in zip(times, alone[kind], floor[kind]))
        print(f"| {kind} | {statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f}) | "
              f"{statistics.median(alone[kind]):.3f} | {ratio:.2f} | {statistics.median(floor[kind]):.3f} | {least:.2f} |")
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"\npeak memory of this process: {more / 4e5:.2f} x 4nd more than X, the shared rows among it")


def iris(rounds):
    X, y = load_iris(return_X_y=True)
    times = [1000 * seconds(lambda: HogwildClassifier(random_state=0).fit(X, y))[0] for _ in range(5 * rounds)]
    print(f"\niris, {len(times)} fits: median {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="+", choices=[*FILES, "dense", "iris"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--solvers", default="lbfgs,newton-cg,saga,liblinear")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    HogwildClassifier().fit(*load_iris(return_X_y=True))  # what is imported at the first call
    for name in given.sets:
        if name in FILES:
            sparse(name, given.rounds, [s for s in given.solvers.split(",") if s])
        else:
            globals()[name](given.rounds)
