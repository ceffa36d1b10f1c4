"""hogwild on a GPU beside rivals on the same GPU and hogwild on the machine's cores: the time to the same test loss.

    gpu.py --data DIR --out FILE [--of rivals|flight] [--work DIR] [--hogwild FILE] [--gpu N] [--device cuda|cpu]
           [--seconds S] [--search S] [--beside N] [--jobs NAME,...] [--quick]

Jobs run in the order of --jobs, each in an equal share of --seconds, its data and the start of its rivals included. Of a share
--search/--seconds is for a search, the rest for timed runs.

Each side has four settings (a batch, or the steps in flight) of five rates each, a factor of three apart. The search finds the
rate with the fewest passes to the target, middle rates first; a run ends when it has taken as many as the best of its setting.
--beside settings are searched at once, as passes do not depend on the time; hogwild's on cores in turn, in the last third, as
its workers need the cores. Then each setting is timed at its best rate, alone, and the side's two fastest with other seeds, five
in all, as far as there is time. L-BFGS has no rate and no seed. PyTorch's other precisions and eager take the rates of fp32. A run
ends at the target, when it diverges, after the job's passes, or when a timed run of its side was faster. --of flight compares
steps in flight in the same way. A rival has processes of its own: after a fault on the GPU, CUDA refuses a process all further work.

Seconds of a row are those of training alone, on every side: without data loading, imports, start-up and graph capture,
and without the test after each pass. Wall has all of that. Each run is a line of JSON, appended to FILE when it ends. Its
setting is what ran: a GPU may take fewer steps in flight than "asked". "planned" are the side's timed runs, "searched" the runs of its
search, of those planned. Lines of "seeds" are runs with other seeds; those of "spread" have the median, least and most of five.
What a side lacks, and what was cut off, is a line NAME<tab>STATUS<tab>WHY on standard output.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import glob
import gzip
import importlib
import json
import math
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

sys.dont_write_bytecode = True  # the tree stays clean

from gpu_jobs import JOBS, SETTINGS, TINY, points

SEEDS = 5  # of a side's two fastest settings
CORES_SHARE = 1 / 3  # of the search: for hogwild on cores


class Missing(Exception):
    """A program or set that is not here, and why: Missing("CUDA", "no driver")."""


@dataclasses.dataclass
class Terms:
    """What a run is told beside its setting: when it ends, by perf_counter, which all processes share; and its seed."""

    deadline: float
    passes: int
    seconds: float = math.inf  # of training: a run of its side was as fast
    seed: int = 1


@dataclasses.dataclass
class Side:
    grid: list  # points: a text, the rate, and what run takes
    run: Callable  # of a point's arguments and Terms, to a row
    like: str = ""  # the side whose rates it takes; "-": it has none to find, and no seed


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


def unpacked(folder, to):
    """The folder with MNIST's files of bytes, which every process reads anew."""
    os.makedirs(to, exist_ok=True)
    for path in glob.glob(f"{folder}/*-ubyte.gz"):
        with gzip.open(path) as f, open(f"{to}/{os.path.basename(path)[:-3]}", "wb") as out:
            shutil.copyfileobj(f, out)
    return to


def inputs(a, job, end):
    train, test, limit = "", "", max(end - time.perf_counter(), 1)
    cache = f"{a.work}/{job.name}.hog"
    flags = ["--task", "triples"] if job.kind == "factor" else []
    if job.made:
        end = {"sparse": "libsvm", "factor": "npy"}[job.kind]
        train, test = f"{a.work}/{job.name}.{end}", f"{a.work}/{job.name}.test.{end}"
        if not os.path.exists(cache):
            command(a.hogwild, "data", "make", TINY[job.made] if a.quick else job.made, train, limit=limit)
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
        command(a.hogwild, "data", "convert", train, *(["--test", test] if test else []), *flags, "--out", cache, limit=limit)
    if job.kind == "dense":
        train = unpacked(train, f"{a.work}/mnist")
    return Inputs(train, test, ["--data", cache])


