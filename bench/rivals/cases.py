"""What compare.py compares: each case is a few sides, programs for the same job, and what
must hold between them. A side is a function of the round that runs its program once and
returns a dictionary: rate (examples, updates or operations a second; more is better) or
seconds, and what was reached (accuracy, loss, rmse).

PyTorch's inputs are (x - 0.1307) / 0.3081, as in its example. hogwild's are x / 0.3081
(--scale 0,0.3081), whose zeros stay zeros, learnt on less their means (--center), which is
the same up to where the centre lies; the cases that measure arithmetic have PyTorch's.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
RIVALS = os.environ.get("RIVALS", os.path.join(ROOT, "build", "rivals"))
HOGWILD = os.environ.get("HOGWILD", os.path.join(ROOT, "bin", "hogwild"))
DATA = os.path.join(RIVALS, "data")
MNIST = os.path.join(DATA, "mnist")
MADE = {"rcv1": ("rcv1.libsvm", "rcv1.test.libsvm")}  # written by hogwild data make


def files(set):
    """The training and the test file of a set, for the rivals."""
    return [f"{DATA}/{name}" for name in MADE.get(set, (set, set + ".t"))]


def source(set):
    """The same for hogwild, which makes made data itself, from the same seed."""
    return ["--data", "made:" + set] if set in MADE else ["--data", files(set)[0], "--test", files(set)[1]]


@dataclass
class Claim:
    """ours is at least target times the better of theirs; or ours is at least (most) target."""

    text: str
    ours: str
    theirs: tuple = ()
    target: float = 0.0
    of: str = "rate"  # rate: a ratio; or the name of a figure, whose difference or value counts
    most: bool = False


@dataclass
class Case:
    title: str
    unit: str
    sides: dict
    claims: list
    repeats: int = 5
    notes: list = field(default_factory=list)


def execute(command, limit=300):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\nstatus {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def ours(*flags, objective=None):
    """hogwild train with these flags. objective (set, l2): what the weights reach on the set."""

    def run(turn):
        folder = tempfile.mkdtemp(prefix="hogwild-")
        try:
            seed = 1 if any(str(f).startswith("made:") for f in flags) else turn + 1  # made data depends on it
            out = execute([HOGWILD, "train", "--json", "--quiet", "--run", folder, "--save-every", 0, "--seed", seed, *flags])
            r = json.loads(out)
            lines = [json.loads(l) for l in open(f"{folder}/metrics.jsonl")]
            got = {"rate": r["examples_per_second"], "seconds": r["seconds"], "loss": r["train_loss"]}
            for name in ("test_accuracy", "test_rmse", "staleness_mean", "lost_updates", "conflicts", "lr_used", "lambda"):
                if r.get(name) is not None:
                    got[name.removeprefix("test_")] = r[name]
            got["passes"] = [l.get("test_accuracy") for l in lines if l["kind"] == "epoch"]
            if objective:
                got["excess"] = float(mean_loss(f"{folder}/weights.safetensors", *objective) / optimum(*objective) - 1)
            return got
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return run


def torch(*flags):
    def run(turn):
        r = json.loads(execute([sys.executable, f"{HERE}/torch_hogwild.py", "--data", MNIST, *flags]).splitlines()[-1])
        return {"rate": r["examples_per_second"], "accuracy": r["test_accuracy"][-1], "passes": r["test_accuracy"], "seconds": sum(r["seconds"])}

    return run


def plain_c(set, *flags):
    def run(turn):
        r = json.loads(execute([f"{RIVALS}/sparse", *files(set), *flags]))
        return {"rate": r["examples_per_second"], "accuracy": r["test_accuracy"], "loss": r["train_loss"], "seconds": r["seconds"]}

    return run


def hogwild_cpp(program, set, rows, epochs, step, *flags):
    """Hogwild! (svm) or Hogwild++ (numasvm), two threads, hinge loss."""

    def run(turn):
        out = execute([f"{RIVALS}/hogwildpp/bin/{program}", "--epochs", epochs, "--binary", 1, "--splits", 2, "--stepinitial", step,
                       "--step_decay", 0.8, *flags, *[name + ".bin" for name in files(set)]])
        last = re.findall(r"train_time: (\S+) .*test_acc: (\S+)", out)[-1]
        return {"rate": rows * epochs / float(last[0]), "accuracy": float(last[1]), "seconds": float(last[0])}

    return run


def liblinear(set, l2):
    def run(turn):
        r = json.loads(execute([f"{RIVALS}/liblinear", files(set)[0], l2]))
        return {"rate": 1 / r["seconds"], "seconds": r["seconds"], "solver": r["solver"], "excess": 1e-3}

    return run


def libmf(train, test, k, passes):
    def run(turn):
        r = json.loads(execute([f"{RIVALS}/factor", train, test, k, passes, 2, 0.0, 0.1]))
        return {"rate": r["updates_per_second"], "rmse": r["test_rmse"], "seconds": r["seconds"]}

    return run


def peak(turn):
    """The multiply-adds of one core, with the best instructions, in FLOP/s."""
    f = json.loads(execute([HOGWILD, "bench", "--floors", "--repeat", 0, "--json", "--seconds", 1]))["floors"]
    return {"rate": 1e9 * max(v["max"] for v in f if v["name"].startswith("multiply-add") and v["cores"] == 1)}


def flops(run, *widths):
    """A run's rate in FLOP/s: two passes of every product forward and backward, but for the
    first layer's, whose inputs have no gradient."""
    products = [a * b for a, b in zip(widths, widths[1:])]

    def counted(turn):
        r = run(turn)
        r["examples"] = r["rate"]
        r["rate"] *= 6 * sum(products) - 2 * products[0]
        return r

    return counted


