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
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import nn

import hogwild
from hogwild import _check

from . import _zygote
from ._progress import Line
from ._session import File, Message, Session, end_of, need
from ._train import OnEpoch, Run, follow, texts


class _Zygote:
    """The process that is forked for each program of a run. It has imported PyTorch, and serves all launches."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self.said = os.memfd_create("hogwild-zygote", os.MFD_CLOEXEC)
        # A session of its own: Ctrl-C is for this process. The socket's end ends it.
        start = f"import sys; sys.path[:] = {sys.path!r}; from hogwild._zygote import main; main({theirs.fileno()})"
        with theirs:
            self._process = subprocess.Popen([sys.executable, "-c", start], pass_fds=[theirs.fileno()], start_new_session=True,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said,
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


_zygotes: List[_Zygote] = []


def _pickle(fn: Callable[..., Any], net: nn.Module, more: Dict[str, Any], to: File) -> None:
    """Writes all that a server needs, by value where it is from a notebook."""
    cloudpickle = need("cloudpickle", "notebook")
    if any(t.device.type != "cpu" for t in net.state_dict().values() if isinstance(t, torch.Tensor)):
        net = copy.deepcopy(net).cpu()  # a GPU's memory cannot be forked; join moves it to job.device
    cells = {name: entry for name, entry in linecache.cache.items() if len(entry) > 1 and entry[1] is None}
    try:
        with open(to.path, "wb") as out:
            pickle.dump((sys.path, os.getcwd(), cells), out)
            cloudpickle.dump((fn, net, more), out)
    except Exception as e:
        raise hogwild.Error(f"fn, net and the data are given to other processes, which pickle cannot do: {e}") from e


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
    _check(dataset is not None or "data" in settings, "launch needs examples: dataset=..., or files, as data='mnist/'")
    net = getattr(net, "_orig_mod", net)  # of torch.compile
    if not _zygotes or not _zygotes[0].serves():
        _zygotes[:] = [_Zygote()]  # imports PyTorch meanwhile
    with File() as what:
        _pickle(fn, net, more, what)
        printed, prints = os.pipe()
        try:
            line, address = _zygotes[0].launch(what.fileno(), prints)
        finally:
            os.close(prints)
    shown = Line(text="starting")

    def show() -> None:
        with open(printed, errors="replace") as pipe:
            for text in pipe:
                shown.above(text)

    def take(run: Run) -> None:
        with torch.no_grad():
            for name, tensor in net.state_dict().items():
                if name in run.tensors:
                    tensor.copy_(torch.from_numpy(run.tensors[name].copy()).view(tensor.shape))

    reader = threading.Thread(target=show, daemon=True)
    reader.start()
    with line:
        message = _message(line)
        if "ready" not in message:
            shown.end()
            raise _failure(message)
        program = shlex.join([sys.executable, "-I", "-S", "-B", _zygote.__file__, address])
        run: Optional[Run] = None
        failed: Optional[Exception] = None
        try:
            with Session(verbose, gpu=settings.get("gpu")) as session:
                session.ask({"settings": texts({**settings, "program": program, "workers": workers}),
                             "waits": on_epoch is not None})
                run = follow(session, on_epoch, settings.get("run"), shown, take=take)
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
    return hogwild.Killed(f"the process that starts the programs has ended: {end_of(_zygotes[0].said)}")
