"""Job: a module's part in a run, or alone in a script that is started by hand."""

from __future__ import annotations

import contextlib
import math
import os
import random
import sys
from functools import partial
from typing import Any, Callable, Dict, Generator, Iterator, List, Optional, Tuple, TypeVar

import torch
from torch import Tensor, nn

import hogwild
from hogwild import _check

from ._run import Channel, Set
from ._session import Message

Function = TypeVar("Function", bound=Callable[..., Any])


def _shown(number: float) -> Any:
    return number if math.isfinite(number) else str(number)  # JSON has no NaN


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))


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
    indices i that the run deals out, and the examples of test are scored after each epoch.

    rank: the number of this worker, from 0; -1 in the evaluator    evaluator: this process scores, and does not train
    workers: how many there are    epoch: from 1    device: where the module is, and batches come to
    steps: about how many batches this worker gets in the run       progress: the part of the run that is over, 0 to 1
    lr: the run's learning rate for this batch"""

    def __init__(self, net: nn.Module, dataset: Any = None, test: Any = None,
                 collate: Optional[Callable[[List[Any]], Any]] = None) -> None:
        _check(hogwild._socket != "", "hogwild.join was called twice, or in a process that the program has started: "
               "a run trains one module; put several into one nn.ModuleDict")
        _check(isinstance(net, nn.Module), f"hogwild.join takes an nn.Module, not {type(net).__name__}")
        sets = {name: own for name, own in (("train", dataset), ("test", test)) if own is not None}
        _check(all(hasattr(own, "__len__") and hasattr(own, "__getitem__") for own in sets.values()),
               "a dataset needs __len__ and __getitem__, since the run deals out the indices of its examples")
        self._net, self._collate = getattr(net, "_orig_mod", net), collate or torch.utils.data.default_collate
        self._shared, same = _tensors(self._net)
        _check(self._shared, "the module has no tensors: layers in a Python list or dict are no part of it; use nn.ModuleList or nn.ModuleDict")
        tensors = [{"name": s.name, "shape": list(s.tensor.shape), "kind": s.kind} for s in self._shared]
        rows = {"test_rows" if name == "test" else "rows": len(own) for name, own in sets.items()}
        pid = {"pid": os.getpid()} if hogwild._forked else {}  # else hogwild has started this process
        if hogwild._socket is None:
            from ._alone import Alone
            self._channel: Any = Alone(hogwild.alone, hogwild.Error, self._shared[0].tensor.device)
        else:
            self._channel, hogwild._socket = Channel(int(hogwild._socket)), ""  # one process joins once
        self._run = run = self._channel.ask({"hello": 1, "tensors": tensors, "same": same, **rows, **pid,
                                             "language": f"Python {sys.version.split()[0]}, PyTorch {torch.__version__}"})
        self.rank, self.workers, self.evaluator = int(run["rank"]), int(run["workers"]), run["role"] == "evaluator"
        self.epoch, self.progress, self.steps = 0, 0.0, int(run.get("steps", 0))
        self._lr, self._own = 0.0, {"done": False, "reads": False}  # job.done was called; job.lr was read
        self._gpu = self._channel.memory(run)
        self.device = torch.device(self._gpu.device if self._gpu else "cpu")
        _check(self._gpu or not any(s.tensor.is_cuda for s in self._shared), "the module is on a GPU: train with --gpu")
        if self.device.type == "cuda":  # else "cuda" and cuda() mean the first GPU to a worker on another one
            torch.cuda.set_device(self.device)
        self._net.to(self.device)
        self._sets: Dict[str, Callable[[Tensor], Any]] = {name: partial(self._gather, own) for name, own in sets.items()}
        self._sets.update({name: Set(what, self._channel, self.device) for name, what in run["data"].items()})
        self._gradients = run["mode"] == "gradients"
        self._evaluate: Any = None
        self._ended: Any = None
        self._judged: Any = None  # within a call of that function: the rows by which the epoch is judged
        self._entered = self._open = False  # open: the program has a batch, and has not taken the step
        if run["role"] == "worker":
            _seed((run["seed"] + 1 + self.rank) % (1 << 64))

    def _gather(self, dataset: Any, rows: Tensor) -> Any:
        batch = self._collate([dataset[i] for i in rows.tolist()])
        return self._gpu.moved(batch) if self._gpu else batch

    @property
    def lr(self) -> float:
        """The run's learning rate for this batch."""
        self._own["reads"] = True
        return self._lr

    def evaluate(self, function: Function) -> Function:
        """Marks the function that scores a batch: f(*batch) -> loss, or (loss, {"accuracy": value}), means over the batch."""
        _check(not self._evaluate and not self._entered, "@job.evaluate marks one function, before job.batches()")
        self._evaluate = function
        return function

    def epoch_ended(self, function: Function) -> Function:
        """Marks f(epoch) -> None, or {"auc": value}: called in the evaluator after each epoch is scored, with its weights."""
        _check(not self._ended and not self._entered, "@job.epoch_ended marks one function, before job.batches()")
        self._ended = function
        return function

    def test_batches(self) -> Iterator[Any]:
        """Within the function of @job.epoch_ended: the rows by which epochs are judged, in order."""
        _check(self._judged, "job.test_batches() is for the function of @job.epoch_ended")
        name, count, size = self._judged
        _check(name in self._sets, "job.test_batches() has no rows: give hogwild.join a test set")
        return (self._sets[name](torch.arange(at, min(at + size, count))) for at in range(0, count, size))

    def batches(self) -> Iterator[Any]:
        """The batches of this worker in all epochs. The module has the run's weights from here on."""
        _check(not self._entered, "job.batches() was called twice: it has the batches of all epochs, so it needs no loop around it")
        self._entered = True
        self._attach()
        message = self._channel.ask({"ready": True, "evaluates": self._evaluate is not None, "ends": self._ended is not None})
        while "leave" not in message:
            if "train" in message:
                message = self._channel.ask({"trained": (yield from self._train(**message["train"]))})
            elif "score" in message:
                message = self._channel.ask({"scored": self._score(**message["score"])})
            else:
                message = self._channel.ask({"ended": {"metrics": self._end(message["end"])}})

    def step(self, loss: Tensor, **metrics: Any) -> None:
        """After loss.backward(): takes the step of this batch, w -= lr*(gradient + l2*w). Metrics are means over the batch."""
        self._take(loss, metrics)
        _check(any(s.tensor.grad is not None for s in self._shared), "no gradients: call loss.backward() before job.step(loss)")
        l2, scale = self._run["l2"], 1.0 if self._gradients else -self._lr
        with torch.no_grad():
            for s in self._shared:
                if self._gradients:
                    s.slot.zero_()
                if s.tensor.grad is not None:
                    s.slot.add_(s.tensor.mul(l2).add_(s.tensor.grad) if l2 else s.tensor.grad, alpha=scale)

    def done(self, loss: Tensor, **metrics: Any) -> None:
        """After optimizer.step(): an optimizer of the program has taken the step of this batch. Metrics are means over the batch."""
        _check(not self._gradients, "with --average gradients the run takes the steps: call job.step(loss), not job.done(loss)")
        self._take(loss, metrics)
        self._own["done"] = True

    def _value(self, number: Any, what: str) -> float:
        _check(isinstance(number, (int, float)) or isinstance(number, Tensor) and number.numel() == 1,
               f"{what} must be one number, the batch's mean, not {type(number).__name__} {list(getattr(number, 'shape', []))}")
        return float(number.item() if isinstance(number, Tensor) else number)  # item: float warns of gradients

    def _take(self, loss: Any, metrics: Dict[str, Any]) -> None:
        """Closes a batch. If the loss is not finite, the run ends before this step is written."""
        _check(self._open, "a batch of job.batches() takes one job.step(loss) or job.done(loss), and this is one more")
        self._open, self._loss = False, self._value(loss, "the loss")
        self._metrics = {name: self._value(mean, name) for name, mean in metrics.items()}
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

    def _train(self, epoch: int, rows: List[int], lr: List[float], progress: List[float]) -> Generator[Any, None, Message]:
        self.epoch, loss, staleness, chance, size = epoch, 0.0, [], random.Random(rows[0]), self._run["batch"]
        metrics: Dict[str, List[float]] = {}  # the sum over examples, and their number
        self._copy(load=True)
        for self._step, self._lr in enumerate(lr, 1):
            self.progress = progress[0] + (self._step - 1) * progress[1]
            part = torch.tensor(rows[(self._step - 1) * size:self._step * size])
            batch, self._open = self._sets["train"](part), True
            before = int(self._clocks.sum()) if chance.random() < 1 / 16 else -1  # few steps, since this takes time
            yield batch
            _check(not self._open, "a batch had no step: call job.step(loss), or job.done(loss) after optimizer.step()")
            loss += self._loss * len(part)
            for name, mean in self._metrics.items():
                sum_, count = metrics.get(name, (0.0, 0))
                metrics[name] = [sum_ + mean * len(part), count + len(part)]
            staleness += [int(self._clocks.sum()) - before] if before >= 0 else []
            self._clocks[self.rank] += 1
        self._copy(load=False)
        if self._gpu:
            self._gpu.synchronize()
        return {"examples": len(rows), "steps": len(lr), "loss": loss, "staleness": staleness,
                "metrics": {name: [_shown(sum_), count] for name, (sum_, count) in metrics.items()},
                "own_rate": self._own["done"] and not self._own["reads"]}

    @contextlib.contextmanager
    def _scoring(self) -> Iterator[None]:
        """The module has the weights that are to be scored, and its modes are those of scoring."""
        modes = [(m, m.training) for m in self._net.modules()]
        self._net.eval()
        self._weights.copy_(self._given)
        self._copy(load=True)
        with torch.no_grad():
            yield
        for module, training in modes:
            module.training = training

    def _means(self, metrics: Any, of: str) -> Dict[str, float]:
        _check(isinstance(metrics, dict), f"the function of {of} returns " + {
            "@job.evaluate": 'loss, or (loss, {"accuracy": value})', "@job.epoch_ended": 'nothing, or {"auc": value}'}[of])
        _check("loss" not in metrics, f'{of}: no metric can be called "loss", which is the name of the loss: choose another')
        return {name: self._value(mean, f"{name} of {of}") for name, mean in metrics.items()}

    def _score(self, **what: Any) -> Message:
        """Sums of the loss and the metrics over the examples from..to of a set."""
        rows = torch.arange(what["from"], what["to"])
        batch = self._sets[what["set"]](rows)
        with self._scoring():
            result = self._evaluate(*(batch if isinstance(batch, (tuple, list)) else [batch]))
        loss, metrics = result if isinstance(result, tuple) and len(result) == 2 else (result, {})
        means = self._means(metrics, "@job.evaluate")
        return {"examples": len(rows), "loss": _shown(len(rows) * self._value(loss, "loss of @job.evaluate")),
                "metrics": {name: _shown(len(rows) * mean) for name, mean in means.items()}}

    def _end(self, what: Message) -> Message:
        """The metrics of the function of @job.epoch_ended."""
        self.epoch, self._judged = what["epoch"], (what["set"], what["rows"], max(256, self._run["batch"]))
        with self._scoring():
            metrics = self._ended(self.epoch)
        self._judged = None
        return {name: _shown(v) for name, v in self._means({} if metrics is None else metrics, "@job.epoch_ended").items()}


join = Job
