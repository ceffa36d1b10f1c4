"""The data sets of defaults.py: a train and a test file for each, which hogwild finds by their names.

Real ones come with scikit-learn, or lie in the folder with data sets. The others are drawn: each has a
property that a default may fail on.
"""

import os

import numpy as np
import pandas as pd
from sklearn import datasets as bundled

DATA = os.environ.get("HOGWILD_DATA", os.path.join(os.path.dirname(__file__), "../../../shared/data"))


class Set:
    """A frame with a target column, an array whose last column is the target (npy), or ratings."""

    def __init__(self, frame, target, kind="csv"):
        self.frame, self.target, self.kind = frame, target, kind


def of_sklearn(load):
    frame = load(as_frame=True).frame
    return Set(frame, "target")


def named(load):
    """Classes by their names, as a user's file has them."""
    b = load(as_frame=True)
    return Set(b.frame.assign(target=[b.target_names[i] for i in b.target]), "target")


def california():
    frame = pd.read_csv(os.path.join(DATA, "california-housing/housing.csv")).dropna()
    return Set(frame, "median_house_value")


ADULT = "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain capital-loss hours native-country income"


def adult():
    """UCI's adult.data, if it lies in the folder with data sets."""
    path = os.path.join(DATA, "adult/adult.data")
    if not os.path.exists(path):
        return None
    return Set(pd.read_csv(path, names=ADULT.split(), skipinitialspace=True, na_values="?").dropna(), "income")


def census(r, n=30000):
    """Like adult: categories of up to 40 values, two columns that are mostly 0 and otherwise large, a
    quarter in the rarer class."""
    columns, z = {}, np.zeros(n)
    for name, k in [("work", 7), ("education", 16), ("marital", 7), ("job", 14), ("relation", 6), ("race", 5), ("sex", 2), ("country", 40)]:
        p = r.dirichlet(np.full(k, .6))
        values = r.choice(k, n, p=p)
        z += r.normal(0, .8, k)[values]
        columns[name] = np.array([f"{name}-{i}" for i in range(k)])[values]
    age = r.integers(17, 90, n)
    gain = np.where(r.random(n) < .08, np.exp(r.normal(8.5, 1.2, n)).round(), 0)
    loss = np.where(r.random(n) < .05, r.normal(1900, 350, n).round(), 0)
    weight = np.exp(r.normal(12, .5, n)).round()
    z += .03 * (age - 40) - .0007 * (age - 45.) ** 2 + 2e-4 * gain + 5e-4 * loss
    z = 1.2 * (z - np.quantile(z, .76))
    columns |= {"age": age, "gain": gain, "loss": loss, "weight": weight}
    columns["income"] = np.where(r.random(n) < 1 / (1 + np.exp(-z)), ">50K", "<=50K")
    return Set(pd.DataFrame(columns), "income")


def pathways(r, n=50000, d=20):
    """Like the KEGG networks: counts with heavy tails that follow each other, and a target of their kind."""
    common = r.normal(0, 1, (n, 4)) @ r.normal(0, .7, (4, d))
    x = np.exp(common + r.normal(0, .4, (n, d))).round(2)
    shares = x[:, :6] / (1 + x[:, :6].sum(1, keepdims=True))
    x[:, :6] = shares.round(5)
    logs = np.log1p(x)
    y = logs @ r.normal(0, .3, d) + shares @ r.normal(0, 3, 6)
    y = (y - y.mean()) / y.std() * .2 + .5 + r.normal(0, .03, n)
    frame = pd.DataFrame(x, columns=[f"c{i}" for i in range(d)])
    frame.iloc[:, 10:] = logs[:, 10:].round(5)
    return Set(frame.assign(clustering=y.round(5)), "clustering")


def numbered(r, n=15000, d=40, k=150):
    """150 classes, numbered, around centres."""
    y = r.integers(0, k, n)
    x = r.normal(0, 1.6, (k, d))[y] + r.normal(0, 2.2, (n, d))
    return Set(np.column_stack([x, y]).astype(np.float32), None, "npy")


def ratings(r, users=900, items=1500, n=100000, rank=5):
    """Half stars from 1 to 5 of users' and items' biases, a product of low rank, and noise; both activity and
    fame have long tails."""
    u = r.choice(users, n, p=r.dirichlet(np.full(users, .8)))
    i = r.choice(items, n, p=r.dirichlet(np.full(items, .5)))
    p, q = r.normal(0, .5, (users, rank)), r.normal(0, .5, (items, rank))
    y = 3.5 + r.normal(0, .43, users)[u] + r.normal(0, .5, items)[i] + (p[u] * q[i]).sum(1) + r.normal(0, .75, n)
    frame = pd.DataFrame({"userId": u, "movieId": i, "rating": np.clip(np.round(2 * y) / 2, .5, 5)})
    return Set(frame.drop_duplicates(["userId", "movieId"]).assign(timestamp=0), "rating", "ratings")


