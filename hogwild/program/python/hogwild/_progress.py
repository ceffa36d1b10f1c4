"""The progress of a run as one line."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Dict, Optional

EVERY = 0.1  # seconds, at least, between two drawings


class Line:
    """A line that is drawn again: in a notebook and on a terminal; with verbose wherever stderr goes, else nowhere there."""

    def __init__(self, verbose: Optional[bool] = None, text: str = "") -> None:
        never = verbose is not None and not verbose
        self._cell = None if never else _cell()
        self._terminal = not never and self._cell is None and sys.stderr is not None and sys.stderr.isatty()
        self._logs = bool(verbose) and self._cell is None and not self._terminal
        self._begun, self._drawn, self._lock = time.monotonic(), float("-inf"), threading.Lock()
        self._text, self._shown = text, ""
        self._draw()

    def epoch(self, figures: Dict[str, Any], epochs: Optional[int]) -> None:
        """Shows the figures of an epoch, out of epochs, if it is known how many there are at most."""
        now = time.monotonic()
        self._text = line(figures, epochs, now - self._begun)
        if self._logs:
            print(self._text, file=sys.stderr, flush=True)
        elif now > self._drawn + EVERY:
            self._drawn = now
            self._draw()

    def above(self, text: str) -> None:
        """Prints a text that stays. On a terminal the line is below it."""
        with self._lock:
            if self._terminal and self._shown:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            print(text, end="", flush=True)
            if self._terminal:
                print(self._shown, end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """The line stays as it is. Others may be printed from then on."""
        self._draw()
        if self._terminal and self._shown:
            self._text = self._shown = ""
            print(file=sys.stderr, flush=True)

    def _draw(self) -> None:
        with self._lock:
            if self._text != self._shown and self._cell is not None:
                self._cell.update({"text/plain": self._text}, raw=True)
            elif self._text != self._shown and self._terminal:
                print("\r" + self._text, end="\x1b[K", file=sys.stderr, flush=True)
            self._shown = self._text


def line(epoch: Dict[str, Any], epochs: Optional[int], passed: float) -> str:
    """epoch 3 of 20  loss 0.2103  accuracy 0.9312  1,200,000 examples/s  12 s left"""
    n = epoch["epoch"]
    parts = [f"epoch {n} of {epochs}" if epochs else f"epoch {n}"]
    if epoch.get("train_loss") is not None:
        parts.append(f"loss {epoch['train_loss']:.4f}")
    for of in ("validation_", "test_"):
        score = next((name for name in ("accuracy", "r2", "loss") if epoch.get(of + name) is not None), None)
        if score:
            parts.append(f"{of.replace('_', ' ')}{score} {epoch[of + score]:.4f}")
            break
    if epoch["seconds"]:
        parts.append(f"{epoch['examples'] / epoch['seconds']:,.0f} examples/s")
    if epochs and n < epochs:
        parts.append(f"{passed / n * (epochs - n):.0f} s left")
    return "  ".join(parts)


def _cell() -> Any:
    """The output of a notebook's cell, which can be changed; None elsewhere."""
    python = sys.modules.get("IPython")
    shell = python and python.get_ipython()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]
    return display(  # type: ignore[no-untyped-call,unused-ignore]
        {"text/plain": "starting"}, raw=True, display_id=True)
