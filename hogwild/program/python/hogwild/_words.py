"""Vectors of words and classifiers of texts, by hogwild's word2vec and text models."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import numpy as np

import hogwild

from ._session import PROTOCOL, Session
from ._train import OnEpoch, Run, _contents, _file, _follow, _texts

LABEL = "__label__"
SAMPLE = 100  # one line in so many is scored after each epoch


def _put(file: int, content: Any) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left):]


class _Lines:
    """Lines of text in memory, which the program reads as a file; and a sample of them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.count = self.blanks = 0
        self._parts: List[List[str]] = [[], []]
        self._files: List[int] = [os.memfd_create(f"hogwild-text-{i}", os.MFD_CLOEXEC) for i in range(2)]
        try:
            for line in lines:
                self._parts[0].append(line)
                if self.count % SAMPLE == 0:
                    self._parts[1].append(line)
                self.count, self.blanks = self.count + 1, self.blanks + line.count(" ")
                if len(self._parts[0]) == 1 << 13:
                    self._write()
            self._write()
        except BaseException:
            self.__exit__()
            raise

    def _write(self) -> None:
        for file, part in zip(self._files, self._parts):
            if part:
                _put(file, ("\n".join(part) + "\n").encode())
            part.clear()

    def paths(self) -> List[str]:
        """Where the lines are, and the sample."""
        return [f"/proc/{os.getpid()}/fd/{file}" for file in self._files]

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: Any) -> None:
        for file in self._files:
            os.close(file)


def _train(lines: _Lines, on_epoch: Optional[OnEpoch], settings: Dict[str, Any], history: List[Dict[str, Any]]) -> Tuple[
        Run, bytes, Optional[BaseException]]:
    """Trains on lines. Returns the run, the words with their counts, and what interrupted it."""
    text, sample = lines.paths()
    with Session(gpu=settings.get("gpu")) as session:
        session.send({"protocol": PROTOCOL, "waits": on_epoch is not None, "settings": _texts({
            "format": "text", **settings, "data": text, "test": sample if lines.count > 1 else "none"})})
        try:
            run, interrupt = learnt(session, history, on_epoch)
        except hogwild.Error as e:
            raise hogwild.Error(str(e).replace(f"data: {text}", "the text")) from None
    end = int.from_bytes(run.weights[:8], "little") + 8 + sum(tensor.nbytes for tensor in run.tensors.values())
    return run, run.weights[end:], interrupt


def learnt(session: Session, history: List[Dict[str, Any]], on_epoch: Optional[OnEpoch]) -> Tuple[Run, Optional[BaseException]]:
    """The run at its end, the losses of each epoch in history; and the interrupt that ended it, to be raised when what was
    learnt is kept."""
    def note(epoch: Dict[str, Any]) -> Any:
        history.append({name: value for name, value in epoch.items() if name in ("epoch", "seconds") or name.startswith(
            ("train_", "test_"))})
        return on_epoch is not None and on_epoch(epoch)

    try:
        return _follow(session, note, None), None
    except KeyboardInterrupt as e:
        run: Optional[Run] = getattr(e, "run", None)
        if run is None:
            raise
        return run, e


def _vocabulary(words: bytes) -> Tuple[List[str], Any]:
    """The words and how often each occurs, of lines that have both."""
    pairs = [line.rsplit(b" ", 1) for line in words.split(b"\n")[:-1]]
    return [word.decode(errors="replace") for word, _ in pairs], np.array([int(n) for _, n in pairs], np.int64)


class Vectors:
    """Vectors of words, where gensim is not installed, by its names: vectors (a row a word), index_to_key, key_to_index."""

    def __init__(self, words: List[str], vectors: Any) -> None:
        self.index_to_key, self.vectors, self.key_to_index = words, vectors, {word: i for i, word in enumerate(words)}

    def __getitem__(self, word: str) -> Any:
        return self.vectors[self.key_to_index[word]]


