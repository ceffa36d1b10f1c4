"""Trains a PyTorch module in a run of hogwild (docs/programs.md): hogwild train --program 'python3 step.py'

    job = hogwild.join(net)             # import hogwild before net is made: it seeds torch
    for x, y in job.batches():
        loss = F.cross_entropy(net(x), y)
        net.zero_grad(set_to_none=True); loss.backward()
        job.step(loss)

A script that is started by hand runs alone, for debuggers and profilers: one process, the examples in order.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional

__all__ = ["Dataset", "Diverged", "Error", "Factorization", "Failed", "Job", "Killed", "Run", "TextClassifier", "Word2Vec",
           "alone", "join", "launch", "load", "train"]
__version__ = "0.1.0"  # hogwild/config/config.go says it too, and a test holds the two together


class Error(ValueError):
    """Settings, data or a program's calls that cannot work. The message says what to change."""


class Diverged(ArithmeticError):
    """The loss was not finite, or far too large."""


class Failed(Error):
    """A function of hogwild.launch failed: the message is its traceback, and all that a notebook shows."""

    def _render_traceback_(self) -> List[str]:
        return [f"hogwild: {self}"]


class Killed(RuntimeError):
    """The program hogwild ended before it was done."""


def _check(ok: Any, message: str) -> None:
    if not ok:
        raise Error(message)


_socket = os.environ.get("HOGWILD_SOCKET")  # None: the script was started by hand
_forked = False  # hogwild.launch started this program

# The settings of a script that runs alone, to be changed before hogwild.join; None in a run.
alone: Optional[Dict[str, Any]] = {"epochs": 1, "batch": 32, "lr": 0.01, "seed": 1} if _socket is None else None

# Where what is imported at its first use is: python -m hogwild does without NumPy and PyTorch.
_later = {"launch": "_launch", "train": "_train", "load": "_train", "Run": "_train", "Dataset": "_dataset",
          "Factorization": "_factors", "TextClassifier": "_words", "Word2Vec": "_words"}

if TYPE_CHECKING:
    from ._dataset import Dataset
    from ._job import Job, join
    from ._factors import Factorization
    from ._launch import launch
    from ._train import Run, load, train
    from ._words import TextClassifier, Word2Vec
else:
    def __getattr__(name: str) -> Any:
        if name in _later:
            from importlib import import_module
            globals()[name] = value = getattr(import_module("hogwild." + _later[name]), name)
            return value
        if name not in ("Job", "join"):
            raise AttributeError(f"module 'hogwild' has no attribute {name!r}")
        try:
            from ._job import Job
        except ModuleNotFoundError as e:
            if e.name != "torch":
                raise
            raise ImportError("hogwild.join needs PyTorch, which is not installed: pip install torch") from None
        globals().update(Job=Job, join=Job)
        return Job

    def __dir__() -> List[str]:
        return sorted({*globals(), *__all__})

    if _socket:
        os.environ["HOGWILD_SOCKET"] = ""  # processes that this one starts cannot join
        __getattr__("Job")
        from ._job import _seed
        _seed(int(os.environ["HOGWILD_SEED"]))
