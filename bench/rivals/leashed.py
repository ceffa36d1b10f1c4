"""Runs hogwild and shared-memory-sgd (dcs-chalmers; Leashed-SGD, IPDPS 2021) in turns on MNIST: its perceptron and its
convolutional network, in each of its modes, and asks whether Leashed can be told apart from a lock.

    git clone https://github.com/dcs-chalmers/shared-memory-sgd FOLDER
    leashed.py FOLDER [--eigen /usr/include/eigen3] [--quick] [--out FILE]       # data from HOGWILD_DATA

Its headers are built with leashed.cpp, in build/leashed: -O3 -march=native -flto and a profile, in float, without OpenMP inside of
its threads, which is its fastest build; with its Eigen and with that of EIGEN, of which the faster one is taken for each network.
Both sides have its inputs (0 to 255), its initial weights (N(0, 0.01^2)) and batch. Rates are found by search.py, each side and
mode its own, in passes, which no other program disturbs. CPU seconds are those of training; hogwild's are of the whole program,
evaluation too, less those of a run with one pass. In the comparison of modes all have one rate, and a seed the same weights.
"""

import argparse
import array
import gzip
import json
import math
import os
import platform
import random
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import search

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
HOGWILD = os.environ.get("HOGWILD") or os.path.join(ROOT, "bin", "hogwild")
BUILD = os.path.join(ROOT, "build", "leashed")
PARTS = (("train", "train"), ("test", "t10k"))
MODEL = {"mlp": "mlp:128,128,128", "cnn": "conv:4@3p2,8@3p2,128"}
SHAPES = {"mlp": {"0": (128, 784), "2": (128, 128), "4": (128, 128), "6": (10, 128)},
          "cnn": {"conv1": (4, 1, 3, 3), "conv2": (8, 4, 3, 3), "fc1": (128, 200), "fc2": (10, 128)}}
WORDS = {"SEQ": "serial", "SYNC": "sync", "ASYNC": "lock", "HOG": "Hogwild!", "LSH": "Leashed"}
SIDES = {**{f"{word}, {n}": ("theirs", mode, n) for mode, word in WORDS.items() for n in ((1,) if mode == "SEQ" else (2,) if mode == "SYNC" else (1, 2))},
         **{f"hogwild {mode}, {n}": ("ours", mode, n) for mode in ("async", "locked", "sync") for n in ((2,) if mode == "sync" else (1, 2))}}
T95 = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}  # of Student's distribution
# Network, batch, rows and rate of the comparison of modes, two passes: small batches, where the update weighs most. At the end Leashed
# drops the gradients under way, and a lock and Hogwild! apply them, however late, so the loss after the first pass is what tells.
APART = {"mlp, batch 16": ("mlp", 16, 20000, 0.005), "mlp, batch 1": ("mlp", 1, 2000, 0.0005), "cnn, batch 16": ("cnn", 16, 20000, 0.005)}
# What is added to its header, for times and weights by pass; and k, which has no first value.
HOOKS = [("1,$", r"for (int k; k", "for (int k = 0; k"), ("1,$", r"x_batches, y_batches);", r"& leashed::begin();"),
         ("1,/run_parallel_leashed/", r"time_per_epoch.push_back(now.tv_sec);", r"& leashed::pass(\&net->current_param_container_ptr);"),
         ("/run_parallel_leashed/,$", r"time_per_epoch.push_back(now.tv_sec);", r"& leashed::pass(param_pointer);"),
         ("1,$", r"failed_cas = failed_cas_counter.load();", r"net->set_pointer(*param_pointer); &")]


def say(text):
    print(text, file=sys.stderr, flush=True)


def sh(*command, **how):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **how).stdout


