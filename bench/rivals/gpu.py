"""hogwild on a GPU beside rivals on the same GPU and hogwild on the machine's cores: the time to the same test loss.

    gpu.py --data DIR --out FILE [--of rivals|flight] [--work DIR] [--hogwild FILE] [--gpu N] [--device cuda|cpu]
           [--seconds S] [--search S] [--beside N] [--jobs NAME,...] [--quick]

Each side of a job has four settings (a batch, or the steps in flight). First each setting is trained at five rates, a
factor of three apart, to find the one that takes the fewest passes to the target: by --beside runs at once, as passes
do not depend on the time. Then each setting is trained at its best rate, alone, and timed. So every side has as many
runs as the others, but for L-BFGS, which has no rate, and hogwild on cores, whose workers need the cores: its runs
are all timed. PyTorch's other precisions and eager take the rates of fp32. A run ends at the target, when it diverges,
after the job's passes, or when a timed run of its side was faster. --of flight compares steps in flight in the same way.
A rival's runs are in a process of its own: after a fault on the GPU, CUDA refuses that process all further work.

--seconds is for all, --search of them for the search; what is left is shared evenly among jobs and their sides.
Seconds of a row are those of training alone, on every side: without data loading, imports, start-up and graph capture,
and without the test after each pass. Wall has all of that. Each run is a line of JSON, appended to FILE when
it ends; a side that cannot run is a line NAME<tab>STATUS<tab>WHY on standard output.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import functools
import importlib
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

sys.dont_write_bytecode = True  # the tree stays clean

RATES = (1, 1 / 3, 3, 1 / 9, 9)  # times the middle rate of a setting


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
    flight: dict = dataclasses.field(default_factory=dict)  # steps in flight to compare on a GPU, as gpu
    made: str = ""  # what hogwild data make makes
    l2: float = 0.0
    rank: int = 64  # of factors


@dataclasses.dataclass
class Side:
    grid: list  # points: a text, the rate, and what run takes
    run: Callable  # of a point's arguments and the limits, to a row
    like: str = ""  # the side whose rates it takes; "-": it has none to find


def points(settings, rates=RATES):
    """settings: (text, middle rate, argument ...). All settings at their middle rate come first."""
    return [(text, lr * rate, (*rest, lr * rate)) for rate in rates for text, lr, *rest in settings]


JOBS = [
    Job("a9a", "sparse", "logistic", 0.326, 60,
        {"--in-flight 264 --merge-every 1": 0.002, "--in-flight 1056 --merge-every 1": 0.0007, "--in-flight 1056": 0.0007, "--in-flight 264": 0.002},
        {"--batch 1": 0.006, "--batch 1 --merge-every 1": 0.006, "--batch 8": 0.04, "--batch 1 --workers half": 0.006},
        {"--in-flight 32": 0.006, "--in-flight 132": 0.003, "--in-flight 264": 0.002, "--in-flight 1056": 0.0007, "--in-flight 2112": 0.0004}),
    Job("factor", "factor", "factor:64", 0.0144, 20,
        {"--in-flight 8448": 0.03, "--in-flight 2112": 0.03, "--in-flight 8448 --write racy": 0.03, "--in-flight 2112 --write racy": 0.03},
        {"--batch 1": 0.03, "--batch 1 --mode atomic": 0.03, "--batch 1 --workers half": 0.03, "--batch 4": 0.1},
        made="lowrank:20000x10000x10000000x10"),
    Job("mlp128", "dense", "mlp:128", 0.085, 20,
        {"--in-flight 132 --batch 8": 0.015, "--in-flight 264 --batch 1": 0.002, "--in-flight 132 --batch 32": 0.05, "--in-flight 264 --batch 8": 0.008},
        {"--batch 16": 0.03, "--batch 64": 0.1, "--batch 4": 0.01, "--batch 16 --workers half": 0.03},
        {"--in-flight 32 --batch 1": 0.01, "--in-flight 132 --batch 1": 0.003, "--in-flight 264 --batch 1": 0.002, "--in-flight 528 --batch 1": 0.001,
         "--in-flight 132 --batch 8": 0.015, "--in-flight 264 --batch 8": 0.008}),
    Job("softmax", "dense", "softmax", 0.285, 20,
        {"--in-flight 132 --batch 8": 0.004, "--in-flight 528 --batch 8": 0.001, "--in-flight 132 --batch 64": 0.02, "--in-flight 264 --batch 8": 0.002},
        {"--batch 16": 0.01, "--batch 64": 0.03, "--batch 4": 0.003, "--batch 16 --workers half": 0.01},
        {"--in-flight 32 --batch 8": 0.01, "--in-flight 132 --batch 1": 0.0007, "--in-flight 132 --batch 8": 0.004, "--in-flight 264 --batch 8": 0.002,
         "--in-flight 132 --batch 64": 0.02}),
    Job("rcv1", "sparse", "logistic", 0.41, 60,
        {"--in-flight 264 --merge-every 1": 1.5, "--in-flight 1056 --merge-every 1": 0.5, "--in-flight 1056": 0.5, "--in-flight 264": 1.5},
        {"--batch 1": 3, "--batch 1 --merge-every 1": 3, "--batch 8": 10, "--batch 1 --workers half": 3}, made="rcv1:0.1", l2=1e-6),
    Job("convnet", "dense", "convnet", 0.05, 20,
        {"--in-flight 132 --batch 4": 0.01, "--in-flight 32 --batch 4": 0.02, "--in-flight 132 --batch 16": 0.03, "--in-flight 132 --batch 1": 0.003},
        {"--batch 16": 0.03, "--batch 64": 0.1, "--batch 4": 0.01, "--batch 16 --workers half": 0.03},
        {"--in-flight 32 --batch 1": 0.01, "--in-flight 132 --batch 1": 0.003, "--in-flight 264 --batch 1": 0.0015, "--in-flight 32 --batch 4": 0.02,
         "--in-flight 132 --batch 4": 0.01, "--in-flight 264 --batch 4": 0.005, "--in-flight 132 --batch 16": 0.03}),
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
    cache = f"{a.work}/{job.name}.hog"
    flags = ["--task", "triples"] if job.kind == "factor" else []
    if job.made:
        end = {"sparse": "libsvm", "factor": "npy"}[job.kind]
        train, test = f"{a.work}/{job.name}.{end}", f"{a.work}/{job.name}.test.{end}"
        if not os.path.exists(cache):
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
    if not os.path.exists(cache):
        command(a.hogwild, "data", "convert", train, *(["--test", test] if test else []), *flags, "--out", cache)
    return Inputs(train, test, ["--data", cache])


def hogwild(a, job, files, setting, lr, best, limit):
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
                    *(["--l2", job.l2] if job.l2 else []), *([] if math.isinf(best) else ["--stop-after", f"{2 * best + 1:.3f}s"]), *setting]
    try:
        done = subprocess.run([str(v) for v in command_line], capture_output=True, text=True, timeout=max(limit, 1))
        if done.returncode not in (0, 3):
            raise OSError(f"status {done.returncode}: {done.stderr[-300:]}")
        with open(folder + "/run/metrics.jsonl") as f:
            epochs = [e for e in map(json.loads, f) if e["kind"] == "epoch"]
        report = json.loads(done.stdout or "{}")
    except subprocess.TimeoutExpired:
        return {"ended": "out of time"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode == 3:
        return {"ended": "diverged"}
    if not epochs:
        return {"ended": "slower"}
    last = epochs[-1]
    return {"ended": "reached" if last["test_loss"] <= job.target else "slower" if report.get("stopped") == "stop after" else "passes", "seconds": last["seconds"], "loss": last["test_loss"],
            "accuracy": last.get("test_accuracy"), "passes": len(epochs), "rate": last["examples"] / max(last["seconds"], 1e-9),
            "device": report["device"], "delay": report.get("staleness_mean"), "p99": report.get("staleness_p99")}


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
    def side(settings, **of):
        return Side(points([(text, lr, text) for text, lr in settings.items()]),
                    lambda point, best, deadline: hogwild(a, job, files, *point, best, deadline - time.perf_counter()), **of)
    if a.of == "flight":
        return {text: side({text: lr}) for text, lr in job.flight.items()}
    gpu = {f"hogwild, GPU {a.gpu}": side(job.gpu)} if a.device == "cuda" else {}
    return gpu | {f"hogwild, {a.cores} cores": side(job.cores, like="-")}


def sides(a, job, files):
    """The sides of a job, hogwild's first, and those that are missing."""
    yield from ((name, lambda side=side: side) for name, side in ours(a, job, files).items())
    if a.of == "flight":
        return
    module = functools.cache(lambda: importlib.import_module("gpu_" + job.kind))
    for name in {"dense": ("PyTorch, graph, fp32", "PyTorch, graph, tf32", "PyTorch, graph, bf16", "PyTorch, eager"),
                 "sparse": ("PyTorch, graph", "PyTorch, EmbeddingBag", "cupy, L-BFGS"),
                 "factor": ("PyTorch, graph", "PyTorch, Embedding", "cuMF_SGD's kind")}[job.kind]:
        yield name, lambda name=name: module().side(a, job, files, name)


