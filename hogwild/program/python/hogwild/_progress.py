"""The progress of a run as one line, which is drawn again."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, Optional


def shown(verbose: Optional[bool], epochs: Optional[int]) -> Callable[[Dict[str, Any]], None]:
    """What shows the figures of an epoch: in a notebook and on a terminal, with verbose wherever stderr goes, else nowhere."""
    never = verbose is not None and not verbose
    begun, cell = time.monotonic(), None if never else _cell()
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if never or cell is None and not terminal and not verbose:
        return lambda epoch: None

    def show(epoch: Dict[str, Any]) -> None:
        line = text(epoch, epochs, time.monotonic() - begun)
        if cell is not None:
            cell.update({"text/plain": line}, raw=True)
        elif terminal:
            print("\r" + line, end="\x1b[K\n" if epoch["epoch"] == epochs else "\x1b[K", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    return show


def text(epoch: Dict[str, Any], epochs: Optional[int], passed: float) -> str:
    """epoch 3 of 20  loss 0.2103  accuracy 0.9312  1,200,000 examples/s  12 s left"""
    n = epoch["epoch"]
    parts = [f"epoch {n} of {epochs}" if epochs else f"epoch {n}", f"loss {epoch['train_loss']:.4f}"]
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