def collinear(r, n=2000):
    base = r.normal(0, 1, (n, 5))
    x = np.hstack([base, base @ r.normal(0, 1, (5, 15)) + r.normal(0, .05, (n, 15))])
    y = base @ [2, -1, .5, 1, 0] + r.normal(0, 1, n)
    return values(x, y)


def scales(r, n=3000, d=12):
    x = r.normal(0, 1, (n, d))
    y = x @ r.normal(0, 1, d) + r.normal(0, 1, n)
    return values(x * np.logspace(-3, 6, d) + 100 * r.normal(0, 1, d) * np.logspace(-3, 6, d), y)


def wide(r, n=1500, d=200):
    x = r.normal(0, 1, (n, d)) + r.normal(0, 1, (n, 1))
    y = x @ (r.normal(0, 1, d) * (r.random(d) < .2)) + r.normal(0, 3, n)
    return values(x, y)


def prices(r, n=4000, d=8):
    x = np.exp(r.normal(0, .5, (n, d)))
    y = 250000 + 40000 * (x @ r.normal(0, 1, d)) + r.normal(0, 40000, n)
    return values(x, y.round(-2))


def constants(r, n=1000):
    x = r.normal(3, 2, (n, 6))
    x[:, 1], x[:, 4] = 7, 0
    return values(x, x[:, 0] - 2 * x[:, 2] + r.normal(0, 1, n))


def thirty(r, n=30):
    x = r.normal(0, 1, (n, 3))
    return values(x, 2 * x[:, 0] - x[:, 1] + r.normal(0, .5, n))


def values(x, y):
    return Set(pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(y=y), "y")


def classes(x, z, r):
    y = np.where(r.random(len(z)) < 1 / (1 + np.exp(-z)), "yes", "no")
    return Set(pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(y=y), "y")


def rare(r, n=20000, d=10):
    """One row in 50 is in the rarer class."""
    x = r.normal(0, 1, (n, d))
    return classes(x, 1.2 * x @ r.normal(0, 1, d) - 7, r)


def few(r, n=60, d=4):
    x = r.normal(0, 1, (n, d)) * [1, 10, 100, 1000]
    return classes(x, 4 * x[:, 0] - .2 * x[:, 1] + .02 * x[:, 2], r)


# Chosen are the sets by which the defaults were chosen; the others were looked at afterwards.
CHOSEN = {
    "iris": lambda r: named(bundled.load_iris),
    "diabetes": lambda r: of_sklearn(bundled.load_diabetes),
    "breast-cancer": lambda r: named(bundled.load_breast_cancer),
    "california-housing": lambda r: california(),
    "adult": lambda r: adult(),
    "census": census,
    "pathways": pathways,
    "numbered": numbered,
    "ratings": ratings,
    "collinear": collinear,
    "thirty": thirty,
}
HELD_OUT = {
    "wine": lambda r: named(bundled.load_wine),
    "digits-8x8": lambda r: of_sklearn(bundled.load_digits),
    "scales": scales,
    "rare": rare,
    "few": few,
    "prices": prices,
    "constants": constants,
    "wide": wide,
}


def split(s, seed):
    """Train and test rows: three quarters and the rest."""
    order = np.random.default_rng(seed).permutation(len(s.frame))
    cut = len(order) * 3 // 4
    pick = (lambda rows: s.frame[rows]) if s.kind == "npy" else (lambda rows: s.frame.iloc[rows])
    return pick(order[:cut]), pick(order[cut:])


def write(s, train, test, folder, name):
    """Writes both, and returns the path to give to --data, with --target where it needs one."""
    extension = "npy" if s.kind == "npy" else "csv"
    paths = [os.path.join(folder, f"{name}-{part}.{extension}") for part in ("train", "test")]
    for path, rows in zip(paths, (train, test)):
        np.save(path, rows) if s.kind == "npy" else rows.to_csv(path, index=False)
    target = {"csv": s.target, "npy": str(s.frame.shape[1]) if s.kind == "npy" else "", "ratings": ""}[s.kind]
    return ["--data", paths[0]] + (["--target", target] if target else [])
