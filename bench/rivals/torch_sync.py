"""PyTorch's synchronous training over gloo: single-threaded processes, each with a replica and its
part of the data.

    torch_sync.py --data DIR --model softmax|mlp:128|convnet --way average|ddp
                  [--every N] --batch N --lr X [--momentum X] --epochs N --processes N

The ways: average trains replicas and averages their weights every N steps (0: once a pass), in
one all-reduce; ddp is DistributedDataParallel, which averages gradients at every step. Inputs
are (x - 0.1307) / 0.3081. Prints what mnist.run prints.
"""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import mnist


@torch.no_grad()
def average(replica, processes):
    weights = parameters_to_vector(replica.parameters())
    dist.all_reduce(weights)
    vector_to_parameters(weights / processes, replica.parameters())


def replicate(a, model):
    """A replica of the model, and the function that takes one step of it on (x, y)."""
    replica = mnist.network(a.model)
    replica.load_state_dict(model.state_dict())
    replica.train()
    forward = DistributedDataParallel(replica) if a.way == "ddp" else replica
    optimizer = mnist.optimizer(replica.parameters(), a)

    def step(x, y):
        optimizer.zero_grad()
        F.nll_loss(forward(x), y).backward()
        optimizer.step()

    return replica, step


def work(rank, a, model, raw, x, y, gate):
    mnist.pin(rank, a)
    dist.init_process_group("gloo", init_method=f"file://{a.meeting}", rank=rank, world_size=a.processes)
    mnist.warm(a, replicate(a, model)[1], x, y)
    replica, step = replicate(a, model)
    gate.wait()
    for epoch in range(a.epochs):
        todo = mnist.batches(a, rank, epoch, x, y)
        gate.wait()
        for at, (bx, by) in enumerate(todo, 1):
            step(bx, by)
            if a.way == "average" and a.every and at % a.every == 0:
                average(replica, a.processes)
        if a.way == "average":
            average(replica, a.processes)
        if rank == 0:
            model.load_state_dict(replica.state_dict())
        gate.wait()
        gate.wait()  # while the model is tested
    dist.destroy_process_group()


def main():
    p = mnist.flags(__doc__, ["average", "ddp"])
    p.add_argument("--every", type=int, default=0, metavar="N", help="steps between averages; 0: once a pass")
    a = p.parse_args()
    if (a.limit or 60000) % a.processes:
        p.error("the rows must fall into equal parts: the processes meet after each")
    with tempfile.TemporaryDirectory() as folder:
        a.meeting = os.path.join(folder, "meeting")
        mnist.run(a, work)


if __name__ == "__main__":
    main()
