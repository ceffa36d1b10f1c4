"""The sides of a case: programs for the same job. A side is run once a round and returns a
dictionary: rate (examples, updates or operations a second; more is better), seconds, and what
was reached on the test set (loss, accuracy or rmse).
"""

import functools
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
RIVALS = os.path.abspath(os.environ.get("RIVALS") or os.path.join(ROOT, "build", "rivals"))
HOGWILD = os.environ.get("HOGWILD") or os.path.join(ROOT, "bin", "hogwild")
DATA = os.path.join(RIVALS, "data")
MNIST = os.path.join(DATA, "mnist")
MADE = ("rcv1", "rcv1:0.1")  # made by hogwild, and written to files by build.sh
GPU = 0  # compare.py --gpu


def files(set):
    """The training and the test file of a set, for the rivals."""
    name = set.replace(":", "-")
    return [f"{DATA}/{name}.libsvm", f"{DATA}/{name}.test.libsvm"] if set in MADE else [f"{DATA}/{set}", f"{DATA}/{set}.t"]


def source(set):
    """The same for hogwild, which makes synthetic data itself, from the same seed."""
    return ["--data", "synth:" + set] if set in MADE else ["--data", files(set)[0], "--test", files(set)[1]]


@dataclass
class Side:
    run: Callable  # of the round
    against: str = ""  # the side of hogwild's that a rival is compared with
    needs: tuple = ()  # files, and modules of Python


def missing(needs):
    """Those of the files and modules that are not there."""
    return [n for n in needs if not (os.path.exists(n) if "/" in n else importlib.util.find_spec(n))]


def execute(command, limit=300):
    done = subprocess.run([str(c) for c in command], check=False, capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\nstatus {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


@functools.cache
def limits_alone():
    """The flags of bench that run no case."""
    return ["--repeat", "0"] if "--repeat" in execute([HOGWILD, "bench", "--help"]) else []


def limits(seconds):
    """What this machine does at best."""
    return json.loads(execute([HOGWILD, "bench", "--limits", *limits_alone(), "--json", "--seconds", seconds]))


def ours(*flags, set=None, l2=None):
    """hogwild train with these flags. set: that of a sparse linear model, else it is MNIST, but
    for factor. With l2 it counts how far the objective is from its optimum."""

    def run(turn):
        folder = tempfile.mkdtemp(prefix="hogwild-")
        try:
            seed = 1 if set in MADE else turn + 1  # synthetic data depends on it
            out = execute([HOGWILD, "train", "--json", "--quiet", "--run", folder, "--save-every", 0, "--seed", seed, *flags])
            r = json.loads(out)
            with open(f"{folder}/metrics.jsonl") as f:
                passes = [e.get("test_accuracy") for e in map(json.loads, f) if e["kind"] == "epoch"]
            got = {"rate": r["examples_per_second"], "seconds": r["seconds"], "train_loss": r["train_loss"], "passes": passes}
            for name in ("staleness_mean", "lost_updates", "conflicts", "lr_used", "lambda"):
                if r.get(name) is not None:
                    got[name] = r[name]
            return got | judged(f"{folder}/weights.safetensors", r, flags, set, l2)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return Side(run)


def judged(path, result, flags, set, l2):
    """What the weights in a file reach."""
    if "test_rmse" in result:
        return {"rmse": result["test_rmse"]}
    if set is None:
        import mnist

        return dict(zip(("loss", "accuracy"), mnist.reached_by_file(path, MNIST)))
    import rows

    test = rows.read(files(set)[1])
    w, bias = rows.weights(path)
    got = dict(zip(("loss", "accuracy"), rows.reached(rows.scores(w, bias, test), test[0], "hinge" in flags)))
    if l2:
        train = rows.read(files(set)[0])
        objective = rows.mean_loss(rows.scores(w, bias, train), train[0]) + l2 / 2 * w @ w
        got["excess"] = float(objective / optimum(set, l2) - 1)
    return got


def script(name, *arguments, against="hogwild", needs=()):
    """A rival that prints a line of JSON."""

    def run(turn):
        command = [sys.executable, f"{HERE}/{name}"] if name.endswith(".py") else [f"{RIVALS}/{name}"]
        r = json.loads(execute([*command, *arguments]).splitlines()[-1])
        last = {k: v[-1] if isinstance(v, list) else v for k, v in r.items()}
        total = r["seconds"] if isinstance(r["seconds"], float) else sum(r["seconds"])
        got = {"rate": r["examples_per_second"], "seconds": total, "loss": last["test_loss"], "accuracy": last["test_accuracy"]}
        return got | ({"passes": r["test_accuracy"]} if isinstance(r["test_accuracy"], list) else {})

    return Side(run, against, needs or (f"{RIVALS}/{name}",))


def torch(*flags, name="torch_hogwild.py", against="hogwild"):
    return script(name, "--data", MNIST, *flags, against=against, needs=("torch", *(["torchvision"] if "loader" in flags else [])))


def hogwild_cpp(program, set, epochs, step, *flags, against="two workers"):
    """Hogwild! (svm) or Hogwild++ (numasvm), two threads, hinge loss."""

    def run(turn):
        import rows

        out = execute([f"{RIVALS}/hogwildpp/bin/{program}", "--epochs", epochs, "--binary", 1, "--splits", 2, "--stepinitial", step,
                       "--step_decay", 0.8, *flags, *[name + ".bin" for name in files(set)]])
        last = re.findall(r"train_time: (\S+) .*test_acc: (\S+)", out)[-1]
        return {"rate": rows.count(files(set)[0]) * epochs / float(last[0]), "accuracy": float(last[1]), "seconds": float(last[0])}

    return Side(run, against, (f"{RIVALS}/hogwildpp/bin/{program}", files(set)[0] + ".bin"))


def liblinear(set, l2):
    def run(turn):
        r = json.loads(execute([f"{RIVALS}/liblinear", files(set)[0], l2]))
        return {"rate": 1 / r["seconds"], "seconds": r["seconds"], "solver": r["solver"], "version": r["version"],
                "excess": r["objective"] / r["optimum"] - 1}

    return Side(run, "hogwild", (f"{RIVALS}/liblinear",))


@functools.cache
def optimum(set, l2):
    return json.loads(execute([f"{RIVALS}/liblinear", files(set)[0], l2]))["optimum"]


def libmf(train, test, k, passes):
    def run(turn):
        r = json.loads(execute([f"{RIVALS}/factor", train, test, k, passes, 2, 0.0, 0.1]))
        if r["seconds"] <= 0:
            raise ValueError("its preparation alone took longer than all of it: the machine is busy with other things")
        return {"rate": r["updates_per_second"], "rmse": r["test_rmse"], "seconds": r["seconds"]}

    return Side(run, "hogwild", (f"{RIVALS}/factor",))


def peak(turn):
    """The multiply-adds of one core, with the best instructions, in FLOP/s."""
    return {"rate": 1e9 * max(v["max"] for v in limits(1)["limits"] if v["name"].startswith("multiply-add") and v["cores"] == 1)}


def counting(side, change):
    """A side whose figures are changed."""
    return Side(lambda turn: change(side.run(turn)), side.against, side.needs)


def flops(*widths):
    """A rate in FLOP/s: two passes of every product forward and backward, but for the first
    layer's, whose inputs have no gradient."""
    products = [a * b for a, b in itertools.pairwise(widths)]
    return lambda r: {**r, "examples": r["rate"], "rate": r["rate"] * (6 * sum(products) - 2 * products[0])}
