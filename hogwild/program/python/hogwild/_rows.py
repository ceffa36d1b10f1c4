"""Rows of numbers, as they are copied into the memory of a run: once, converted on the way."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

import hogwild
from hogwild import _check

from ._arrays import host

BLOCK = 1 << 18  # numbers that a thread converts at a time


def needs(y: Any) -> None:
    _check(y is not None, "y is missing: hogwild.train(X, y), or target= names the column of a DataFrame or file")


def encoded(y: Any) -> Tuple[Any, Any]:
    """The numbers that a model learns, and the labels of its classes in their order; None of values."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        return y, None
    _check(y.dtype.kind != "c", f"y has the type {y.dtype}: want values, or classes")
    try:
        labels, numbers = np.unique(y, return_inverse=True)
    except TypeError:
        raise hogwild.Error("y has labels of different types: want all of one, as texts") from None
    _check(not any(v is None or v != v for v in labels.tolist()), "y has missing labels: leave these rows out")
    return numbers.reshape(y.shape), labels


def numbered(y: Any, classes: Any) -> Any:
    """The numbers of labels among the classes of the training rows, which are in order."""
    names = {str(name): i for i, name in enumerate(classes)}
    labels, at = np.unique(np.asarray(y), return_inverse=True)
    new = [str(v) for v in labels if str(v) not in names]
    _check(not new, f"the test rows have classes that the training rows lack: {', '.join(new[:5])}")
    return np.array([names[str(v)] for v in labels], "f4")[at].reshape(np.shape(y))


class Rows:
    """Rows, with what they are to predict. X: n x d numbers, an array, a matrix of scipy.sparse or a DataFrame. y: n,
    values, labels of classes, or with classes their numbers. like: the classes of the rows that were trained on.
    weight: n, by which the losses of the rows are multiplied."""

    def __init__(self, X: Any, y: Any = None, *, classes: Optional[List[str]] = None, columns: Optional[List[str]] = None,
                 weight: Any = None, name: str = "", scale: str = "", seed: Optional[int] = None,
                 like: Optional[Sequence[str]] = None) -> None:
        if hasattr(X, "iloc") and hasattr(X, "columns"):  # a DataFrame
            columns, X = columns or [str(c) for c in X.columns], X.to_numpy()
        X, y, weight = host(X), host(y), host(weight)
        self.sparse = hasattr(X, "tocsr")
        if self.sparse:
            X = X.tocsr()
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        else:
            _check(not np.ma.is_masked(X), "X is a masked array with masked values: fill them, X.filled(0), or make a "
                   "DataFrame of it, whose holes hogwild.train(df, target=...) fills")
            X = np.asarray(X)
        _check(X.ndim == 2, f"X has the shape {X.shape}: want rows x columns")
        _check(X.dtype.kind in "fiub", f"X has the type {X.dtype}: want real numbers; a DataFrame may have texts, with target=")
        _check(min(X.shape) > 0, f"X has the shape {X.shape}: there is nothing in it")
        self.X, self.n, self.d = X, X.shape[0], X.shape[1]
        _check(not np.ma.is_masked(y), "y is a masked array with masked values: leave these rows out")
        self.y = None if y is None else np.asarray(y)
        _check(self.y is None or self.y.shape == (self.n,), f"y has the shape {getattr(self.y, 'shape', None)}: want ({self.n},)")
        self.columns, self.weight, self.name, self.scale = columns, None, name, scale
        if weight is not None:
            self.weight = np.asarray(weight, np.float32)
            _check(self.weight.shape == (self.n,), f"sample_weight has the shape {self.weight.shape}: want ({self.n},)")
            for i in np.flatnonzero(~(np.isfinite(self.weight) & (self.weight >= 0))):
                raise hogwild.Error(f"sample_weight of row {i}: {self.weight[i]:g}: want a finite number, 0 or more")
        self.classes, self.labels = classes if like is None else list(like), None
        if self.y is not None and like is not None:
            self.y = numbered(self.y, like)
        elif self.y is not None and classes is None:
            self.y, self.labels = encoded(self.y)
            self.classes = None if self.labels is None else [str(v) for v in self.labels]
            _check(self.classes is None or len(self.classes) > 1, f"y has the class {(self.classes or [''])[0]} alone: "
                   "there is nothing to tell apart")
            _check(self.labels is not None or np.isfinite(self.y).all(), "y has NaN or infinity: leave these rows out")
        self.seed = seed

    @cached_property
    def order(self) -> Any:
        """A random order, as a run takes the rows block by block; None of rows as they are."""
        return None if self.seed is None else np.random.default_rng(self.seed).permutation(self.n)

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        """Errors of the program count rows in their random order: here they have the numbers of X's."""
        found = re.match(rf"data: {re.escape(self.name or 'memory')}: row (\d+)", str(error))
        if isinstance(error, hogwild.Error) and found and self.order is not None:
            raise hogwild.Error(f"row {self.order[int(found[1])]}{str(error)[found.end():]}") from None

    def message(self) -> Dict[str, Any]:
        return {"name": self.name, "kind": "sparse" if self.sparse else "floats", "rows": self.n, "features": self.d,
                "stored": int(self.X.nnz) if self.sparse else 0, "columns": self.columns, "classes": self.classes,
                "scale": self.scale, "weighted": self.weight is not None}

    def fill(self, to: Any, at: Dict[str, int]) -> None:
        """Copies the rows into a room, a file or its memory, whose arrays are at these places, and lets go of them."""
        (X, y, weight), order = (self.X, self.y, self.weight), self.order
        self.X = self.y = self.weight = None  # what was copied from a GPU is not kept while the run goes on

        def put(name: str, values: Any, dtype: str, start: int = 0) -> None:
            write(to, at[name], values, dtype, start)

        def dense(rows: slice) -> None:
            if order is None or not (X.flags.c_contiguous and X.dtype.isnative):  # NumPy's take would copy all of X first
                taken = X[rows if order is None else order[rows]]
            else:
                taken = np.take(X, order[rows], axis=0)
            put("x", taken, "<f4", rows.start * self.d)

        def sparse(rows: slice) -> None:
            part = X[rows if order is None else order[rows]]
            put("idx", part.indices, "<u4", ptr[rows.start])
            put("val", part.data, "<f4", ptr[rows.start])

        for name, values in (("y", y), ("weight", weight)):
            if values is not None:
                put(name, values if order is None else values[order], "<f4")
        if not self.sparse:
            return _in_threads(dense, self.n, max(1, BLOCK // max(1, self.d)))
        lengths = np.diff(X.indptr)
        ptr = np.append(np.zeros(1, "<i8"), np.cumsum(lengths if order is None else lengths[order]))
        put("ptr", ptr, "<i8")
        _in_threads(sparse, self.n, max(1, BLOCK * self.n // max(1, X.nnz)))


def write(to: Any, at: int, values: Any, dtype: str, start: int = 0) -> None:
    """Writes values to the array at this place of a file, or of its memory, from the array's value start on."""
    values = np.ascontiguousarray(values, dtype).reshape(-1)
    place = at + start * values.itemsize
    if not isinstance(to, int):
        np.frombuffer(to, dtype, len(values), place)[:] = values
        return
    left = memoryview(values.view("u1"))
    while left:
        written = os.pwrite(to, left, place)
        left, place = left[written:], place + written


def _in_threads(block: Callable[[slice], None], n: int, step: int) -> None:
    """Calls block for all of n rows, step of them at a time. NumPy and SciPy let other threads run while they copy."""
    slices = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    if len(slices) < 4:
        for rows in slices:
            block(rows)
    else:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
            list(threads.map(block, slices))
