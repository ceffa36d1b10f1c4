"""The files of the search: nine tenths of a set's training rows to train on, and the rest, its validation rows, to judge by.
A search never sees the test rows. Sides read these files as they read the set's own.
"""

import gzip
import os
import subprocess

import numpy as np

QUICK = 4000  # rows of --quick


def split(n, quick):
    """The rows to train on and the validation rows, from rows in a random order."""
    order = np.random.default_rng(20261125).permutation(n)[: QUICK if quick else n]
    return np.sort(order[len(order) // 10:]), np.sort(order[: len(order) // 10])


def images(folder, to, quick):
    """The four files of MNIST in another folder: the validation rows take the place of the test rows."""
    os.makedirs(to + ".part", exist_ok=True)
    for kind in ("images-idx3", "labels-idx1"):
        with gzip.open(f"{folder}/train-{kind}-ubyte.gz") as f:
            head = f.read(4)
            shape = np.frombuffer(f.read(4 * head[3]), ">i4")
            rows = np.frombuffer(f.read(), np.uint8).reshape(shape)
        for part, at in zip(("train", "t10k"), split(len(rows), quick)):
            with gzip.open(f"{to}.part/{part}-{kind}-ubyte.gz", "wb", compresslevel=1) as f:
                f.write(head + np.array([len(at), *shape[1:]], ">i4").tobytes() + rows[at].tobytes())
    os.rename(to + ".part", to)


def lines(path, train, validation, sparse, quick):
    """The rows of a LIBSVM file in two others; the program sparse keeps their arrays beside them, for the rivals."""
    with open(path) as f:
        rows = [row for row in f if row.strip()]
    for to, at in zip((validation, train), reversed(split(len(rows), quick))):
        with open(to + ".part", "w") as f:
            f.writelines(rows[i] for i in at)
        os.rename(to + ".part", to)
        subprocess.run([sparse, to, "bin=/dev/null"], check=True)


def held(paths, sparse, quick):
    """Writes the parts of a set, unless they are there: from the paths of the set to those of the parts."""
    end = "quick" if quick else "held"
    if len(paths) == 1:
        folder = f"{paths[0]}-{end}"
        if not os.path.exists(folder):
            images(paths[0], folder, quick)
        return {paths[0]: folder}
    train, validation = f"{paths[0]}.{end}", f"{paths[0]}.{end}.t"
    if not os.path.exists(train):
        lines(paths[0], train, validation, sparse, quick)
    return dict(zip(paths, (train, validation)))