def rows_of(set):
    """Labels, offsets, indices, values of a set that the plain C loop has read."""
    with open(files(set)[0] + ".csr", "rb") as f:
        n, d, nnz = np.fromfile(f, np.int64, 3)
        ptr = np.fromfile(f, np.int64, n + 1)
        idx, val = np.fromfile(f, np.uint32, nnz), np.fromfile(f, np.float32, nnz)
        return np.fromfile(f, np.float32, n), ptr, idx, val.astype(float)


def mean_loss(weights, set, l2):
    """mean log(1+exp(-y w'x)) + l2/2 |w|^2, in float64."""
    with open(weights, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        body = f.read()
    tensors = {k: np.frombuffer(body[slice(*v["data_offsets"])], "<f4").astype(float) for k, v in head.items() if k != "__metadata__"}
    w = max(tensors.values(), key=len)
    y, ptr, idx, val = rows_of(set)
    z = np.add.reduceat(np.append(val * w[idx], 0), ptr[:-1]) * (np.diff(ptr) > 0)
    return np.logaddexp(0, -y * z).mean() + l2 / 2 * w @ w


def optimum(set, l2, known={}):
    if (set, l2) not in known:
        known[set, l2] = json.loads(execute([f"{RIVALS}/liblinear", files(set)[0], l2]))["optimum"]
    return known[set, l2]


def mnist(title, model, batch, lr, plain, tuned, ways, limit=0, epochs=5, momentum=0.0):
    shared = ["--model", model, "--batch", batch, "--lr", lr, "--epochs", epochs]
    theirs = [*shared, "--momentum", momentum, "--limit", limit, "--processes", 2]
    optimizer = ["--optimizer", "momentum", "--momentum", momentum] if momentum else []
    sides = {
        "hogwild": ours("--data", MNIST, "--scale", "0,0.3081", "--workers", 2, "--limit", limit, *optimizer, *shared),
    }
    for way in ("plain", *ways):
        sides[f"PyTorch {way}"] = torch(*theirs, "--way", way)
    claims = [Claim("against PyTorch plain", "hogwild", ("PyTorch plain",), plain),
              Claim("against PyTorch tuned", "hogwild", tuple(list(sides)[1:]), tuned)]
    return Case(title, "examples/s", sides, claims, repeats=3)


def example():
    """The convolutional network against the example as it is: two processes, each over all data."""
    flags = ["--model", "convnet", "--batch", 64, "--lr", 0.01, "--momentum", 0.5]
    return Case("convnet against the example as it is", "examples/s", {
        "hogwild": ours("--data", MNIST, "--scale", "0.1307,0.3081", "--workers", 2, "--optimizer", "momentum", "--epochs", 2, *flags),
        "mnist_hogwild": torch(*flags, "--way", "loader", "--epochs", 1, "--processes", 2),
    }, [Claim("against the example as it is", "hogwild", ("mnist_hogwild",), 5.0)], repeats=2)


def arithmetic(title, model, widths, batch, target):
    flags = ["--data", MNIST, "--scale", "0.1307,0.3081", "--center", "off", "--workers", 1, "--lr", 0.1, "--epochs", 3]
    return Case(title, "FLOP/s", {
        "hogwild": flops(ours(*flags, "--model", model, "--batch", batch), *widths),
        "peak of one core": peak,
    }, [Claim("share of the peak", "hogwild", ("peak of one core",), target)])


def sparse(set, rows, lr, epochs, step, target, repeats=5):
    flags = [*source(set), "--model", "logistic", "--batch", 1, "--lr", lr, "--schedule", "cosine", "--epochs", epochs]
    c = [f"lr={lr}", "cosine=1", f"epochs={epochs}"]
    return Case(f"logistic, {set}, batch 1, lr {lr} cosine, {epochs} passes", "examples/s", {
        "one worker": ours(*flags, "--workers", 1),
        "two workers": ours(*flags, "--workers", 2),
        "plain C": plain_c(set, *c),
        "plain C, 2 threads": plain_c(set, *c, "threads=2"),
        "Hogwild!": hogwild_cpp("svm", set, rows, epochs, step),
        "Hogwild++": hogwild_cpp("numasvm", set, rows, epochs, step, "--cluster_size", 1, "--update_delay", 64),
    }, [Claim("one worker against plain C", "one worker", ("plain C",), 0.85),
        Claim("two workers against one", "two workers", ("one worker",), 1.7),
        Claim("accuracy of two workers less that of one", "two workers", ("one worker",), -0.003, of="accuracy"),
        Claim("two workers against Hogwild! and Hogwild++", "two workers", ("Hogwild!", "Hogwild++"), target)], repeats)


def paper():
    flags = [*source("rcv1"), "--batch", 1, "--epochs", 20, "--workers", 2]
    return Case("the paper's job: hinge, made:rcv1, 20 passes, two workers", "examples/s", {
        "hogwild": ours(*flags, "--model", "hinge", "--lr", 0.5, "--schedule", "cosine"),
        "Hogwild!": hogwild_cpp("svm", "rcv1", 781265, 20, 0.5),
    }, [Claim("seconds", "hogwild", (), 1.5, of="seconds", most=True),
        Claim("against Hogwild!", "hogwild", ("Hogwild!",), 4.0)], repeats=3)


def exact(set, lr, epochs, workers=1, l2=1e-4):
    """Seconds to within 1e-3 (relative) of the optimum of the regularized objective."""
    run = ours(*source(set), "--model", "logistic", "--no-bias", "--batch", 1,
               "--l2", l2, "--lr", lr, "--schedule", "cosine", "--epochs", epochs, "--workers", workers, objective=(set, l2))

    def timed(turn):
        r = run(turn)
        return {**r, "rate": 1 / r["seconds"]}

    return Case(f"to within 1e-3 of the optimum, {set}, lambda {l2}", "1/s", {"hogwild": timed, "liblinear": liblinear(set, l2)},
                [Claim("against liblinear's best solver, in time", "hogwild", ("liblinear",), 1.0),
                 Claim("excess over the optimum", "hogwild", (), 1e-3, of="excess", most=True)], repeats=3)


def factor():
    train, test = f"{DATA}/lowrank.npy", f"{DATA}/lowrank.test.npy"
    return Case("factor:10, 100,000 x 100,000, 50 M entries, 4 passes, two workers", "updates/s", {
        "hogwild": ours("--data", train, "--test", test, "--model", "factor:10", "--batch", 1, "--lr", 0.05,
                       "--schedule", "cosine", "--epochs", 4, "--workers", 2),
        "LIBMF": libmf(train, test, 10, 4),
    }, [Claim("against LIBMF with 2 threads", "hogwild", ("LIBMF",), 1.5),
        Claim("test RMSE less LIBMF's", "hogwild", ("LIBMF",), 0.0, of="rmse", most=True)], repeats=2)


def modes():
    flags = ["--data", MNIST, "--scale", "0.1307,0.3081", "--model", "convnet", "--batch", 64, "--lr", 0.01,
             "--optimizer", "momentum", "--momentum", 0.5, "--epochs", 12]
    sides = {"serial": ours(*flags, "--workers", 1)}
    for mode in ("async", "atomic", "locked", "ordered", "sync"):
        # in step, four workers share a step of 64 examples: as many steps as serial training
        step = ["--average", "gradients", "--global-batch", 64] if mode == "sync" else []
        sides[mode] = ours(*flags, "--workers", 4, "--mode", mode, *step)
    sides = {name: milestones(run) for name, run in sides.items()}
    claims = [Claim("async after 6 passes", "async", (), 0.975, of="accuracy_6"), Claim("async after 12 passes", "async", (), 0.985, of="accuracy")]
    claims += [Claim(f"{m} less serial", m, ("serial",), -0.005, of="accuracy") for m in list(sides)[1:]]
    return Case("convnet on MNIST, 4 workers, lr 0.01, momentum 0.5, 12 passes", "examples/s", sides, claims, repeats=1)


def milestones(run):
    def noted(turn):
        r = run(turn)
        return {**r, "accuracy_6": r["passes"][5]}

    return noted


CASES = {
    "peak256": lambda: arithmetic("share of FMA peak, mlp:256,128, batch 256, no zeros", "mlp:256,128", (784, 256, 128, 10), 256, 0.75),
    "peak64": lambda: arithmetic("share of FMA peak, mlp:128, batch 64, no zeros", "mlp:128", (784, 128, 10), 64, 0.55),
    "mlp128": lambda: mnist("mlp:128, batch 64, lr 0.1, 5 passes", "mlp:128", 64, 0.1, 3.5, 2.0, ["hand"]),
    "softmax": lambda: mnist("softmax, batch 64, lr 0.1, 5 passes", "softmax", 64, 0.1, 5.0, 3.0, ["hand"]),
    "convnet": lambda: mnist("convnet, batch 64, lr 0.01, momentum 0.5, 1 pass", "convnet", 64, 0.01, 2.5, 2.0, ["cl", "compile"], epochs=1, momentum=0.5),
    "example": example,
    "mlp256": lambda: mnist("mlp:256,128, batch 256, lr 0.1, 5 passes", "mlp:256,128", 256, 0.1, 2.5, 1.5, ["onednn"]),
    "mlp128-1": lambda: mnist("mlp:128, batch 1, lr 0.005, 1 pass over 30,000", "mlp:128", 1, 0.005, 30, 15, ["hand"], limit=30000, epochs=1),
    "softmax-1": lambda: mnist("softmax, batch 1, lr 0.005, 1 pass over 30,000", "softmax", 1, 0.005, 60, 30, ["hand"], limit=30000, epochs=1),
    "a9a": lambda: sparse("a9a", 32561, 0.02, 20, 0.01, 3.0),
    "w8a": lambda: sparse("w8a", 39800, 0.1, 20, 0.05, 2.0),
    "imdb": lambda: sparse("imdb", 25000, 1, 10, 0.5, 3.5),
    "rcv1": lambda: sparse("rcv1", 781265, 4, 3, 0.5, 5.0, repeats=2),
    "paper": paper,
    "exact-a9a": lambda: exact("a9a", 0.05, 8),
    "exact-w8a": lambda: exact("w8a", 0.3, 9),
    "exact-imdb": lambda: exact("imdb", 0.5, 4),
    "factor": factor,
    "modes": modes,
}