def hogwild(a, job, files, setting, lr, terms):
    """A run of hogwild train, to a row without side; its setting is what ran, as far as it says so."""
    folder, asked = tempfile.mkdtemp(dir=a.work), setting
    setting = setting.replace("--workers half", f"--workers {max(1, a.cores // 2)}").split()
    if "--in-flight" in setting:
        setting = ["--gpu", a.gpu, "--workers", 1, *([] if "--batch" in setting else ["--batch", 1]), *setting]
    elif "--workers" not in setting:
        setting = ["--workers", a.cores, *setting]
    command_line = [a.hogwild, "train", "--json", "--quiet", "--save-every", 0, "--run", folder + "/run", *files.cache, "--model", job.model,
                    "--lr", lr, "--lr-cap", "off", "--epochs", terms.passes, "--target-loss", job.target, "--seed", terms.seed,
                    *(["--l2", job.l2] if job.l2 else []), *([] if math.isinf(terms.seconds) else ["--stop-after", f"{2 * terms.seconds + 1:.3f}s"]), *setting]
    try:
        done = subprocess.run([str(v) for v in command_line], capture_output=True, text=True, timeout=max(terms.deadline - time.perf_counter(), 0.01))
        if done.returncode not in (0, 3):
            raise OSError(f"status {done.returncode}: {done.stderr[-300:]}")
        with open(folder + "/run/metrics.jsonl") as f:
            epochs = [e for e in map(json.loads, f) if e["kind"] == "epoch"]
        report = json.loads(done.stdout or "{}")
    except subprocess.TimeoutExpired:
        return {"ended": "out of time"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    row = {"setting": as_run(asked, report.get("notes", []))}
    if done.returncode == 3:
        return row | {"ended": "diverged"}
    if not epochs:
        return row | {"ended": "slower"}
    last = epochs[-1]
    return row | {"ended": "reached" if last["test_loss"] <= job.target else "slower" if report.get("stopped") == "stop after" else "passes",
                  "seconds": last["seconds"], "loss": last["test_loss"], "accuracy": last.get("test_accuracy"), "passes": len(epochs),
                  "rate": last["examples"] / max(last["seconds"], 1e-9), "device": report["device"],
                  "delay": report.get("staleness_mean"), "p99": report.get("staleness_p99")}


def as_run(setting, notes):
    """The setting with the steps in flight that a run's notes tell of."""
    ran = re.search(r"(\d+) steps? of \d+ examples? in flight", "\n".join(notes))
    return re.sub(r"--in-flight \d+", f"--in-flight {ran[1]}", setting) if ran else setting


def until(target, examples, one_pass, score, terms):
    """Trains in this process until the target, or another end; to a row. one_pass returns when its work is done,
    also on the GPU; score is the test loss and the accuracy, or None."""
    seconds = 0.0
    for n in range(1, terms.passes + 1):
        began = time.perf_counter()
        one_pass()
        seconds += time.perf_counter() - began
        loss, accuracy = score()
        ended = ("diverged" if not math.isfinite(loss) else "reached" if loss <= target else "slower" if seconds > terms.seconds else
                 "out of time" if time.perf_counter() > terms.deadline else "passes")
        if ended != "passes":
            break
    return {"ended": ended, "seconds": seconds, "loss": loss if math.isfinite(loss) else None, "accuracy": accuracy, "passes": n,
            "rate": n * examples / max(seconds, 1e-9)}


def ours(a, job, files):
    """hogwild's sides."""
    def side(settings):
        return Side(points([(text, lr, text) for text, lr in settings.items()]), lambda point, terms: hogwild(a, job, files, *point, terms))
    if a.of == "flight":
        return {text: side({text: lr}) for text, lr in job.flight.items()}
    gpu = {f"hogwild, GPU {a.gpu}": side(job.gpu)} if a.device == "cuda" else {}
    return gpu | {f"hogwild, {a.cores} cores": side(job.cores)}


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


def append(a, row):
    with WRITING, open(a.out, "a") as f:
        f.write(json.dumps(row) + "\n")
    return row


def trial(a, job, name, side, point, terms, **of):
    """A run of a side, appended to the file."""
    text, lr, arguments = point
    began = time.perf_counter()
    return append(a, {"of": a.of, "job": job.name, "side": name, "asked": text, "setting": text, "lr": lr, "target": job.target, "seed": terms.seed,
                      **of, **side.run(arguments, terms), "wall": time.perf_counter() - began})


def rank(row):
    """Sorts runs: with fewer passes to the target, or, if none reached it, nearer to it."""
    if row["ended"] == "reached":
        return 0, row["passes"], row["loss"]
    return 1, math.inf if row.get("loss") is None else row["loss"], 0


def searches(a, job, name):
    """The runs of a side's search that are in the file."""
    if not os.path.exists(a.out):
        return []
    with open(a.out) as f:
        return [row for row in map(json.loads, f) if row.get("search") and (row["of"], row["job"], row["side"]) == (a.of, job.name, name)]


def chosen(grid, found):
    """The best point found of each setting, the fastest first, then the middle one of those not come to; all if there was no search.
    Settings that turned out to be the same run are one."""
    if not found:
        return grid
    best = {row["setting"]: row for row in reversed(sorted(found, key=rank))}
    order = sorted(best.values(), key=lambda row: (0, row["seconds"]) if row["ended"] == "reached" else rank(row)[:2])
    middle = {text: lr for text, lr, _ in reversed(grid) if text not in {row["asked"] for row in found}}
    at = {p[:2]: p for p in grid}
    return [at[key] for key in [(row["asked"], row["lr"]) for row in order] + list(reversed(middle.items()))]


def timed(a, job, name, side, end):
    """One run of each setting at its best rate, or of as many as there is time for; then the two fastest with other seeds."""
    found, reached = searches(a, job, side.like or name), []
    grid = chosen(side.grid, found)
    for point in grid[:1] if a.quick else grid:
        if time.perf_counter() > end:
            return
        row = trial(a, job, name, side, point, Terms(end, job.passes, min((r["seconds"] for r, _ in reached), default=math.inf)), planned=len(grid),
                    searched=f"{sum(row['ended'] != 'out of time' for row in found)} of {0 if side.like == '-' else len(side.grid)}")
        if row["ended"] == "reached":
            reached.append((row, point))
    if side.like != "-" and not a.quick and a.of == "rivals":
        for row, point in sorted(reached, key=lambda of: of[0]["seconds"])[:2]:
            seeds(a, job, name, side, point, row, end)


def seeds(a, job, name, side, point, first, end):
    """The same run with other seeds, and how they spread; a run that does not reach the target takes for ever: null."""
    rows = [first]
    for seed in range(2, SEEDS + 1):
        if time.perf_counter() < end:
            rows.append(trial(a, job, name, side, point, Terms(end, job.passes, seed=seed), of="seeds"))
    done = [row for row in rows if row["ended"] != "out of time"]
    row = {key: first[key] for key in ("job", "side", "asked", "setting", "lr", "target")} | {"of": "spread", "planned": SEEDS, "runs": len(done)}
    row["reached"] = sum(r["ended"] == "reached" for r in done)
    for of in ("seconds", "passes", "loss"):
        values = [r[of] if r["ended"] == "reached" else math.inf for r in done]
        row[of] = {what: v if math.isfinite(v := go(values)) else None for what, go in (("median", statistics.median), ("least", min), ("most", max))}
    append(a, row | {"losses": [r.get("loss") for r in done]})


def searched(a, job, name, side, end, nth=None):
    """All points of a side, or of its nth setting. A run may take as many passes as the best of its setting so far, and no more."""
    most, settings = {}, list(dict.fromkeys(text for text, *_ in side.grid))
    for point in side.grid:
        if time.perf_counter() < end and (nth is None or point[0] in settings[nth:nth + 1]):
            row = trial(a, job, name, side, point, Terms(end, most.get(point[0], job.passes)), search=True)
            if row["ended"] == "reached":
                most[point[0]] = row["passes"]


def within(told, go, a, job, files, name, *arguments):
    """The process of a rival: go on the side of that name. It tells what went wrong, or None."""
    try:
        told.send(go(a, job, name, dict(sides(a, job, files))[name](), *arguments))
    except (Missing, ImportError) as e:
        told.send(e)
    except Exception as e:  # PyTorch's cannot all be sent
        told.send(OSError(f"{type(e).__name__}: {e}"))


def apart(end, go, a, job, files, name, *arguments):
    """Calls within, in a process that has imported PyTorch already, and kills it a second after the end."""
    of = multiprocessing.get_context("forkserver")
    tells, told = of.Pipe(duplex=False)
    process = of.Process(target=within, args=(told, go, a, job, files, name, *arguments), daemon=True)
    process.start()
    told.close()
    try:
        wrong = (tells.recv() if tells.poll(max(end + 1 - time.perf_counter(), 0)) else
                 Missing(f"{job.name}, {name}", f"its {go.__name__} runs were cut off: out of time"))
    except EOFError:
        wrong = OSError("its process ended early")
    process.kill()
    process.join()
    if wrong:
        raise wrong


def search(a, job, files, attempt, seconds):
    """All points of all sides: a setting of a GPU's side by a thread or a process, side by side; those of hogwild on cores in turn."""
    end = time.perf_counter() + seconds
    first = end - (a.of == "rivals") * CORES_SHARE * seconds

    def go(name, nth, make):
        if time.perf_counter() < first:
            attempt(f"{job.name}, {name}", lambda: searched(a, job, name, make(), first, nth) if name.startswith(("hogwild", "--"))
                    else apart(first, searched, a, job, files, name, first, nth))

    with concurrent.futures.ThreadPoolExecutor(a.beside) as pool:
        for name, make in sides(a, job, files):
            if not any(way in name for way in ("bf16", "tf32", "eager", "L-BFGS", "cores")):
                for nth in range(SETTINGS):
                    pool.submit(go, name, nth, make)
    for name, make in sides(a, job, files):
        if "cores" in name:
            attempt(f"{job.name}, {name}", lambda: searched(a, job, name, make(), end))


def shares(end, all):
    """Each with the time by which it ends: an equal share of what is left when its turn comes."""
    for i, one in enumerate(all):
        now = time.perf_counter()
        yield one, now + (end - now) / (len(all) - i)


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
    p.add_argument("--search", type=float, default=0, help="of these seconds, those of the search; 0: all points are timed")
    p.add_argument("--beside", type=int, default=8, help="settings searched at once")
    p.add_argument("--jobs", default=",".join(job.name for job in JOBS))
    p.add_argument("--quick", action="store_true", help="one run of each of hogwild's sides, on tiny sets")
    a = p.parse_args()
    a.cores = len(os.sched_getaffinity(0))
    end = time.perf_counter() + a.seconds
    named = {job.name: job for job in JOBS}
    if wrong := [name for name in a.jobs.split(",") if name not in named]:
        p.error(f"--jobs: there is no {', '.join(wrong)}; there are {', '.join(named)}")
    jobs = [dataclasses.replace(job, passes=1) if a.quick else job for job in map(named.get, a.jobs.split(",")) if job.flight or a.of == "rivals"]
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch"])
    multiprocessing.forkserver.ensure_running()  # it imports PyTorch while the first data are made
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

    with tempfile.TemporaryDirectory(dir=a.work) as a.work:
        for job, of_job in shares(end, jobs):
            files = attempt(job.name, lambda: inputs(a, job, of_job))
            if not files:
                continue
            if a.search:
                search(a, job, files, attempt, (of_job - time.perf_counter()) * a.search / a.seconds)
            for (name, make), of_side in shares(of_job, list(sides(a, job, files))):
                attempt(f"{job.name}, {name}", lambda: timed(a, job, name, make(), of_side) if name.startswith(("hogwild", "--"))
                        else apart(of_side, timed, a, job, files, name, of_side))


if __name__ == "__main__":
    import gpu  # the module that the rivals import, and not __main__

    gpu.main()
