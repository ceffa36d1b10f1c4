"""hogwild.launch: a function of a notebook's cell as the program of a run."""

from __future__ import annotations

import copy
import json
import linecache
import os
import pickle
import shlex
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import nn

import hogwild

from . import _zygote
from ._session import PROTOCOL, Message, Session
from ._train import OnEpoch, Run, _follow, _texts


class _Zygote:
    """The process that is forked for each program of a run. It has imported PyTorch, and serves all launches."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._said = os.memfd_create("hogwild-zygote", os.MFD_CLOEXEC)
        # A session of its own: Ctrl-C is for this process. The socket's end ends it.
        start = f"import sys; sys.path[:] = {sys.path!r}; from hogwild._zygote import main; main({theirs.fileno()})"
        with theirs:
            self._process = subprocess.Popen([sys.executable, "-c", start], pass_fds=[theirs.fileno()], start_new_session=True,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said,
                                             env={k: v for k, v in os.environ.items() if k != "HOGWILD_SOCKET"})
        self._pid = os.getpid()

    def serves(self) -> bool:
        return self._pid == os.getpid() and self._process.poll() is None

    def launch(self, what: int, prints: int) -> Tuple[socket.socket, str]:
        """Has what was pickled served, and printed. Returns the line to its server, and the address for clients."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_UNIX) as listener:
            listener.bind("")  # Linux chooses an abstract address
            listener.listen(128)
            try:
                socket.send_fds(self._socket, [b" "], [what, prints, listener.fileno(), theirs.fileno()])
            except OSError:
                pass  # its end is read from ours
            return ours, listener.getsockname()[1:].decode()

    def said(self) -> str:
        return os.pread(self._said, 1 << 16, max(0, os.fstat(self._said).st_size - (1 << 16))).decode(errors="replace").strip()


_zygotes: List[_Zygote] = []


def _pickled(fn: Callable[..., Any], net: nn.Module, more: Dict[str, Any]) -> int:
    """A file with all that a server needs, by value where it is from a notebook."""
    try:
        import cloudpickle
    except ModuleNotFoundError:
        raise ImportError("hogwild.launch needs cloudpickle, which is not installed: pip install cloudpickle") from None
    if any(t.device.type != "cpu" for t in net.state_dict().values() if isinstance(t, torch.Tensor)):
        net = copy.deepcopy(net).cpu()  # a GPU's memory cannot be forked; join moves it to job.device
    cells = {name: entry for name, entry in linecache.cache.items() if len(entry) > 1 and entry[1] is None}
    file = os.memfd_create("hogwild-launch", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(file), "wb") as out:
            pickle.dump((sys.path, os.getcwd(), cells), out)
            cloudpickle.dump((fn, net, more), out)
        os.lseek(file, 0, os.SEEK_SET)
    except BaseException as e:
        os.close(file)
        if not isinstance(e, Exception):
            raise
        raise hogwild.Error(f"fn, net and the data are given to other processes, which pickle cannot do: {e}") from e
    return file


