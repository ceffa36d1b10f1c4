"""hogwild on a GPU beside rivals on the same GPU and hogwild on the machine's cores: the time to the same test loss.

    gpu.py --data DIR --out FILE [--work DIR] [--hogwild FILE] [--gpu N] [--device cuda|cpu]
           [--seconds S] [--jobs NAME,...] [--quick]

Each side of a job is swept over three settings (a batch, or the steps in flight) and three rates, the middle ones
first; L-BFGS, which has no rate, over three histories. A run ends at the target, when it diverges, after the job's
passes, or when a run of its side was faster. --seconds is shared evenly among jobs and their sides.

Seconds are those of training alone, on every side: without data loading, imports, start-up and graph capture,
and without the test after each pass. Wall has all of that. Each run is a line of JSON, appended to FILE when
it ends; a side that cannot run is a line NAME<tab>STATUS<tab>WHY on standard output.
"""

import argparse
import dataclasses
import functools
import importlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

sys.dont_write_bytecode = True  # the tree stays clean

RATES = (1, 1 / 3, 3)  # times the middle rate of a setting


class Missing(Exception):
    """A program or set that is not here, and why: Missing("CUDA", "no driver")."""


@dataclasses.dataclass
class Job:
    name: str
    kind: str  # the module of its rivals is gpu_KIND
    model: str
    target: float  # the test loss: cross-entropy, or the mean squared error
    passes: int
    gpu: dict  # hogwild's settings on a GPU: flags, and the middle rate
    cores: dict  # and on cores
    made: str = ""  # what hogwild data make makes
    l2: float = 0.0
    rank: int = 64  # of factors


@dataclasses.dataclass
class Side:
    grid: list  # points: a text, the rate, and what run takes
    run: Callable  # of a point's arguments and the limits, to a row


def points(settings, rates=RATES):
    """settings: (text, middle rate, argument ...). All settings at their middle rate come first."""
    return [(text, lr * rate, (*rest, lr * rate)) for rate in rates for text, lr, *rest in settings]


JOBS = [
    Job("a9a", "sparse", "logistic", 0.326, 60,
        {"--in-flight 264 --merge-every 1": 0.002, "--in-flight 1056 --merge-every 1": 0.0007, "--in-flight 1056": 0.0007},
        {"--batch 1": 0.006, "--batch 1 --merge-every 1": 0.006, "--batch 8": 0.04}),
    Job("factor", "factor", "factor:64", 0.0144, 20,
        {"--in-flight 8448": 0.03, "--in-flight 2112": 0.03, "--in-flight 8448 --write racy": 0.03},
        {"--batch 1": 0.03, "--batch 1 --mode atomic": 0.03, "--batch 1 --workers half": 0.03},
        made="lowrank:20000x10000x10000000x10"),
    Job("mlp128", "dense", "mlp:128", 0.085, 20,
        {"--in-flight 132 --batch 8": 0.015, "--in-flight 264 --batch 1": 0.002, "--in-flight 132 --batch 32": 0.05},
        {"--batch 16": 0.03, "--batch 64": 0.1, "--batch 4": 0.01}),
    Job("softmax", "dense", "softmax", 0.285, 20,
        {"--in-flight 132 --batch 8": 0.004, "--in-flight 528 --batch 8": 0.001, "--in-flight 132 --batch 64": 0.02},
        {"--batch 16": 0.01, "--batch 64": 0.03, "--batch 4": 0.003}),
    Job("rcv1", "sparse", "logistic", 0.41, 60,
        {"--in-flight 264 --merge-every 1": 1.5, "--in-flight 1056 --merge-every 1": 0.5, "--in-flight 1056": 0.5},
        {"--batch 1": 3, "--batch 1 --merge-every 1": 3, "--batch 8": 10}, made="rcv1:0.1", l2=1e-6),
    Job("convnet", "dense", "convnet", 0.05, 20,
        {"--in-flight 132 --batch 4": 0.01, "--in-flight 32 --batch 4": 0.02, "--in-flight 132 --batch 16": 0.03},
        {"--batch 16": 0.03, "--batch 64": 0.1, "--batch 4": 0.01}),
]
TINY = {"rcv1:0.1": "rcv1:0.001", "lowrank:20000x10000x10000000x10": "lowrank:200x200x4000x4"}


