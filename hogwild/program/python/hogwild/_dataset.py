"""Rows in the memory that workers map."""

from __future__ import annotations

import mmap
import os
from typing import Any, List, Optional, Sequence

import numpy as np

import hogwild

from . import _tables
from ._rows import Rows
from ._session import PROTOCOL, Message, Session, mapped


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
    _session: Optional[Session] = None  # while it is filled

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None, scale: str = "auto", seed: int = 1,
                 columns: Optional[Sequence[str]] = None, name: str = "") -> None:
        _needs(y)
        rows = Rows(X, y, weight=sample_weight, columns=None if columns is None else list(columns), name=name, scale=scale,
                    seed=seed)
        self.labels = rows.labels
        with Session() as session:
            session.send({"protocol": PROTOCOL, "train": rows.message(), "keep": True})
            _fill(session, [rows])
            with rows:
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
            session.send({"protocol": PROTOCOL, "keep": True, "train": {
                "name": name, "kind": "floats" if nnz is None else "sparse", "rows": n, "features": d, "stored": nnz or 0,
                "columns": None if columns is None else list(columns), "scale": scale,
                "classes": None if classes is None else [str(c) for c in classes]}})
            room = session.receive()["rooms"][0]
            file = session.files.pop()
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
        session = self._session
        if session is None:
            raise hogwild.Error("the data set is sealed already")
        for name in ("X", "y", "ptr", "idx", "val"):
            self.__dict__.pop(name, None)
        try:
            self._memory.close()
        except BufferError:
            raise hogwild.Error("another name refers to the memory of the data set: del it, and call seal again") from None
        with session:
            self._session = None
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
            if len(place) < len(y) or lengths is not None and (np.diff(X.indptr) != lengths[start:start + len(y)]).any():
                raise hogwild.Error("the batches have other rows the second time: give an iterator")
            start += len(y)
            self.y[place] = y if labels is None else np.searchsorted(labels, y)
            if lengths is None:
                self.X[place] = X
            else:
                at = np.repeat(self.ptr[place] - X.indptr[:-1], np.diff(X.indptr)) + np.arange(X.nnz)
                self.idx[at], self.val[at] = X.indices, X.data
        if start != n:
            raise hogwild.Error("the batches have fewer rows the second time: give an iterator")
        return self.seal()

    def _sealed(self, session: Session) -> None:
        self.meta: Message = session.receive()["sealed"][0]
        self._file = session.files.pop()
        self.classes: Optional[List[str]] = self.meta.get("classes")

    def __del__(self, close: Any = os.close) -> None:  # at the end of Python, os may be gone
        if self._session is not None:
            self._session.__exit__()
        if hasattr(self, "_file"):
            close(self._file)

    def __reduce__(self) -> Any:
        raise TypeError("a hogwild.Dataset is memory of this process: give another process the arrays")

    def fileno(self) -> int:
        if not hasattr(self, "_file"):
            raise hogwild.Error("the data set is not sealed: fill it, and call seal")
        return self._file


def _needs(y: Any) -> None:
    if y is None:
        raise hogwild.Error("y is missing: hogwild.train(X, y), or target= names the column of a DataFrame or file")


# Up to so many cores rows are written to a file, not copied to its memory: pages that are missed there are cleared first.
# Linux lets one thread at a time write to a file.
WRITERS = 4


def _fill(session: Session, rooms: Sequence[Rows]) -> None:
    """Fills the rooms that the program has made. It seals them, so that nothing here may map them then."""
    for rows in rooms:
        _ = rows.order  # is drawn while the program starts
    message = session.receive()
    files = session.files[-len(message["rooms"]):]
    for rows, room, file in zip(rooms, message["rooms"], files):
        if len(os.sched_getaffinity(0)) <= WRITERS:
            rows.fill(file, room["arrays"])
        else:
            with mapped(file, room["size"], write=True) as memory:
                rows.fill(memory, room["arrays"])
        session.files.remove(file)
        os.close(file)
    session.send({"filled": True})