class Word2Vec:
    """Vectors of words by skip-gram (sg=1) or CBOW (sg=0) with negative sampling, by gensim's names.

    workers: None is one for each core    settings: others of hogwild train, as share_negatives=True
    After fit: words, counts, vectors (words x vector_size), wv, history (the losses of each epoch; test_loss is one line
    in a hundred, which are trained on too)"""

    def __init__(self, vector_size: int = 100, window: int = 5, sg: int = 1, min_count: int = 5, negative: int = 5,
                 sample: float = 1e-3, workers: Optional[int] = None, epochs: int = 5, seed: int = 1,
                 alpha: Optional[float] = None, ns_exponent: float = 0.75, **settings: Any) -> None:
        self.settings = {"model": f"word2vec:{vector_size}", "window": window, "cbow": True if not sg else None,
                         "min_count": min_count, "negatives": negative, "subsample": sample, "workers": workers,
                         "epochs": epochs, "seed": seed, "lr": alpha, "noise_exponent": ns_exponent, **settings}

    def fit(self, sentences: Iterable[Any], on_epoch: Optional[OnEpoch] = None) -> Word2Vec:
        """Trains on sentences: lists of words, or strings with words between blanks. They are read once."""
        with _Lines(map(_sentence, sentences)) as lines:
            if lines.count == 0:
                raise hogwild.Error("no sentences: want lists of words, or strings")
            self.history: List[Dict[str, Any]] = []
            run, words, interrupt = _train(lines, on_epoch, self.settings, self.history)
        self.words, self.counts = _vocabulary(words)
        self.vectors = np.array(run.tensors["in.weight"])
        self.result, self._wv = run.result, None
        if interrupt is not None:
            raise interrupt
        return self

    @property
    def wv(self) -> Any:
        """A KeyedVectors of gensim, which counts words as the text does; without gensim Vectors."""
        if self._wv is None:
            try:
                from gensim.models import KeyedVectors
            except ModuleNotFoundError:
                self._wv = Vectors(self.words, self.vectors)
            else:
                self._wv = KeyedVectors(self.vectors.shape[1])
                self._wv.add_vectors(self.words, self.vectors)
                self._wv.allocate_vecattrs(["count"], [np.dtype(np.int64)])
                self._wv.expandos["count"][:] = self.counts
        return self._wv

    _wv: Any = None

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_wv"}

    def save_word2vec_format(self, path: Any, binary: bool = True) -> None:
        """Writes the vectors as word2vec.c does."""
        with open(path, "wb") as file:
            file.write(b"%d %d\n" % self.vectors.shape)
            for word, row in zip(self.words, self.vectors):
                file.write(word.encode() + b" " + (row.tobytes() if binary else " ".join(map(str, row)).encode()) + b"\n")


def _sentence(words: Any) -> str:
    if isinstance(words, str):
        return words.replace("\n", " ")
    line = " ".join(words)
    if line.split() != list(words):
        bad = next(word for word in words if word.split() != [word])
        raise hogwild.Error(f"the word {bad!r} is empty or has a blank in it: split it, or join it by _")
    return line


