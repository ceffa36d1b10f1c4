"""Times to within 1e-3 and 1e-6 of the optimum of l2-regularized linear classifiers, by hogwild's dual solver with two
workers, liblinear and Snap ML (SySCD) with two threads. Python has liblinear-official, snapml and scikit-learn.

The objective is mean loss + l2/2 |w|^2 without a bias, l2 = 1/n, which is C = 1 of liblinear, on the training rows of
a9a, w8a and imdb in $HOGWILD_DATA. The losses are hinge, squared hinge and logistic. All sides have the rows in memory
when the clock starts, and it stops when the weights are there: hogwild's time is wall_seconds, from the first worker's
first step to the last measurement of the gap; starting processes takes some 20 ms more and is shown. Each side stops
by its own rule: its tolerance, or of hogwild the number of epochs, is the loosest that reached the target in a search
over a grid of ratio 1.26, by the objective that is computed here, in float64, from the weights. A tolerance whose runs
in the timed rounds miss the target in more than half counts as failed, and the next tighter one takes its place.

Rounds are interleaved: each runs all sides, one after the other. What is printed is the median, and the least.

--drift shows in place of that what racing loses, in the first epoch of the logistic loss: the exact drift, and beside it the
share of lost updates that the run's samples show, for 1, 2, 4 and 8 workers; medians over the rounds' seeds.
"""

import argparse
import ctypes
import gzip
import io
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
DATA = os.environ.get("HOGWILD_DATA", os.path.join(ROOT, "../shared/data"))
HOGWILD = os.environ.get("HOGWILD") or os.path.join(ROOT, "bin", "hogwild")
FILES = {"a9a": "a9a/a9a", "w8a": "w8a/w8a", "imdb": "imdb/imdb_ltc_train.gz"}
LOSSES = {"hinge": (3,), "squared-hinge": (1, 2), "logistic": (7, 0)}  # liblinear's solvers: dual, primal
TARGETS = (1e-3, 1e-6)
RATIO = 10 ** 0.1
STRIDE = 6


class Problem:
    """The rows of a set, as each side wants them."""

    def __init__(self, name, folder):
        from sklearn.datasets import load_svmlight_file

        self.name, path = name, os.path.join(DATA, FILES[name])
        text = (gzip.open if path.endswith(".gz") else open)(path, "rb").read()
        text = b"".join(line + b"\n" for line in text.splitlines() if line.strip())
        self.file, self.test = os.path.join(folder, name), os.path.join(folder, name + ".t")
        with open(self.file, "wb") as f:
            f.write(text)
        with open(self.test, "wb") as f:  # few rows: it is tested while the clock runs
            f.write(b"".join(text.splitlines(keepends=True)[:200]))
        self.x, y = load_svmlight_file(io.BytesIO(text))
        self.y = np.where(y > 0, 1.0, -1.0)
        self.n = self.x.shape[0]
        self.narrow = self.x.astype(np.float32)
        from liblinear.liblinear import problem

        self.liblinear = problem(self.y, self.x, bias=-1)

    def cache(self, seed):
        """The rows as hogwild maps them, in the order of a seed: one of four."""
        seed = 1 + seed % 4
        path = f"{self.file}-{seed}.hog"
        if not os.path.exists(path):
            subprocess.run([HOGWILD, "data", "convert", self.file, "--test", self.test, "--seed", str(seed), "--out", path], check=True, capture_output=True)
        return path

    def objective(self, w, loss):
        w = np.append(w, np.zeros(max(0, self.x.shape[1] - len(w))))
        m = self.y * (self.x @ w[: self.x.shape[1]])
        each = {"hinge": lambda: np.maximum(0, 1 - m), "squared-hinge": lambda: np.maximum(0, 1 - m) ** 2,
                "logistic": lambda: np.logaddexp(0, -m)}[loss]()
        return float(each.mean() + w @ w / (2 * self.n))


def liblinear(solver):
    def run(p, loss, tolerance, seed):
        from liblinear.liblinear import liblinear as lib, parameter, toPyModel

        parameters = parameter(f"-s {solver} -c 1 -e {tolerance} -B -1 -q")
        ctypes.CDLL(None).srand(seed)
        began = time.perf_counter()
        model = lib.train(p.liblinear, parameters)
        seconds = time.perf_counter() - began
        model = toPyModel(model)
        w = np.array(model.w[: model.nr_feature])
        return seconds, (w if model.label[0] == 1 else -w), 0

    return run


def snapml(threads):
    def run(p, loss, tolerance, seed):
        import snapml as s

        shared = dict(regularizer=1.0, n_jobs=threads, tol=tolerance, fit_intercept=False, max_iter=1000, random_state=seed)
        model = s.LogisticRegression(dual=True, **shared) if loss == "logistic" else \
            s.SupportVectorMachine(loss=loss.replace("-", "_"), **shared)
        began = time.perf_counter()
        model.fit(p.narrow, p.y)
        return time.perf_counter() - began, np.asarray(model.coef_, float).ravel(), 0

    return run


