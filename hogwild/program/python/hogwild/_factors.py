"""Factorization of ratings, and rankings of what users liked, by ids of any kind."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

import hogwild
from hogwild import _check

from ._arrays import host
from ._rows import write
from ._session import Message, Session
from ._train import OnEpoch, Run, follow, texts

SCORED = 50_000  # ratings are scored after each epoch, if there are as many


class Factorization:
    """Ratings as mean + user . item + biases, by stochastic gradient descent.

    loss: "bpr" and "warp" learn rankings from what users liked, see docs/rankings.md: scores are user . item + item bias
    l2: None is chosen by the ratings' deviation and how many there are for each id    epochs, workers: None is automatic
    settings: others of hogwild train, as lr=0.01
    After fit: user_ids, item_ids, user_factors (users x rank), item_factors, user_biases, item_biases, mean, history.
    Row i of the factors belongs to id i; test_rmse of history is that of 50,000 of the ratings, which are trained on too.
    Predictions may lie outside of the scale of the ratings."""

    def __init__(self, rank: int = 32, l2: Optional[float] = None, epochs: Optional[int] = None,
                 workers: Optional[int] = None, biases: bool = True, seed: int = 1, loss: str = "squared", **settings: Any) -> None:
        if loss not in ("squared", "bpr", "warp"):
            raise hogwild.Error(f"loss {loss!r}: want squared, bpr or warp")
        self.rank, self.l2, self.seed, self.loss = rank, l2, seed, loss
        rated = loss == "squared"
        self.settings = {"model": f"{'factor' if rated else loss}:{rank}", "epochs": epochs, "workers": workers,
                         "biases": True if biases and rated else None, "seed": seed, **settings}

    def fit(self, users: Any, items: Any, ratings: Any = None, on_epoch: Optional[OnEpoch] = None) -> Factorization:
        """Trains on n users, n items and n ratings. Ids are integers, strings, UUIDs, or whatever can be a key. Rankings
        take all pairs as liked, and need no ratings."""
        rated = self.loss == "squared"
        users, items, ratings = host(users), host(items), host(ratings)
        _check(ratings is not None or not rated,
               "no ratings: give them, or learn rankings from what users liked with loss='bpr' or 'warp'")
        y = np.ones(len(users), np.float32) if ratings is None else np.asarray(ratings, np.float32)
        _check(y.ndim == 1 and 0 < len(y) == len(users) == len(items),
               f"{len(users)} users, {len(items)} items and ratings of shape {y.shape}: want as many of each")
        for bad in np.flatnonzero(~np.isfinite(y)):
            raise hogwild.Error(f"rating {bad} is not a finite number")
        self._numbers: Dict[str, Dict[Any, int]] = {}
        self.user_ids, u = _coded(users, "users")
        self.item_ids, i = _coded(items, "items")
        shape = [len(self.user_ids), len(self.item_ids)]
        l2 = self.l2
        if l2 is None:
            l2 = float(y.std(dtype=np.float64)) * (0.1 + 5 * sum(shape) / (2 * len(y))) if rated else 0
        order = np.random.default_rng(self.seed).permutation(len(y))
        self._seen = i[np.argsort(u, kind="stable")]  # the items of each user, one user behind the other
        self._ends = np.cumsum(np.bincount(u, minlength=shape[0]))
        with Session(gpu=self.settings.get("gpu")) as session:
            session.ask({"train": _Pairs(u, i, y, shape, order, not rated),
                         "test": _Pairs(u, i, y, shape, order[:SCORED]) if len(y) > SCORED and rated else None,
                         "settings": texts({**self.settings, "l2": l2}), "waits": on_epoch is not None})
            follow(session, on_epoch, take=self._take)
        return self

    def _take(self, run: Run) -> None:
        t = run.tensors
        self.user_factors, self.item_factors = np.array(t["user.weight"]), np.array(t["item.weight"])
        self.user_biases, self.item_biases = (np.array(t.get(name, np.zeros(len(ids), np.float32))) for name, ids in (
            ("user.bias", self.user_ids), ("item.bias", self.item_ids)))
        self.mean, self.result, self.history = float(t["mean"][0]) if "mean" in t else 0.0, run.result, run.history

    def predict(self, users: Any, items: Any) -> Any:
        """The ratings of pairs, n of n users and n items."""
        u, i = self._places("user", users), self._places("item", items)
        _check(len(u) == len(i), f"{len(u)} users and {len(i)} items: want as many of each")
        products = np.einsum("ij,ij->i", self.user_factors[u], self.item_factors[i])
        return products + self.user_biases[u] + self.item_biases[i] + self.mean

    def recommend(self, user: Any, n: int = 10, seen: bool = False) -> Tuple[Any, Any]:
        """The ids of the n items that the user is to rate highest, and these ratings. With seen also those rated before."""
        u = int(self._places("user", [user])[0])
        scores = self.item_factors @ self.user_factors[u] + self.item_biases + (self.user_biases[u] + self.mean)
        left = np.ones(len(scores), bool)
        if not seen:
            left[self._seen[self._ends[u - 1] if u else 0:self._ends[u]]] = False
        items = np.flatnonzero(left)
        if n < len(items):
            items = items[np.argpartition(-scores[items], n)[:n]]
        items = items[np.argsort(-scores[items], kind="stable")]
        return self.item_ids[items], scores[items]

    def _places(self, what: str, ids: Any) -> Any:
        number = self._numbers.get(what)
        if number is None:
            number = self._numbers[what] = {key: n for n, key in enumerate(getattr(self, what + "_ids").tolist())}
        ids = host(ids)
        try:
            return np.array([number[key] for key in (ids.tolist() if hasattr(ids, "tolist") else ids)], np.intp)
        except KeyError as e:
            raise hogwild.Error(f"unknown {what} {e.args[0]!r}: no rating was trained on") from None

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_numbers": {}}  # which are made again


class _Pairs:
    """Ratings, as they are copied into the memory of a run: in a random order, all or some."""

    def __init__(self, users: Any, items: Any, ratings: Any, shape: List[int], order: Any,
                 implicit: bool = False) -> None:
        self.users, self.items, self.ratings, self.shape, self.order = users, items, ratings, shape, order
        self.implicit = implicit

    def message(self) -> Message:
        return {"name": "ratings", "kind": "pairs", "rows": len(self.order), "features": sum(self.shape), "shape": self.shape,
                "implicit": self.implicit}

    def fill(self, to: Any, at: Dict[str, int]) -> None:
        pairs = np.stack([self.users[self.order], self.items[self.order] + self.shape[0]], axis=1)
        write(to, at["idx"], pairs, "<u4")
        write(to, at["y"], self.ratings[self.order], "<f4")


def _coded(ids: Any, what: str) -> Tuple[Any, Any]:
    """The different ids, and for each one its number among them."""
    values = np.asarray(ids)
    _check(values.ndim == 1, f"{what} has the shape {values.shape}: want one id for each rating")
    if values.dtype.kind in "iu":
        low = values.min()
        if int(values.max()) - int(low) < 4 * len(values) + 1024:  # without sorting
            places = (values - low).astype(np.intp)
            there = np.zeros(places.max() + 1, bool)
            there[places] = True
            return np.flatnonzero(there).astype(values.dtype) + low, (np.cumsum(there, dtype=np.int32) - 1)[places]
    if values.dtype.kind != "O":
        different, numbers = np.unique(values, return_inverse=True)
        _check(different.dtype.kind != "f" or not np.isnan(different).any(), f"{what} lacks an id: it has a NaN")
        return different, numbers.astype(np.int32)
    index: Dict[Any, int] = {}
    coded = np.fromiter((index.setdefault(key, len(index)) for key in values.tolist()), np.int32, len(values))
    _check(not any(key is None or key != key for key in index), f"{what} lacks an id: it has a None or a NaN")
    keys = np.empty(len(index), object)
    keys[:] = list(index)
    return keys, coded