def note(name, status, why):
    print(name, status, " ".join(str(why).split())[:300], sep="\t", flush=True)


def command(*arguments, limit=300):
    done = subprocess.run([str(v) for v in arguments], capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, arguments))}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


@dataclasses.dataclass
class Inputs:
    """The files of a job: those that rivals read, and what hogwild's runs share, opened in milliseconds."""

    train: str
    test: str
    cache: list  # hogwild's flags


def inputs(a, job):
    train = test = ""
    flags = ["--task", "triples"] if job.kind == "factor" else []
    if job.made:
        end = {"sparse": "libsvm", "factor": "npy"}[job.kind]
        train, test = f"{a.work}/{job.name}.{end}", f"{a.work}/{job.name}.test.{end}"
        command(a.hogwild, "data", "make", TINY[job.made] if a.quick else job.made, train)
    elif job.kind == "sparse":
        train, test = (next((p for p in (f"{a.data}/a9a/{f}", f"{a.data}/{f}.gz") if os.path.exists(p)), "") for f in ("a9a", "a9a.t"))
        if not train or not test:
            raise Missing("a9a", "not in the folder of data")
    elif a.quick:
        return Inputs("", "", ["--data", "digits:60"])
    elif os.path.isdir(f"{a.data}/mnist"):
        train, flags = f"{a.data}/mnist", ["--scale", "0.1307,0.3081"]
    else:
        raise Missing("MNIST", "not in the folder of data")
    cache = f"{a.work}/{job.name}.hog"
    command(a.hogwild, "data", "convert", train, *(["--test", test] if test else []), *flags, "--out", cache)
    return Inputs(train, test, ["--data", cache])


