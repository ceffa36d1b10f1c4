"""The cases of compare.py. A case has a few sides that do the same job, and claims about their
speeds and results.

All sides of a case have the same inputs. Perceptrons have two cases each: pixels from 0 to 1, whose zeros
hogwild skips, and standardised columns, which have no zeros, as most tables. The example, its programs, and averaged
gradients have those of PyTorch's example, (x - 0.1307) / 0.3081.
"""

from dataclasses import dataclass

import sides
from search import Grid
from sides import DATA, MNIST, Side, counting, files, hogwild_cpp, liblinear, libmf, ours, script, source, torch


ITS = "(x - 0.1307) / 0.3081"  # of PyTorch's example
FASHION = f"{DATA}/fashion-mnist"


@dataclass
class Claim:
    """ours is at least target times the better of theirs; or ours is at least (most) target."""

    text: str
    ours: str
    theirs: tuple = ()
    target: float = 0.0
    of: str = "rate"  # rate: compares ratios; or the name of a figure: compares differences or values
    most: bool = False


@dataclass
class Case:
    title: str
    unit: str
    sides: dict
    claims: list
    rounds: int = 5
    needs: tuple = ()  # files without which no side can run
    inputs: str = ""
    data: tuple = ()  # the files of the set, of which a search takes parts


OPTIMIZERS = {"adam": 1, "momentum": 10, "sgd": 100}  # and how many times Adam's rate the first one tried is
SCHEDULES = {"cosine": 1, "linear": 1, "constant": 1 / 3}


def searched(model, scale, epochs=(5, 3, 10, 20), set=MNIST, way="hand"):
    """A network on images, each side with the optimizer, schedule, batch, rate and passes that suit it best. PyTorch is at its fastest:
    with the backward pass by hand if it is a perceptron, as two processes of a thread or one of two; plain, it has the same settings."""
    shared = ["--model", model, "--scale", scale]
    choices = {"optimizer": OPTIMIZERS, "schedule": SCHEDULES, "epochs": dict.fromkeys(epochs, 1)}
    own, other = Grid(0.001, 64, choices), Grid(0.001, 64, {**choices, "processes": {2: 1, 1: 1}})
    plain = {"PyTorch plain": torch(*shared, "--cores", 2, "--way", "plain", set=set, like="PyTorch")}
    name = "Fashion-MNIST" if set == FASHION else "MNIST"
    return Case(f"{model} on {name}", "examples/s", {
        "hogwild": ours("--data", set, "--workers", 2, *shared, grid=own),
        "PyTorch": torch(*shared, "--cores", 2, "--way", way, set=set, grid=other), **(plain if way != "plain" else {}),
    }, [], 5, (set,), {"unit": "pixels in 0..1", "standard": "standardised"}.get(scale, ITS), (set,))


def mnist(title, model, batch, lr, plain, tuned, ways, limit=0, epochs=5, momentum=0.0):
    shared = ["--model", model, "--scale", "0.1307,0.3081", "--batch", batch, "--lr", lr, "--epochs", epochs]
    theirs = [*shared, "--momentum", momentum, "--limit", limit, "--processes", 2]
    optimizer = ["--optimizer", "momentum", "--momentum", momentum] if momentum else []
    rivals = {f"PyTorch {way}": torch(*theirs, "--way", way) for way in ("plain", *ways)}
    return Case(title, "examples/s", {
        "hogwild": ours("--data", MNIST, "--workers", 2, "--limit", limit, *optimizer, *shared), **rivals,
    }, [Claim("against PyTorch plain", "hogwild", ("PyTorch plain",), plain),
        Claim("against PyTorch tuned", "hogwild", tuple(rivals), tuned)], 3, (MNIST,), ITS)


def example():
    """The convolutional network against the example as it is: two processes, each over all data."""
    flags = ["--model", "convnet", "--batch", 64, "--lr", 0.01, "--momentum", 0.5]
    return Case("convnet against PyTorch's example as it is", "examples/s", {
        "hogwild": ours("--data", MNIST, "--scale", "0.1307,0.3081", "--workers", 2, "--optimizer", "momentum", "--epochs", 2, *flags),
        "mnist_hogwild": torch(*flags, "--way", "loader", "--epochs", 1, "--processes", 2),
    }, [Claim("against the example as it is", "hogwild", ("mnist_hogwild",), 5.0)], 2, (MNIST,), ITS)


