"""Compares hogwild's bpr and warp with implicit's BPR and LightFM's BPR and WARP: the tables of docs/results/rankings.md.

    python3 bench/rankings/rankings.py HOGWILD lastfm=DATA1.TXT,TEST1.TXT ml-100k=ML-100K.INTER [published]

A set is a file of users, items and perhaps values, of which 10 entries of each user are held out, or two files. Each
side has the same passes, rank and number of pairs of learning rate and l2. The best pair is chosen by NDCG@10 on a
tenth of the training entries; then each side trains on all of them with three seeds. All are scored here alike, from
their vectors. Needs numpy, scipy, implicit and lightfm-next.
"""
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import scipy.sparse as sp
from implicit.cpu.bpr import BayesianPersonalizedRanking
from lightfm import LightFM

RANK, PASSES, WORKERS = 64, 30, 2
RATES, L2 = (0.01, 0.02, 0.05), (0.001, 0.01, 0.03)
# LightFM's alpha shrinks a row at each step by alpha times its rate, as l2 does.
GRIDS = {"lightfm bpr": ((0.05, 0.1, 0.2), (1e-5, 1e-4, 3e-4)), "lightfm warp": ((0.01, 0.02, 0.05), (0, 1e-5, 1e-4)),
         "hogwild bpr uniform adagrad": ((0.02, 0.05, 0.1), (0.001, 0.01, 0.03)),
         "hogwild warp": ((0.01, 0.02, 0.05), (0, 0.001, 0.01))}
FLAGS = {"adagrad": ("--row-optimizer", "adagrad"), "uniform": ("--sampling", "uniform")}


def read(path):
    with open(path) as f:
        cells = [line.split() for line in f]
    if not cells[0][0].isdigit():
        cells = cells[1:]
    return np.array([c[:2] for c in cells], dtype=np.int64)


