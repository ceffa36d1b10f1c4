"""Trains a PyTorch module in a run of hogwild (docs/programs.md): hogwild train --program 'python3 step.py'

    job = hogwild.join(net)             # import hogwild before net is made: it seeds torch
    for x, y in job.batches():
        loss = F.cross_entropy(net(x), y)
        net.zero_grad(set_to_none=True); loss.backward()
        job.step(loss)
"""

from __future__ import annotations

import json
import math
import mmap
import os
import random
import socket
import sys
import warnings
from functools import partial
from typing import Any, Callable, Dict, Generator, Iterator, List, Optional, Tuple, TypeVar, cast

import torch
from torch import Tensor, nn

Message = Dict[str, Any]
Evaluate = TypeVar("Evaluate", bound=Callable[..., Any])


class Error(Exception):
    """The program uses hogwild in a way that cannot work. The message says what to change."""


def _check(ok: Any, message: str) -> None:
    if not ok:
        raise Error(message)


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))


_socket = os.environ.pop("HOGWILD_SOCKET", None)  # processes that this one starts cannot join
if _socket:
    _seed(int(os.environ["HOGWILD_SEED"]))


class _Channel:
    """Messages between hogwild and the program, one JSON object a line, and the files that come with them."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=os.dup(descriptor))  # hogwild sees its end when the process has ended
        self._received = b""
        self._files: List[int] = []
        self._maps: Dict[int, mmap.mmap] = {}
        self.gpu: Any = None  # its memory, of a worker with the weights

    def ask(self, message: Message) -> Message:
        """Sends a message and returns the next one. When hogwild's process is gone, so is this one."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
            while b"\n" not in self._received:
                data, files, _, _ = socket.recv_fds(self._socket, 1 << 20, 16)
                if not data:
                    os._exit(1)
                self._received += data
                self._files += files
        except OSError:
            os._exit(1)
        line, _, self._received = self._received.partition(b"\n")
        return dict(json.loads(line))

    def tensor(self, where: Message, dtype: torch.dtype, *shape: int, write: bool = False) -> Tensor:
        """A view of a file. Data is mapped privately: older kernels refuse shared mappings of sealed files."""
        file, count = where.get("file"), math.prod(shape)
        if file is None:
            return cast(Tensor, self.gpu.tensor(where["offset"], count))
        if file not in self._maps:
            flags, access = (mmap.MAP_SHARED, mmap.PROT_WRITE) if write else (mmap.MAP_PRIVATE, 0)
            self._maps[file] = mmap.mmap(self._files[file], 0, flags, access | mmap.PROT_READ)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # data is not writable; programs get copies of its rows
            return torch.frombuffer(self._maps[file], dtype=dtype, count=max(count, 1), offset=where["offset"])[:count].view(shape)


class _Set:
    """A data set of --data. Called with the numbers of rows, it returns their batch."""

    def __init__(self, what: Message, channel: _Channel, device: torch.device) -> None:
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


class _Shared:
    """A tensor of the module that lies in the run's weights."""

    def __init__(self, name: str, tensor: Tensor) -> None:
        _check(not nn.parameter.is_lazy(tensor), f"{name} has no shape yet: call net with one batch before hogwild.join(net)")
        _check(tensor.dtype == torch.float32 or not (tensor.is_floating_point() or tensor.is_complex()),
               f"{name} is {tensor.dtype}, but a run's weights are torch.float32: call net.float() before hogwild.join(net)")
        trained = "parameter" if tensor.requires_grad else "frozen"
        self.kind = trained if isinstance(tensor, nn.Parameter) else "buffer" if tensor.is_floating_point() else "integer"
        _check(self.kind != "integer" or tensor.numel() == 0 or int(tensor.long().abs().max()) <= 1 << 24,
               f"{name} has integers above 2^24, which float32 cannot hold: register it with persistent=False")
        self.name, self.tensor = name, tensor
        self.weights = self.slot = torch.empty(0)  # the slot takes steps; in mode gradients: gradients, and values of buffers


def _tensors(net: nn.Module) -> Tuple[List[_Shared], Dict[str, str]]:
    """The tensors of the state_dict in its order; and names that are another name's tensor, with that name."""
    found: Dict[int, _Shared] = {}
    same: Dict[str, str] = {}
    for name, tensor in net.state_dict(keep_vars=True).items():
        if id(tensor) in found:
            same[name] = found[id(tensor)].name
        elif isinstance(tensor, Tensor):  # else it is the extra state of a module, of which each process has its own
            found[id(tensor)] = _Shared(name, tensor)
    shared = list(found.values())
    places = sorted((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size(), s.name) for s in shared for t in [s.tensor])
    for (_, end, a), (start, _, b) in zip(places, places[1:]):
        _check(start >= end, f"{a} and {b} overlap in memory: use one Parameter for both, or clone() one of them")
    return shared, same


