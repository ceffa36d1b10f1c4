"""Calls of the package hogwild from a notebook: python3 test_notebook.py NAME EXAMPLE, where NAME is a function of this file."""

import os
import signal
import sys
import time
import uuid

MARK = "HOGWILD_TEST_MARK=" + uuid.uuid4().hex  # in the environment of all that a kernel starts


def marked():
    """The command lines of the processes with the mark that have not ended, by id."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline", "rb") as line:
                if MARK.encode() in environ.read().split(b"\0"):
                    found[int(pid)] = line.read().replace(b"\0", b" ").decode()
        except OSError:
            pass  # it has ended
    return found


def only(*kept, within=30):
    """Waits until no other process with the mark is left."""
    end = time.monotonic() + within
    while left := {pid: line for pid, line in marked().items() if pid not in kept}:
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.1)


class Kernel:
    """A kernel of Jupyter."""

    def __init__(self):
        from jupyter_client.manager import KernelManager
        name, value = MARK.split("=")
        # the interpreter that runs this, whether or not it is installed as a kernel
        self.manager = KernelManager()
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel(env={**os.environ, name: value})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)
        self.pid = self.manager.provisioner.pid

    def run(self, cell, until=None):
        """Runs a cell to its end, or until it prints a text. Returns what it prints, and its error's name and traceback."""
        self.client.execute(cell)
        return self.rest(until)

    def rest(self, until=None):
        printed, error = "", None
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                printed += content["text"]
                if until and until in printed:
                    return printed, None
            elif kind == "error":
                error = content["ename"], "\n".join(content["traceback"])
            elif kind == "status" and content["execution_state"] == "idle":
                return printed, error

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


TRAIN = """
import numpy as np, hogwild
X = np.random.default_rng(1).normal(size=(20000, 20)); y = (X[:, 0] > 0).astype(int)
def train(epochs, on_epoch=None):
    return hogwild.train(X, np.array(["no", "yes"])[y], model="logistic", workers=2, epochs=epochs, on_epoch=on_epoch)
"""

LAUNCH = """
import torch, hogwild
from torch import nn
from torch.utils.data import TensorDataset
x = torch.randn(4000, 20)
net, factor = nn.Linear(20, 1), 1.0
before = net.weight.detach().clone()
def step(net, job):
    print(f"program {job.rank} begins")
    for a, b in job.batches():
        loss = factor * nn.functional.mse_loss(net(a)[:, 0], b)
        net.zero_grad(); loss.backward(); job.step(loss)
def train(epochs, on_epoch=None):
    return hogwild.launch(step, net, TensorDataset(x, x[:, 0]), workers=2, epochs=epochs, on_epoch=on_epoch)
"""

LONG = "_ = train(1000000, on_epoch=lambda e: print('epoch', e['epoch']) if e['epoch'] < 3 else None)"


def interrupted(_):
    """An interrupt ends the run, keeps what was learnt, and leaves the kernel and the process that forks."""
    kernel = Kernel()
    for cells, kept in (TRAIN, "import sys; print(sys.last_value.run.metadata is not None)"), (
            LAUNCH, "print(not torch.equal(net.weight, before))"):
        printed, error = kernel.run(cells)
        assert not error, error
        kernel.run(LONG, until="epoch 2")
        kernel.manager.interrupt_kernel()
        printed, error = kernel.rest()
        assert error and error[0] == "KeyboardInterrupt", (printed, error)
        printed, error = kernel.run(kept)
        assert printed == "True\n", (printed, error)
        forks = [pid for pid, line in marked().items() if "hogwild._zygote" in line]
        only(kernel.pid, *forks[:1])
    printed, error = kernel.run("r = train(2); print(r.result['epochs'], len(r.tensors))")  # it works on
    assert "program 1 begins" in printed and printed.endswith("2 2\n"), (printed, error)
    kernel.close()
    only()


def killed(_):
    """A kernel that is killed leaves no process behind."""
    for cells in TRAIN, LAUNCH:
        kernel = Kernel()
        kernel.run(cells)
        kernel.run(LONG, until="epoch 2")
        os.kill(kernel.pid, signal.SIGKILL)
        only(kernel.pid)
        kernel.close()


def told(_):
    """What a notebook shows: the traceback of a cell's function, with its lines; advice in one line; no escape sequences."""
    kernel = Kernel()
    kernel.run(LAUNCH)
    _, (name, text) = kernel.run("def step(net, job):\n    for batch in job.batches():\n        batch.nothing\ntrain(2)")
    assert name == "Failed" and "    batch.nothing" in text and "AttributeError" in text and "_launch.py" not in text, text
    _, (name, text) = kernel.run("hogwild.join(net, TensorDataset(x, x))")
    assert "call hogwild.launch(fn, net, dataset=...)" in text and "\n" not in text, text
    for without, escapes in ("HOGWILD_BINARY", False), ("HOGWILD_BINARY -u JPY_PARENT_PID", True):  # as on a terminal
        printed, _ = kernel.run(f"!env -u {without} {os.environ['HOGWILD_BINARY']} train --data digits:600 --model softmax "
                                "--workers 2 --epochs 3 --run $(mktemp -d -p .)")
        assert "epoch" in printed and ("\x1b" in printed) == escapes, printed
    kernel.close()
    only()


def restarted(_):
    """A worker that is killed, and one that hangs, is forked again; one that computes for long is left alone."""
    import torch
    from torch import nn

    import hogwild
    x, flag, program = torch.randn(2000, 4), os.getcwd() + "/once-", os.getpid()

    def step(net, job, does):
        for i, (a, b) in enumerate(job.batches()):
            if i == 3 and first(flag + does.__name__):
                does()
            loss = nn.functional.mse_loss(net(a)[:, 0], b)
            net.zero_grad()
            loss.backward()
            job.step(loss)

    def first(path):  # of all processes: on a busy machine one worker may take all batches
        try:
            open(path, "x").close()
        except FileExistsError:
            return False
        return True

    def dies():
        os.kill(os.getpid(), signal.SIGKILL)

    def hangs():
        os.kill(os.getpid(), signal.SIGSTOP)

    def computes():
        end = time.monotonic() + 4
        while time.monotonic() < end:
            pass

    for does, restarts in (dies, 1), (hangs, 1), (computes, 0):
        net = nn.Linear(4, 1)
        run = hogwild.launch(lambda net, job: step(net, job, does), net, torch.utils.data.TensorDataset(x, x[:, 0]),
                             workers=2, epochs=3, lr=0.1, hang_timeout="2s")
        assert run.result["restarts"] == restarts, (does.__name__, run.result["restarts"], run.result.get("events"))
        assert torch.equal(net.weight, torch.from_numpy(run.tensors["weight"].copy())), does.__name__
        assert nn.functional.mse_loss(net(x)[:, 0], x[:, 0]).item() < 0.1, does.__name__
    assert program == os.getpid()


def example(path):
    """The notebook of the examples runs from top to bottom."""
    import nbclient
    import nbformat
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300).execute()
    said = "".join(o.get("text", "") for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stdout")
    accuracies = [float(line.split()[1]) for line in said.splitlines() if line.startswith("accuracy")]
    assert len(accuracies) == 2 and min(accuracies) > 0.7, said  # guessing has 0.1


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