def build(src, eigen, data):
    """The fastest build for each network, and the plain one of its CMakeLists.txt in double."""
    programs = {}
    for name, other in (("its Eigen", None), ("EIGEN", eigen)):
        if name == "EIGEN" and not eigen:
            continue
        folder = os.path.join(BUILD, "other" if other else "own")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(src, "include"), folder, symlinks=True)
        for part in ("Eigen", "unsupported") if other else ():
            shutil.rmtree(os.path.join(folder, part))
            shutil.copytree(os.path.join(other, part), os.path.join(folder, part))
        sh("sed", "-i", *(w for at, a, b in HOOKS for w in ("-e", f"{at} s/{a}/{b}/")), f"{folder}/minidnn/NetworkExecutor.h")
        sh("sed", "-i", "s/typedef double Scalar/typedef REAL Scalar/", f"{folder}/minidnn/Config.h")
        flags = ["g++", "-std=c++14", "-w", "-pthread", "-I", folder, "-I", f"{folder}/minidnn", "leashed.cpp"]
        shutil.copy(os.path.join(HERE, "leashed.cpp"), folder)
        fast = [*flags, "-O3", "-march=native", "-DNDEBUG", "-DREAL=float", "-flto", "-o", "fast"]
        sh(*fast, "-fprofile-generate", "-fprofile-update=atomic", "-DPROFILE", cwd=folder)
        for net in MODEL:
            sh("./fast", "LSH", net, 2, 64, 0.001, 1, 1, data, cwd=folder)
        sh(*fast, "-fprofile-use", "-fprofile-correction", cwd=folder)
        programs[name] = f"{folder}/fast"
        if not other:
            sh(*flags, "-O3", "-fopenmp", "-DREAL=double", "-o", "plain", cwd=folder)
            programs["plain"] = f"{folder}/plain"
    return programs


def rows(folder, part):
    """The head and the rows of a pair of IDX files."""
    def read(kind):
        path = f"{folder}/{part}-{kind}-ubyte"
        with (gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb")) as f:
            return f.read()
    x, y = read("images-idx3")[16:], read("labels-idx1")[8:]
    return [(x[784 * i:784 * i + 784], y[i:i + 1]) for i in range(len(y))]


def write(folder, train, test):
    """A folder that both sides read: IDX files, and plain bytes."""
    os.makedirs(folder, exist_ok=True)
    for (name, part), some in zip(PARTS, (train, test)):
        x, y = b"".join(r[0] for r in some), b"".join(r[1] for r in some)
        for path, text in ((f"{name}.x", x), (f"{name}.y", y), (f"{part}-images-idx3-ubyte", struct.pack(">4i", 2051, len(some), 28, 28) + x),
                           (f"{part}-labels-idx1-ubyte", struct.pack(">2i", 2049, len(some)) + y)):
            with open(os.path.join(folder, path), "wb") as f:
                f.write(text)
    return folder


def initial(net, seed, path):
    """Weights and biases from N(0, 0.01^2), as its network draws them, in a file for --init."""
    draw, at, head, body = random.Random(seed), 0, {}, b""
    for layer, shape in SHAPES[net].items():
        for name, dims in ((f"{layer}.weight", shape), (f"{layer}.bias", shape[:1])):
            text = array.array("f", (draw.gauss(0, 0.01) for _ in range(math.prod(dims)))).tobytes()
            head[name] = {"dtype": "F32", "shape": dims, "data_offsets": [at, at + len(text)]}
            at, body = at + len(text), body + text
    head = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + body)


def theirs(program, mode, net, workers, batch, lr, passes, seed, data):
    r = json.loads(sh(program, mode, net, workers, batch, lr, passes, seed, data, env={**os.environ, "OMP_NUM_THREADS": "1"}))
    return {**r, "cpu": r["cpu"] / r["examples"], "wall": r["to"][-1] / r["examples"]}