class _Line:
    """A line on standard error that is drawn again and again, in a notebook and on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty() or "ipykernel" in sys.modules and "JPY_PARENT_PID" in os.environ
        self._text, self._next, self._lock = "", "", threading.Lock()
        self._drawn = 0.0

    def draw(self, text: str, above: str = "") -> None:
        """Draws another line, below a text that stays."""
        with self._lock:
            text = text or self._text
            if self._shown and self._text:
                print("\r" + " " * len(self._text) + "\r", end="", file=sys.stderr, flush=True)
            if above:
                print(above, end="", flush=True)
            if self._shown:
                print(text, end="", file=sys.stderr, flush=True)
            self._text = text

    def epoch(self, figures: Dict[str, Any]) -> None:
        shown = [(name, figures.get(name)) for name in ("train_loss", "test_loss", "test_accuracy")]
        self._next = f"hogwild: epoch {figures['epoch']}, {figures['seconds']:.1f} s" + "".join(
            f", {name.replace('_', ' ')} {value:.4g}" for name, value in shown if isinstance(value, (int, float)))
        if time.monotonic() > self._drawn + 0.5:  # a notebook's file keeps each
            self._drawn = time.monotonic()
            self.draw(self._next)

    def copy(self, printed: int) -> None:
        """Prints what the programs print, above the line."""
        with open(printed, errors="replace") as pipe:
            for text in pipe:
                self.draw("", text)

    def end(self) -> None:
        self.draw(self._next)
        if self._shown:
            print(file=sys.stderr, flush=True)


def launch(fn: Callable[[Any, Any], Any], net: nn.Module, dataset: Any = None, test: Any = None, *, workers: int = 4,
           collate: Optional[Callable[[List[Any]], Any]] = None, on_epoch: Optional[OnEpoch] = None, verbose: bool = False,
           **settings: Any) -> Run:
    """Trains net in a run of hogwild train --program, of which fn(net, job) is the program: also from a notebook's cell.

    fn: has the loop over job.batches(), with job as hogwild.join(net, dataset, test, collate) returns it; it is run once in
    each worker, and once in the evaluator, on copies of all that it uses    net: has the trained weights afterwards
    dataset, test: of examples; without them the setting data names files    on_epoch: called with the figures of each epoch;
    the run ends when it returns True    settings: those of hogwild train, as epochs=5, lr=0.05
    Raises hogwild.Error with the traceback where fn fails. An interrupt ends the run, and net has what was learnt."""
    more = {name: value for name, value in (("dataset", dataset), ("test", test), ("collate", collate)) if value is not None}
    if dataset is None and "data" not in settings:
        raise hogwild.Error("launch needs examples: dataset=..., or files, as data='mnist/'")
    net = getattr(net, "_orig_mod", net)  # of torch.compile
    if not _zygotes or not _zygotes[0].serves():
        _zygotes[:] = [_Zygote()]  # imports PyTorch meanwhile
    what = _pickled(fn, net, more)
    printed, prints = os.pipe()
    try:
        line, address = _zygotes[0].launch(what, prints)
    finally:
        os.close(what)
        os.close(prints)
    shown = _Line()
    reader = threading.Thread(target=shown.copy, args=(printed,), daemon=True)
    reader.start()
    with line:
        shown.draw("hogwild: starting")
        message = _message(line)
        if "ready" not in message:
            shown.end()
            raise _failure(message)
        program = shlex.join([sys.executable, "-I", "-S", "-B", _zygote.__file__, address])
        run: Optional[Run] = None
        failed: Optional[Exception] = None
        try:
            run = _run(net, {**settings, "program": program, "workers": workers}, on_epoch, verbose, shown)
        except (hogwild.Error, hogwild.Killed) as e:
            failed = e
        finally:
            line.shutdown(socket.SHUT_RDWR)  # the server ends, and all that might print
            reader.join(5)  # but for a process that a program has left behind
            shown.end()
        if run is None or run.result.get("error"):  # what follows the loop has failed
            message = _message(line)
            raise _failure(message) if "failed" in message else failed or hogwild.Failed(run.result["error"] if run else "")
    return run


def _message(line: socket.socket) -> Message:
    """The server's next message. One that has ended says so."""
    try:
        return dict(json.loads(line.recv(8 * _zygote.SAID) or b'{"gone": true}'))
    except OSError:
        return {"gone": True}


def _failure(message: Message) -> Exception:
    if "failed" in message:
        return hogwild.Failed(f"in {message['who']}:\n{message['failed']}")
    return hogwild.Killed(f"the process that starts the programs has ended: {_zygotes[0].said() or 'it said nothing'}")


def _run(net: nn.Module, settings: Dict[str, Any], on_epoch: Optional[OnEpoch], verbose: bool, shown: _Line) -> Run:
    def epoch(figures: Dict[str, Any]) -> Any:
        shown.epoch(figures)
        return on_epoch(figures) if on_epoch else None

    with Session(verbose, gpu=settings.get("gpu")) as session:
        session.send({"protocol": PROTOCOL, "settings": _texts(settings), "waits": True})
        try:
            run = _follow(session, epoch, settings.get("run"))
        except (KeyboardInterrupt, hogwild.Diverged) as e:
            if hasattr(e, "run"):
                _load(net, e.run)
            raise
    _load(net, run)
    return run


def _load(net: nn.Module, run: Run) -> None:
    """Gives the module the weights of a run."""
    with torch.no_grad():
        for name, tensor in net.state_dict().items():
            if name in run.tensors:
                tensor.copy_(torch.from_numpy(run.tensors[name].copy()).view(tensor.shape))