class TextClassifier:
    """fastText's classifier of texts: the mean of the vectors of words and of sequences of words, and a linear model.

    word_ngrams: sequences of up to so many words, hashed to buckets; None is as many as there are sequences in the text, and
    2,000,000 at most, which is fastText's number    loss: "softmax"; "ova", each label against the rest
    workers: None is one for each core    settings: others of hogwild train
    After fit: classes_, words, counts, vectors, outputs, history"""

    def __init__(self, word_ngrams: int = 1, dim: int = 100, epochs: int = 5, lr: float = 0.1, min_count: int = 1,
                 buckets: Optional[int] = None, loss: str = "softmax", workers: Optional[int] = None, seed: int = 1,
                 **settings: Any) -> None:
        if loss not in ("softmax", "ova"):
            raise hogwild.Error(f"loss {loss!r}: want softmax or ova")
        self.settings = {"model": f"text:{dim}", "word_ngrams": word_ngrams, "epochs": epochs, "lr": lr,
                         "min_count": min_count, "buckets": buckets, "loss": "logistic" if loss == "ova" else None,
                         "workers": workers, "seed": seed, **settings}

    def fit(self, texts: Iterable[str], labels: Iterable[Any], on_epoch: Optional[OnEpoch] = None) -> TextClassifier:
        """Trains on texts with a label each, or a list of several."""
        several = [list(of) if isinstance(of, (list, tuple, set, frozenset, np.ndarray)) else [of] for of in labels]
        self.classes_ = np.unique([label for of in several for label in of])
        number = {label: i for i, label in enumerate(self.classes_.tolist())}
        if len(number) == 1:
            raise hogwild.Error(f"every label is {self.classes_.tolist()[0]!r}, so there is nothing to learn")

        def lines() -> Iterator[str]:
            n = -1
            for n, text in enumerate(texts):
                if n < len(several):
                    yield "".join(f"{LABEL}{number[label]} " for label in several[n]) + _text(n, text)
            if n + 1 != len(several) or n < 0:
                raise hogwild.Error(f"{n + 1} texts and {len(several)} labels: want a label, or a list of them, for each text")

        more = int(self.settings["word_ngrams"] or 1) - 1
        with _Lines(lines()) as file:
            buckets = max(1, min(2_000_000, more * file.blanks)) if more and self.settings["buckets"] is None else None
            settings = {**self.settings, "buckets": buckets} if buckets else self.settings
            self.history: List[Dict[str, Any]] = []
            run, self._words, interrupt = _train(file, on_epoch, settings, self.history)
        self.words, self.counts = _vocabulary(self._words)
        self._weights, self.result = run.weights, run.result
        # the program numbers classes as they come
        self._order = np.argsort([int(name) for name in json.loads(run.metadata["hogwild.data"])["classes"]])
        if interrupt is not None:
            raise interrupt
        return self

    @property
    def vectors(self) -> Any:
        """The vectors of the words and, behind them, of the buckets."""
        return Run(self._weights, {}).tensors["in.weight"]

    @property
    def outputs(self) -> Any:
        """The weights of each class, in the order of classes_."""
        return Run(self._weights, {}).tensors["out.weight"][self._order]

    def predict(self, texts: Iterable[str], k: int = 1) -> Any:
        """The most probable label of each text; the k most probable ones, texts x k."""
        best = np.argsort(-self.predict_proba(texts), axis=1, kind="stable")[:, :k]
        return self.classes_[best[:, 0] if k == 1 else best]

    def predict_proba(self, texts: Iterable[str]) -> Any:
        """The probability of each label, texts x classes_, of sum 1 by ova too; NaN where no word of a text is known."""
        if isinstance(texts, str):
            raise hogwild.Error("texts is one string: want a list of them")
        files = [_file(self._weights[:len(self._weights) - len(self._words)]), _file(self._words)]
        try:
            with _Lines(_text(n, text) for n, text in enumerate(texts)) as lines, Session() as session:
                if lines.count == 0:
                    return np.empty((0, len(self.classes_)), np.float32)
                session.send({"protocol": PROTOCOL, "predict": {"weights": 0, "words": 1, "proba": True,
                                                                "path": lines.paths()[0], "format": "text"}}, files)
                out = np.frombuffer(_contents(session, session.receive()["done"]["size"]), "<f4")
                return out[lines.count:].reshape(lines.count, -1)[:, self._order]
        finally:
            for file in files:
                os.close(file)

    def save_fasttext(self, path: Any) -> None:
        """Writes the model.bin of fastText, version 12. Blanks in labels become -, as its labels have none."""
        tensors = Run(self._weights, {}).tensors
        k, ngrams = tensors["in.weight"].shape[1], int(self.settings["word_ngrams"] or 1)
        buckets = len(tensors["in.weight"]) - len(self.words)
        loss = 4 if self.settings["loss"] == "logistic" else 3
        numbers = [793712314, 12, k, 5, 5, self.settings["min_count"], 5, ngrams, loss, 3, buckets, 0, 0, 100]
        with open(path, "wb") as file:
            file.write(np.array(numbers, "<i4").tobytes() + np.array([1e-4], "<f8").tobytes())
            words, classes = len(self.words), len(self.classes_)
            file.write(np.array([words + classes, words, classes], "<i4").tobytes())
            file.write(np.array([self.counts.sum(), -1], "<i8").tobytes())
            for word, count in zip(self.words, self.counts):
                file.write(word.encode() + b"\0" + int(count).to_bytes(8, "little") + b"\0")
            for label in self.classes_.tolist():
                file.write((LABEL + re.sub(r"\s", "-", str(label))).encode() + b"\0" + bytes(8) + b"\1")
            for matrix in (tensors["in.weight"], self.outputs):
                file.write(b"\0" + np.array(matrix.shape, "<i8").tobytes())
                file.write(np.ascontiguousarray(matrix, "<f4").data)


def _text(n: int, text: Any) -> str:
    """A text as one line."""
    if not isinstance(text, str):
        raise hogwild.Error(f"text {n} is a {type(text).__name__}: want a string")
    if LABEL in text:
        raise hogwild.Error(f"text {n} has a word with {LABEL} in it, which marks labels: take it out")
    if "</s>" in text:  # where fastText ends a line
        text = re.split(r"(?<!\S)</s>(?!\S)", text)[0]
    return str(text).replace("\n", " ")
