"""hogwild's modes async and blocks, and LIBMF, by turns on the entries of matrices: updates a second, and ratios of rounds.

    blocks.py [--rounds 3] [--epochs 5] [--sets NAME,...] [--ranks 10,32] [--workers 1,2]

The sets are hogwild's synthetic ones, which it writes to build/rivals/data (or $RIVALS/data). Figures are of the epochs behind
the first, since LIBMF's exclude one iteration and its preparation; "whole" is hogwild's of all epochs, of which the first
trains blocks in parts. Test errors are not compared: LIBMF's rate is adaptive. LIBMF is left out if build.sh has not built it.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile

from sides import DATA, HOGWILD, RIVALS, execute

SETS = ("netflix:0.1", "lowrank:100000x100000x10000000x10")
MODES = ("async", "blocks")


def written(name):
    """The training and the test file of a set."""
    stem = f"{DATA}/{name.replace(':', '-')}"
    if not os.path.exists(stem + ".npy"):
        os.makedirs(DATA, exist_ok=True)
        execute([HOGWILD, "data", "make", "synth:" + name, stem + ".npy"])
    return stem + ".npy", stem + ".test.npy"


def ours(train, test, rank, mode, workers, epochs):
    """Updates a second behind the first epoch, and of all."""
    with tempfile.TemporaryDirectory(prefix="hogwild-") as folder:
        execute([HOGWILD, "train", "--run", f"{folder}/run", "--quiet", "--save-every", 0, "--validation", "none", "--lr", 0.02, "--data", train,
                 "--test", test, "--model", f"factor:{rank}", "--mode", mode, "--workers", workers, "--epochs", epochs])
        with open(f"{folder}/run/metrics.jsonl") as f:
            all = [e for e in map(json.loads, f) if e["kind"] == "epoch"]
    first, last = all[0], all[-1]
    return (last["examples"] - first["examples"]) / (last["seconds"] - first["seconds"]), last["examples"] / last["seconds"]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--epochs", type=int, default=5)
    a.add_argument("--sets", default=",".join(SETS))
    a.add_argument("--ranks", default="10,32")
    a.add_argument("--workers", default="1,2")
    a = a.parse_args()
    libmf = f"{RIVALS}/factor"
    for name in a.sets.split(","):
        files = written(name)
        for rank in a.ranks.split(","):
            for workers in a.workers.split(","):
                rates, whole = {}, {}
                for turn in range(a.rounds):
                    for mode in MODES if turn % 2 == 0 else MODES[::-1]:
                        r, w = ours(*files, rank, mode, workers, a.epochs)
                        rates.setdefault(mode, []).append(r)
                        whole.setdefault(mode, []).append(w)
                    if os.path.exists(libmf):
                        r = json.loads(execute([libmf, *files, rank, a.epochs, workers, 0.0, 0.1]))["updates_per_second"]
                        rates.setdefault("LIBMF", []).append(r)
                line = [f"{side} {statistics.median(r) / 1e6:.0f} M/s" for side, r in rates.items()]
                against = [("async", rates, "async")] + [("LIBMF", rates, "LIBMF")] * ("LIBMF" in rates) + [("async", whole, "async, whole")]
                for other, of, label in against:
                    ratios = sorted(x / y for x, y in zip(of["blocks"], of[other]))
                    line.append(f"blocks / {label} {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
                print(f"{name}, rank {rank}, {workers} worker{'s' * (workers != '1')}: " + "; ".join(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
