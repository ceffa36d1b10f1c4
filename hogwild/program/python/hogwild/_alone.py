"""A run of one process, for a script that was started by hand: the examples in order, plain steps, no files."""

from __future__ import annotations

import math
import os
import sys
from typing import Any, Dict, Iterator, Optional, Type

import torch
from torch import Tensor

import hogwild

from ._cuda import Memory
from ._session import Message


class _Device(Memory):
    """A GPU whose memory is PyTorch's own."""

    def __init__(self, device: torch.device) -> None:
        self.device = str(device)

    def synchronize(self) -> None:
        torch.cuda.synchronize()


class Alone:
    """Plays hogwild's part: it answers the program's messages as a run with one worker does."""

    def __init__(self, settings: Any, error: Type[Exception], device: torch.device) -> None:
        self._settings: Dict[str, Any] = settings
        self._error, self._device = error, device
        self._said: Message = {}

    def ask(self, message: Message) -> Message:
        self._said = message
        if "hello" in message:
            return self._welcome(message)
        if "ready" in message:
            self._requests = self._epochs(message)
        if "not_finite" in message:
            raise self._error("the loss became {loss} at step {step} of the epoch: try a smaller rate".format(**message["not_finite"]))
        return next(self._requests, {"leave": True})

    def memory(self, run: Message) -> Optional[Memory]:
        return None if self._device.type == "cpu" else _Device(self._device)

    def tensor(self, where: Message, dtype: torch.dtype, *shape: int, write: bool = False) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self._device)

    def _welcome(self, hello: Message) -> Message:
        if "ipykernel" in sys.modules:
            raise hogwild.Failed("in a notebook call hogwild.launch(fn, net, dataset=...): fn(net, job) has what follows "
                                 "hogwild.join, and is run in each worker")
        script, s = os.path.basename(sys.argv[0]) or "step.py", self._settings
        if "rows" not in hello:
            raise self._error("alone a script has no --data: give hogwild.join(net, dataset=...) some examples if hogwild.alone, "
                              f"or start it with hogwild train --program 'python3 {script}' --data ...")
        self._rows, self._tests = hello["rows"], hello.get("test_rows", 0)
        print(f"hogwild: {script} runs alone, without hogwild train: {s['epochs']} x {self._rows} examples in order, "
              f"batch {s['batch']}, lr {s['lr']}; nothing is saved", file=sys.stderr)
        return {"role": "worker", "rank": 0, "workers": 1, "seed": s["seed"], "batch": s["batch"], "mode": "async", "l2": 0.0,
                "weights": {}, "init": True, "data": {}, "steps": s["epochs"] * math.ceil(self._rows / s["batch"])}

    def _epochs(self, ready: Message) -> Iterator[Message]:
        s, steps = self._settings, math.ceil(self._rows / self._settings["batch"])
        each = 1 / (s["epochs"] * steps)
        for epoch in range(1, s["epochs"] + 1):
            yield {"train": {"epoch": epoch, "rows": list(range(self._rows)), "lr": [s["lr"]] * steps,
                             "progress": [(epoch - 1) / s["epochs"], each]}}
            trained = self._said["trained"]
            shown = {"train loss": trained["loss"] / trained["examples"]}
            shown.update((name, float(sum_) / count) for name, (sum_, count) in trained["metrics"].items())
            sums: Dict[str, float] = {}
            for at in range(0, self._tests if ready["evaluates"] else 0, 256):
                yield {"score": {"set": "test", "from": at, "to": min(at + 256, self._tests)}}
                scored = self._said["scored"]
                for name, value in {"test loss": scored["loss"], **scored["metrics"]}.items():
                    sums[name] = sums.get(name, 0.0) + float(value)
            shown.update((name, value / self._tests) for name, value in sums.items())
            if ready["ends"]:
                yield {"end": {"epoch": epoch, "set": "test", "rows": self._tests}}
                shown.update(self._said["ended"]["metrics"])
            print(f"hogwild: epoch {epoch}  " + "  ".join(f"{name} {float(v):.4f}" for name, v in shown.items()), file=sys.stderr)