def ours(mode, net, workers, batch, lr, passes, seed, data, cpu=True):
    def once(passes, folder):
        used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before = used()
        how = ["--average", "gradients", "--average-lr", "same"] if mode == "sync" else []
        done = subprocess.run([HOGWILD, "train", "--json", "--quiet", "--data", data, "--scale", "none", "--center", "off", "--model", MODEL[net],
                               "--mode", mode, *how, "--workers", str(workers), "--batch", str(batch), "--lr", str(lr), "--lr-cap", "off", "--epochs",
                               str(passes), "--validation", "none", "--save-every", "0", "--seed", str(seed), "--init", f"{folder}/init.safetensors",
                               "--run", f"{folder}/{passes}"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout) if done.stdout.startswith("{") else {}, used() - before
    with tempfile.TemporaryDirectory() as folder:
        initial(net, seed, f"{folder}/init.safetensors")
        r, took = once(passes, folder)
        if not r:
            return {"losses": [None], "accuracies": [None], "to": [0], "wall": None, "cpu": None}
        with open(f"{folder}/{passes}/metrics.jsonl") as f:
            epochs = [e for e in map(json.loads, f) if e["kind"] == "epoch"]
        n = r["examples"] / passes
        spent = (took - once(1, folder)[1]) / (passes - 1) / n if cpu and passes > 1 else None
        return {"losses": [e["test_loss"] for e in epochs], "accuracies": [e["test_accuracy"] for e in epochs], "to": [e["seconds"] for e in epochs],
                "wall": 1 / r["examples_per_second"], "cpu": spent, "staleness": r.get("staleness_mean"), "lost_updates": r.get("lost_updates"),
                "merge": r.get("merge")}


def compare(o, program, whole, held, result):
    """Each side and mode at its own best rate."""
    for net in [o.net] if o.net else MODEL:
        def run(side, lr, seed, data, **how):
            whose, mode, n = SIDES[side]
            if whose == "ours":
                return ours(mode, net, n, o.batch, lr, o.passes, seed, data, **how)
            return theirs(program[net], mode, net, n, o.batch, lr, o.passes, seed, data)

        def attempt(side, setting):
            r = run(side, setting["lr"], search.SEED, held, **({"cpu": False} if SIDES[side][0] == "ours" else {}))
            say(f"  {net}, {side}, rate {setting['lr']}: validation loss {search.last(r['losses']):.4f}")
            return {"losses": r["losses"], "to": list(range(1, len(r["losses"]) + 1))}

        # One worker of an asynchronous mode is serial training: it takes that rate.
        searched = [s for s, (_, mode, n) in SIDES.items() if n == 2 or s in ("serial, 1", "hogwild async, 1")]
        tried = {s: [] for s in searched}
        chosen = search.search({s: search.Grid(0.01) for s in searched}, o.settings, attempt, tried)
        case = {"model": MODEL[net], "batch": o.batch, "passes": o.passes, "build": os.path.relpath(program[net], BUILD), "chosen": chosen, "tried": tried,
                "runs": {s: [] for s in SIDES}}
        result["cases"].append(case)
        for seed in range(1, o.rounds + 1):
            for side in SIDES:
                as_one = "serial, 1" if SIDES[side][0] == "theirs" else "hogwild async, 1"
                r = run(side, chosen.get(side, chosen[as_one])["lr"], seed, whole)
                r.pop("batch_losses", None)
                case["runs"][side].append(r)
                say(f"  {net} {seed}/{o.rounds} {side}: loss {search.last(r['losses']):.4f}, cpu {1e6 * (r['cpu'] or 0):.2f} us, wall {1e6 * (r['wall'] or 0):.2f} us")
            save(o, result)


def apart(o, program, train, test, result):
    """Leashed, Hogwild! and hogwild's modes beside a lock, with the same rate and seeds, by threads."""
    for name, (net, batch, n, lr) in APART.items():
        if o.net and net != o.net:
            continue
        data = write(os.path.join(BUILD, f"first{n}"), train[:n // (10 if o.quick else 1)], test)
        case = {"model": MODEL[net], "apart": name, "batch": batch, "rows": n, "passes": 2, "lr": lr, "runs": {}}
        result["cases"].append(case)
        for seed in range(1, o.seeds + 1):
            for workers in (2, 4, 8):
                for mode in ("ASYNC", "LSH", "HOG", "locked", "async"):
                    if mode in WORDS:
                        r = theirs(program[net], mode, net, workers, batch, lr, 2, seed, data)
                    else:
                        r = ours(mode, net, workers, batch, lr, 2, seed, data, cpu=False)
                    keep = {k: r.get(k) for k in ("cpu", "wall", "staleness", "failed_cas", "lost_updates", "merge")}
                    side = f"{WORDS.get(mode, 'hogwild ' + mode)}, {workers}"
                    case["runs"].setdefault(side, []).append({**keep, **dict(zip(("first", "last"), r["losses"])),
                                                                "batches": sum(r["batch_losses"]) / 2 if "batch_losses" in r else None})
            say(f"  {name}, seed {seed}/{o.seeds}")
            save(o, result)


def save(o, result):
    """A line for each key, and for each case, as the files in bench/results."""
    text = {k: json.dumps(v) for k, v in result.items()}
    text["cases"] = "[" + ",".join("\n    " + json.dumps(c) for c in result["cases"]) + "\n  ]"
    with open(o.out, "w", encoding="utf-8") as f:
        f.write("{" + ",".join(f"\n  {json.dumps(k)}: {v}" for k, v in text.items()) + "\n}\n")


def least(runs, key):
    return min((r[key] for r in runs if r.get(key)), default=math.nan)


def spread(values):
    values = [math.inf if v is None else v for v in values]
    if not any(map(math.isfinite, values)):
        return "-"
    return f"{statistics.median(values):.4f} ({min(values):.4f} to {max(values):.4f})"


def interval(values, show):
    """The mean with its 95% interval, of Student's distribution."""
    values = [v for v in values if v is not None and math.isfinite(v)]
    if len(values) not in T95:
        return "-"
    m, h = statistics.mean(values), T95[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{show(m)} ({show(m - h)} to {show(m + h)})"


def tables(result):
    """All of a result in Markdown."""
    out = []
    for case in result["cases"]:
        runs = case["runs"]
        if "apart" not in case:
            out += ["", f"**{case['model']}**, batch {case['batch']}, {case['passes']} passes, {case['build']}", "",
                    "| mode, threads | rate | test loss | accuracy | CPU us an example, least | wall us, least | staleness |", "|---|---|---|---|---|---|---|"]
            for side, r in runs.items():
                as_one = "hogwild async, 1" if "hogwild" in side else "serial, 1"
                late = [x["staleness"] for x in r if x.get("staleness") is not None]
                out.append(f"| {side} | {case['chosen'].get(side, case['chosen'][as_one])['lr']:g} | {spread([search.last(x['losses']) for x in r])} | "
                           f"{statistics.median(x['accuracies'][-1] or 0 for x in r):.4f} | {1e6 * least(r, 'cpu'):.2f} | {1e6 * least(r, 'wall'):.2f} | "
                           f"{statistics.median(late or [0]):.2f} |")
            continue
        out += ["", f"**{case['apart']}**, {case['rows']:,} rows, rate {case['lr']}, each less or by the lock of the same seed (mean of {len(next(iter(runs.values())))} "
                "seeds, 95% interval)", "",
                "| mode, threads | test loss after one pass | less the lock's | after two | batches, less the lock's | CPU by the lock's | wall by the lock's | staleness |",
                "|---|---|---|---|---|---|---|---|"]
        for side, r in runs.items():
            own, n = side.startswith("hogwild"), side.split(", ")[1]
            pairs = list(zip(r, runs[f"hogwild locked, {n}" if own else f"lock, {n}"]))
            same = pairs[0][0] is pairs[0][1]

            def by(key, f, show, pairs=pairs, same=same):
                return "" if same else interval([f(a[key], b[key]) for a, b in pairs if a.get(key) and b.get(key)], show)
            less = [by(key, lambda x, y: x - y, lambda v: f"{v:+.4f}") for key in ("first", "last", "batches")]
            times = [by(key, lambda x, y: math.log(x / y), lambda v: f"{math.exp(v):.2f}") for key in ("cpu", "wall")]
            out.append(f"| {side} | {spread([x['first'] for x in r])} | {' | '.join(less + times)} | {statistics.median(x['staleness'] or 0 for x in r):.2f} |")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("src", nargs="?", default="", help="folder of shared-memory-sgd")
    p.add_argument("--eigen", default="", help="folder of another Eigen")
    p.add_argument("--data", default=os.path.join(os.environ.get("HOGWILD_DATA") or f"{ROOT}/../shared/data", "mnist"), help="folder of MNIST's files")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--passes", type=int, default=4)
    p.add_argument("--settings", type=int, default=6, help="rates that each side is tried with")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seeds", type=int, default=6, help="of the comparison of modes")
    p.add_argument("--only", choices=["compare", "apart"])
    p.add_argument("--net", choices=MODEL)
    p.add_argument("--quick", action="store_true", help="a few rows and runs, to see that it works")
    p.add_argument("--table", metavar="FILE", help="print the tables of a result")
    p.add_argument("--out", default=os.path.join(BUILD, "results.json"))
    o = p.parse_args()
    if o.table:
        with open(o.table, encoding="utf-8") as f:
            return print(tables(json.load(f)))
    if not os.path.exists(os.path.join(o.src, "include/minidnn/NetworkExecutor.h")):
        sys.exit(f"{o.src or 'SRC'} has no shared-memory-sgd: git clone https://github.com/dcs-chalmers/shared-memory-sgd FOLDER, then leashed.py FOLDER")
    if o.quick:
        o.settings, o.rounds, o.seeds, o.passes = 2, 1, 2, 2
    os.makedirs(BUILD, exist_ok=True)
    train, test = (rows(o.data, part) for _, part in PARTS)
    random.Random(20261127).shuffle(train)
    train = train[:3000] if o.quick else train
    tenth = len(train) // 10
    whole, held = write(f"{BUILD}/whole", train, test), write(f"{BUILD}/held", train[tenth:], train[:tenth])
    programs = build(o.src, o.eigen, write(f"{BUILD}/few", train[:3000], test[:1000]))
    speeds = {f"{net}, {name}": min(theirs(exe, "SEQ", net, 1, o.batch, 0.001, 1, 1, whole)["cpu"] for _ in range(3)) for net in MODEL for name, exe in programs.items()}
    for name, cpu in speeds.items():
        say(f"  {name}: {1e6 * cpu:.2f} us of CPU an example")
    best = {net: min((n for n in programs if n != "plain"), key=lambda n: speeds[f"{net}, {n}"]) for net in MODEL}
    version = json.loads(sh(HOGWILD, "version", "--json"))
    commit = sh("git", "-C", ROOT, "rev-parse", "--short=8", "HEAD").strip()
    result = {"commit": commit, "command": " ".join(a for a in sys.argv[1:] if "/" not in a), "version": version, "gcc": sh("g++", "--version").splitlines()[0],
              "machine": {"cpu": next((x.split(": ")[1] for x in sh("lscpu").splitlines() if x.startswith("Model name")), "").strip(), "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0]},
              "shared-memory-sgd": subprocess.run(["git", "-C", o.src, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip(),
              "builds": {"cpu_seconds_an_example": speeds, "taken": best}, "cases": []}
    program = {net: programs[name] for net, name in best.items()}
    if o.only != "apart":
        compare(o, program, whole, held, result)
    if o.only != "compare":
        apart(o, program, train, test, result)
    result["machine"]["load_after"] = os.getloadavg()[0]
    save(o, result)
    print(tables(result))
    say(f"figures in {o.out}")


if __name__ == "__main__":
    main()
