"""gpu.py's rivals for images: PyTorch, momentum 0.9, the images on the GPU, a pass captured as one CUDA graph (but
for eager, what a user writes), in bf16 (autocast), tf32 or fp32. A pass shuffles all images on the GPU."""

import copy
import functools

import numpy as np
import torch
import torch.nn.functional as F

import gpu
import gpu_torch
import mnist

SETTINGS = {"softmax": [("batch 256", 0.006, 256), ("batch 64", 0.002, 64), ("batch 1024", 0.02, 1024), ("batch 4096", 0.06, 4096)],
            "mlp:128": [("batch 256", 0.04, 256), ("batch 64", 0.015, 64), ("batch 1024", 0.12, 1024), ("batch 4096", 0.3, 4096)],
            "convnet": [("batch 128", 0.01, 128), ("batch 64", 0.006, 64), ("batch 512", 0.03, 512), ("batch 2048", 0.1, 2048)]}


def unpacked(folder, part, where):
    """The images as bytes, and the labels, of gpu.unpacked's files, on the device."""
    raw, y = (torch.from_numpy(np.fromfile(f"{folder}/{part}-{name}-ubyte", np.uint8)[head:]).to(where) for name, head in (("images-idx3", 16), ("labels-idx1", 8)))
    return raw.view(-1, 28, 28), y.long()


@functools.cache
def images(folder, model, where):
    """Training images, as float32, test images, as float64, and labels. Linear layers get inputs less the mean of each pixel,
    as hogwild's do."""
    raw, y = unpacked(folder, "train", where)
    test, labels = unpacked(folder, "t10k", where)
    mean = mnist.MEAN if model == "convnet" else raw.sum(0, dtype=torch.int64).double() / (255 * len(raw))
    x = ((raw.float() / 255 - torch.as_tensor(mean, dtype=torch.float32, device=where)) / mnist.STD).unsqueeze(1)
    return x, y, mnist.inputs(test, mean, dtype=torch.float64), labels


@torch.no_grad()
def score(model, x, y):
    judge = copy.deepcopy(model).double().eval()
    z = torch.cat([judge(part) for part in x.split(2000)])
    return F.nll_loss(z, y).item(), (z.argmax(1) == y).double().mean().item()


def trainer(where, name, way, data, batch, lr, seed=1):
    """A function that trains a pass, and the network."""
    x, y = data
    torch.set_float32_matmul_precision("high" if "tf32" in way else "highest")
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, "tf32" in way
    torch.manual_seed(seed)
    net = mnist.network(name).to(where).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, fused=where == "cuda")
    order = torch.zeros(len(y) // batch, batch, dtype=torch.long, device=where)
    x = x.bfloat16() if "bf16" in way else x

    def step(at):
        optimizer.zero_grad()
        with torch.autocast(where, torch.bfloat16, enabled="bf16" in way, cache_enabled=False):
            loss = F.nll_loss(net(x[at]), y[at])
        loss.backward()
        optimizer.step()

    def state():
        return [*net.parameters(), *(s["momentum_buffer"] for s in optimizer.state.values())]

    run = gpu_torch.prepared(where, "graph" in way, lambda: [step(at) for at in order], lambda: step(order[0]), state)

    def one_pass():
        order.copy_(torch.randperm(len(y), device=where)[: order.numel()].view_as(order))
        run()

    return one_pass, net


def side(a, job, files, way):
    where = gpu_torch.device(a)
    if not files.train:
        raise gpu.Missing("PyTorch on images", "a quick run has none")
    x, y, tests, labels = images(files.train, job.model, where)

    def run(point, terms):
        one_pass, net = trainer(where, job.model, way, (x, y), *point, terms.seed)
        return gpu.until(job.target, len(y) // point[0] * point[0], one_pass, lambda: score(net, tests, labels), terms)

    return gpu.Side(gpu.points(SETTINGS[job.model]), run, like="PyTorch, graph, fp32")