def held_out(pairs, each, seed):
    """Moves some entries of each user, a number or a share, to another set."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(pairs))
    order = order[np.argsort(pairs[order, 0], kind="stable")]
    users, first, count = np.unique(pairs[order, 0], return_index=True, return_counts=True)
    held = np.zeros(len(pairs), dtype=bool)
    for at, n in zip(first, count):
        held[order[at:at + (each if each >= 1 else int(each * n + random.random()))]] = True
    return pairs[~held], pairs[held]


def matrix(pairs, shape):
    m = sp.csr_matrix((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape=shape)
    m.data[:] = 1
    return m


def figures(scores, train, test, k=10, seen=False):
    """Returns precision, NDCG and AUC, means over users with an entry in the test set; scores are of all items."""
    out = []
    for u in np.flatnonzero(np.diff(test.indptr)):
        s, liked = scores(u), test[u].indices
        if not seen:
            s[train[u].indices] = -np.inf
            liked = np.setdiff1d(liked, train[u].indices)
        if len(liked) == 0:
            continue
        best = np.argsort(-s, kind="stable")[:k]
        hits = np.isin(best, liked)
        gains = 1 / np.log2(np.arange(2, k + 2))
        others = np.delete(s, liked)
        others = np.sort(others[np.isfinite(others)])
        low, high = np.searchsorted(others, s[liked], "left"), np.searchsorted(others, s[liked], "right")
        out.append((hits.mean(), (hits * gains).sum() / gains[:min(k, len(liked))].sum(),
                    ((low + high) / 2).mean() / len(others)))
    return np.mean(out, axis=0)


def tensors(path):
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        head, body = json.loads(f.read(n)), f.read()
    head.pop("__metadata__", None)
    return {name: np.frombuffer(body[t["data_offsets"][0]:t["data_offsets"][1]], np.float32).reshape(t["shape"])
            for name, t in head.items()}


class Side:
    """One program on one set; fit returns a function from a user to the scores of all items."""

    def __init__(self, name, program):
        self.name, self.program = name, program

    def fit(self, pairs, shape, lr, l2, seed, rank=RANK, passes=PASSES):
        kind, loss, *flags = self.name.split()
        if kind == "implicit":
            m = BayesianPersonalizedRanking(factors=rank, learning_rate=lr, regularization=l2, iterations=passes,
                                            num_threads=WORKERS, random_state=seed)
            m.fit(matrix(pairs, shape), show_progress=False)
            return lambda u: m.item_factors @ m.user_factors[u]
        if kind == "lightfm":
            m = LightFM(no_components=rank, loss=loss, learning_rate=lr, item_alpha=l2, user_alpha=l2,
                        random_state=seed)
            m.fit(matrix(pairs, shape).tocoo(), epochs=passes, num_threads=WORKERS)
            return lambda u: m.item_embeddings @ m.user_embeddings[u] + m.item_biases
        with tempfile.TemporaryDirectory() as folder:
            np.savetxt(folder + "/train.txt", pairs, fmt="%d")
            subprocess.run([self.program, "train", "--data", folder + "/train.txt", "--test", "none", "--model",
                            f"{loss}:{rank}", "--lr", str(lr), "--l2", str(l2), "--epochs", str(passes), "--seed",
                            str(seed), "--workers", str(WORKERS), "--run", folder + "/run", "--top", "1",
                            *(part for flag in flags for part in FLAGS[flag])],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            t = tensors(folder + "/run/weights.safetensors")
        users, items = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])  # as hogwild numbers them
        place = {u: i for i, u in enumerate(users)}

        def scores(u):
            all_items = np.full(shape[1], t["item.bias"].min() - 1e3, np.float32)  # not trained: behind all others
            if u in place:
                all_items[items] = t["item.weight"] @ t["user.weight"][place[u]] + t["item.bias"]
            return all_items
        return scores


def compare(name, train, test, program):
    both = np.concatenate([train, test])
    users, items = (np.unique(both[:, i]) for i in (0, 1))
    train, test = (np.stack([np.searchsorted(users, p[:, 0]), np.searchsorted(items, p[:, 1])], 1) for p in (train, test))
    shape = len(users), len(items)
    fit, apart = held_out(train, 0.1, 7)
    print(f"\n{name}: {shape[0]:,} users, {shape[1]:,} items, {len(train):,} entries to train on, {len(test):,} to test"
          f"; rank {RANK}, {PASSES} passes\n\n| | lr | l2 | NDCG@10 | range | precision@10 | AUC |\n|---|---|---|---|---|---|---|")
    for side in ("implicit bpr", "lightfm bpr", "hogwild bpr", "hogwild bpr uniform adagrad", "lightfm warp",
                 "hogwild warp"):
        one = Side(side, program)
        known, asked = matrix(fit, shape), matrix(apart, shape)
        best = max(itertools.product(*GRIDS.get(side, (RATES, L2))),
                   key=lambda pair: figures(one.fit(fit, shape, *pair, 1), known, asked)[1])
        known, asked = matrix(train, shape), matrix(test, shape)
        all_seeds = np.array([figures(one.fit(train, shape, *best, seed), known, asked) for seed in (1, 2, 3)])
        p, ndcg, auc = all_seeds.mean(axis=0)
        print(f"| {side} | {best[0]:g} | {best[1]:g} | {ndcg:.4f} | {all_seeds[:, 1].min():.4f} to "
              f"{all_seeds[:, 1].max():.4f} | {p:.4f} | {auc:.4f} |", flush=True)


def published(name, pairs, program):
    """LightFM's example: 10 ratings of each user held out, what was trained left in, rank 10, 10 passes, lr .05."""
    users, items = (np.unique(pairs[:, i]) for i in (0, 1))
    pairs = np.stack([np.searchsorted(users, pairs[:, 0]), np.searchsorted(items, pairs[:, 1])], 1)
    shape = len(users), len(items)
    train, test = held_out(pairs, 10, 1)
    known, asked = matrix(train, shape), matrix(test, shape)
    print(f"\n{name}, as in LightFM's example: rank 10, 10 passes, lr .05, trained items left in\n\n"
          "| | precision@10 train | test | AUC train | test |\n|---|---|---|---|---|")
    for side in ("lightfm bpr", "hogwild bpr adagrad", "hogwild bpr", "lightfm warp", "hogwild warp"):
        rows = []
        for seed in (1, 2, 3):
            one = Side(side, program)
            scores = one.fit(train, shape, 0.05, 0, seed, 10, 10)
            a, b = (figures(scores, known, to, seen=True) for to in (known, asked))
            rows.append((a[0], b[0], a[2], b[2]))
        print(f"| {side} | " + " | ".join(f"{v:.3f}" for v in np.mean(rows, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    program, sets = os.path.abspath(sys.argv[1]), sys.argv[2:]
    for text in sets:
        if text == "published":
            continue
        name, _, paths = text.partition("=")
        files = [read(p) for p in paths.split(",")]
        if len(files) == 1 and "published" in sets:
            published(name, files[0], program)
        train, test = files if len(files) == 2 else held_out(files[0], 10, 1)
        compare(name, train, test, program)