def train(p, loss, workers, epochs, seed, *flags):
    """A run of hogwild: its report, and its weights."""
    import rows

    folder = tempfile.mkdtemp(prefix="hogwild-")
    try:
        out = subprocess.run([HOGWILD, "train", "--json", "--quiet", "--run", folder, "--data", p.cache(seed), "--seed", str(1 + seed % 4), "--solver", "dual",
                              "--model", loss, "--no-bias", "--l2", repr(1 / p.n), "--workers", str(workers), "--epochs", str(epochs),
                              "--save-every", "0", *flags], check=True, capture_output=True, text=True)
        return json.loads(out.stdout), rows.weights(os.path.join(folder, "weights.safetensors"))[0]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hogwild(workers):
    def run(p, loss, epochs, seed):
        r, w = train(p, loss, workers, epochs, seed, "--mode", "atomic")
        return r["wall_seconds"], w, r["startup_seconds"]

    return run


def drift(p, name, rounds):
    """Prints what racing loses: in place, merged, and by compare-and-swap."""
    for way, flags in (("in place", ["--merge-every", "1"]), ("merged", []), ("atomic", ["--mode", "atomic"])):
        for workers in (1, 2, 4, 8):
            runs = [train(p, "logistic", workers, 1, seed + 1, *flags)[0] for seed in range(rounds)]
            drifts = sorted(r["train_metrics"]["dual_drift"] for r in runs)
            lost = statistics.mean(r["lost_updates"] for r in runs)
            print(f"| {name} | {way} | {workers} | {statistics.median(drifts):.1e} | {drifts[-1]:.1e} | {lost:.1e} |", flush=True)


def sides(loss):
    """The sides of a loss: each with its settings from loose to tight."""
    tolerances = [10 * RATIO**-k for k in range(73)]
    epochs = sorted({round(RATIO**k) for k in range(43)})  # to 16,000
    return {"hogwild, 2 workers": (hogwild(2), epochs), "hogwild, 1 worker": (hogwild(1), epochs),
            **{f"liblinear -s {s}": (liblinear(s), tolerances) for s in LOSSES[loss]},
            "Snap ML, 2 threads": (snapml(2), tolerances), "Snap ML, 1 thread": (snapml(1), tolerances)}


def optimum(p, loss):
    """The least objective that any side reaches: liblinear at a tight tolerance, or hogwild with the gap almost closed."""
    found = [p.objective(liblinear(s)(p, loss, 1e-9, 1)[1], loss) for s in LOSSES[loss]]
    r, w = train(p, loss, 1, 3000, 1, "--target-gap", "2e-7")
    print(f"\n{p.name}, {loss}, l2 1/{p.n}: gap {r['train_metrics']['relative_gap']:.1e} after {r['epochs']} epochs", flush=True)
    return min(found + [p.objective(w, loss)])


def loosest(run, settings, p, loss, goal):
    """The index of the loosest setting that reaches the goal: from loose to tight in steps of STRIDE, then by bisection between the last
    two; None: none does."""
    reaches = lambda k: p.objective(run(p, loss, settings[k], 1)[1], loss) <= goal
    low, high = -1, 0
    while not reaches(high):
        low, high = high, min(high + STRIDE, len(settings) - 1)
        if low == high:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def measure(p, loss, target, best, rounds):
    """Runs all sides, and returns for each its seconds, or None."""
    goal = best * (1 + target)
    chosen = {}
    for name, (run, settings) in sides(loss).items():
        k = loosest(run, settings, p, loss, goal)
        if k is not None:
            chosen[name] = [run, settings, k, []]
    for turn in range(rounds):
        for side in chosen.values():
            run, settings, k, seen = side
            seconds, w, start = run(p, loss, settings[k], turn + 2)
            seen.append((seconds, p.objective(w, loss) <= goal, start))
            if sum(not reached for _, reached, _ in seen) > rounds / 2 and k + 1 < len(settings):
                side[2:] = [k + 1, []]  # as if it had been so from the beginning
    for side in chosen.values():
        while len(side[3]) < rounds:
            seconds, w, start = side[0](p, loss, side[1][side[2]], len(side[3]) + 99)
            side[3].append((seconds, p.objective(w, loss) <= goal, start))
    return {name: {"setting": settings[k], "median": statistics.median(s for s, _, _ in seen), "least": min(s for s, _, _ in seen),
                   "reached": sum(r for _, r, _ in seen) / len(seen), "start": statistics.median(t for _, _, t in seen)}
            for name, (_, settings, k, seen) in chosen.items()}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("sets", nargs="*", default=list(FILES))
    a.add_argument("--losses", default=",".join(LOSSES))
    a.add_argument("--rounds", type=int, default=7)
    a.add_argument("--drift", action="store_true")
    a.add_argument("--out")
    a = a.parse_args()
    all, folder = [], tempfile.mkdtemp(prefix="dual-")
    try:
        for name in a.sets:
            p = Problem(name, folder)
            if a.drift:
                drift(p, name, a.rounds)
                continue
            for loss in a.losses.split(","):
                best = optimum(p, loss)
                print(f"optimum {best:.12f}", flush=True)
                for target in TARGETS:
                    got = measure(p, loss, target, best, a.rounds)
                    for side in sides(loss):
                        r = got.get(side)
                        text = "never" if r is None else (f"{1e3 * r['median']:8.1f} ms median, {1e3 * r['least']:8.1f} least"
                                                          f"  (stops by {r['setting']:.4g}, {100 * r['reached']:.0f}% reach it)")
                        print(f"  {target:g}  {side:20} {text}", flush=True)
                    all.append({"set": name, "loss": loss, "target": target, "optimum": best, "sides": got})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if a.out:
        with open(a.out, "w") as f:
            json.dump(all, f, indent=1)


if __name__ == "__main__":
    main()
