"""Rows in the memory that workers map."""

from __future__ import annotations

import mmap
import os
from typing import Any, List, Optional, Sequence

import numpy as np

import hogwild
from hogwild import _check

from . import _tables
from ._rows import Rows, needs
from ._session import Message, Session, mapped


class Dataset:
    """Rows in the memory that workers map, for many runs: they are copied, scaled and checked once. It belongs to this
    process, and is gone with it.

    X: n x d numbers    y: n values, or classes    sample_weight: n, by which their losses are multiplied
    scale, seed: as hogwild train has them; the seed draws the order
    empty makes one to be filled, from_batches one of rows that come in parts."""

    X: Any
    y: Any
    ptr: Any
    idx: Any
    val: Any
    place: Any
    _memory: mmap.mmap
    _session: Any = None  # the Session while it is filled

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None, scale: str = "auto", seed: int = 1,
                 columns: Optional[Sequence[str]] = None, name: str = "") -> None:
        needs(y)
        rows = Rows(X, y, weight=sample_weight, columns=_names(columns), name=name, scale=scale, seed=seed)
        self.labels = rows.labels
        with rows, Session() as session:
            session.ask({"train": rows, "keep": True})
            self._sealed(session)

    @classmethod
    def empty(cls, n: int, d: int, *, classes: Any = None, nnz: Optional[int] = None, scale: str = "auto", seed: int = 1,
              columns: Optional[Sequence[str]] = None, name: str = "") -> Dataset:
        """A data set to be filled in place, and sealed.

        X: n x d, y: n, float32 views of its memory; with nnz, which makes it sparse, ptr, idx and val in place of X
        y has the values, or the numbers of classes    place: where a row is to go, since runs want a random order:
        data.X[data.place[i:j]] = rows"""
        self = cls.__new__(cls)
        self.labels = None if classes is None else np.asarray(classes)
        self.place = np.empty(n, "i8")
        self.place[np.random.default_rng(seed).permutation(n)] = np.arange(n)
        session = Session()
        try:
            session.ask({"keep": True, "train": {
                "name": name, "kind": "floats" if nnz is None else "sparse", "rows": n, "features": d, "stored": nnz or 0,
                "columns": _names(columns), "scale": scale, "classes": _names(classes)}})
            room = session.receive()["rooms"][0]
            file = session.file()
            self._memory = mapped(file, room["size"], write=True)
            os.close(file)
        except BaseException:
            session.__exit__()
            raise
        self._session = session

        def view(name: str, dtype: str, count: int) -> Any:
            return np.frombuffer(self._memory, dtype, count, room["arrays"][name])

        self.y = view("y", "<f4", n)
        if nnz is None:
            self.X = view("x", "<f4", n * d).reshape(n, d)
        else:
            self.ptr, self.idx, self.val = view("ptr", "<i8", n + 1), view("idx", "<u4", nnz), view("val", "<f4", nnz)
        return self

    def seal(self) -> Dataset:
        """Checks and scales the rows, which nothing can change from then on. X and y are gone."""
        _check(self._session, "the data set is sealed already")
        for name in ("X", "y", "ptr", "idx", "val"):
            self.__dict__.pop(name, None)
        try:
            self._memory.close()
        except BufferError:
            raise hogwild.Error("another name refers to the memory of the data set: del it, and call seal again") from None
        session, self._session = self._session, None
        with session:
            session.send({"filled": True})
            self._sealed(session)
        return self

    @classmethod
    def from_batches(cls, batches: Any, target: Any = None, *, scale: str = "auto", seed: int = 1, name: str = "") -> Dataset:
        """A data set of rows that come in parts, which are put in their places one after the other.

        batches: (X, y) of arrays or CSR matrices, DataFrames or batches of Arrow, whose column target is y: a list, a
        pyarrow Table or Dataset, one of Hugging Face, or a function that returns an iterator, which are gone through
        twice; the rows of an iterator are kept as float32 until all have come"""
        source = _tables.blocks(batches, target)
        known = _tables.survey(source)
        n, labels, lengths = known["n"], known["labels"], known["lengths"]
        self = cls.empty(n, known["d"], classes=labels, nnz=None if lengths is None else int(lengths.sum()), scale=scale,
                         seed=seed, columns=known["columns"], name=name)
        if lengths is not None:
            placed = np.empty_like(lengths)
            placed[self.place] = lengths
            np.cumsum(placed, out=self.ptr[1:])
        start = 0
        for X, y, _ in source():
            place = self.place[start:start + len(y)]
            _check(len(place) == len(y) and (lengths is None or (np.diff(X.indptr) == lengths[start:start + len(y)]).all()),
                   "the batches have other rows the second time: give an iterator")
            start += len(y)
            self.y[place] = y if labels is None else np.searchsorted(labels, y)
            if lengths is None:
                self.X[place] = X
            else:
                at = np.repeat(self.ptr[place] - X.indptr[:-1], np.diff(X.indptr)) + np.arange(X.nnz)
                self.idx[at], self.val[at] = X.indices, X.data
        _check(start == n, "the batches have fewer rows the second time: give an iterator")
        return self.seal()

    def _sealed(self, session: Session) -> None:
        self.meta: Message = session.receive()["sealed"][0]
        self._file = session.file()
        self.classes: Optional[List[str]] = self.meta.get("classes")

    def __del__(self, close: Any = os.close) -> None:  # at the end of Python, os may be gone
        if self._session is not None:
            self._session.__exit__()
        if hasattr(self, "_file"):
            close(self._file)

    def __reduce__(self) -> Any:
        raise TypeError("a hogwild.Dataset is memory of this process: give another process the arrays")

    def fileno(self) -> int:
        _check(hasattr(self, "_file"), "the data set is not sealed: fill it, and call seal")
        return self._file


def _names(of: Any) -> Optional[List[str]]:
    return None if of is None else [str(name) for name in of]
