"""PyTorch's Hogwild!, as in its example mnist_hogwild: single-threaded processes with one model
in shared memory, each with its own optimizer.

    torch_hogwild.py --data DIR --model softmax|mlp:128|mlp:256,128|convnet --way WAY
                     [--scale HOW] --batch N --lr X [--optimizer NAME] [--schedule NAME] --epochs N --processes N [--cores N]

The ways: loader is the example as it is (DataLoader and transforms; every process passes over
all of the data). plain is what a user writes with the data in a shared tensor (each example
goes to one process). cl is plain with channels last. hand is plain with the backward pass
written out. onednn is hand on oneDNN's linear layers instead of MKL's products. compile is the
compiled model. Inputs are (x - 0.1307) / 0.3081 unless --scale says unit or standard. Prints what
mnist.run prints.
"""

import torch
import torch.nn.functional as F
from torch import nn

import mnist


class ByHand:
    """A step of a net of linear layers and relu: the backward pass written out; updates of plain SGD are
    added straight to the shared weights, others by the fused optimizer."""

    def __init__(self, model, a, onednn):
        self.linears = [m for m in model if isinstance(m, nn.Linear)]
        self.optimizer = None if a.optimizer == "sgd" and not a.momentum else mnist.optimizer(model.parameters(), a)
        for p in model.parameters() if self.optimizer else ():
            p.grad = torch.zeros_like(p)
        self.mm = (lambda x, w: torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")) if onednn else (
            lambda x, w: torch.mm(x, w.t()))
        self.onednn = onednn

    @torch.no_grad()
    def __call__(self, x, y, lr):
        h, inputs = x.flatten(1), []
        for i, l in enumerate(self.linears):
            inputs.append(h)
            last = i + 1 == len(self.linears)
            if self.onednn:
                h = torch.ops.mkldnn._linear_pointwise(h, l.weight, l.bias, "none" if last else "relu", [], "")
            else:
                h = torch.addmm(l.bias, h, l.weight.t())
                h = h if last else h.relu_()
        d = torch.softmax(h, 1)
        d[torch.arange(len(y)), y] -= 1
        d /= len(y)
        for i in reversed(range(len(self.linears))):
            l, x = self.linears[i], inputs[i]
            before = torch.mm(d, l.weight) * (x > 0) if i else None
            if self.optimizer:
                torch.mm(d.t(), x, out=l.weight.grad)
                torch.sum(d, 0, out=l.bias.grad)
            elif self.onednn and len(y) > 1:
                l.weight.sub_(self.mm(d.t().contiguous(), x.t().contiguous()), alpha=lr)
            else:
                l.weight.addmm_(d.t(), x, alpha=-lr)
            if not self.optimizer:
                l.bias.sub_(d.sum(0), alpha=lr)
            d = before
        if self.optimizer:
            advance(self.optimizer, lr)


def advance(optimizer, lr):
    """A step of an optimizer at a rate."""
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()


def stepper(model, forward, a):
    """The function that takes one step on (x, y) at a rate; forward is the model, perhaps compiled."""
    if a.way in ("hand", "onednn"):
        return ByHand(model, a, a.way == "onednn")
    optimizer = mnist.optimizer(model.parameters(), a)

    def step(x, y, lr):
        optimizer.zero_grad()
        F.nll_loss(forward(x), y).backward()
        advance(optimizer, lr)

    return step


def loader(a, raw, y):
    """The example's loader: one image at a time, from torchvision's MNIST."""
    from PIL import Image
    from torchvision import transforms

    change = transforms.Compose([transforms.ToTensor(), transforms.Normalize((mnist.MEAN,), (mnist.STD,))])

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return len(y)

        def __getitem__(self, i):
            return change(Image.fromarray(raw[i].numpy())), int(y[i])

    return torch.utils.data.DataLoader(Images(), batch_size=a.batch, shuffle=True)


def work(rank, a, model, raw, x, y, gate):
    mnist.pin(rank, a)
    torch.set_flush_denormal(True)  # else Adam and momentum end among subnormal numbers, which take long
    model.train()
    forward = torch.compile(model, dynamic=False) if a.way == "compile" else model
    warm = stepper(model, forward, a)
    mnist.warm(a, lambda x, y: warm(x, y, a.lr), x, y)
    step = stepper(model, forward, a)
    steps = -(-(len(y) if a.way == "loader" else -(-len(y) // a.processes)) // a.batch)
    gate.wait()
    for epoch in range(a.epochs):
        todo = loader(a, raw, y) if a.way == "loader" else mnist.batches(a, rank, epoch, x, y)
        gate.wait()
        for n, (bx, by) in enumerate(todo, epoch * steps):
            step(bx, by, mnist.rate(a, n / (a.epochs * steps)))
        gate.wait()
        gate.wait()  # while the model is tested


def channels_last(model, x):
    return model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)


def main():
    a = mnist.flags(__doc__, ["plain", "loader", "cl", "hand", "onednn", "compile"]).parse_args()
    mnist.run(a, work, channels_last if a.way == "cl" else lambda model, x: (model, x), a.processes if a.way == "loader" else 1)


if __name__ == "__main__":
    main()
