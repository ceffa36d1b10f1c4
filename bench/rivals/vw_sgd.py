"""Vowpal Wabbit on sparse rows, plain SGD or its own adaptive, normalized one: logistic loss, one core, one example a step,
no regularization.

    vw_sgd.py TRAIN TEST --lr X --epochs N [--optimizer sgd|adaptive] [--schedule falling|constant]

TRAIN and TEST are LIBSVM files that sparse.c has read (it keeps FILE.csr beside them); the
rows in Vowpal Wabbit's format, and its cache, are kept beside them too. The rate of SGD's step t is
5 lr / t^0.25, or constant. Prints one line of JSON; seconds are those of all passes, which read the cache in
the order of the file, as Vowpal Wabbit does, in equal shares.
"""

import os
import tempfile
import time

import numpy as np
import vowpalwabbit

import rows


def run(flags):
    """Runs Vowpal Wabbit with the flags, and returns its seconds."""
    began = time.perf_counter()
    vowpalwabbit.Workspace(flags + " --quiet").finish()
    return time.perf_counter() - began


def rewrite(path):
    """Writes PATH.vw unless it exists."""
    if not os.path.exists(path + ".vw"):
        with open(path) as f, open(path + ".vw.part", "w") as g:
            for row in f:
                label, _, features = row.strip().partition(" ")
                if label:
                    g.write(f"{1 if float(label) > 0 else -1} | {features}\n")
        os.rename(path + ".vw.part", path + ".vw")
    return path + ".vw"


def main():
    a = rows.arguments(__doc__)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    y, d = rows.read(a.test)[0], rows.read(a.train)[4]
    bits = max(10, d.bit_length())  # so that features do not share weights
    rate = f"-l {5 * a.lr} --power_t 0.25 --initial_t 1" if a.schedule == "falling" else f"-l {a.lr} --power_t 0"
    sgd = f"{f'--sgd {rate}' if a.optimizer == 'sgd' else f'-l {a.lr}'} --loss_function logistic --holdout_off -b {bits}"
    cache = a.train + ".vw.cache"
    if not os.path.exists(cache):
        run(f"{sgd} --data {rewrite(a.train)} --cache_file {cache}")
    with tempfile.TemporaryDirectory() as folder:
        found = []
        seconds = run(f"{sgd} --cache_file {cache} --passes {a.epochs} --save_per_pass -f {folder}/model")
        for k in range(1, a.epochs + 1):
            run(f"-t -i {folder}/model.{k} --data {rewrite(a.test)} -r {folder}/scores")
            found.append(rows.reached(np.loadtxt(f"{folder}/scores"), y))
    rows.report(a, rows.count(a.train), seconds, found, vowpalwabbit.__version__)


if __name__ == "__main__":
    main()