WRITING = threading.Lock()


def trial(a, job, name, side, point, best, deadline, **of):
    """A run of a side, appended to the file."""
    text, lr, arguments = point
    began = time.perf_counter()
    row = {"of": a.of, "job": job.name, "side": name, "setting": text, "lr": lr, "target": job.target, **of, **side.run(arguments, best, deadline),
           "wall": time.perf_counter() - began}
    with WRITING, open(a.out, "a") as f:
        f.write(json.dumps(row) + "\n")
    return row


def rank(row):
    """Sorts runs: with fewer passes to the target, or, if none reached it, nearer to it."""
    if row["ended"] == "reached":
        return 0, row["passes"], row["loss"]
    return 1, math.inf if row.get("loss") is None else row["loss"], 0


def chosen(a, job, name, side):
    """Of each setting the point with the best rate that a search has found; all points where there was none."""
    found = {}
    if os.path.exists(a.out):
        with open(a.out) as f:
            for row in map(json.loads, f):
                if row.get("search") and (row["of"], row["job"], row["side"]) == (a.of, job.name, side.like or name):
                    found.setdefault(row["setting"], []).append(row)
    best = {text: min(rows, key=rank)["lr"] for text, rows in found.items()}
    return [p for p in side.grid if best.get(p[0], p[1]) == p[1]]


