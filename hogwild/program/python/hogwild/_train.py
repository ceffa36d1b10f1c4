"""hogwild train as a function: arrays in, arrays out."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

import hogwild
from hogwild import _check

from . import _tables
from ._arrays import host
from ._dataset import Dataset
from ._progress import Line
from ._rows import Rows, needs
from ._session import File, Message, Session, parse_tensors

OnEpoch = Callable[[Dict[str, Any]], Any]
Take = Callable[["Run"], None]


class Run:
    """What a run came to.

    tensors: the weights by name    classes: the labels of the classes, as y had them; None of values
    result: the figures of hogwild train --json    metrics: of each epoch, a DataFrame where pandas is installed; docs/python.md
    has their names    path: the run folder, None without one    weights: the bytes of weights.safetensors"""

    def __init__(self, weights: bytes, result: Dict[str, Any], path: Optional[str] = None,
                 history: Optional[List[Dict[str, Any]]] = None, labels: Any = None) -> None:
        self.weights, self.result, self.path, self.history = weights, result, path, history or []
        self.tensors, self.metadata, self.words = parse_tensors(weights)
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
        _check(self.path is not None, 'the run has no folder to go on in: train with run="runs/name"')
        data = (X, y, target, test, sample_weight) if X is not None else self._data
        if data is None:
            read = json.loads(self.metadata.get("hogwild.config") or "{}").get("data", "")
            _check(read != "memory" and not read.startswith("/proc/self/fd/"),
                   "the run was trained on arrays, which its folder does not have: give resume the data again")
        X, y, target, test, sample_weight = data or (None,) * 5
        run = _train(X, y, target, test, on_epoch, verbose, {**settings, "resume": self.path}, self,
                     sample_weight=sample_weight)
        run.history = _history(self.path or "")
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
            weights, inherited = stack.enter_context(File(self.weights)), []
            if isinstance(X, (str, os.PathLike)):
                ask["path"] = os.fspath(X)
            elif _tables.is_table(X) and self.meta.get("format") != "memory":
                inherited.append(stack.enter_context(_tables.csv(X)))
                ask.update(path=inherited[0].path, format="csv")
            else:
                ask["rows"] = Rows(_numbers(_tables.by_name(X, self.meta.get("columns")) if _tables.is_table(X) else X))
            out = predicted(ask, [weights], inherited)
        if not proba:
            return out
        k = len(self.meta["classes"])
        return out[len(out) // (k + 1):].reshape(-1, k)


def predicted(ask: Message, files: Sequence[File], inherited: Sequence[File] = ()) -> Any:
    """The values of all rows and then, with proba, row by row, the probabilities."""
    with Session(inherited=inherited) as session:
        session.ask({"predict": ask}, files)
        return np.frombuffer(session.contents(session.receive()["done"]["size"]), "<f4")


def _numbers(X: Any) -> Any:
    """The numbers of a DataFrame as an array; of columns of several types, too."""
    numbers = _tables.numbers(X) if _tables.is_table(X) else X
    return X if numbers is None else numbers


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
           begin: Optional[bytes] = None, take: Take = lambda run: None) -> Run:
    """Without scores epochs have training losses only, and take less time. begin: the weights of a Run to begin with."""
    given, settings, y = (X, y, target, test, sample_weight), dict(settings), host(y)
    message: Message = {"waits": on_epoch is not None, "silent": on_epoch is None and verbose is False,
                        "unscored": not scores and test is None,
                        "validates": isinstance(test, Rows) and settings.get("patience") is not None}
    seed, scale = int(settings.get("seed", 1)), str(settings.get("scale", ""))
    labels = columns = None
    if resumed is not None:
        seed, scale = json.loads(resumed.metadata["hogwild.config"])["seed"], resumed.meta.get("scale", "")
        labels = resumed.classes
    _check(sample_weight is None or target is None and not isinstance(X, (str, os.PathLike, Dataset)),
           "sample_weight goes with arrays: a Dataset gets it when it is made, and of a table or a file weight=\"COLUMN\" "
           "names the column that has it")
    with ExitStack() as stack:
        inherited: List[File] = []

        def path_of(file: File) -> str:
            inherited.append(stack.enter_context(file))
            return file.path

        if begin is not None:
            settings["init"] = path_of(File(begin))
        if _tables.is_table(X):
            if target is None:
                needs(y)
            columns = [str(c) for c in X.columns if c != target]
            X, y, test, target = _tables.taken_apart(X, y, test, target)
        if isinstance(X, (str, os.PathLike)):
            settings.update(data=os.fspath(X), target=target, test=settings.get("test") if test is None else os.fspath(test))
        elif _tables.is_table(X):
            settings.update(data=path_of(_tables.csv(X)), format="csv", target=str(target))
            if test is not None:
                settings["test"] = path_of(_tables.csv(test))
            elif "validation" not in settings:
                settings["test"] = "none"
            labels = _tables.column(X, target)
        elif X is not None:
            settings.pop("scale", None)
            for name in ("data", "format", "target", "test", "validation"):
                _check(settings.get(name) is None, f"{name} is of files: X, y and test= are the data here")
            if not isinstance(X, (Dataset, Rows)):
                needs(y)
                if _learns_classes(settings) and np.asarray(y).dtype.kind == "f" and np.all(np.mod(y, 1) == 0):
                    y = np.asarray(y).astype(int)  # as load_svmlight_file gives them
                X = stack.enter_context(Rows(X, y, weight=sample_weight, scale=scale, seed=seed, columns=columns))
            if test is not None and not isinstance(test, (Dataset, Rows)):
                test = Rows(_numbers(test[0]), test[1], like=X.classes, name="test")
            message.update(train=X, test=test)
            labels = X.labels
        session = stack.enter_context(Session(verbose is True, inherited, settings.get("gpu")))
        session.ask({**message, "settings": texts(settings)})
        path = settings.get("run") or settings.get("resume")
        run = follow(session, on_epoch, None if path is None else os.fspath(path), Line(verbose), labels, take)
    if run.path is not None:
        run._data = given
    return run


def _learns_classes(settings: Dict[str, Any]) -> bool:
    return settings.get("model") in ("logistic", "softmax", "svm") or settings.get("loss") in ("logistic", "cross-entropy",
                                                                                               "hinge")


def follow(session: Session, on_epoch: Optional[OnEpoch], path: Optional[str] = None, line: Optional[Line] = None,
           labels: Any = None, take: Take = lambda run: None) -> Run:
    """Waits for the end of the run, and calls take with it: on an interrupt, too, which is raised then and has what was
    learnt as its run. A second one kills the run."""
    interrupt: Optional[BaseException] = None
    history: List[Dict[str, Any]] = []
    message: Message = {}
    stopped, line = on_epoch is None, line or Line(False)
    try:
        while "done" not in message:
            try:
                message = session.receive()
                if "epoch" in message:
                    history.append(message["epoch"])
                    line.epoch(message["epoch"], message.get("epochs"))
                    if on_epoch is not None and not stopped:
                        stopped = on_epoch(message["epoch"]) is True
                        session.send({"stop": True} if stopped else {"go": True})
            except KeyboardInterrupt as e:
                if interrupt is not None:
                    session.kill()
                    raise
                interrupt, stopped = e, True
                session.send({"stop": True})
    finally:
        line.end()
    done = message["done"]
    run = Run(session.contents(done["size"]), done["result"], path, history + done.get("epochs", []), labels)
    if interrupt is None and done.get("ended") == "diverged":
        raise hogwild.Diverged(done["why"])
    take(run)
    if interrupt is not None:
        interrupt.run = run  # type: ignore[attr-defined]
        raise interrupt
    return run


def texts(settings: Dict[str, Any]) -> Dict[str, str]:
    """Settings as the command line has them."""
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)

    return {name.rstrip("_").replace("_", "-"): text(value) for name, value in settings.items() if value is not None}
