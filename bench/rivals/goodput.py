"""Goodput: the examples that a run counts while one of its four workers is killed (SIGKILL) every few seconds, as a share of
those of an undisturbed run that trains beside it, on the same cores, for the same time. hogwild train, and torchrun with
DistributedDataParallel over gloo; mlp:128 on MNIST, a thread a worker.

    goodput.py --data MNIST [--seconds 60] [--every 5] [--rounds 3] [--sides hogwild,torchrun]

Which of the two runs starts first changes from round to round. torchrun gets as many restarts as it needs, looks at its workers
ten times a second, and rank 0 saves a snapshot every 0.2 s, about sqrt(2 x 3 ms for a snapshot x 5 s between kills). Its
examples are the steps of its last life, those since the last snapshot too. The clock of each run begins with its first step.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKERS, BATCH, LR, SNAPSHOT = 4, 64, 0.1, 0.2


def train(data, folder):
    """A worker of torchrun."""
    import mnist
    import numpy as np
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, kept = dist.get_rank(), folder / "snapshot.pt"
    images, labels = mnist.read_idx(data / "train-images-idx3-ubyte.gz").flatten(1), mnist.read_idx(data / "train-labels-idx1-ubyte.gz").long()
    torch.manual_seed(1)
    model, step = mnist.network("mlp:128"), 0
    if kept.exists():
        saved = torch.load(kept)
        step = saved["step"]
        model.load_state_dict(saved["model"])
    replica = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(replica.parameters(), lr=LR)
    progress = np.memmap(folder / "progress", np.int64, "r+", shape=1)
    an_epoch, epoch, late = len(images) // (BATCH * WORKERS), -1, 0.0
    while True:
        if step // an_epoch != epoch:
            epoch = step // an_epoch
            order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        first = (step % an_epoch * WORKERS + rank) * BATCH
        rows = order[first : first + BATCH]
        optimizer.zero_grad()
        F.nll_loss(replica((images[rows].float() / 255 - mnist.MEAN) / mnist.STD), labels[rows]).backward()
        optimizer.step()
        step += 1
        if rank == 0:
            progress[0] = step
            if time.monotonic() > late:
                torch.save({"step": step, "model": model.state_dict()}, folder / "new.pt")
                os.replace(folder / "new.pt", kept)
                late = time.monotonic() + SNAPSHOT


class Torchrun:
    def __init__(self, a, folder):
        import numpy as np

        np.zeros(1, np.int64).tofile(folder / "progress")
        self.a, self.folder = a, folder
        self.progress = np.memmap(folder / "progress", np.int64, "r", shape=1)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={WORKERS}", "--max-restarts=1000000",
             "--monitor-interval=0.1", __file__, "--data", a.data, "--folder", str(folder)],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def begun(self):
        return self.progress[0] > 0

    def end(self):
        import mnist
        import torch
        import torch.nn.functional as F

        examples = int(self.progress[0]) * BATCH * WORKERS
        self.process.terminate()
        self.process.wait()
        model, data = mnist.network("mlp:128"), Path(self.a.data)
        model.load_state_dict(torch.load(self.folder / "snapshot.pt")["model"])
        x = mnist.read_idx(data / "t10k-images-idx3-ubyte.gz").flatten(1).float() / 255
        y = mnist.read_idx(data / "t10k-labels-idx1-ubyte.gz").long()
        with torch.no_grad():
            return examples, F.nll_loss(model((x - mnist.MEAN) / mnist.STD), y).item()


class Hogwild:
    def __init__(self, a, folder):
        self.folder = folder / "run"
        self.process = subprocess.Popen(
            [a.hogwild, "train", "--data", a.data, "--model", "mlp:128", "--workers", str(WORKERS), "--batch", str(BATCH), "--lr", str(LR),
             "--epochs", "1000000", "--stop-after", f"{a.seconds}s", "--run", str(self.folder), "--json", "--quiet"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def begun(self):
        return len(children(self.process.pid)) >= WORKERS

    def end(self):
        report = json.loads(self.process.communicate()[0])
        return report["examples"], report["test_loss"]


def children(pid):
    try:
        return [int(p) for task in Path(f"/proc/{pid}/task").iterdir() for p in (task / "children").read_text().split()]
    except OSError:
        return []


def side(kind, a, killed, folder):
    """Runs one of a pair, in a process of its own; prints examples, loss and kills."""
    run, kills = kind(a, folder), 0
    while not run.begun():
        time.sleep(0.001)
    began = time.monotonic()
    while killed and (kills + 1) * a.every < a.seconds:
        time.sleep(max(0.0, began + (kills + 1) * a.every - time.monotonic()))
        kills += 1
        if workers := children(run.process.pid):
            os.kill(random.choice(workers), signal.SIGKILL)
    time.sleep(max(0.0, began + a.seconds - time.monotonic()))
    print(json.dumps([*run.end(), kills]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder with the four files of MNIST")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--every", type=float, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--sides", default="hogwild,torchrun")
    p.add_argument("--hogwild", default=str(Path(__file__).parents[2] / "bin" / "hogwild"))
    p.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    p.add_argument("--one", help=argparse.SUPPRESS)
    a = p.parse_args()
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return train(Path(a.data), a.folder)
    if a.one:
        kind, killed = a.one.split(",")
        return side({"hogwild": Hogwild, "torchrun": Torchrun}[kind], a, killed == "killed", a.folder)
    for name in a.sides.split(","):
        shares = []
        for round in range(a.rounds):
            with tempfile.TemporaryDirectory() as folder:
                pair = {}
                for how in sorted(["killed", "undisturbed"], reverse=round % 2 == 1):
                    mine = Path(folder, how)
                    mine.mkdir()
                    pair[how] = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--folder", str(mine), "--one", f"{name},{how}"],
                                                 stdout=subprocess.PIPE, text=True)
                killed, whole = (json.loads(pair[how].communicate()[0]) for how in ("killed", "undisturbed"))
            shares.append(killed[0] / whole[0])
            print(f"{name}: {killed[0]:,} examples with {killed[2]} kills, {whole[0]:,} undisturbed: {100 * shares[-1]:.1f}%; "
                  f"test loss {killed[1]:.4f}, {whole[1]:.4f}", flush=True)
        print(f"{name}: goodput {100 * statistics.median(shares):.1f}% (median of {a.rounds})", flush=True)


if __name__ == "__main__":
    main()