def timed(a, job, name, side, seconds):
    """One run of each setting at its best rate, or of as many as there is time for."""
    grid = chosen(a, job, name, side)
    best, deadline = math.inf, time.perf_counter() + seconds
    for point in grid[:1] if a.quick else grid:
        if time.perf_counter() > deadline:
            return
        row = trial(a, job, name, side, point, best, deadline, planned=len(grid))
        if row["ended"] == "reached":
            best = min(best, row["seconds"])


def searched(a, job, name, side, end):
    """All points of a side."""
    for point in side.grid:
        if time.perf_counter() < end:
            trial(a, job, name, side, point, math.inf, end, search=True)


def within(told, go, a, job, files, name, *arguments):
    """The process of a rival: go on the side of that name. It tells what went wrong, or None."""
    try:
        told.send(go(a, job, name, dict(sides(a, job, files))[name](), *arguments))
    except (Missing, ImportError) as e:
        told.send(e)
    except Exception as e:  # PyTorch's cannot all be sent
        told.send(OSError(f"{type(e).__name__}: {e}"))


def apart(seconds, *arguments):
    """Calls within, in a process that has imported PyTorch already, and kills it after the seconds and some more."""
    of = multiprocessing.get_context("forkserver")
    of.set_forkserver_preload(["torch"])
    tells, told = of.Pipe(duplex=False)
    process = of.Process(target=within, args=(told, *arguments), daemon=True)
    process.start()
    told.close()
    try:
        wrong = tells.recv() if tells.poll(seconds + 20) else None
    except EOFError:
        wrong = OSError("its process ended early")
    process.kill()
    process.join()
    if wrong:
        raise wrong