def program(workers):
    """The example's network as a program. mnist_hogwild's processes each pass over all data."""
    flags, settings = ["--batch", 64], ["--model", "convnet", "--lr", 0.01, "--momentum", 0.5, "--processes", workers]
    return Case(f"the example's network as a program, {workers} workers, 2 passes", "examples/s", {
        "hogwild": sides.program("mnist.py", "--data", MNIST, "--scale", "0.1307,0.3081", "--workers", workers, *flags, "--epochs", 2),
        "PyTorch plain": torch(*flags, *settings, "--way", "plain", "--epochs", 2),
        **({"mnist_hogwild": torch(*flags, *settings, "--way", "loader", "--epochs", 2 // workers)} if workers < 3 else {}),
    }, [Claim("against PyTorch plain", "hogwild", ("PyTorch plain",), 1.0)], 3, (MNIST,), ITS)


STEP = ["--model", "mlp:128", "--batch", 64, "--lr", 0.1, "--epochs", 3]
IN_STEP = ["--data", MNIST, "--scale", "0.1307,0.3081", "--workers", 2, "--mode", "sync", "--average-lr", "same", *STEP]  # as PyTorch has it


def average():
    """Two replicas that average their weights every 16 steps or once a pass."""
    theirs = [*STEP, "--way", "average", "--processes", 2]
    return Case("weights averaged, mlp:128, batch 64 each, 3 passes", "examples/s", {
        "every 16 steps": ours(*IN_STEP, "--average-every", 16),
        "every pass": ours(*IN_STEP, "--average-every", "epoch"),
        "PyTorch, every 16 steps": torch(*theirs, "--every", 16, name="torch_sync.py", against="every 16 steps"),
        "PyTorch, every pass": torch(*theirs, name="torch_sync.py", against="every pass"),
    }, [Claim("every 16 steps, against PyTorch", "every 16 steps", ("PyTorch, every 16 steps",), 1.0),
        Claim("every pass, against PyTorch", "every pass", ("PyTorch, every pass",), 1.0)], 3, (MNIST,), ITS)


def ddp():
    return Case("gradients averaged, mlp:128, batch 64 each, 3 passes", "examples/s", {
        "hogwild": ours(*IN_STEP, "--average", "gradients"),
        "PyTorch DDP, gloo": torch(*STEP, "--way", "ddp", "--processes", 2, name="torch_sync.py"),
    }, [Claim("against DistributedDataParallel", "hogwild", ("PyTorch DDP, gloo",), 1.0)], 3, (MNIST,), ITS)


def sparse(set, lr, epochs, step, target, rounds=5, falling=None):
    """falling: where the search of rivals without a cosine schedule begins. All take single rows."""
    train, test = files(set)
    flags, c = ["--data", train, "--test", test, "--model", "logistic", "--batch", 1], [train, test]
    passes = {"epochs": {epochs: 1, epochs // 2: 1, 2 * epochs: 1, 4 * epochs: 1}}
    own, other = Grid(lr, choices={"schedule": SCHEDULES, **passes}, close=1.002), {"schedule": {"falling": 1, "constant": 1}, **passes}
    python, vw = (Grid(falling or lr, choices=c, close=1.002) for c in (other, {"optimizer": {"sgd": 1, "adaptive": 10}, **other}))
    return Case(f"logistic, {set}, batch 1", "examples/s", {
        "one worker": ours(*flags, "--workers", 1, set=set, grid=own),
        "two workers": ours(*flags, "--workers", 2, set=set, grid=own),
        "plain C": script("sparse", *c, against="one worker", grid=own),
        "plain C, 2 threads": script("sparse", *c, "threads=2", against="two workers", grid=own),
        "scikit-learn": script("sklearn_sgd.py", *c, against="one worker", needs=("sklearn",), seeded=True, grid=python),
        "Vowpal Wabbit": script("vw_sgd.py", *c, against="one worker", needs=("vowpalwabbit",), grid=vw),
        "Hogwild!": hogwild_cpp("svm", set, epochs, step),
        "Hogwild++": hogwild_cpp("numasvm", set, epochs, step, "--cluster_size", 1, "--update_delay", 64),
    }, [Claim("one worker against plain C", "one worker", ("plain C",), 0.85),
        Claim("two workers against one", "two workers", ("one worker",), 1.7),
        Claim("accuracy of two workers less that of one", "two workers", ("one worker",), -0.003, of="accuracy"),
        Claim("two workers against Hogwild! and Hogwild++", "two workers", ("Hogwild!", "Hogwild++"), target)], rounds, (train, test), "sparse rows", (train, test))


def paper():
    flags = [*source("rcv1"), "--batch", 1, "--epochs", 20, "--workers", 2]
    return Case("the paper's job: hinge, synth:rcv1, 20 passes, two workers", "examples/s", {
        "hogwild": ours(*flags, "--model", "hinge", "--lr", 0.5, "--schedule", "cosine", set="rcv1"),
        "Hogwild!": hogwild_cpp("svm", "rcv1", 20, 0.5, against="hogwild"),
    }, [Claim("seconds", "hogwild", (), 1.5, of="seconds", most=True),
        Claim("against Hogwild!", "hogwild", ("Hogwild!",), 4.0)], 3, tuple(files("rcv1")))


def exact(set, lr, epochs, l2=1e-4):
    """Seconds to within 1e-3 (relative) of the optimum of the regularized objective."""
    run = ours(*source(set), "--model", "logistic", "--no-bias", "--batch", 1, "--l2", l2, "--lr", lr,
               "--schedule", "cosine", "--epochs", epochs, "--workers", 1, set=set, l2=l2)
    return Case(f"to within 1e-3 of the optimum, {set}, lambda {l2}", "1/s", {
        "hogwild": counting(run, lambda r: {**r, "rate": 1 / r["seconds"]}),
        "liblinear": liblinear(set, l2),
    }, [Claim("against liblinear's best solver, in time", "hogwild", ("liblinear",), 1.0),
        Claim("excess over the optimum", "hogwild", (), 1e-3, of="excess", most=True)],
        3, (*files(set), f"{sides.RIVALS}/liblinear"), "sparse rows")


def factor():
    train, test = f"{DATA}/lowrank.npy", f"{DATA}/lowrank.test.npy"
    flags = ["--data", train, "--test", test, "--model", "factor:10", "--lr", 0.05, "--schedule", "cosine", "--epochs", 4, "--workers", 2]
    return Case("factor:10, 100,000 x 100,000, 50 M entries, 4 passes, two workers", "updates/s", {
        "hogwild": ours(*flags, "--batch", 1), "blocks": ours(*flags, "--mode", "blocks"),
        "LIBMF": libmf(train, test, 10, 4),
    }, [Claim("against LIBMF with 2 threads", "hogwild", ("LIBMF",), 1.5),
        Claim("mode blocks against async", "blocks", ("hogwild",), 1.0),
        Claim("test RMSE less LIBMF's", "hogwild", ("LIBMF",), 0.0, of="rmse", most=True)], 2, (train, test))


def modes():
    flags = ["--data", MNIST, "--scale", "0.1307,0.3081", "--model", "convnet", "--batch", 64, "--lr", 0.01,
             "--optimizer", "momentum", "--momentum", 0.5, "--epochs", 12]
    all = {"serial": ours(*flags, "--workers", 1)}
    for mode in ("async", "atomic", "locked", "ordered", "sync"):
        # in step, four workers share a step of 64 examples: as many steps as serial training
        step = ["--average", "gradients", "--global-batch", 64] if mode == "sync" else []
        all[mode] = ours(*flags, "--workers", 4, "--mode", mode, *step)
    all = {name: counting(side, lambda r: {**r, "accuracy_6": r["passes"][5]}) for name, side in all.items()}
    claims = [Claim("async after 6 passes", "async", (), 0.975, of="accuracy_6"), Claim("async after 12 passes", "async", (), 0.985, of="accuracy")]
    claims += [Claim(f"{m} less serial", m, ("serial",), -0.005, of="accuracy") for m in list(all)[1:]]
    return Case("convnet on MNIST, 4 workers, lr 0.01, momentum 0.5, 12 passes", "examples/s", all, claims, 1, (MNIST,))


CASES = {
    "mlp128": lambda: searched("mlp:128", "unit"),
    "mlp128-std": lambda: searched("mlp:128", "standard"),
    "mlp256": lambda: searched("mlp:256,128", "unit"),
    "mlp256-std": lambda: searched("mlp:256,128", "standard"),
    "fashion": lambda: searched("mlp:128", "standard", set=FASHION),
    "softmax": lambda: searched("softmax", "unit"),
    "convnet": lambda: searched("convnet", "0.1307,0.3081", epochs=(3, 6), way="cl"),
    "example": example,
    "program-1": lambda: program(1),
    "program-2": lambda: program(2),
    "program-4": lambda: program(4),
    "average": average,
    "ddp": ddp,
    "mlp128-1": lambda: mnist("mlp:128, batch 1, lr 0.005, 1 pass over 30,000", "mlp:128", 1, 0.005, 30, 15, ["hand"], limit=30000, epochs=1),
    "softmax-1": lambda: mnist("softmax, batch 1, lr 0.005, 1 pass over 30,000", "softmax", 1, 0.005, 60, 30, ["hand"], limit=30000, epochs=1),
    "a9a": lambda: sparse("a9a", 0.02, 20, 0.01, 3.0),
    "w8a": lambda: sparse("w8a", 0.1, 20, 0.05, 2.0),
    "imdb": lambda: sparse("imdb", 1, 10, 0.5, 3.5),
    "rcv1": lambda: sparse("rcv1", 4, 3, 0.5, 5.0, rounds=2, falling=12),
    "rcv1-tenth": lambda: sparse("rcv1:0.1", 1, 5, 0.5, 5.0, falling=2),
    "paper": paper,
    "exact-a9a": lambda: exact("a9a", 0.05, 8),
    "exact-w8a": lambda: exact("w8a", 0.3, 9),
    "exact-imdb": lambda: exact("imdb", 0.5, 4),
    "factor": factor,
    "modes": modes,
}

# Without names: those that every kind of rival is in.
USUAL = ["mlp128-std", "mlp256", "fashion", "mlp128", "mlp256-std", "convnet", "example", "average", "ddp", "a9a", "imdb", "exact-a9a", "exact-imdb"]
