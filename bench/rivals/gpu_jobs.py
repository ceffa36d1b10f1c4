"""The jobs of gpu.py, with hogwild's settings; those of its rivals are in gpu_KIND.py."""

import dataclasses

RATES = (1, 1 / 3, 3, 1 / 9, 9)  # times the middle rate of a setting
SETTINGS = 4  # of a side


def points(settings, rates=RATES):
    """settings: (text, middle rate, argument ...). All settings at their middle rate come first."""
    return [(text, lr * rate, (*rest, lr * rate)) for rate in rates for text, lr, *rest in settings]


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


# No more steps in flight than an H200 takes: 132 CTAs of a dense model's step, 396 of its steps of one example, 4,224 entries of factor:64.
JOBS = [
    Job("a9a", "sparse", "logistic", 0.326, 60,
        {"--in-flight 264 --merge-every 1": 0.002, "--in-flight 1056 --merge-every 1": 0.0007, "--in-flight 1056": 0.0007, "--in-flight 264": 0.002},
        {"--batch 1": 0.006, "--batch 1 --merge-every 1": 0.006, "--batch 8": 0.04, "--batch 1 --workers half": 0.006},
        {"--in-flight 32": 0.006, "--in-flight 132": 0.003, "--in-flight 264": 0.002, "--in-flight 1056": 0.0007, "--in-flight 2112": 0.0004}),
    Job("factor", "factor", "factor:64", 0.0144, 20,
        {"--in-flight 4224": 0.03, "--in-flight 2112": 0.03, "--in-flight 1056": 0.03, "--in-flight 528": 0.03},
        {"--batch 1": 0.03, "--batch 1 --mode atomic": 0.03, "--batch 1 --workers half": 0.03, "--batch 4": 0.1},
        made="lowrank:20000x10000x10000000x10"),
    Job("mlp128", "dense", "mlp:128", 0.085, 20,
        {"--in-flight 132 --batch 8": 0.015, "--in-flight 264 --batch 1": 0.002, "--in-flight 132 --batch 32": 0.05, "--in-flight 66 --batch 8": 0.03},
        {"--batch 16": 0.03, "--batch 64": 0.1, "--batch 4": 0.01, "--batch 16 --workers half": 0.03},
        {"--in-flight 32 --batch 1": 0.01, "--in-flight 132 --batch 1": 0.003, "--in-flight 264 --batch 1": 0.002, "--in-flight 396 --batch 1": 0.001,
         "--in-flight 132 --batch 8": 0.015, "--in-flight 66 --batch 8": 0.03}),
    Job("softmax", "dense", "softmax", 0.285, 20,
        {"--in-flight 132 --batch 8": 0.004, "--in-flight 66 --batch 8": 0.008, "--in-flight 132 --batch 64": 0.02, "--in-flight 66 --batch 64": 0.04},
        {"--batch 16": 0.01, "--batch 64": 0.03, "--batch 4": 0.003, "--batch 16 --workers half": 0.01},
        {"--in-flight 32 --batch 8": 0.01, "--in-flight 132 --batch 1": 0.0007, "--in-flight 132 --batch 8": 0.004, "--in-flight 66 --batch 8": 0.008,
         "--in-flight 132 --batch 64": 0.02}),
    Job("rcv1", "sparse", "logistic", 0.41, 60,
        {"--in-flight 264 --merge-every 1": 1.5, "--in-flight 1056 --merge-every 1": 0.5, "--in-flight 1056": 0.5, "--in-flight 264": 1.5},
        {"--batch 1": 3, "--batch 1 --merge-every 1": 3, "--batch 8": 10, "--batch 1 --workers half": 3}, made="rcv1:0.1", l2=1e-6),
    Job("convnet", "dense", "convnet", 0.05, 20,
        {"--in-flight 132 --batch 4": 0.01, "--in-flight 32 --batch 4": 0.02, "--in-flight 132 --batch 16": 0.03, "--in-flight 132 --batch 1": 0.003},
        {"--batch 16": 0.03, "--batch 64": 0.1, "--batch 4": 0.01, "--batch 16 --workers half": 0.03},
        {"--in-flight 32 --batch 1": 0.01, "--in-flight 132 --batch 1": 0.003, "--in-flight 66 --batch 1": 0.006, "--in-flight 32 --batch 4": 0.02,
         "--in-flight 132 --batch 4": 0.01, "--in-flight 66 --batch 4": 0.015, "--in-flight 132 --batch 16": 0.03}),
]
TINY = {"rcv1:0.1": "rcv1:0.001", "lowrank:20000x10000x10000000x10": "lowrank:200x200x4000x4"}
