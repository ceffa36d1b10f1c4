"""What hogwild reaches with defaults only, beside scikit-learn's best plain estimator on the same rows.

    defaults.py [SET ...] [--hogwild FILE] [--workers 1,2,8] [--seeds 3] [--out FILE] [-- FLAGS]
    defaults.py --table FILE [BEFORE]

Plain estimators: LogisticRegression, and the better of LinearRegression and Ridge, on standardised inputs
with a column for each category. For ratings: damped biases, and the same with factors by alternating least
squares. A figure is the accuracy or R2 on a quarter of the rows, its mean over --seeds splits, and five times as many
of up to 5,000 rows; each split has a seed of its own. FLAGS go to hogwild train; without them it is told --data and --target alone.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

sys.dont_write_bytecode = True  # the tree stays clean

import sets


def is_classes(s):
    y = s.frame[:, -1] if s.kind == "npy" else s.frame[s.target]
    if s.kind == "ratings":
        return False
    return not np.issubdtype(np.asarray(y).dtype, np.number) or len(np.unique(y)) <= 150 and np.all(y == np.trunc(y))


def estimators(s):
    """By name, those for the set."""
    steps = [StandardScaler()] if s.kind == "npy" else [make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
        (StandardScaler(), make_column_selector(dtype_include=np.number)), sparse_threshold=0)]
    if is_classes(s):
        return {"LogisticRegression": make_pipeline(*steps, LogisticRegression(max_iter=2000))}
    return {e.__class__.__name__: make_pipeline(*steps, e) for e in (LinearRegression(), Ridge())}


class Biases:
    """mean + b_u + b_i (+ p_u'q_i), each least squares given the others, damped."""

    def __init__(self, rank, damping=8, rounds=12):
        self.rank, self.damping, self.rounds = rank, damping, rounds

    def fit(self, u, i, y):
        n, m, r = u.max() + 1, i.max() + 1, np.random.default_rng(0)
        self.mean, self.b, self.c = y.mean(), np.zeros(n), np.zeros(m)
        self.p, self.q = r.normal(0, .1, (n, self.rank)), r.normal(0, .1, (m, self.rank))
        for _ in range(self.rounds):
            for rows, own, other, bias, base in ((u, self.p, self.q[i], self.b, self.c[i]), (i, self.q, None, self.c, None)):
                other = self.p[u] if other is None else other
                base = self.b[u] if base is None else base
                x, e = np.column_stack([np.ones(len(y)), other]), y - self.mean - base
                a = np.zeros((len(bias), self.rank + 1, self.rank + 1))
                t = np.zeros((len(bias), self.rank + 1))
                np.add.at(a, rows, x[:, :, None] * x[:, None])
                np.add.at(t, rows, x * e[:, None])
                w = np.linalg.solve(a + self.damping * np.eye(self.rank + 1), t[..., None])[..., 0]
                bias[:], own[:] = w[:, 0], w[:, 1:]
        return self

    def score(self, u, i, y):
        known = lambda b, k: np.where(k < len(b), b[np.minimum(k, len(b) - 1)], 0)
        z = self.mean + known(self.b, u) + known(self.c, i)
        if self.rank:
            both = (u < len(self.p)) & (i < len(self.q))
            z[both] += (self.p[u[both]] * self.q[i[both]]).sum(1)
        return 1 - ((y - z) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def rival(s, train, test):
    """The figures of the estimators on one split."""
    if s.kind == "ratings":
        arrays = lambda f: (f.userId.to_numpy(), f.movieId.to_numpy(), f.rating.to_numpy())
        return {name: Biases(k).fit(*arrays(train)).score(*arrays(test)) for name, k in (("biases", 0), ("biases + rank 5", 5))}
    parts = lambda rows: (rows[:, :-1], rows[:, -1]) if s.kind == "npy" else (rows.drop(columns=s.target), rows[s.target])
    return {name: e.fit(*parts(train)).score(*parts(test)) for name, e in estimators(s).items()}


def hogwild(program, where, workers, seed, flags):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "train", *where, "--workers", str(workers), "--seed", str(seed), "--quiet", "--json",
                               "--run", folder + "/run", *flags], capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr.strip()[-200:], "exit": done.returncode}
        r = json.loads(done.stdout)
        figure = r.get("test_accuracy", r.get("test_r2"))
        return {"figure": figure, "seconds": r["seconds"], "epochs": r["epochs"], "batch": r["batch"], "lr": r["lr_used"]}


