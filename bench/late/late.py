#!/usr/bin/env python3
"""What do rules for late updates (--stale) change where workers are late?

    bench/late/late.py HOGWILD DATA [--seeds N] [--jobs WORD] [--keep FILE]

DATA is a folder with mnist and imdb. Each job trains at one learning rate with each rule: with two workers; with two of which one
is stopped for a second by SIGSTOP; with twice and with eight times as many workers as two cores. It prints the median test loss
over the seeds, the least and the most, and what became of the updates: of drop the shares that were trained again and
dropped, of the others the mean scale. --keep adds each run to a file, a line of JSON, and leaves
out those that are there.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

MNIST = "--data {data}/mnist --validation none --batch 64"
# A job: its settings, and when its second worker is stopped: after so many seconds of its time on a core; None: when it has taken
# its second chunk, with a copy of the weights as they were at the end of its first.
JOBS = {
    "mlp:128, merged": (f"{MNIST} --model mlp:128 --lr 0.1 --epochs 1", None),
    "softmax, in place": (f"{MNIST} --model softmax --merge-every 1 --lr 0.1 --epochs 40", (0.1, 0.3)),
    "mlp:512,256, in place": (f"{MNIST} --model mlp:512,256 --merge-every 1 --center off --lr 0.03 --epochs 1", (0.1, 0.3)),
    "softmax, merged every 256": ("--data {data}/mnist --validation none --model softmax --batch 8 --merge-every 256 --lr 0.05 "
                                  "--epochs 1", None),
    "logistic on imdb, merged every 256": ("--data {data}/imdb --validation none --batch 1 --merge-every 256 --lr 0.5 --epochs 1", None),
}
STATES = {"2 workers": 2, "2, one stopped for 1 s": 2, "4 workers": 4, "16 workers": 16}
PAUSE = 1.0


def rules(workers):
    """The rules, with an R that no update of workers in turn reaches."""
    return {"plain": "plain", "inverse": "inverse", "adaptive": "adaptive", "tail": "tail", "drop": f"drop:{4 * workers}"}


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            found += [int(c) for c in f.read().split()]
    return found


def fields(pid):
    """Those of /proc/PID/stat behind the name: the state first."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rpartition(") ")[2].split()


def worker(pid, rank):
    """The process of a rank, once it is there."""
    for child in children(pid):
        with open(f"/proc/{child}/environ", "rb") as f:
            if f"HOGWILD_RANK={rank}".encode() in f.read().split(b"\0"):
                return child
    return None


def stop(p, when):
    """Stops the second worker for a second; at the time when, or once it has stopped itself. It says whether it has."""
    victim = None
    while p.poll() is None:
        try:
            victim = victim or worker(p.pid, 1)
            if victim is not None:
                f = fields(victim)
                spent = (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")
                if when is None and f[0] == "T" or when is not None and spent >= when:
                    os.kill(victim, signal.SIGSTOP)
                    time.sleep(PAUSE)
                    os.kill(victim, signal.SIGCONT)
                    return True
        except (OSError, IndexError):
            victim = None
        time.sleep(0.002)
    return False


def run(args, job, state, rule, seed):
    """One run; None if its worker was not stopped in time."""
    settings, span = JOBS[job]
    workers = STATES[state]
    folder = tempfile.mkdtemp()
    env, stopped = dict(os.environ), "stopped" in state
    if stopped and span is None:
        env["HOGWILD_FAULT"] = "chunk.taken:stop@2/1"
    command = [args.hogwild, "train", *settings.format(data=args.data).split(), "--workers", str(workers), "--seed", str(seed),
               "--stale", rules(workers)[rule], "--lr-cap", "off", "--quiet", "--json", "--save-every", "0", "--run", folder + "/run"]
    try:
        p = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if stopped and not stop(p, span and random.uniform(*span)):
            p.communicate()
            return None
        out, err = p.communicate()
        if p.returncode:
            sys.exit(f"{' '.join(command)}: {err}")
    finally:
        shutil.rmtree(folder)
    r = json.loads(out)
    return {"job": job, "state": state, "rule": rule, "seed": seed, "loss": r["test_loss"], "seconds": r["seconds"],
            "staleness": r["staleness_mean"], "updates": r.get("updates"), "commit": r["commit"]}


def show(results, args):
    for job in JOBS:
        print(f"\n{job}\n\n| | " + " | ".join(rules(2)) + " |\n|" + "---|" * (len(rules(2)) + 1))
        for state in STATES:
            cells = []
            for rule in rules(2):
                of = [r for r in results if (r["job"], r["state"], r["rule"]) == (job, state, rule)]
                if not of:
                    cells.append("")
                    continue
                losses = [r["loss"] for r in of]
                text = f"{statistics.median(losses):.4f} ({min(losses):.4f} to {max(losses):.4f})"
                if of[0]["updates"]:
                    u = [r["updates"] for r in of]
                    steps = sum(x["applied"] + x["dropped"] for x in u)
                    if rule == "drop":
                        text += f"; {100 * sum(x['repeated'] for x in u) / steps:.2g}%, {100 * sum(x['dropped'] for x in u) / steps:.2g}%"
                    else:
                        text += f"; {statistics.mean(x['mean_scale'] for x in u):.2f}"
                cells.append(text)
            print(f"| {state} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hogwild")
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, default=7)
    parser.add_argument("--jobs", default="")
    parser.add_argument("--keep")
    args = parser.parse_args()
    results = []
    if args.keep and os.path.exists(args.keep):
        with open(args.keep, encoding="utf-8") as f:
            results = [json.loads(line) for line in f]
    there = {(r["job"], r["state"], r["rule"], r["seed"]) for r in results}
    for seed in range(1, args.seeds + 1):
        for job in JOBS:
            for state in STATES:
                for rule in rules(2):
                    if args.jobs not in job or (job, state, rule, seed) in there:
                        continue
                    r = None
                    while r is None:
                        r = run(args, job, state, rule, seed)
                    results.append(r)
                    if args.keep:
                        with open(args.keep, "a", encoding="utf-8") as f:
                            f.write(json.dumps(r) + "\n")
    show(results, args)


if __name__ == "__main__":
    main()