def search(a, all, attempt):
    """All points of all sides, side by side: hogwild's runs by threads, a rival's by a process."""
    end = time.perf_counter() + a.search

    def rival(job, files, name):
        left = end - time.perf_counter()
        if left > 1:
            attempt(f"{job.name}, {name}", lambda: apart(left, searched, a, job, files, name, end))

    def ours(job, name, side, point):
        if time.perf_counter() < end:
            attempt(f"{job.name}, {name}", lambda: trial(a, job, name, side, point, math.inf, end, search=True))

    with concurrent.futures.ThreadPoolExecutor(a.beside) as pool:
        for job, files in all:
            for name, make in sides(a, job, files):
                if name.startswith(("PyTorch", "cuMF")) and not any(way in name for way in ("bf16", "tf32", "eager")):
                    pool.submit(rival, job, files, name)
        for job, files in all:
            for name, make in sides(a, job, files):
                if name.startswith(("hogwild, GPU", "--")):
                    for point in make().grid:
                        pool.submit(ours, job, name, make(), point)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--work")
    p.add_argument("--hogwild", default="hogwild-cuda")
    p.add_argument("--gpu", type=int, default=0)
    p.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    p.add_argument("--of", choices=["rivals", "flight"], default="rivals")
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--search", type=float, default=0, help="seconds of the search; 0: all points are timed")
    p.add_argument("--beside", type=int, default=8, help="runs at once in the search")
    p.add_argument("--jobs", default=",".join(job.name for job in JOBS))
    p.add_argument("--quick", action="store_true", help="one run of each of hogwild's sides, on tiny sets")
    a = p.parse_args()
    a.cores = len(os.sched_getaffinity(0))
    end = time.perf_counter() + a.seconds
    jobs = [dataclasses.replace(job, passes=1) if a.quick else job for job in JOBS if job.name in a.jobs.split(",") and (job.flight or a.of == "rivals")]
    told = set()

    def attempt(what, go):
        """What it returns; None if it could not be done, which is told, once."""
        try:
            return go()
        except (Missing, ImportError) as e:
            why = e.args if isinstance(e, Missing) else (e.name, "not installed")
            if why not in told:
                note(why[0], "skipped", why[1])
            told.add(why)
        except Exception as e:  # of one side: the others go on
            note(what, "FAIL", f"{type(e).__name__}: {e}")

    with contextlib.ExitStack() as stack:
        a.work = stack.enter_context(tempfile.TemporaryDirectory(dir=a.work))
        all = [(job, files) for job in jobs if (files := attempt(job.name, lambda: inputs(a, job)))]
        if a.search:
            search(a, all, attempt)
        for left, (job, files) in zip(range(len(all), 0, -1), all):
            share = time.perf_counter() + (end - time.perf_counter()) / left
            each = list(sides(a, job, files))
            for rest, (name, make) in zip(range(len(each), 0, -1), each):
                seconds = (share - time.perf_counter()) / rest
                attempt(f"{job.name}, {name}", lambda: timed(a, job, name, make(), seconds) if name.startswith(("hogwild", "--"))
                        else apart(seconds, timed, a, job, files, name, seconds))


if __name__ == "__main__":
    import gpu  # the module that the rivals import, and not __main__

    gpu.main()
