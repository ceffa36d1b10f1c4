"""Vectors of words and classifiers of texts, by hogwild's word2vec and text models."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import ExitStack
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

import numpy as np

import hogwild
from hogwild import _check

from ._session import File, Session, command
from ._train import OnEpoch, Run, follow, predicted, texts as _settings

LABEL = "__label__"
SAMPLE = 100  # one line in so many is scored after each epoch
BUCKETS = 2_000_000  # fastText's number


def _write(lines: Iterable[str], *files: File) -> Tuple[int, int]:
    """Writes lines to a file, and a sample of them to another. Returns how many lines and blanks there are."""
    count = blanks = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(file.writer()) for file in files]
        for count, line in enumerate(lines, 1):
            for out in writers if count % SAMPLE == 1 else writers[:1]:
                out.write(line + "\n")
            blanks += line.count(" ")
    return count, blanks


class _Model:
    """What is learnt from lines of text. After fit: words, counts, history, result."""

    settings: Dict[str, Any]

    def _learn(self, lines: Iterable[str], on_epoch: Optional[OnEpoch]) -> None:
        with File(name="the text") as text, File(name="a sample of the text") as sample:
            count, blanks = _write(lines, text, sample)
            _check(count, "no sentences: want lists of words, or strings")
            settings = {"format": "text", **self.settings, "data": text.path, "test": sample.path if count > 1 else "none"}
            more = int(settings.get("word_ngrams") or 1) - 1
            if more and settings.get("buckets") is None:
                settings["buckets"] = max(1, min(BUCKETS, more * blanks))
            with Session(inherited=[text, sample], gpu=settings.get("gpu")) as session:
                session.ask({"settings": _settings(settings), "waits": on_epoch is not None})
                follow(session, on_epoch, take=self._take)

    def _take(self, run: Run) -> None:
        pairs = [line.rsplit(b" ", 1) for line in run.words.split(b"\n")[:-1]]
        self.words = [word.decode(errors="replace") for word, _ in pairs]
        self.counts = np.array([int(n) for _, n in pairs], np.int64)
        self.history, self.result = run.history, run.result


class Vectors:
    """Vectors of words, where gensim is not installed, by its names: vectors (a row a word), index_to_key, key_to_index."""

    def __init__(self, words: List[str], vectors: Any) -> None:
        self.index_to_key, self.vectors, self.key_to_index = words, vectors, {word: i for i, word in enumerate(words)}

    def __getitem__(self, word: str) -> Any:
        return self.vectors[self.key_to_index[word]]


class Word2Vec(_Model):
    """Vectors of words by skip-gram (sg=1) or CBOW (sg=0) with negative sampling, by gensim's names.

    workers: None is one for each core    settings: others of hogwild train, as share_negatives=True
    After fit: words, counts, vectors (words x vector_size), wv, history (the figures of each epoch; test_loss is one line
    in a hundred, which are trained on too)"""

    def __init__(self, vector_size: int = 100, window: int = 5, sg: int = 1, min_count: int = 5, negative: int = 5,
                 sample: float = 1e-3, workers: Optional[int] = None, epochs: int = 5, seed: int = 1,
                 alpha: Optional[float] = None, ns_exponent: float = 0.75, **settings: Any) -> None:
        self.settings = {"model": f"word2vec:{vector_size}", "window": window, "cbow": True if not sg else None,
                         "min_count": min_count, "negatives": negative, "subsample": sample, "workers": workers,
                         "epochs": epochs, "seed": seed, "lr": alpha, "noise_exponent": ns_exponent, **settings}

    def fit(self, sentences: Iterable[Any], on_epoch: Optional[OnEpoch] = None) -> Word2Vec:
        """Trains on sentences: lists of words, or strings with words between blanks. They are read once."""
        self._learn(map(_sentence, sentences), on_epoch)
        return self

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.vectors, self._wv = np.array(run.tensors["in.weight"]), None

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


class TextClassifier(_Model):
    """fastText's classifier of texts: the mean of the vectors of words and of sequences of words, and a linear model.

    word_ngrams: sequences of up to so many words, hashed to buckets; None is as many as there are sequences in the text, and
    2,000,000 at most, which is fastText's number    loss: "softmax"; "ova", each label against the rest
    workers: None is one for each core    settings: others of hogwild train
    After fit: classes_, words, counts, vectors, outputs, history"""

    def __init__(self, word_ngrams: int = 1, dim: int = 100, epochs: int = 5, lr: float = 0.1, min_count: int = 1,
                 buckets: Optional[int] = None, loss: str = "softmax", workers: Optional[int] = None, seed: int = 1,
                 **settings: Any) -> None:
        _check(loss in ("softmax", "ova"), f"loss {loss!r}: want softmax or ova")
        self.settings = {"model": f"text:{dim}", "word_ngrams": word_ngrams, "epochs": epochs, "lr": lr,
                         "min_count": min_count, "buckets": buckets, "loss": "logistic" if loss == "ova" else None,
                         "workers": workers, "seed": seed, **settings}

    def fit(self, texts: Iterable[str], labels: Iterable[Any], on_epoch: Optional[OnEpoch] = None) -> TextClassifier:
        """Trains on texts with a label each, or a list of several."""
        several = [list(of) if isinstance(of, (list, tuple, set, frozenset, np.ndarray)) else [of] for of in labels]
        classes = np.unique([label for of in several for label in of])
        _check(len(classes) != 1, f"every label is {classes.tolist()[0] if len(classes) else None!r}, so there is nothing to learn")
        names = _names(classes.tolist())
        name = dict(zip(classes.tolist(), names))

        def lines() -> Iterator[str]:
            n = -1
            for n, text in enumerate(texts):
                if n < len(several):
                    yield "".join(f"{LABEL}{name[label]} " for label in several[n]) + _text(n, text)
            _check(n + 1 == len(several) and n >= 0,
                   f"{n + 1} texts and {len(several)} labels: want a label, or a list of them, for each text")

        self.classes_, self._names = classes, names
        self._learn(lines(), on_epoch)
        return self

    def _take(self, run: Run) -> None:
        super()._take(run)
        self._run = run
        at = {name: i for i, name in enumerate(run.meta["classes"])}  # the program numbers classes as they come
        self._order = np.array([at[name] for name in self._names])

    @property
    def vectors(self) -> Any:
        """The vectors of the words and, behind them, of the buckets."""
        return self._run.tensors["in.weight"]

    @property
    def outputs(self) -> Any:
        """The weights of each class, in the order of classes_."""
        return self._run.tensors["out.weight"][self._order]

    def predict(self, texts: Iterable[str], k: int = 1) -> Any:
        """The most probable label of each text; the k most probable ones, texts x k."""
        best = np.argsort(-self.predict_proba(texts), axis=1, kind="stable")[:, :k]
        return self.classes_[best[:, 0] if k == 1 else best]

    def predict_proba(self, texts: Iterable[str]) -> Any:
        """The probability of each label, texts x classes_, of sum 1 by ova too; NaN where no word of a text is known."""
        _check(not isinstance(texts, str), "texts is one string: want a list of them")
        weights, words = self._files()
        with weights, words, File(name="the texts") as lines:
            count, _ = _write((_text(n, text) for n, text in enumerate(texts)), lines)
            if count == 0:
                return np.empty((0, len(self.classes_)), np.float32)
            out = predicted({"weights": 0, "words": 1, "proba": True, "path": lines.path, "format": "text"}, [weights, words],
                            [lines])
        return out[count:].reshape(count, -1)[:, self._order]

    def save_fasttext(self, path: Any) -> None:
        """Writes the model.bin of fastText, version 12. Blanks in labels become -, as its labels have none."""
        weights, words = self._files()
        with weights, words, tempfile.TemporaryDirectory(prefix="hogwild-") as folder:
            os.symlink(weights.path, os.path.join(folder, "weights.safetensors"))
            os.symlink(words.path, os.path.join(folder, "words.txt"))
            command("export", folder, "--to", "fasttext", "--out", os.fspath(path), "--force", files=[weights, words])

    def _files(self) -> Tuple[File, File]:
        weights, words = self._run.weights, self._run.words
        return File(weights[:len(weights) - len(words)]), File(words)


def _names(labels: List[Any]) -> List[str]:
    """Names of labels in a text, where they have no blanks."""
    names = [re.sub(r"[\s\0]", "-", str(label)) for label in labels]
    if len(set(names)) < len(names) or "" in names:
        return [f"{name}-{i}" for i, name in enumerate(names)]
    return names


def _text(n: int, text: Any) -> str:
    """A text as one line."""
    if not isinstance(text, str):
        raise hogwild.Error(f"text {n} is a {type(text).__name__}: want a string")
    if LABEL in text:
        raise hogwild.Error(f"text {n} has a word with {LABEL} in it, which marks labels: take it out")
    if "</s>" in text:  # where fastText ends a line
        text = re.split(r"(?<!\S)</s>(?!\S)", text)[0]
    return str(text).replace("\n", " ")