def measure(name, make, a):
    s = make(np.random.default_rng(7))
    if s is None:
        print(f"{name}: left out, it is not in {sets.DATA}", file=sys.stderr)
        return None
    result = {"rows": len(s.frame), "kind": "accuracy" if is_classes(s) else "R2", "rivals": {}, "hogwild": {}}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, (a.seeds if len(s.frame) > 5000 else 5 * a.seeds) + 1):
            train, test = sets.split(s, seed)
            for e, figure in rival(s, train, test).items():
                result["rivals"].setdefault(e, []).append(float(figure))
            where = sets.write(s, train, test, folder, name)
            for w in a.workers.split(","):
                result["hogwild"].setdefault(w, []).append(hogwild(a.hogwild, where, w, seed, a.flags))
    return result


def best(result):
    return max(((e, float(np.mean(v))) for e, v in result["rivals"].items()), key=lambda x: x[1])


def figures(result):
    """By number of workers, the mean, or None where a run failed."""
    return {w: None if any("error" in r for r in runs) else float(np.mean([r["figure"] for r in runs]))
            for w, runs in result["hogwild"].items()}


def shown(kind, x):
    return "failed" if x is None else f"{100 * x:.1f}%" if kind == "accuracy" else f"{x:.3f}"


def row(name, result, before=None):
    estimator, figure = best(result)
    short = [w for w, x in figures(result).items() if x is None or x < figure - (.01 if result["kind"] == "accuracy" else .02)]
    cells = [name, f"{result['rows']:,}", f"{shown(result['kind'], figure)} ({estimator})"]
    if before:
        cells.append(", ".join(shown(result["kind"], x) for x in figures(before).values()))
    cells.append(", ".join(shown(result["kind"], x) for x in figures(result).values()) + (" SHORT" if short else ""))
    return "| " + " | ".join(cells) + " |"


def table(results, before):
    workers = lambda r: ", ".join(next(iter(r["sets"].values()))["hogwild"])
    columns = ["set", "rows", f"scikit-learn {results['sklearn']}", f"hogwild, {workers(results)} workers"]
    if before:
        columns.insert(3, f"hogwild before, {workers(before)} workers")
    print("| " + " | ".join(columns) + " |")
    print("|---" * (5 if before else 4) + "|")
    for name, result in results["sets"].items():
        print(row(name, result, before and before["sets"].get(name)))


def main():
    argv, flags = sys.argv[1:], []
    if "--" in argv:
        argv, flags = argv[:argv.index("--")], argv[argv.index("--") + 1:]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sets", nargs="*")
    p.add_argument("--hogwild", default=os.path.join(os.path.dirname(__file__), "../../bin/hogwild"))
    p.add_argument("--workers", default="1,2,8")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--out")
    p.add_argument("--table", nargs="+", metavar="FILE")
    a = p.parse_args(argv)
    if a.table:
        after, before = (a.table + [None])[:2]
        return table(json.load(open(after)), before and json.load(open(before)))
    a.flags = flags
    every = sets.CHOSEN | sets.HELD_OUT
    results = {"sklearn": sklearn.__version__, "flags": flags, "sets": {}}
    for name in a.sets or every:
        result = measure(name, every[name], a)
        if result is None:
            continue
        results["sets"][name] = result
        first = next(iter(result["hogwild"].values()))[0]
        print(row(name, result), first.get("error") or "{epochs} epochs of batch {batch}, lr {lr:.3g}, {seconds:.2f} s".format(**first),
              file=sys.stderr, flush=True)
        if a.out:
            with open(a.out, "w") as f:
                json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