class Job:
    """A module's part in the run that started this program. Its batches are of --data; or collate([dataset[i], ...]) for the
    indices i that the run deals out, and the examples of test are scored after each epoch."""

    def __init__(self, net: nn.Module, dataset: Any = None, test: Any = None,
                 collate: Optional[Callable[[List[Any]], Any]] = None) -> None:
        global _socket
        _check(_socket is not None, f"start this with hogwild train --program 'python3 {os.path.basename(sys.argv[0])}'")
        _check(_socket, "hogwild.join was called twice: a run trains one module; put several into one nn.ModuleList")
        _check(isinstance(net, nn.Module), f"hogwild.join takes an nn.Module, not {type(net).__name__}")
        sets = {name: own for name, own in (("train", dataset), ("test", test)) if own is not None}
        _check(all(hasattr(own, "__len__") and hasattr(own, "__getitem__") for own in sets.values()),
               "a dataset needs __len__ and __getitem__, since the run deals out the indices of its examples")
        self._net, self._collate = getattr(net, "_orig_mod", net), collate or torch.utils.data.default_collate
        self._shared, same = _tensors(self._net)
        tensors = [{"name": s.name, "shape": list(s.tensor.shape), "kind": s.kind} for s in self._shared]
        rows = {"test_rows" if name == "test" else "rows": len(own) for name, own in sets.items()}
        self._channel, _socket = _Channel(int(_socket or 0)), ""  # one process joins once
        self._run = run = self._channel.ask({"hello": 1, "tensors": tensors, "same": same, **rows,
                                             "language": f"Python {sys.version.split()[0]}, PyTorch {torch.__version__}"})
        self.rank, self.workers = int(run["rank"]), int(run["workers"])  # of this worker, from 0; how many there are
        self.epoch, self.lr = 0, 0.0  # from 1; the run's learning rate for this batch
        self._gpu = self._channel.gpu = __import__("hogwild_cuda").Memory(run["gpu"]) if "gpu" in run else None
        self.device = torch.device(self._gpu.device if self._gpu else "cpu")
        _check(self._gpu or not any(s.tensor.is_cuda for s in self._shared), "the module is on a GPU: train with --gpu")
        self._net.to(self.device)
        self._sets: Dict[str, Callable[[Tensor], Any]] = {name: partial(self._gather, own) for name, own in sets.items()}
        self._sets.update({name: _Set(what, self._channel, self.device) for name, what in run["data"].items()})
        self._gradients = run["mode"] == "gradients"
        self._evaluate: Any = None
        self._entered = self._open = False  # open: the program has a batch, and has not taken the step
        if run["role"] == "worker":
            _seed((run["seed"] + 1 + self.rank) % (1 << 64))

    def _gather(self, dataset: Any, rows: Tensor) -> Any:
        batch = self._collate([dataset[i] for i in rows.tolist()])
        return self._gpu.moved(batch) if self._gpu else batch

    def evaluate(self, function: Evaluate) -> Evaluate:
        """Marks the function that scores a batch: f(*batch) -> loss, or (loss, {"accuracy": value}), means over the batch."""
        _check(not self._evaluate and not self._entered, "@job.evaluate marks one function, before job.batches()")
        self._evaluate = function
        return function

    def batches(self) -> Iterator[Any]:
        """The batches of this worker in all epochs. The module has the run's weights from here on."""
        _check(not self._entered, "job.batches() was called twice: it has the batches of all epochs, so it needs no loop around it")
        self._entered = True
        self._attach()
        message = self._channel.ask({"ready": True, "evaluates": self._evaluate is not None})
        while "leave" not in message:
            if "train" in message:
                message = self._channel.ask({"trained": (yield from self._train(**message["train"]))})
            else:
                message = self._channel.ask({"scored": self._score(**message["score"])})

    def step(self, loss: Tensor) -> None:
        """After loss.backward(): takes the step of this batch, w -= lr*(gradient + l2*w)."""
        self._take(loss)
        _check(any(s.tensor.grad is not None for s in self._shared), "no gradients: call loss.backward() before job.step(loss)")
        l2, scale = self._run["l2"], 1.0 if self._gradients else -self.lr
        with torch.no_grad():
            for s in self._shared:
                if self._gradients:
                    s.slot.zero_()
                if s.tensor.grad is not None:
                    s.slot.add_(s.tensor.mul(l2).add_(s.tensor.grad) if l2 else s.tensor.grad, alpha=scale)

    def done(self, loss: Tensor) -> None:
        """After optimizer.step(): an optimizer of the program has taken the step of this batch."""
        _check(not self._gradients, "with --average gradients the run takes the steps: call job.step(loss), not job.done(loss)")
        self._take(loss)

    def _value(self, number: Any, what: str) -> float:
        _check(isinstance(number, (int, float)) or isinstance(number, Tensor) and number.numel() == 1,
               f"{what} must be one number, the batch's mean, not {type(number).__name__} {list(getattr(number, 'shape', []))}")
        return float(number.item() if isinstance(number, Tensor) else number)  # item: float warns of gradients

    def _take(self, loss: Any) -> None:
        """Closes a batch. If the loss is not finite, the run ends before this step is written."""
        _check(self._open, "a batch of job.batches() takes one job.step(loss) or job.done(loss), and this is one more")
        self._open, self._loss = False, self._value(loss, "the loss")
        if not math.isfinite(self._loss):
            self._channel.ask({"not_finite": {"step": self._step, "loss": str(self._loss)}})
            sys.exit(0)

    def _attach(self) -> None:
        """Makes the module's tensors views of the run's weights, and sets those if they are new."""
        run, now, at, count = self._run, self._net.state_dict(keep_vars=True), 0, sum(s.tensor.numel() for s in self._shared)
        self._given = self._channel.tensor(run["weights"], torch.float32, count, write=True)
        self._weights = self._given.to(self.device)  # the same, but for an evaluator on a GPU
        slots = self._channel.tensor(run["gradients"], torch.float32, count, write=True) if self._gradients else self._weights
        of, none = run.get("clocks"), torch.zeros(self.workers, dtype=torch.int64)  # the steps that each worker has taken
        self._clocks = self._channel.tensor(of, torch.int64, of["count"], of["stride"] // 8, write=True)[:, 0] if of else none
        for s in self._shared:
            s.tensor, shape, end = now[s.name], s.tensor.shape, at + s.tensor.numel()
            s.weights, s.slot, at = self._weights[at:end].view(shape), slots[at:end].view(shape), end
            if run["init"]:
                s.weights.copy_(s.tensor.detach())
            if s.kind != "integer" and not (s.kind == "buffer" and self._gradients):
                s.tensor.data = s.weights
        self._given.copy_(self._weights)

    def _copy(self, load: bool) -> None:
        """Loads or sends the buffers that are no views of the weights: integers, replaced ones, in mode gradients all."""
        now = self._net.state_dict(keep_vars=True)
        for s in self._shared:
            t = now[s.name].detach()
            if t.numel() and t.data_ptr() != s.weights.data_ptr():
                _check(s.kind in ("buffer", "integer"), f"{s.name} has left the run's weights: do not replace or convert it")
                (t if load else s.slot).copy_(t if not load else s.weights.round() if s.kind == "integer" else s.weights)

    def _train(self, epoch: int, rows: List[int], lr: List[float]) -> Generator[Any, None, Message]:
        self.epoch, loss, staleness, chance, size = epoch, 0.0, [], random.Random(rows[0]), self._run["batch"]
        self._copy(load=True)
        for self._step, self.lr in enumerate(lr, 1):
            part = torch.tensor(rows[(self._step - 1) * size:self._step * size])
            batch, self._open = self._sets["train"](part), True
            before = int(self._clocks.sum()) if chance.random() < 1 / 16 else -1  # few steps, since this takes time
            yield batch
            _check(not self._open, "a batch had no step: call job.step(loss), or job.done(loss) after optimizer.step()")
            loss += self._loss * len(part)
            staleness += [int(self._clocks.sum()) - before] if before >= 0 else []
            self._clocks[self.rank] += 1
        self._copy(load=False)
        if self._gpu:
            self._gpu.synchronize()
        return {"examples": len(rows), "steps": len(lr), "loss": loss, "staleness": staleness}

    def _score(self, **what: Any) -> Message:
        """Sums of the loss and the metrics over the examples from..to of a set."""
        rows, modes = torch.arange(what["from"], what["to"]), [(m, m.training) for m in self._net.modules()]
        batch = self._sets[what["set"]](rows)
        self._net.eval()
        self._weights.copy_(self._given)
        self._copy(load=True)
        with torch.no_grad():
            result = self._evaluate(*(batch if isinstance(batch, (tuple, list)) else [batch]))
        for module, training in modes:
            module.training = training
        loss, metrics = result if isinstance(result, tuple) and len(result) == 2 else (result, {})
        _check(isinstance(metrics, dict), "the function of @job.evaluate returns loss, or (loss, {\"accuracy\": value})")
        sums = {name: len(rows) * self._value(mean, f"{name} of @job.evaluate") for name, mean in {"loss": loss, **metrics}.items()}
        shown = {name: v if math.isfinite(v) else str(v) for name, v in sums.items()}  # JSON has no NaN
        return {"examples": len(rows), "loss": shown.pop("loss"), "metrics": shown}


join = Job
