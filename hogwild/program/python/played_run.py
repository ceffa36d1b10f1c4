"""A run as hogwild.py sees it, for its tests: hogwild's side of the protocol, played over a socket pair."""

import json
import os
import socket
import struct
import traceback

import torch
import torch.nn.functional as F
from torch import nn

import hogwild


class Run:
    """hogwild's side. The program is a function, which a child process executes."""

    def __init__(self, program):
        self.socket, theirs = socket.socketpair()
        self.said = os.memfd_create("said")
        self.pid = os.fork()
        if self.pid == 0:
            self.socket.close()
            os.dup2(self.said, 2)
            hogwild._socket = str(theirs.detach())
            status = 1
            try:
                program()
                status = 0
            except SystemExit as end:
                status = end.code
            except Exception:
                traceback.print_exc()
            os._exit(status)
        theirs.close()
        self.lines = self.socket.makefile("rb")

    def receive(self):
        line = self.lines.readline()
        return json.loads(line) if line else None

    def ask(self, message, files=()):
        text = json.dumps(message).encode() + b"\n"
        socket.send_fds(self.socket, [text], list(files)) if files else self.socket.sendall(text)
        return self.receive()

    def welcome(self, data=(), arrays=b"", **more):
        """Reads hello, makes the weights, and welcomes the program as worker 1 of 2. Returns its answer."""
        self.hello = self.receive()
        if self.hello is None:
            return None
        self.count = sum(torch.Size(t["shape"]).numel() for t in self.hello["tensors"])
        self.file, held = os.memfd_create("weights"), os.memfd_create("data")
        os.write(self.file, bytes(8 * self.count + 256))
        os.write(held, arrays)
        message = {"welcome": 1, "role": "worker", "rank": 1, "workers": 2, "seed": 1, "batch": 2, "mode": "async", "l2": 0.0,
                   "weights": {"file": 0, "offset": 0}, "gradients": {"file": 0, "offset": 4 * self.count},
                   "clocks": {"file": 0, "offset": 8 * self.count, "count": 2, "stride": 64}, "init": True, "data": dict(data)}
        return self.ask({**message, **more}, [self.file, held])

    def floats(self, first=0, count=None):
        count = self.count if count is None else count
        return list(struct.unpack(f"{count}f", os.pread(self.file, 4 * count, 4 * first)))

    def train(self, rows, lr):
        return self.ask({"train": {"epoch": 1, "rows": rows, "lr": lr}})

    def end(self):
        """The status with which the program ends, and the last line of what it printed."""
        self.lines.close()
        self.socket.close()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        lines = os.pread(self.said, 1 << 16, 0).decode().strip().splitlines()
        return status, lines[-1] if lines else ""

    def leave(self):
        assert self.ask({"leave": True}) is None
        return self.end()


def dataset():
    return [(torch.tensor([float(i)]), torch.tensor([2.0 * i])) for i in range(10)]


def line(weight=0.5):
    net = nn.Linear(1, 1, bias=False)
    nn.init.constant_(net.weight, weight)
    return net


def loop(job, net, loss=F.mse_loss):
    for x, y in job.batches():
        value = loss(net(x), y)
        net.zero_grad(set_to_none=True)
        value.backward()
        job.step(value)
