"""Tests of the package hogwild alone: each forks a program, and plays hogwild's side of the protocol over a socket pair.

python3 test_hogwild.py
"""

import array
import contextlib
import io
import json
import os
import socket
import struct
import sys
import traceback
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import hogwild

torch.set_num_threads(1)


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
        return self.ask({"train": {"epoch": 1, "rows": rows, "lr": lr, "progress": [0.5, 0.125]}})

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


class Stepping(unittest.TestCase):
    def test_steps_losses_and_clocks(self):
        def program():
            net = line()
            loop(hogwild.join(net, dataset=dataset()), net)

        run = Run(program)
        self.assertEqual(run.welcome(), {"ready": True, "evaluates": False, "ends": False})
        self.assertEqual(run.hello["rows"], 10)
        self.assertEqual(run.hello["tensors"], [{"name": "weight", "shape": [1, 1], "kind": "parameter"}])
        self.assertEqual(run.floats(), [0.5])
        answer = run.train([1, 3, 2], [0.01, 0.1])["trained"]
        w, total = 0.5, 0.0
        for rows, lr in (([1, 3], 0.01), ([2], 0.1)):
            errors = [w * i - 2 * i for i in rows]
            total += sum(e * e for e in errors)
            w -= lr * sum(2 * e * i for e, i in zip(errors, rows)) / len(rows)
        self.assertAlmostEqual(run.floats()[0], w, places=6)
        self.assertAlmostEqual(answer["loss"], total, places=5)
        self.assertEqual((answer["examples"], answer["steps"]), (3, 2))
        self.assertEqual(struct.unpack("Q", os.pread(run.file, 8, 8 + 64)), (2,))  # the clock of rank 1
        run.train(list(range(10)) * 20, [0.0] * 100)
        sampled = run.train(list(range(10)) * 200, [0.0] * 1000)["trained"]["staleness"]
        self.assertTrue(20 < len(sampled) < 150 and not any(sampled), sampled)  # nobody else steps
        self.assertEqual(run.leave(), (0, ""))

    def test_gradients_leave_the_weights_and_send_buffers(self):
        def program():
            net = nn.Sequential(nn.BatchNorm1d(1), line())
            loop(hogwild.join(net, dataset=dataset()), net)

        run = Run(program)
        run.welcome(mode="gradients", l2=0.5)
        names = [t["name"] for t in run.hello["tensors"]]
        kinds = [t["kind"] for t in run.hello["tensors"]]
        self.assertEqual(kinds, ["parameter", "parameter", "buffer", "buffer", "integer", "parameter"])
        before = run.floats()
        self.assertEqual(before, [1, 0, 0, 1, 0, 0.5])
        run.train([1, 3], [0.1])
        self.assertEqual(run.floats(), before)
        slot = dict(zip(names, run.floats(run.count)))
        self.assertAlmostEqual(slot["0.running_mean"], 0.2, places=6)  # 0.1 * (1 + 3) / 2
        self.assertAlmostEqual(slot["0.running_var"], 0.9 + 0.1 * 2, places=6)
        self.assertEqual(slot["0.num_batches_tracked"], 1)
        # x is normalized to -1, 1: the gradient of 1/2 sum (w z - y)^2 is w sum z^2 - sum z y = 1 - 4, and l2 w.
        self.assertAlmostEqual(slot["1.weight"], 1 - 4 + 0.25, places=4)
        run.leave()

    def test_the_optimizer_may_be_made_before_or_after(self):
        for after in (False, True):
            def program():
                net = line()
                optimizer = None if after else torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
                job = hogwild.join(net, dataset=dataset())
                optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
                for x, y in job.batches():
                    optimizer.zero_grad()
                    loss = F.mse_loss(net(x), y)
                    loss.backward()
                    optimizer.step()
                    job.done(loss)

            run = Run(program)
            run.welcome()
            run.train([1, 1, 1, 1], [0.0, 0.0])
            w, v = 0.5, 0.0
            for _ in range(2):
                v = 0.9 * v + 2 * (w - 2)
                w -= 0.1 * v
            self.assertAlmostEqual(run.floats()[0], w, places=5)
            run.leave()

    def test_a_loss_that_is_not_finite_is_not_written(self):
        def program():
            net = line()
            loop(hogwild.join(net, dataset=dataset()), net, lambda p, y: (p - y).mean() / (y.sum() - 12))

        run = Run(program)
        run.welcome()
        self.assertEqual(run.train([1, 2, 3, 3], [0.0, 0.1]), {"not_finite": {"step": 2, "loss": "-inf"}})
        self.assertEqual(run.floats(), [0.5])
        self.assertEqual(run.leave(), (0, ""))

    def test_the_end_of_hogwild_is_the_programs(self):
        def program():
            net = line()
            loop(hogwild.join(net, dataset=dataset()), net)

        run = Run(program)
        run.welcome()
        self.assertEqual(run.end(), (1, ""))


