"""What a run of hogwild shares with a program: messages over a socket, memory, and data."""

from __future__ import annotations

import json
import math
import mmap
import os
import socket
import warnings
from typing import Any, Dict, Tuple, cast

import torch
from torch import Tensor

from ._session import Message, Wire, mapped


class Channel:
    """Messages between hogwild and the program, one JSON object a line, and the files that come with them."""

    def __init__(self, descriptor: int) -> None:
        self._wire = Wire(socket.socket(fileno=os.dup(descriptor)))  # hogwild sees its end when the process has ended
        self._maps: Dict[int, mmap.mmap] = {}
        self.gpu: Any = None  # its memory, of a worker with the weights

    def ask(self, message: Message) -> Message:
        """Sends a message and returns the next one. When hogwild's process is gone, so is this one."""
        try:
            self._wire.send(json.dumps(message))
            answer = self._wire.receive()
        except OSError:
            answer = None
        if answer is None:
            os._exit(1)
        return answer

    def memory(self, run: Message) -> Any:
        """The memory of the run's GPU, of which a worker's has the weights; None on cores."""
        if "gpu" in run:
            from . import _cuda
            self.gpu = _cuda.Memory(run["gpu"])
        return self.gpu

    def tensor(self, where: Message, dtype: torch.dtype, *shape: int, write: bool = False) -> Tensor:
        """A view of a file."""
        file, count = where.get("file"), math.prod(shape)
        if file is None:
            return cast(Tensor, self.gpu.tensor(where["offset"], count))
        if file not in self._maps:
            self._maps[file] = mapped(self._wire.files[file], 0, write)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # data is not writable; programs get copies of its rows
            return torch.frombuffer(self._maps[file], dtype=dtype, count=max(count, 1), offset=where["offset"])[:count].view(shape)


class Set:
    """A data set of --data. Called with the numbers of rows, it returns their batch."""

    def __init__(self, what: Message, channel: Channel, device: torch.device) -> None:
        at = {name: {"file": what["file"], **array} for name, array in what["arrays"].items()}
        rows, width, shape = what["rows"], what["features"], what.get("shape") or []
        self.kind, self.classes, self.y = what["kind"], what.get("classes"), channel.tensor(at["y"], torch.float32, rows)
        self.shape = [1] * (len(shape) == 2) + shape if shape else [width]  # of an image: channels, height, width
        self.device, first = device, [0, shape[0] if shape else 0]  # pairs: a matrix's columns are numbered after its rows
        self.mul, self.add, self.first = (torch.tensor(numbers, device=device) for numbers in (
            what.get("mul") or [1.0], what.get("add") or [0.0], first))
        if self.kind == "sparse":
            self.ptr = channel.tensor(at["ptr"], torch.int64, rows + 1)
            self.idx = channel.tensor(at["idx"], torch.int32, int(self.ptr[-1]))
            self.val = channel.tensor(at["val"], torch.float32, int(self.ptr[-1]))
        else:
            name, dtype = {"bytes": ("x8", torch.uint8), "floats": ("x", torch.float32), "pairs": ("idx", torch.int32)}[self.kind]
            self.x = channel.tensor(at[name], dtype, rows, 2 if self.kind == "pairs" else width)

    def __call__(self, rows: Tensor) -> Tuple[Any, Tensor]:
        y = self.y.index_select(0, rows).to(self.device, torch.int64 if self.classes else torch.float32)
        if self.kind == "sparse":
            first, end = self.ptr.index_select(0, rows), self.ptr.index_select(0, rows + 1)
            offsets = (end - first).cumsum(0) - (end - first)
            at = (first - offsets).repeat_interleave(end - first)
            at += torch.arange(len(at))
            return tuple(t.to(self.device) for t in (self.idx[at].long(), self.val[at], offsets)), y
        dense = self.x.index_select(0, rows).to(self.device)
        if self.kind == "pairs":
            return dense.long() - self.first, y
        return (dense.float().mul_(self.mul).add_(self.add) if self.kind == "bytes" else dense).view(-1, *self.shape), y
