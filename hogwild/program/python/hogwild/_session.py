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

from .__main__ import places

Message = Dict[str, Any]

PROTOCOL = 1


def program() -> str:
    """The program hogwild: $HOGWILD_BINARY, the one installed with this package, or the first on PATH."""
    named = os.environ.get("HOGWILD_BINARY")
    for path in [named] if named else [*places(), shutil.which("hogwild") or ""]:
        if path and os.access(path, os.X_OK):
            return path
    raise hogwild.Error(f"no program hogwild at {named}" if named else
                        "no program hogwild: install the wheel, which has it, or name it in HOGWILD_BINARY")


class Session:
    """The program, started for one call. It ends when the socket does: with this process, however that ends."""

    def __init__(self, verbose: bool = False, inherited: Sequence[int] = (), gpu: Any = None) -> None:
        ours, theirs = socket.socketpair()
        self._said = os.memfd_create("hogwild-said", os.MFD_CLOEXEC)
        environment = {**os.environ, "PYTHONPATH": ""} if "HOGWILD_SOCKET" in os.environ else None
        with theirs:
            # In a session of its own Ctrl-C reaches this process alone, which then asks for what was learnt.
            self._process = subprocess.Popen([program(), "arrays", str(theirs.fileno()), *([] if gpu is None else [str(gpu)])],
                                             pass_fds=[theirs.fileno(), *inherited],
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=None if verbose else self._said, start_new_session=True, env=environment)
        self._socket, self._received = ours, b""
        self.files: List[int] = []  # that have come, the caller's to close

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self._socket.close()
        if self._process.poll() is None:  # it gives its memory back, which nobody has to wait for
            threading.Thread(target=self._process.wait, daemon=True).start()
        os.close(self._said)
        for file in self.files:
            os.close(file)

    def kill(self) -> None:
        self._process.kill()

    def send(self, message: Message, files: Sequence[int] = ()) -> None:
        """Sends a message. When the program has ended, receive says why."""
        text = memoryview(json.dumps(message).encode() + b"\n")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        try:
            sent = self._socket.sendmsg([text], rights)
            self._socket.sendall(text[sent:])
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self) -> Message:
        """The next message. One that says failed is raised."""
        while b"\n" not in self._received:
            try:
                data, files, _, _ = socket.recv_fds(self._socket, 1 << 16, 16)
            except ConnectionResetError:
                data, files = b"", []
            if not data:
                raise self._ended()
            self._received += data
            self.files += files
        line, _, self._received = self._received.partition(b"\n")
        message: Message = json.loads(line)
        if "failed" in message:
            kind, why = message["failed"]["kind"], message["failed"]["why"]
            raise {"usage": hogwild.Error, "diverged": hogwild.Diverged}.get(kind, hogwild.Killed)(why)
        return message

    def _ended(self) -> Exception:
        status = self._process.wait()
        said = os.pread(self._said, 1 << 16, max(0, os.fstat(self._said).st_size - (1 << 16))).decode(errors="replace")
        why = f"signal {-status}" if status < 0 else f"status {status}"
        return hogwild.Killed(f"the program hogwild ended with {why}: {said.strip() or 'it said nothing'}")


def mapped(file: int, size: int, write: bool = False) -> mmap.mmap:
    """A file's memory. Sealed files are mapped privately: older kernels refuse shared mappings of them."""
    if write:
        return mmap.mmap(file, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    return mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ)


def parse_tensors(weights: bytes) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """The tensors in a file of safetensors, as views of it, and its metadata."""
    import numpy as np
    length = int.from_bytes(weights[:8], "little")
    head = json.loads(weights[8:8 + length])
    metadata: Optional[Dict[str, str]] = head.pop("__metadata__", None)
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1", "F16": "<f2"}
    tensors = {name: np.frombuffer(weights, types[t["dtype"]], offset=8 + length + t["data_offsets"][0],
                                   count=int(np.prod(t["shape"], dtype=int))).reshape(t["shape"])
               for name, t in head.items()}
    return tensors, metadata or {}
