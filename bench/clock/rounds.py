#!/usr/bin/env python3
"""How should nodes with local steps meet, if one of them is slow? On the virtual clock of hogwild.

    bench/clock/rounds.py bin/hogwild

Four nodes take 16 local steps each (mlp:32 on the built-in digits, batch 16). The figure is the virtual time to a test loss of
0.1, on the line between the two epochs around it. All rules try the same learning rates, a factor of the root of two apart, with
the seeds 1001 and 1002; each is then run with the seeds 1 to 5 at the rate that was first there with both. It takes minutes, and
gives the same figures on any machine with the same vector instructions (see docs/clock.md).
"""

import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

RULES = ["minibatch", "quorum:3", "quorum:3,1", "plain", "adaptive", "delayed-nesterov:4"]
SPEEDS = ["equal:4", "slow:4,1,4"]
RATES = [0.025 * 2 ** (i / 2) for i in range(13)]
TARGET, EPOCHS = 0.1, 12


def virtual_time(program, speeds, rule, lr, seed):
    """The virtual time to the target; infinity if a run does not get there."""
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        command = [program, "train", "--quiet", "--mode", f"clock:{speeds}", "--rule", rule, "--merge-every", "16",
                   "--model", "mlp:32", "--batch", "16", "--lr", repr(lr), "--lr-cap", "off", "--epochs", str(EPOCHS),
                   "--seed", str(seed), "--run", run]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # a run may diverge
        before = (0.0, math.inf)
        with open(os.path.join(run, "metrics.jsonl")) as lines:
            for line in map(json.loads, lines):
                if line["kind"] != "epoch" or line["test_loss"] is None:
                    continue
                at = (line["train_metrics"]["virtual_time"], line["test_loss"])
                if at[1] <= TARGET:
                    if math.isinf(before[1]):
                        return at[0]
                    return before[0] + (at[0] - before[0]) * (before[1] - TARGET) / (before[1] - at[1])
                before = at
    return math.inf


def main():
    program = os.path.abspath(sys.argv[1])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for speeds in SPEEDS:
            for rule in RULES:
                tries = {lr: [pool.submit(virtual_time, program, speeds, rule, lr, seed) for seed in (1001, 1002)]
                         for lr in RATES}
                best = min(RATES, key=lambda lr: max(f.result() for f in tries[lr]))
                times = sorted(pool.map(lambda seed: virtual_time(program, speeds, rule, best, seed), range(1, 6)))
                edge = " (at the end of the rates)" if best in (RATES[0], RATES[-1]) else ""
                print(f"{speeds:12} {rule:20} lr {best:.3g}{edge}: {times[2]:.0f} ({times[0]:.0f} to {times[4]:.0f})",
                      flush=True)


if __name__ == "__main__":
    main()
