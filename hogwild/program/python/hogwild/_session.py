"""One call of the program: messages over a socket, and memory that both sides map (docs/designs/python.md)."""

from __future__ import annotations

import array
import json
import mmap
import os
import shutil
import socket
import subprocess
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import hogwild
from hogwild import _check

from .__main__ import places

Message = Dict[str, Any]

PROTOCOL = 1

# Up to so many cores rows are written to a file, not copied to its memory: pages that are missed there are cleared first.
# Linux lets one thread at a time write to a file.
WRITERS = 4


def program() -> str:
    """The program hogwild: $HOGWILD_BINARY, the one installed with this package, or the first on PATH."""
    named = os.environ.get("HOGWILD_BINARY")
    for path in [named] if named else [*places(), shutil.which("hogwild") or ""]:
        if path and os.access(path, os.X_OK):
            return path
    raise hogwild.Error(f"no program hogwild at {named}" if named else
                        "no program hogwild: install the wheel, which has it, or name it in HOGWILD_BINARY")


def command(*arguments: str, files: Sequence[File] = (), names: Optional[Dict[str, str]] = None) -> str:
    """Runs a command of the program, which inherits files, and returns what it prints. Its errors have names for paths."""
    done = subprocess.run([program(), *arguments], pass_fds=[file.fileno() for file in files], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    why = done.stderr.strip().replace("hogwild: ", "", 1)
    for path, name in (names or {}).items():
        why = why.replace(path, name)
    _check(not done.returncode, why)
    return done.stdout


def need(module: str, extra: str) -> Any:
    """A module that pip install hogwild[extra] brings."""
    from importlib import import_module
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ImportError(f"this needs {module}, which is not installed: pip install 'hogwild[{extra}]'") from None


class File:
    """A file in memory, which the program reads by its path if it inherits it. Errors about it have the name of what it is."""

    def __init__(self, contents: bytes = b"", name: str = "") -> None:
        self._file, self._name = os.memfd_create("hogwild-file", os.MFD_CLOEXEC), name
        self.path = f"/proc/self/fd/{self._file}"
        with open(self.path, "wb") as out:  # which leaves the file at its start
            out.write(contents)

    def fileno(self) -> int:
        return self._file

    def writer(self) -> Any:
        return open(self.path, "w", 1 << 20, encoding="utf-8", newline="")

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        os.close(self._file)
        if isinstance(error, hogwild.Error) and self._name and self.path in str(error):
            why = str(error).replace("data: " + self.path, self.path).replace(self.path, self._name)
            raise type(error)(why) from None


class Wire:
    """Messages, one JSON object a line, and the files that come with them."""

    def __init__(self, end: socket.socket) -> None:
        self.socket, self._received = end, b""
        self.files: List[int] = []

    def send(self, message: str, files: Sequence[int] = ()) -> None:
        """Sends a message. If the other end is closed, receive finds out."""
        text = memoryview(message.encode() + b"\n")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        try:
            sent = self.socket.sendmsg([text], rights)
            self.socket.sendall(text[sent:])
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self) -> Optional[Message]:
        """The next message; None where the other end is closed."""
        while b"\n" not in self._received:
            try:
                data, files, _, _ = socket.recv_fds(self.socket, 1 << 20, 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._received += data
            self.files += files
        line, _, self._received = self._received.partition(b"\n")
        return dict(json.loads(line))


class Session:
    """The program, started for one call. It ends when the socket does: with this process, however that ends."""

    def __init__(self, verbose: bool = False, inherited: Sequence[File] = (), gpu: Any = None) -> None:
        ours, theirs = socket.socketpair()
        self._wire, self._said = Wire(ours), os.memfd_create("hogwild-said", os.MFD_CLOEXEC)
        environment = {**os.environ, "PYTHONPATH": ""} if "HOGWILD_SOCKET" in os.environ else None
        with theirs:
            # In a session of its own Ctrl-C reaches this process alone, which then asks for what was learnt.
            self._process = subprocess.Popen([program(), "arrays", str(theirs.fileno()), *([] if gpu is None else [str(gpu)])],
                                             pass_fds=[theirs.fileno(), *(file.fileno() for file in inherited)],
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=None if verbose else self._said, start_new_session=True, env=environment)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self._wire.socket.close()
        if self._process.poll() is None:  # it gives its memory back, which nobody has to wait for
            threading.Thread(target=self._process.wait, daemon=True).start()
        for file in (self._said, *self._wire.files):
            os.close(file)

    def kill(self) -> None:
        self._process.kill()

    def ask(self, message: Message, files: Sequence[File] = ()) -> None:
        """Sends the first message. Rows in it are copied into the rooms that the program makes; a Dataset comes along."""
        rooms: List[Any] = []
        along = [file.fileno() for file in files]

        def placed(rows: Any) -> Message:
            if hasattr(rows, "fileno"):
                along.append(rows.fileno())
                return {"sealed": len(along) - 1}
            rooms.append(rows)
            return dict(rows.message())

        self._wire.send(json.dumps({"protocol": PROTOCOL, **message}, default=placed), along)
        if rooms:
            self._fill(rooms)

    def _fill(self, rooms: Sequence[Any]) -> None:
        for rows in rooms:
            getattr(rows, "order", None)  # is drawn while the program starts
        for rows, room in zip(rooms, self.receive()["rooms"]):
            file = self._wire.files[0]
            if len(os.sched_getaffinity(0)) <= WRITERS:
                rows.fill(file, room["arrays"])
            else:
                with mapped(file, room["size"], write=True) as memory:
                    rows.fill(memory, room["arrays"])
            os.close(self._wire.files.pop(0))  # the program seals it, which it cannot do to what is mapped here
        self.send({"filled": True})

    def send(self, message: Message) -> None:
        """Sends a message. When the program has ended, receive says why."""
        self._wire.send(json.dumps(message))

    def receive(self) -> Message:
        """The next message. One that says failed is raised."""
        message = self._wire.receive()
        if message is None:
            status = self._process.wait()
            why = f"signal {-status}" if status < 0 else f"status {status}"
            raise hogwild.Killed(f"the program hogwild ended with {why}: {end_of(self._said)}")
        if "failed" in message:
            kind, why = message["failed"]["kind"], message["failed"]["why"]
            raise {"usage": hogwild.Error, "diverged": hogwild.Diverged}.get(kind, hogwild.Killed)(why)
        return message

    def file(self) -> int:
        """The file that has come, which is the caller's."""
        return self._wire.files.pop()

    def contents(self, size: int) -> bytes:
        """The bytes of the file that has come."""
        file = self.file()
        try:
            return os.pread(file, size, 0) if size < 1 << 30 else bytes(mapped(file, size)[:size])
        finally:
            os.close(file)


def end_of(file: int) -> str:
    """What was written to a file last."""
    said = os.pread(file, 1 << 16, max(0, os.fstat(file).st_size - (1 << 16))).decode(errors="replace").strip()
    return said or "it said nothing"


def mapped(file: int, size: int, write: bool = False) -> mmap.mmap:
    """A file's memory. Sealed files are mapped privately: older kernels refuse shared mappings of them."""
    if write:
        return mmap.mmap(file, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    return mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ)


def parse_tensors(weights: bytes) -> Tuple[Dict[str, Any], Dict[str, str], bytes]:
    """The tensors in a file of safetensors, as views of it, its metadata, and what lies behind."""
    import numpy as np
    length = int.from_bytes(weights[:8], "little")
    head = json.loads(weights[8:8 + length])
    metadata: Dict[str, str] = head.pop("__metadata__", None) or {}
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1", "F16": "<f2"}
    tensors = {name: np.frombuffer(weights, types[t["dtype"]], offset=8 + length + t["data_offsets"][0],
                                   count=int(np.prod(t["shape"], dtype=int))).reshape(t["shape"])
               for name, t in head.items()}
    return tensors, metadata, weights[8 + length + max((t["data_offsets"][1] for t in head.values()), default=0):]