class Modules(unittest.TestCase):
    def test_kinds_ties_and_layouts(self):
        def program():
            net = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2), "conv": nn.Conv2d(2, 2, 2, bias=False)})
            net["b"].weight = net["a"].weight
            net["b"].bias.requires_grad_(False)
            nn.utils.parametrizations.weight_norm(net["conv"])
            net.register_buffer("table", torch.tensor([5, 7]))
            net.register_buffer("own", torch.zeros(3), persistent=False)
            net = net.to(memory_format=torch.channels_last)
            with torch.no_grad():
                net["conv"].parametrizations.weight.original1.copy_(torch.arange(16.0).view(2, 2, 2, 2))
            job = hogwild.join(net, dataset=dataset())
            for x, y in job.batches():
                net.table += 1
                loss = net["b"](net["a"](torch.ones(1, 2))).sum() + net["conv"](torch.ones(1, 2, 2, 2)).sum()
                net.zero_grad()
                loss.backward()
                job.step(loss)

        run = Run(program)
        run.welcome()
        self.assertEqual(run.hello["same"], {"b.weight": "a.weight"})
        kinds = {t["name"]: t["kind"] for t in run.hello["tensors"]}
        self.assertEqual(kinds, {"table": "integer", "a.weight": "parameter", "a.bias": "parameter", "b.bias": "frozen",
                                 "conv.parametrizations.weight.original0": "parameter",
                                 "conv.parametrizations.weight.original1": "parameter"})
        self.assertEqual(run.floats(0, 2), [5, 7])
        self.assertEqual(run.floats(run.count - 16, 16), list(range(16)))
        run.train([1, 1, 1], [0.0, 0.0])
        self.assertEqual(run.floats(0, 2), [7, 9])
        run.leave()

    def test_a_buffer_that_the_module_replaces(self):
        class Mean(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(1))
                self.register_buffer("mean", torch.zeros(1))

            def forward(self, x):
                self.mean = self.mean + x.mean()
                return x * self.weight

        def program():
            net = Mean()
            loop(hogwild.join(net, dataset=dataset()), net)

        run = Run(program)
        run.welcome()
        run.train([1, 2, 3], [0.0, 0.0])
        self.assertEqual(run.floats(), [1, 4.5])
        run.leave()


class Scoring(unittest.TestCase):
    def test_means_become_sums_and_modes_are_restored(self):
        def program():
            net = nn.Sequential(line(), nn.Dropout(), nn.Sequential(nn.Dropout().eval()))
            job = hogwild.join(net, dataset=dataset(), test=dataset()[:3])

            @job.evaluate
            def score(x, y):
                assert not any(m.training for m in net.modules()) and not torch.is_grad_enabled()
                return F.mse_loss(net(x), y), {"error": (net(x) - y).mean(), "bad": float("nan")}

            @job.epoch_ended
            def ended(epoch):
                assert (job.rank, job.evaluator, job.epoch) == (-1, True, 4) and not torch.is_grad_enabled() and not net.training
                sizes = [len(y) for x, y in job.test_batches()]
                return {"sum": sum(float((net(x) - y).sum()) for x, y in job.test_batches()), "rows": sum(sizes), "off": float("inf")}

            assert list(job.batches()) == []
            assert [m.training for m in net.modules()] == [True, True, True, True, False]

        run = Run(program)
        self.assertEqual(run.welcome(role="evaluator", rank=-1), {"ready": True, "evaluates": True, "ends": True})
        self.assertEqual(run.hello["test_rows"], 3)
        os.pwrite(run.file, struct.pack("f", 1.0), 0)
        scored = run.ask({"score": {"set": "test", "from": 1, "to": 3}})["scored"]
        self.assertEqual(scored, {"examples": 2, "loss": 5.0, "metrics": {"error": -3.0, "bad": "nan"}})
        ended = run.ask({"end": {"epoch": 4, "set": "test", "rows": 3}})["ended"]
        self.assertEqual(ended, {"metrics": {"sum": -3.0, "rows": 3.0, "off": "inf"}})  # -(0 + 1 + 2)
        self.assertEqual(run.leave(), (0, ""))

    def test_metrics_and_progress_of_training(self):
        def program():
            net = line()
            job = hogwild.join(net, dataset=dataset())
            for i, (x, y) in enumerate(job.batches()):
                loss = F.mse_loss(net(x), y)
                loss.backward()
                net.zero_grad()
                rate = job.lr if i > 1 else 0
                job.done(loss, first=x[0], progress=job.progress, **({"late": rate} if i % 2 else {}))
            assert job.steps == 7

        run = Run(program)
        run.welcome(steps=7)
        first = run.train([5, 6, 7], [0.1, 0.2])["trained"]
        self.assertEqual(first["metrics"], {"first": [5 * 2 + 7, 3], "progress": [0.5 * 2 + 0.625, 3], "late": [0.0, 1]})
        self.assertTrue(first["own_rate"])
        self.assertFalse(run.train([5, 6, 7], [0.1, 0.2])["trained"]["own_rate"])  # it follows job.lr
        self.assertEqual(run.leave(), (0, ""))


