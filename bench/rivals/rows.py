"""Sparse rows as read by sparse.c, and how well linear weights do on them, in float64, for
hogwild's weights too.
"""

import argparse
import json

import numpy as np


def arguments(doc):
    """The command line of a training script."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("train")
    p.add_argument("test")
    p.add_argument("--lr", type=float, required=True)
    p.add_argument("--epochs", type=int, required=True)
    p.add_argument("--schedule", default="falling", choices=["falling", "constant"], help="falling: the rate of step t is 5 lr / t^0.25")
    p.add_argument("--optimizer", default="sgd", choices=["sgd", "adaptive"], help="adaptive: Vowpal Wabbit's own")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def report(a, n, seconds, found, version):
    """Prints a script's line of JSON: the losses and accuracies found after each pass, each with its share of the seconds."""
    losses, accuracies = zip(*found)
    print(json.dumps({"seconds": [seconds / a.epochs] * a.epochs, "examples_per_second": a.epochs * n / seconds, "test_loss": losses,
                      "test_accuracy": accuracies, "version": version}))


def read(path):
    """The signs, offsets, indices from 0, values and number of features of PATH.csr."""
    with open(path + ".csr", "rb") as f:
        n, d, nnz = map(int, np.fromfile(f, np.int64, 3))
        ptr = np.fromfile(f, np.int64, n + 1)
        idx, val = np.fromfile(f, np.uint32, nnz), np.fromfile(f, np.float32, nnz)
        return np.fromfile(f, np.float32, n), ptr, idx, val, d


def count(path):
    """The number of rows of PATH.csr."""
    return int(np.fromfile(path + ".csr", np.int64, 1)[0])


def scores(w, bias, rows):
    """w'x + bias for each row; features beyond w count as 0."""
    _, ptr, idx, val, d = rows
    w = np.append(w, np.zeros(max(0, d - len(w))))
    sums = np.append(0, np.cumsum(val.astype(float) * w[idx]))
    return sums[ptr[1:]] - sums[ptr[:-1]] + bias


def mean_loss(z, y, hinge=False):
    """The mean of log(1+exp(-y z)), or of max(0, 1 - y z)."""
    return float((np.maximum(0, 1 - y * z) if hinge else np.logaddexp(0, -y * z)).mean())


def reached(z, y, hinge=False):
    """The mean loss, and the share of rows with the right sign."""
    return mean_loss(z, y, hinge), float((y * z > 0).mean())


def weights(path):
    """The weights and the bias of a weights.safetensors of a linear model."""
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        body = f.read()
    named = {k: np.frombuffer(body[slice(*v["data_offsets"])], "<f4").astype(float) for k, v in head.items() if k != "__metadata__"}
    return named["0.weight"], float(named["0.bias"][0]) if "0.bias" in named else 0.0