def hogwild(a, job, files, setting, lr, limit):
    """A run of hogwild train, to a row without side and setting."""
    folder = tempfile.mkdtemp(dir=a.work)
    half = max(1, a.cores // 2)
    setting = setting.replace("--workers half", f"--workers {half}").split()
    if "--in-flight" in setting:
        setting = ["--gpu", a.gpu, "--workers", 1, *([] if "--batch" in setting else ["--batch", 1]), *setting]
    elif "--workers" not in setting:
        setting = ["--workers", a.cores, *setting]
    command_line = [a.hogwild, "train", "--json", "--quiet", "--save-every", 0, "--run", folder + "/run", *files.cache, "--model", job.model,
                    "--lr", lr, "--lr-cap", "off", "--epochs", job.passes, "--target-loss", job.target,
                    *(["--l2", job.l2] if job.l2 else []), *setting]
    try:
        done = subprocess.run([str(v) for v in command_line], capture_output=True, text=True, timeout=max(limit, 1))
        if done.returncode not in (0, 3):
            raise OSError(f"status {done.returncode}: {done.stderr[-300:]}")
        with open(folder + "/run/metrics.jsonl") as f:
            epochs = [e for e in map(json.loads, f) if e["kind"] == "epoch"]
    except subprocess.TimeoutExpired:
        return {"ended": "out of time"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode == 3:
        return {"ended": "diverged"}
    last = epochs[-1]
    return {"ended": "reached" if last["test_loss"] <= job.target else "passes", "seconds": last["seconds"], "loss": last["test_loss"],
            "accuracy": last.get("test_accuracy"), "passes": len(epochs), "rate": last["examples"] / max(last["seconds"], 1e-9),
            "device": json.loads(done.stdout)["device"]}


def until(job, examples, one_pass, score, best, deadline):
    """Trains in this process until the target, or another end; to a row. one_pass returns when its work is done,
    also on the GPU; score is the test loss and the accuracy, or None."""
    seconds = 0.0
    for n in range(1, job.passes + 1):
        began = time.perf_counter()
        one_pass()
        seconds += time.perf_counter() - began
        loss, accuracy = score()
        ended = ("diverged" if not math.isfinite(loss) else "reached" if loss <= job.target else "slower" if seconds > best else
                 "out of time" if time.perf_counter() > deadline else "passes")
        if ended != "passes":
            break
    return {"ended": ended, "seconds": seconds, "loss": loss if math.isfinite(loss) else None, "accuracy": accuracy, "passes": n,
            "rate": n * examples / max(seconds, 1e-9)}


def ours(a, job, files):
    """hogwild's sides."""
    def side(settings):
        return Side(points([(text, lr, text) for text, lr in settings.items()]),
                    lambda point, best, deadline: hogwild(a, job, files, *point, deadline - time.perf_counter()))
    gpu = {f"hogwild, GPU {a.gpu}": side(job.gpu)} if a.device == "cuda" else {}
    return gpu | {f"hogwild, {a.cores} cores": side(job.cores)}


def sweep(a, job, name, side, seconds):
    """All points of a side, or as many as there is time for."""
    grid = side.grid[:1] if a.quick else side.grid
    best, deadline = math.inf, time.perf_counter() + seconds
    for text, lr, point in grid:
        began = time.perf_counter()
        if began > deadline:
            return
        row = side.run(point, best, deadline)
        row = {"job": job.name, "side": name, "setting": text, "lr": lr, "target": job.target, "of": len(grid),
               **row, "wall": time.perf_counter() - began}
        if row["ended"] == "reached":
            best = min(best, row["seconds"])
        with open(a.out, "a") as f:
            f.write(json.dumps(row) + "\n")


def sides(a, job, files):
    """The sides of a job, hogwild's first, and those that are missing."""
    yield from ((name, lambda side=side: side) for name, side in ours(a, job, files).items())
    module = functools.cache(lambda: importlib.import_module("gpu_" + job.kind))
    for name in {"dense": ("PyTorch, graph, bf16", "PyTorch, graph, tf32", "PyTorch, graph, fp32", "PyTorch, eager"),
                 "sparse": ("PyTorch, graph", "PyTorch, EmbeddingBag", "cupy, L-BFGS"),
                 "factor": ("PyTorch, graph", "PyTorch, Embedding", "cuMF_SGD's kind")}[job.kind]:
        yield name, lambda name=name: module().side(a, job, files, name)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--work")
    p.add_argument("--hogwild", default="hogwild-cuda")
    p.add_argument("--gpu", type=int, default=0)
    p.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--jobs", default=",".join(job.name for job in JOBS))
    p.add_argument("--quick", action="store_true", help="one run of each of hogwild's sides, on tiny sets")
    a = p.parse_args()
    a.cores = len(os.sched_getaffinity(0))
    end = time.perf_counter() + a.seconds
    jobs = [dataclasses.replace(job, passes=1) if a.quick else job for job in JOBS if job.name in a.jobs.split(",")]
    told = set()

    def absent(e):
        why = e.args if isinstance(e, Missing) else (e.name, "not installed")
        if why not in told:
            note(why[0], "skipped", why[1])
        told.add(why)

    with tempfile.TemporaryDirectory(dir=a.work) as a.work:
        for left, job in zip(range(len(jobs), 0, -1), jobs):
            share = time.perf_counter() + (end - time.perf_counter()) / left
            try:
                all = list(sides(a, job, inputs(a, job)))
            except Missing as e:
                absent(e)
                continue
            except (OSError, subprocess.TimeoutExpired) as e:
                note(job.name, "FAIL", e)
                continue
            for rest, (name, side) in zip(range(len(all), 0, -1), all):
                try:
                    sweep(a, job, name, side(), (share - time.perf_counter()) / rest)
                except (Missing, ImportError) as e:
                    absent(e)
                except Exception as e:  # of one rival: the others go on
                    note(f"{job.name}, {name}", "FAIL", f"{type(e).__name__}: {e}")


if __name__ == "__main__":
    import gpu  # the module that the rivals import, and not __main__

    gpu.main()
