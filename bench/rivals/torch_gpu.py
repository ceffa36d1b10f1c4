"""PyTorch on a GPU, as a rival: the data on the device, one process, plain SGD.

    torch_gpu.py --data DIR --model softmax|mlp:128|convnet [--way eager|graph] [--gpu N]
                 [--batch N] [--lr X] [--epochs N | --seconds S] [--target ACCURACY]

eager is what a user writes; graph captures a step as a CUDA graph and replays it, at almost no
cost to the host; without --way, both, one after the other. Inputs are x / 255 / 0.3081. It trains
for N epochs, for about S seconds, or until the test accuracy is reached, and tests after each
pass. Prints one line of JSON per way: examples per second and seconds of training alone, and
the final test result.
"""

import argparse
import json
import math
import sys
import time

import torch
import torch.nn.functional as F

import mnist

# Batches and rates with which a plain run learns well; hogwild has as many samples in flight.
DEFAULTS = {"softmax": (512, 0.1), "mlp:128": (64, 0.1), "convnet": (64, 0.02)}


def restoring(model, steps):
    """Runs steps, then restores the weights."""
    saved = [p.detach().clone() for p in model.parameters()]
    steps()
    with torch.no_grad():
        for p, s in zip(model.parameters(), saved):
            p.copy_(s)


def stepper(model, lr, x, y, batch, graph):
    """A function that takes a step on the given rows, already loaded."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    rows = torch.zeros(batch, dtype=torch.long, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=not graph)
        F.nll_loss(model(x[rows]), y[rows]).backward()
        optimizer.step()

    captured = torch.cuda.CUDAGraph()

    def capture():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # as the documentation of CUDA graphs demands
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(captured):
            step()

    restoring(model, capture if graph else step)
    go = captured.replay if graph else step

    def run(at):
        rows.copy_(at)
        go()

    return run


def train(a, way, x, y):
    """Trains one way, from the same first weights as the other; returns the line to print."""
    batch, lr = (given or usual for given, usual in zip((a.batch, a.lr), DEFAULTS.get(a.model, (64, 0.1))))
    torch.manual_seed(a.seed)
    model = mnist.network(a.model).cuda().train()
    step = stepper(model, lr, x, y, batch, way == "graph")
    seconds, examples, passes, stopped = 0.0, 0, [], ""
    while seconds < a.seconds and len(passes) < (a.epochs or math.inf) and not stopped:
        order = torch.randperm(len(y), device="cuda")[: len(y) // batch * batch].view(-1, batch)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for at in order:
            step(at)
        torch.cuda.synchronize()
        seconds += time.perf_counter() - began
        examples += order.numel()
        loss, accuracy = mnist.reached(model, a.data, 0)
        passes.append([round(seconds, 3), loss, accuracy])
        stopped = "target accuracy" if accuracy >= a.target else ""
    return {"model": a.model, "way": way, "batch": batch, "lr": lr, "examples_per_second": examples / seconds, "seconds": seconds,
            "stopped": stopped, "test_loss": loss, "test_accuracy": accuracy, "passes": passes, "torch": torch.__version__}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--way", choices=["eager", "graph"])
    p.add_argument("--gpu", type=int, default=0)
    p.add_argument("--batch", type=int)
    p.add_argument("--lr", type=float)
    p.add_argument("--epochs", type=int)
    p.add_argument("--seconds", type=float)
    p.add_argument("--target", type=float, default=2)
    a = p.parse_args()
    a.seconds = a.seconds or (math.inf if a.epochs else 5)
    if not torch.cuda.is_available() or a.gpu >= torch.cuda.device_count():
        sys.exit(f"PyTorch {torch.__version__} sees no GPU {a.gpu}")
    torch.cuda.set_device(a.gpu)
    raw, y = mnist.load(a.data, "train")
    x, y = mnist.inputs(raw, 0).cuda(), y.cuda()
    for way in [a.way] if a.way else ["eager", "graph"]:
        print(json.dumps(train(a, way, x, y)), flush=True)


if __name__ == "__main__":
    main()