class Alone(unittest.TestCase):
    def test_as_a_loop_by_hand(self):
        self.assertEqual(set(hogwild.alone), {"epochs", "batch", "lr", "seed"})
        hogwild.alone.update(epochs=2, batch=4, lr=0.01)
        net, again, said, epochs = line(), line(), io.StringIO(), []
        with contextlib.redirect_stderr(said):
            job = hogwild.join(net, dataset=dataset(), test=dataset()[:3])
            job.evaluate(lambda x, y: F.mse_loss(net(x), y))
            job.epoch_ended(lambda epoch: epochs.append((epoch, job.rank, job.workers, job.progress, net.training)))
            loop(job, net)
        optimizer = torch.optim.SGD(again.parameters(), lr=0.01)
        for _ in range(2):
            for x, y in torch.utils.data.DataLoader(dataset(), batch_size=4):
                optimizer.zero_grad()
                F.mse_loss(again(x), y).backward()
                optimizer.step()
        self.assertTrue(torch.allclose(net.weight, again.weight, rtol=1e-6), (net.weight, again.weight))
        self.assertEqual(job.steps, 6)
        self.assertEqual([e[:3] + e[4:] for e in epochs], [(1, 0, 1, False), (2, 0, 1, False)])
        self.assertAlmostEqual(epochs[1][3], 5 / 6)
        lines = said.getvalue().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("runs alone, without hogwild train: 2 x 10 examples in order, batch 4, lr 0.01; nothing is saved", lines[0])
        tested = sum((float(again(x) - y)) ** 2 for x, y in dataset()[:3]) / 3
        self.assertTrue(lines[2].startswith("hogwild: epoch 2  train loss ") and lines[2].endswith(f"test loss {tested:.4f}"), lines[2])

    def test_twice_and_with_a_loss_that_is_not_finite(self):
        with contextlib.redirect_stderr(io.StringIO()):
            for _ in range(2):  # as the cell of a notebook
                net = line()
                loop(hogwild.join(net, dataset=dataset()), net)
            with self.assertRaisesRegex(hogwild.Error, "the loss became nan at step 1"):
                loop(hogwild.join(net, dataset=dataset()), net, lambda p, y: (p - y).mean() * float("nan"))


class Data(unittest.TestCase):
    def batch(self, kind, arrays, rows, **more):
        """The batch of rows of a set, as the program prints it."""
        def program():
            net = line()
            for x, y in hogwild.join(net).batches():
                x = [(t.tolist(), str(t.dtype)) for t in (x if isinstance(x, tuple) else [x])]
                raise ValueError(json.dumps([x, y.tolist(), str(y.dtype)]))

        held, places = b"", {}
        for name, (code, values) in arrays.items():
            held += bytes(-len(held) % 64)
            places[name] = {"offset": len(held)}
            held += array.array(code, values).tobytes()
        what = {"file": 1, "kind": kind, "rows": 3, "features": 4, "arrays": places, **more}
        run = Run(program)
        run.welcome(data={"train": what}, arrays=held)
        self.assertIsNone(run.train(rows, [0.1]))
        return json.loads(run.end()[1].removeprefix("ValueError: "))

    def test_bytes_are_scaled_images(self):
        x, y, dtype = self.batch("bytes", {"x8": ("B", range(12)), "y": ("f", [0, 1, 2])}, [2, 0],
                                 shape=[2, 2], classes=3, mul=[0.5], add=[1, 2, 3, 4])
        self.assertEqual(x, [[[[[[5, 6.5], [8, 9.5]]], [[[1, 2.5], [4, 5.5]]]], "torch.float32"]])
        self.assertEqual((y, dtype), ([2, 0], "torch.int64"))

    def test_floats_and_values(self):
        x, y, dtype = self.batch("floats", {"x": ("f", range(12)), "y": ("f", [0.5, 1, 2])}, [1, 0])
        self.assertEqual(x, [[[[4, 5, 6, 7], [0, 1, 2, 3]], "torch.float32"]])
        self.assertEqual((y, dtype), ([1, 0.5], "torch.float32"))

    def test_sparse_rows_are_bags(self):
        x, _, _ = self.batch("sparse", {"ptr": ("q", [0, 2, 2, 5]), "idx": ("I", [0, 3, 1, 2, 3]),
                                        "val": ("f", [1, 2, 3, 4, 5]), "y": ("f", [0, 1, 0])}, [2, 1])
        self.assertEqual(x, [[[1, 2, 3], "torch.int64"], [[3, 4, 5], "torch.float32"], [[0, 3], "torch.int64"]])

    def test_pairs_of_a_matrix_count_from_zero(self):
        x, _, _ = self.batch("pairs", {"idx": ("I", [0, 2, 1, 3, 1, 2]), "y": ("f", [1, 2, 3])}, [1, 2], shape=[2, 2])
        self.assertEqual(x, [[[[1, 1], [1, 0]], "torch.int64"]])


if __name__ == "__main__":
    unittest.main()
