#!/usr/bin/env python3
"""How seldom may replicas merge? On the virtual clock of hogwild.

    bench/clock/replicas.py bin/hogwild DATA [RUNS.json]

Replicas at equal speeds take steps of batch 8 on copies of the weights, and add what they have learnt to the weights of all: in full (the
rule plain), or, with N replicas, the N-th part (inverse, whose share is one in N there), at the rate of one replica and at N times that. The
figure is the test loss after three epochs over 20,000 rows, median of the seeds 1 to 3; with one replica, that of serial SGD. RUNS.json keeps
runs that have ended: the script may be stopped, and goes on with them.
"""

import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

THREADS = int(os.environ.get("THREADS", os.cpu_count()))
MODELS, RATES, REPLICAS, PERIODS, SEEDS = ["softmax", "mlp:32"], [0.1, 0.01], [2, 4, 8], [16, 64, 256], [1, 2, 3]
WAYS = {"in full": ("plain", lambda n: 1), "1/N": ("inverse", lambda n: 1), "1/N at N times the rate": ("inverse", lambda n: n)}


def loss(program, data, seed, model, lr, replicas, period, rule):
    """The test loss of a run; infinity if it diverges."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--quiet", "--data", data, "--limit", "20000", "--model", model, "--batch", "8",
                   "--lr", repr(lr), "--lr-cap", "off", "--epochs", "3", "--seed", str(seed), "--run", os.path.join(folder, "run"),
                   "--mode", f"clock:equal:{replicas}", "--rule", rule, "--merge-every", str(period)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # a run may diverge
        try:
            with open(os.path.join(folder, "run", "result.json")) as result:
                found = json.load(result)["test_loss"]
                return math.inf if found is None else found
        except FileNotFoundError:
            return math.inf


def main():
    program, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    keep = sys.argv[3] if len(sys.argv) > 3 else None
    known = json.load(open(keep)) if keep and os.path.exists(keep) else {}
    serial = {(model, lr): (model, lr, 1, 1, "plain") for model in MODELS for lr in RATES}
    others = {(model, lr, n, way): [(model, lr * times(n), n, period, rule) for period in PERIODS]
              for model in MODELS for lr in RATES for n in REPLICAS for way, (rule, times) in WAYS.items()}

    def run(work):
        key = json.dumps(work)
        if key not in known:
            known[key] = loss(program, data, *work)
        return key

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        runs = [(seed, *settings) for seed in SEEDS for row in ([s] if isinstance(s, tuple) else s for s in
                [*serial.values(), *others.values()]) for settings in row]
        for _ in pool.map(run, runs):
            if keep:
                with open(keep + ".new", "w") as to:
                    json.dump(dict(known), to)
                os.replace(keep + ".new", keep)

    def median(settings):
        found = statistics.median(known[json.dumps((seed, *settings))] for seed in SEEDS)
        return "diverges" if not found < 3 else f"{found:.3f}".removeprefix("0")

    print("| model, rate | serial | replicas | differences added | " + " | ".join(f"{p} steps" for p in PERIODS) + " |")
    print("|---" * (4 + len(PERIODS)) + "|")
    for (model, lr, n, way), row in others.items():
        first = (f"{model}, {lr}", median(serial[model, lr])) if (n, way) == (REPLICAS[0], "in full") else ("", "")
        print("| " + " | ".join([*first, str(n), way, *map(median, row)]) + " |")


if __name__ == "__main__":
    main()
