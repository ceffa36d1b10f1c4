"""hogwild train as a function: arrays in, arrays out."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy as np

import hogwild

from . import _progress, _tables
from ._dataset import Dataset, _fill, _needs
from ._rows import Rows
from ._session import PROTOCOL, Message, Session, mapped, parse_tensors

OnEpoch = Callable[[Dict[str, Any]], Any]


class Run:
    """What a run came to.

    tensors: the weights by name    classes: the labels of the classes, as y had them; None of values
    result: the figures of hogwild train --json    metrics: of each epoch, a DataFrame where pandas is installed; docs/python.md
    has their names    path: the run folder, None without one    weights: the bytes of weights.safetensors"""

    def __init__(self, weights: bytes, result: Dict[str, Any], path: Optional[str] = None,
                 history: Optional[List[Dict[str, Any]]] = None, labels: Any = None) -> None:
        self.weights, self.result, self.path, self.history = weights, result, path, history or []
        self.tensors, self.metadata = parse_tensors(weights)
        self.meta: Dict[str, Any] = json.loads(self.metadata.get("hogwild.data") or "{}")  # of the training data
        self.classes = _tables.labels_of(self.meta.get("classes"), labels)
        self._data: Any = None  # what it was trained on, as long as it can be resumed in this process

    def __getstate__(self) -> Any:
        return self.weights, self.result, self.path, self.history, self.classes

    def __setstate__(self, state: Any) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def metrics(self) -> Any:
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ModuleNotFoundError:
            return self.history
        return pandas.DataFrame(self.history)

    def save(self, path: Any) -> None:
        """Writes the weights to a file of safetensors, which hogwild.load and the command's --init and predict take."""
        part = f"{os.fspath(path)}.part"
        with open(part, "wb") as out:
            out.write(self.weights)
        os.replace(part, path)

    def resume(self, X: Any = None, y: Any = None, *, target: Any = None, sample_weight: Any = None, test: Any = None,
               on_epoch: Optional[OnEpoch] = None, verbose: Optional[bool] = None, **settings: Any) -> Run:
        """Goes on with the run in its folder, up to epoch epochs=, and returns the new Run. Another process gives the data
        again, unless it was a file."""
        if self.path is None:
            raise hogwild.Error('the run has no folder to go on in: train with run="runs/name"')
        data = (X, y, target, test, sample_weight) if X is not None else self._data
        if data is None:
            read = json.loads(self.metadata.get("hogwild.config") or "{}").get("data", "")
            if read == "memory" or read.startswith("/proc/self/fd/"):
                raise hogwild.Error("the run was trained on arrays, which its folder does not have: give resume the data again")
        X, y, target, test, sample_weight = data or (None,) * 5
        run = _train(X, y, target, test, on_epoch, verbose, {**settings, "resume": self.path}, self,
                     sample_weight=sample_weight)
        run.history = _history(self.path)
        return run

    def predict(self, X: Any) -> Any:
        """The class of each row, as y had them, or its value; None or NaN where a row lacks what the model needs. X: rows as
        in training, without y: columns of a DataFrame are found by name; or the path of a file."""
        values = self._predict(X, False)
        if self.classes is None:
            return values
        gaps = np.isnan(values)
        if not gaps.any():
            return self.classes[values.astype(int)]
        labels = np.full(len(values), None, object)
        labels[~gaps] = self.classes[values[~gaps].astype(int)]
        return labels

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, n x classes, in the order of classes."""
        return self._predict(X, True)

    def _predict(self, X: Any, proba: bool) -> Any:
        ask: Message = {"weights": 0, "proba": proba}
        with ExitStack() as stack:
            file = _file(self.weights)
            stack.callback(os.close, file)
            inherited: List[int] = []
            rooms: List[Rows] = []
            if isinstance(X, (str, os.PathLike)):
                ask["path"] = os.fspath(X)
            elif _tables.is_table(X) and self.meta.get("format") != "memory":
                table = stack.enter_context(_tables.Table(X))
                ask.update(path=table.path, format="csv")
                inherited.append(table.file)
            else:
                rooms.append(Rows(_numbers(_tables.by_name(X, self.meta.get("columns")) if _tables.is_table(X) else X)))
                ask["rows"] = rooms[0].message()
            session = stack.enter_context(Session(inherited=inherited))
            session.send({"protocol": PROTOCOL, "predict": ask}, [file])
            if rooms:
                _fill(session, rooms)
            done = session.receive()["done"]
            out = np.frombuffer(_contents(session, done["size"]), "<f4")
        if not proba:
            return out
        k = len(self.meta["classes"])
        return out[len(out) // (k + 1):].reshape(-1, k)


def _numbers(X: Any) -> Any:
    """The numbers of a DataFrame as an array; of columns of several types, too."""
    numbers = _tables.numbers(X) if _tables.is_table(X) else X
    return X if numbers is None else numbers


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


def load(path: Any) -> Run:
    """The Run of a folder, or of a file of weights. Classes whose names are all whole numbers, or True and False, are these."""
    path = os.fspath(path)
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            return Run(file.read(), {})
    try:
        with open(os.path.join(path, "weights.safetensors"), "rb") as file:
            weights = file.read()
    except FileNotFoundError:
        raise hogwild.Error(f"{path} has no weights.safetensors: it is not the folder of a run that has ended") from None
    result = {}
    if os.path.exists(os.path.join(path, "result.json")):
        with open(os.path.join(path, "result.json"), encoding="utf-8") as text:
            result = json.load(text)
    return Run(weights, result, path, _history(path))


def _history(path: str) -> List[Dict[str, Any]]:
    """The epochs of a run folder."""
    try:
        with open(os.path.join(path, "metrics.jsonl"), encoding="utf-8") as text:
            return [line for line in map(json.loads, text) if line.get("kind") == "epoch"]
    except FileNotFoundError:
        return []


def train(X: Any, y: Any = None, *, target: Any = None, sample_weight: Any = None, test: Any = None,
          on_epoch: Optional[OnEpoch] = None, verbose: Optional[bool] = None, **settings: Any) -> Run:
    """Trains a model on arrays, as hogwild train does on files, and returns the Run.

    X: n x d numbers: an array, a scipy.sparse matrix or a Dataset; a DataFrame, which may have texts, holes and dates; or the
    path of a file, as --data takes it    y: n values, or classes    target: in place of y, the name of its column
    sample_weight: n numbers, by which the losses of the rows are multiplied; class_weight="balanced" or "NAME=WEIGHT,..." is a
    setting, and both multiply
    test: (X, y), or a DataFrame with the column target, to score each epoch on; without it the training rows are scored
    on_epoch: called with the figures of each epoch; the run ends when it returns True
    verbose: the progress is shown; None: in a notebook and on a terminal    settings: those of hogwild train, as
    model="mlp:64", l2=1e-4; run="runs/name" keeps the run folder

    Errors: Error, a ValueError, says what to change; Diverged; Killed. Of Ctrl-C what was learnt is e.run of the
    KeyboardInterrupt e."""
    return _train(X, y, target, test, on_epoch, verbose, settings, sample_weight=sample_weight)


def _train(X: Any, y: Any, target: Any, test: Any, on_epoch: Optional[OnEpoch], verbose: Optional[bool],
           settings: Dict[str, Any], resumed: Optional[Run] = None, *, sample_weight: Any = None, scores: bool = True,
           begin: Optional[bytes] = None) -> Run:
    """Without scores epochs have training losses only, and take less time. begin: the weights of a Run to begin with."""
    given, settings = (X, y, target, test, sample_weight), dict(settings)
    message: Message = {"protocol": PROTOCOL, "waits": on_epoch is not None,
                        "silent": on_epoch is None and verbose is False, "unscored": not scores and test is None,
                        "validates": isinstance(test, Rows) and settings.get("patience") is not None}
    seed, scale = int(settings.get("seed", 1)), str(settings.get("scale", ""))
    if resumed is not None:
        seed = json.loads(resumed.metadata["hogwild.config"])["seed"]
        scale = resumed.meta.get("scale", "")
    rooms: List[Rows] = []
    files: List[int] = []
    inherited: List[int] = []
    columns: Optional[List[str]] = None
    labels = None if resumed is None else resumed.classes
    with ExitStack() as stack:
        if begin is not None:
            start = _file(begin)
            stack.callback(os.close, start)
            settings["init"] = f"/proc/{os.getpid()}/fd/{start}"
        if sample_weight is not None and (target is not None or isinstance(X, (str, os.PathLike, Dataset))):
            raise hogwild.Error("sample_weight goes with arrays: a Dataset gets it when it is made, and of a table or a file "
                                'weight="COLUMN" names the column that has it')
        if _tables.is_table(X):
            if target is None:
                _needs(y)
            columns = [str(c) for c in X.columns if c != target]
            X, y, test, target = _tables.taken_apart(X, y, test, target)
        if isinstance(X, (str, os.PathLike)):
            settings.update(data=os.fspath(X), target=target, test=settings.get("test") if test is None else os.fspath(test))
        elif _tables.is_table(X):
            for name, frame in (("data", X), ("test", test)):
                if frame is not None:
                    table = stack.enter_context(_tables.Table(frame))
                    inherited.append(table.file)
                    settings[name] = table.path
            settings.update(format="csv", target=str(target))
            labels = _tables.column(X, target)
            if test is None and "validation" not in settings:
                settings["test"] = "none"
        elif X is not None:
            settings.pop("scale", None)
            for name in ("data", "format", "target", "test", "validation"):
                if settings.get(name) is not None:
                    raise hogwild.Error(f"{name} is of files: X, y and test= are the data here")
            if isinstance(X, Dataset):
                message["train"] = {"sealed": 0}
                files.append(X.fileno())
                names, labels = X.classes, X.labels
            elif isinstance(X, Rows):
                rooms.append(X)
                message["train"] = X.message()
            else:
                _needs(y)
                if _learns_classes(settings) and np.asarray(y).dtype.kind == "f" and np.all(np.mod(y, 1) == 0):
                    y = np.asarray(y).astype(int)  # as load_svmlight_file gives them
                rows = Rows(X, y, weight=sample_weight, scale=scale, seed=seed, columns=columns)
                rooms.append(rows)
                stack.enter_context(rows)
                message["train"] = rows.message()
                names, labels = rows.classes, rows.labels
            if isinstance(test, Dataset):
                message["test"] = {"sealed": len(files)}
                files.append(test.fileno())
            elif isinstance(test, Rows):
                rooms.append(test)
                message["test"] = test.message()
            elif test is not None:
                rows = Rows(_numbers(test[0]), test[1], like=names, name="test")
                rooms.append(rows)
                message["test"] = rows.message()
        message["settings"] = _texts(settings)
        session = stack.enter_context(Session(verbose is True, inherited, settings.get("gpu")))
        session.send(message, files)
        if rooms:
            _fill(session, rooms)
        path = settings.get("run") or settings.get("resume")
        run = _follow(session, on_epoch, None if path is None else os.fspath(path),
                      _progress.shown(verbose, settings.get("epochs")), labels)
    if run.path is not None:
        run._data = given
    return run


def _learns_classes(settings: Dict[str, Any]) -> bool:
    return settings.get("model") in ("logistic", "softmax", "svm") or settings.get("loss") in ("logistic", "cross-entropy",
                                                                                               "hinge")


def _follow(session: Session, on_epoch: Optional[OnEpoch], path: Optional[str],
            show: Callable[[Dict[str, Any]], None] = lambda epoch: None, labels: Any = None) -> Run:
    """Waits for the end of the run. On an interrupt it asks for what was learnt; on a second one it kills the run."""
    interrupt: Optional[BaseException] = None
    history: List[Dict[str, Any]] = []
    stopped = on_epoch is None
    while True:
        try:
            message = session.receive()
            if "epoch" in message:
                history.append(message["epoch"])
                show(message["epoch"])
                if on_epoch is not None and not stopped:
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
    run = Run(_contents(session, done["size"]), done["result"], path, history + done.get("epochs", []), labels)
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
