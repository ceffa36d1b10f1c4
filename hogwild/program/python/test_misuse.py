"""Each misuse of the package hogwild has one error that says what to change: see test_hogwild.py.

python3 test_misuse.py
"""

import unittest

import torch
import torch.nn.functional as F
from torch import nn

import hogwild
from test_hogwild import Run, dataset, line


def evaluated(returned):
    def program():
        job = hogwild.join(line(), dataset=dataset())
        job.evaluate(lambda x, y: returned)
        list(job.batches())
    return program


def stepped(body, net=line):
    """A program with a body of the loop."""
    def program():
        module = net()
        job = hogwild.join(module, dataset=dataset())
        for x, y in job.batches():
            body(job, module, F.mse_loss(module(x), y))
    return program


def joined(make, **more):
    return lambda: hogwild.join(make(), **more)


def with_buffer(values):
    net = line()
    net.register_buffer("table", values)
    return net


def overlapping():
    net = nn.ModuleList([line(), line()])
    net[1].weight = nn.Parameter(net[0].weight.data)
    return net


def by_hand():
    hogwild._socket = None
    hogwild.join(line())


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [line(), line()]


def twice(call):
    def program():
        job = hogwild.join(line(), dataset=dataset())
        call(job)
        call(job)
    return program


def good(job, net, loss):
    loss.backward()
    job.step(loss)


MISUSE = {
    "without data, by hand": (by_hand, "alone a script has no --data: give hogwild.join(net, dataset=...) some examples"),
    "no tensors": (joined(Layers), "the module has no tensors: layers in a Python list or dict are no part of it; use nn.ModuleList"),
    "join twice": (twice(lambda job: hogwild.join(line())), "hogwild.join was called twice"),
    "no module": (joined(lambda: torch.relu), "hogwild.join takes an nn.Module, not builtin_function_or_method"),
    "double": (joined(lambda: line().double()), "weight is torch.float64"),
    "complex": (joined(lambda: with_buffer(torch.zeros(1, dtype=torch.complex64))), "table is torch.complex64"),
    "large integers": (joined(lambda: with_buffer(torch.tensor([1 << 24, (1 << 24) + 1]))), "table has integers above 2^24"),
    "lazy": (joined(lambda: nn.LazyLinear(1)), "weight has no shape yet"),
    "overlapping": (joined(overlapping), "0.weight and 1.weight overlap in memory"),
    "iterable": (joined(line, dataset=iter(())), "a dataset needs __len__ and __getitem__"),
    "batches twice": (twice(lambda job: list(job.batches())), "job.batches() was called twice"),
    "evaluate twice": (twice(lambda job: job.evaluate(print)), "@job.evaluate marks one function"),
    "evaluate late": (stepped(lambda job, net, loss: job.evaluate(print)), "@job.evaluate marks one function"),
    "no step": (stepped(lambda job, net, loss: None), "a batch had no step"),
    "two steps": (stepped(lambda job, net, loss: (good(job, net, loss), job.step(loss))), "this is one more"),
    "no gradients": (stepped(lambda job, net, loss: job.step(loss)), "call loss.backward() before job.step(loss)"),
    "no scalar": (stepped(lambda job, net, loss: job.step(loss.expand(2))), "the loss must be one number, the batch's mean, not Tensor [2]"),
    "no loss": (stepped(lambda job, net, loss: job.step(None)), "the loss must be one number, the batch's mean, not NoneType"),
    "done in gradients": (stepped(lambda job, net, loss: job.done(loss)), "with --average gradients the run takes the steps"),
    "moved": (stepped(lambda job, net, loss: (good(job, net, loss), setattr(net.weight, "data", net.weight.data.clone()))), "weight has left the run's weights"),
    "replaced": (stepped(lambda job, net, loss: (good(job, net, loss), setattr(net, "weight", nn.Parameter(torch.ones(1, 1))))),
                 "weight has left the run's weights"),
    "evaluate returns three": (evaluated((1.0, 2.0, 3.0)), "loss of @job.evaluate must be one number, the batch's mean, not tuple"),
    "evaluate returns two losses": (evaluated((1.0, 2.0)), "the function of @job.evaluate returns loss, or (loss, {"),
    "evaluate returns a loss twice": (evaluated((1.0, {"loss": 42.0})), '@job.evaluate: no metric can be called "loss"'),
    "test_batches": (stepped(lambda job, net, loss: job.test_batches()), "job.test_batches() is for the function of @job.epoch_ended"),
    "a metric that is none": (stepped(lambda job, net, loss: job.done(loss, D=[1, 2])), "D must be one number, the batch's mean, not list"),
    "epoch_ended late": (stepped(lambda job, net, loss: job.epoch_ended(print)), "@job.epoch_ended marks one function"),
    "evaluate returns a vector": (evaluated(torch.ones(2)), "loss of @job.evaluate must be one number, the batch's mean, not Tensor [2]"),
}


class Misuse(unittest.TestCase):
    def test_each_has_one_error(self):
        for name, (program, says) in MISUSE.items():
            with self.subTest(name):
                run = Run(program)
                if run.welcome(mode="gradients" if name == "done in gradients" else "async"):
                    if "evaluate returns" in name:
                        run.ask({"score": {"set": "train", "from": 0, "to": 2}})
                    elif name == "batches twice":
                        run.ask({"leave": True})
                    else:
                        run.train([1, 2, 3], [0.1, 0.1])
                status, last = run.end()
                self.assertEqual(status, 1)
                self.assertTrue(last.startswith("hogwild.Error: ") and says in last, last)


if __name__ == "__main__":
    unittest.main()
