"""A process that has imported PyTorch, and is forked for each program of a run (docs/designs/python.md).

hogwild.launch starts it once, and says over a socket what to run. For each launch it forks a server, which reads the
function, the module and the data; and for each program that hogwild asks for, the server forks itself. What hogwild starts
is this file, as a client: it gives the server its files, and ends as the program does."""

import json
import os
import select
import signal
import socket
import struct
import sys
from typing import Any, Dict, List, Tuple

SAID = 1 << 15  # characters of a traceback: a message to the notebook is one datagram


def client(address: str) -> None:
    """Has the server at an address run the program, and ends as that does."""
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect("\0" + address)
    except OSError:
        sys.exit("hogwild.launch began this run, and its function is gone: call it again")
    run = int(os.environ["HOGWILD_SOCKET"])
    socket.send_fds(server, [b" "], [run, 1, 2])
    server.sendall(json.dumps(dict(os.environ)).encode() + b"\n")
    os.close(run)
    status = server.recv(4)
    code = struct.unpack("i", status)[0] if len(status) == 4 else -signal.SIGKILL
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


def main(notebook: int) -> None:
    """Forks a server for each launch, as long as the notebook is there."""
    import ctypes  # noqa: F401
    import warnings

    import torch

    import hogwild._job  # noqa: F401  all of these for the forked, too
    torch.set_num_threads(1)  # no threads, which a fork would lose
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)  # of NumPy's, which take care
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    asks = socket.socket(fileno=notebook)
    while True:
        text, files, _, _ = socket.recv_fds(asks, 1, 4)
        if not text:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asks.close()
            os._exit(_Server(*files).serve())
        for file in files:
            os.close(file)


def _say(line: socket.socket, **message: Any) -> None:
    try:
        line.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)
    except OSError:
        pass  # the notebook has ended, or others have failed before


class _Server:
    """One launch. what: the file with the function and what it gets    prints: standard output of the programs
    listener: for clients    line: to the notebook; its end is the launch's"""

    def __init__(self, what: int, prints: int, listener: int, line: int) -> None:
        self._listener, self._line = socket.socket(fileno=listener), socket.socket(fileno=line)
        self._what, self._prints = open(what, "rb"), prints

    def serve(self) -> int:
        import linecache
        import pickle
        import traceback

        import torch
        try:
            with self._what:
                sys.path[:], folder, cells = pickle.load(self._what)
                os.chdir(folder)
                linecache.cache.update(cells)  # for tracebacks
                self._given = pickle.load(self._what)
            if torch.cuda.is_initialized():  # type: ignore[no-untyped-call,unused-ignore]
                raise ValueError("the data are on a GPU: give launch tensors on the CPU, and move batches to job.device")
        except BaseException:
            _say(self._line, failed=traceback.format_exc()[-SAID:], who="the process that starts the programs")
            return 1
        _say(self._line, ready=True)
        ends: Dict[int, Tuple[int, socket.socket]] = {}  # of programs, by pidfd
        while True:
            clients = {peer.fileno(): end for end, (_, peer) in ends.items()}
            ready = select.poll()
            for file in (self._listener.fileno(), self._line.fileno(), *ends, *clients):
                ready.register(file, select.POLLIN)
            for file, _ in ready.poll()[:1]:  # what is ready may change with each
                if file == self._line.fileno():
                    return 0  # the kernel kills the programs
                if file == self._listener.fileno():
                    self._start(ends)
                elif file in ends:
                    pid, peer = ends.pop(file)
                    try:
                        peer.sendall(struct.pack("i", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
                    except OSError:
                        pass
                    peer.close()
                    os.close(file)
                elif clients[file] in ends:  # hogwild has killed the client
                    signal.pidfd_send_signal(clients[file], signal.SIGKILL)
                    select.select([clients[file]], [], [])

    def _start(self, ends: Dict[int, Tuple[int, socket.socket]]) -> None:
        peer = self._listener.accept()[0]
        uid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        _, files, _, _ = socket.recv_fds(peer, 1, 3)
        text = peer.makefile("rb").readline()
        if uid == os.getuid() and len(files) == 3 and text.endswith(b"\n"):
            server, pid = os.getpid(), os.fork()
            if pid == 0:
                os._exit(self._program(server, json.loads(text), files))
            ends[os.pidfd_open(pid)] = pid, peer
        else:
            peer.close()
        for file in files:
            os.close(file)

    def _program(self, server: int, environment: Dict[str, str], files: List[int]) -> int:
        """The program, in a process of its own. Returns its exit status."""
        import ctypes
        import traceback

        import torch

        import hogwild
        from hogwild._job import _seed
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with the server
        if os.getppid() != server:
            return 1
        os.dup2(self._prints, 1)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        os.dup2(files[2], 2)
        os.environ.clear()
        os.environ.update(environment, HOGWILD_SOCKET="")
        hogwild._socket, hogwild.alone, hogwild._forked = str(files[0]), None, True
        torch.set_num_threads(int(environment.get("OMP_NUM_THREADS", 1)))
        _seed(int(environment["HOGWILD_SEED"]))
        function, net, more = self._given
        who = "the evaluator"
        try:
            job = hogwild.join(net, **more)
            who = "the evaluator" if job.evaluator else f"worker {job.rank}"
            function(net, job)
            code = 0
        except SystemExit as e:
            code = e.code if isinstance(e.code, int) else int(e.code is not None)
            if code:
                _say(self._line, failed=f"SystemExit: {e.code}", who=who)
        except BaseException as e:
            code, tb = 1, e.__traceback__
            while tb and tb.tb_frame.f_code.co_filename == __file__:
                tb = tb.tb_next
            text = "".join(traceback.format_exception(type(e), e, tb))
            print(text, file=sys.stderr)
            _say(self._line, failed=text[-SAID:], who=who)
        sys.stdout.flush()
        sys.stderr.flush()
        return code


if __name__ == "__main__":
    client(sys.argv[1])
