"""hogwild train as a function: arrays in, arrays out."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy as np

import hogwild

from ._rows import Rows
from ._session import PROTOCOL, Message, Session, mapped, parse_tensors

OnEpoch = Callable[[Dict[str, Any]], Any]


class Dataset:
    """Rows in the memory that workers map, for many runs: they are copied, scaled and checked once. It belongs to this
    process, and is gone with it."""

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None, scale: str = "auto", seed: int = 1,
                 columns: Optional[Sequence[str]] = None, name: str = "") -> None:
        rows = Rows(X, y, weight=sample_weight, columns=None if columns is None else list(columns), name=name, scale=scale,
                    seed=seed)
        with Session() as session:
            session.send({"protocol": PROTOCOL, "train": rows.message(), "keep": True})
            _fill(session, [rows])
            self.meta: Message = session.receive()["sealed"][0]
            self._file = session.files.pop()
        self.classes = self.meta.get("classes")

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def __reduce__(self) -> Any:
        raise TypeError("a hogwild.Dataset is memory of this process: give another process the arrays")

    def fileno(self) -> int:
        return self._file


def _fill(session: Session, rooms: Sequence[Rows]) -> None:
    """Fills the rooms that the program has made. It seals them, so that nothing here may refer to them then."""
    message = session.receive()
    files = session.files[-len(message["rooms"]):]
    for rows, room, file in zip(rooms, message["rooms"], files):
        memory = mapped(file, room["size"], write=True)
        rows.fill(memory, room["arrays"])
        memory.close()
        session.files.remove(file)
        os.close(file)
    session.send({"filled": True})


class Run:
    """What a run came to.

    tensors: the weights by name    classes: the names of the classes, None of values
    result: the figures of hogwild train --json    metrics: those of each epoch, a DataFrame where pandas is installed
    path: the run folder, None without one"""

    def __init__(self, weights: bytes, result: Dict[str, Any], path: Optional[str] = None) -> None:
        self.weights, self.result, self.path = weights, result, path
        self.tensors, self.metadata = parse_tensors(weights)

    def __getstate__(self) -> Any:
        return self.weights, self.result, self.path

    def __setstate__(self, state: Any) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def metrics(self) -> Any:
        history: List[Dict[str, Any]] = self.result.get("history") or []
        try:
            import pandas
        except ModuleNotFoundError:
            return history
        return pandas.DataFrame(history)

    def predict(self, X: Any) -> Any:
        """The class of each row, or its value."""
        return self._predict(X, False)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, n x classes."""
        return self._predict(X, True)

    def _predict(self, X: Any, proba: bool) -> Any:
        rows = Rows(X)
        file = _file(self.weights)
        try:
            with Session() as session:
                session.send({"protocol": PROTOCOL, "predict": {"weights": 0, "rows": rows.message(), "proba": proba}}, [file])
                _fill(session, [rows])
                done = session.receive()["done"]
                out = np.frombuffer(_contents(session, done["size"]), "<f4")
        finally:
            os.close(file)
        values, probabilities = out[:rows.n], out[rows.n:].reshape(rows.n, -1)
        return probabilities if proba else values


def _file(contents: bytes) -> int:
    """A file in memory."""
    file = os.memfd_create("hogwild-weights", os.MFD_CLOEXEC)
    with open(file, "wb", closefd=False) as f:
        f.write(contents)
    return file


def _contents(session: Session, size: int) -> bytes:
    file = session.files.pop()
    try:
        return os.pread(file, size, 0) if size < 1 << 30 else bytes(mapped(file, size)[:size])
    finally:
        os.close(file)


def train(X: Any, y: Any = None, *, sample_weight: Any = None, test: Any = None, on_epoch: Optional[OnEpoch] = None,
          verbose: bool = False, scores: bool = True, begin: Optional[bytes] = None, **settings: Any) -> Run:
    """Trains a model on arrays, as hogwild train does on files, and returns the Run.

    X: n x d numbers: an array, a scipy.sparse matrix, a DataFrame or a Dataset    y: n values, or classes
    sample_weight: n numbers, by which the losses of the rows are multiplied; class_weight="balanced" or "NAME=WEIGHT,..." is a
    setting, and both multiply
    test: (X, y) of rows to score each epoch on; without it the training rows are scored    on_epoch: called with the figures
    of each epoch; the run ends when it returns True    settings: those of hogwild train, as model="mlp:64", l2=1e-4
    scores: without them epochs have training losses only, and take less time    begin: Run.weights to begin with"""
    seed = int(settings.get("seed", 1))
    scale = str(settings.pop("scale", ""))
    rooms: List[Rows] = []
    files: List[int] = []
    start = None if begin is None else _file(begin)
    if start is not None:
        settings["init"] = f"/proc/{os.getpid()}/fd/{start}"
    message: Message = {"protocol": PROTOCOL, "settings": _texts(settings), "waits": on_epoch is not None,
                        "unscored": not scores and test is None, "validates": settings.get("patience") is not None}
    if isinstance(X, Dataset):
        if sample_weight is not None:
            raise hogwild.Error("sample_weight: the rows of a Dataset get their weights when it is made")
        message["train"] = {"sealed": 0}
        files.append(X.fileno())
        classes = X.classes
    else:
        rows = X if isinstance(X, Rows) else Rows(X, y, weight=sample_weight, scale=scale, seed=seed)
        rooms.append(rows)
        message["train"] = rows.message()
        classes = rows.classes
    if test is not None:
        rows = test if isinstance(test, Rows) else Rows(*test, classes=classes)
        rooms.append(rows)
        message["test"] = rows.message()
    try:
        with Session(verbose) as session:
            session.send(message, files)
            if rooms:
                _fill(session, rooms)
            return _follow(session, on_epoch, settings.get("run"))
    finally:
        if start is not None:
            os.close(start)


def _follow(session: Session, on_epoch: Optional[OnEpoch], path: Optional[str]) -> Run:
    """Waits for the end of the run. On an interrupt it asks for what was learnt; on a second one it kills the run."""
    interrupt: Optional[BaseException] = None
    history: List[Dict[str, Any]] = []
    stopped = on_epoch is None
    while True:
        try:
            message = session.receive()
            if "epoch" in message:
                history.append(message["epoch"])
            if "epoch" in message and on_epoch is not None and not stopped:
                stopped = on_epoch(message["epoch"]) is True
                session.send({"stop": True} if stopped else {"go": True})
            if "done" in message:
                break
        except KeyboardInterrupt as e:
            if interrupt is not None:
                session.kill()
                raise
            interrupt, stopped = e, True
            session.send({"stop": True})
    done = message["done"]
    run = Run(_contents(session, done["size"]), {**done["result"], "history": history}, path)
    if interrupt is not None:
        interrupt.run = run  # type: ignore[attr-defined]
        raise interrupt
    if done.get("ended") == "diverged":
        raise hogwild.Diverged(done["why"])
    return run


def _texts(settings: Dict[str, Any]) -> Dict[str, str]:
    """Settings as the command line has them."""
    def text(value: Union[bool, Any]) -> str:
        return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)

    return {name.rstrip("_").replace("_", "-"): text(value) for name, value in settings.items() if value is not None}
