#!/usr/bin/env python3
"""Counts the kernels: writes docs/results/kernels.md (make sass-table).

    table.py --where KERNEL [WORDS]    the costliest lines of a kernel, in workloads with these words

Registers, spills and shared memory are ptxas's word. Issue slots a sample are machine
instructions times their executions by warps (sass.py): each workload is trained for an
epoch through the stand-in driver, which counts. What an H200 could do at most follows
from the slots, from the sectors that additions touch, and from the clock and the rates of
additions that cuda/microbench_test.go measured on one.
"""

import hashlib
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass

import check
import cubin
import lines
import sass
import scaling
from page import TEXT, number, rounded

ROOT = check.HERE.parent.parent
PAGE = ROOT / "docs" / "results" / "kernels.md"

# An H200: multiprocessors, schedulers each, clock as measured; what a multiprocessor has.
SMS, SCHEDULERS, CLOCK = 132, 4, 1.975e9
REGISTERS, SHARED, THREADS, CTAS = 65536, 228 * 1024, 2048, 32
RESERVED = 1024  # bytes of shared memory that the system keeps of each CTA

# Additions: sectors a second that an H200 took when all warps added to vectors of so many weights, line by line.
SECTORS = {784: 8.4e9, 7850: 41e9, 101770: 105e9}


@dataclass
class Work:
    """A workload of a kernel."""

    kernel: str
    what: str
    flags: str  # of hogwild train; {data} is the folder of data sets
    weights: int  # that the reds spread over
    scatter: str = ""  # off: columns of sparse rows are in order in the GPU's memory


IMAGES = "--data {data}/mnist --center off --in-flight 1 --lr 0.01 "
MNIST = IMAGES + "--limit 1024 "
SPARSE = "--data synth:sparse:20000x47236x74 --model logistic --batch 1 "
WORDS = "--data {text} --model word2vec:100 --subsample 0 --min-count 1 --batch 1 --in-flight 8 --lr 0.025 "
PAIRS = "--data synth:lowrank:2000x2000x40000x4 --batch 1 --lr 0.01 "  # all lanes of a CTA have a rating
WORK = [
    Work("linear_one", "softmax 784-10, MNIST, b 1", MNIST + "--model softmax --batch 1", 7850),
    Work("linear_step", "softmax 784-10, MNIST, b 8", MNIST + "--model softmax --batch 8", 7850),
    Work("linear_step", "softmax 784-10, MNIST, b 32", MNIST + "--model softmax --batch 32", 7850),
    Work("linear_step", "linear 784-1, MNIST, b 8", MNIST + "--model linear --batch 8", 785),
    Work("mlp_one", "784-128-10, MNIST, b 1", MNIST + "--model mlp:128 --batch 1", 101770),
    Work("mlp_tensor", "784-128-10, MNIST, b 8", MNIST + "--model mlp:128 --batch 8", 101770),
    Work("mlp_step", "784-128-10, MNIST, b 8, fp32", MNIST + "--model mlp:128 --batch 8 --precision fp32", 101770),
    Work("mlp_step", "784-128-10, MNIST, b 32", MNIST + "--model mlp:128 --batch 32", 101770),
    Work("mlp_tensor", "784-256-128-10, MNIST, b 8", MNIST + "--model mlp:256,128 --batch 8", 235146),
    Work("mlp_step", "784-256-128-10, MNIST, b 8, fp32", MNIST + "--model mlp:256,128 --batch 8 --precision fp32", 235146),
    Work("sparse_step", "logistic, 74 of 47,236, b 1", SPARSE + "--in-flight 1 --lr 0.1 --merge-every 1", 47237),
    Work("sparse_step", "the same, 512 local columns, merged every 32", SPARSE + "--in-flight 1 --lr 0.1 --merge-every 32", 47237),
    Work("sparse_step", "as the first, 40 in flight, the bias added every 41 steps of a CTA", SPARSE + "--in-flight 40 --lr 1", 47237),
    Work("conv_tensor", "convnet, MNIST, b 4", IMAGES + "--model convnet --batch 4 --limit 128", 21840),
    Work("conv_step", "convnet, MNIST, b 4, fp32", IMAGES + "--model convnet --batch 4 --limit 128 --precision fp32", 21840),
    Work("factor_step", "factor:128, b 1", PAIRS + "--model factor:128 --in-flight 8", 512000),
    Work("factor_step", "factor:32, b 1", PAIRS + "--model factor:32 --in-flight 32", 128000),
    Work("factor_step", "factor:8, b 1", PAIRS + "--model factor:8 --in-flight 128", 32000),
    Work("factor_half", "factor:128, fp16", PAIRS + "--model factor:128 --in-flight 8 --precision fp16", 512000),
    Work("factor_half", "factor:32, fp16", PAIRS + "--model factor:32 --in-flight 32 --precision fp16", 128000),
    Work("factor_half", "factor:8, fp16", PAIRS + "--model factor:8 --in-flight 128 --precision fp16", 32000),
    Work("skipgram_step", "word2vec:100, window 5, 5 negatives, a word", WORDS, 400000),
    Work("cut_step", "cut:10, b 1", "--data synth:dblife:0.05 --model cut:10 --batch 1 --in-flight 8 --lr 0.1", 99000),
    Work("steps_list", "steps of one, with factor:128", PAIRS + "--model factor:128 --in-flight 8", 0),
    Work("steps_sum", "the same", PAIRS + "--model factor:128 --in-flight 8", 0),
    Work("steps_list", "steps of eight, with softmax 784-10", MNIST + "--model softmax --batch 8", 0),
    Work("evaluate", "softmax 784-10, MNIST", MNIST + "--model softmax --batch 8", 0),
    Work("evaluate", "784-128-10, MNIST", MNIST + "--model mlp:128 --batch 8", 0),
]

# Sparse rows, as an H200's rates were measured on, but fewer; and of a real set.
RANKED = "--data synth:ranked:8000x50000x40 --model logistic --batch 1 --lr 1 "
IMDB = "--data {data}/imdb/imdb_ltc_train.gz --limit 2000 --model logistic --batch 1 --lr 1 "
LINES = [
    Work("sparse_step", what + how, data + flags, weights, scatter)
    for what, data, weights in (("40 of 50,000 columns, by frequency", RANKED, 50001), ("imdb", IMDB, 89528))
    for how, flags in ((", no bias", "--no-bias --in-flight 1 --merge-every 1"), (", the bias held back", "--in-flight 40"), (", 512 local, merged every 32", "--in-flight 1 --merge-every 32"))
    for scatter in ("off", "")
]
PAIRS_OF_A_LINE = 100e6  # loads and additions in turn that a line takes a second, if H1 holds


def occupancy(registers, shared, threads):
    """CTAs a multiprocessor has room for, and what bounds them."""
    warps = (threads + 31) // 32
    each = -(-registers // 8) * 8 * 32  # registers are given out to warps by 256
    limits = {
        "registers": REGISTERS // SCHEDULERS // each * SCHEDULERS // warps if each else CTAS,
        "shared memory": SHARED // (-(-shared // 128) * 128 + RESERVED),
        "threads": THREADS // (warps * 32),
        "CTAs": CTAS,
    }
    least = min(limits, key=limits.get)
    return limits[least], least


def spread(weights):
    """Sectors a second that additions spread evenly over so many weights touch: as measured, between the measured sizes by a
    power, below them in proportion to the lines, and above them no more."""
    sizes = sorted(SECTORS)
    if weights <= sizes[0]:
        return SECTORS[sizes[0]] * weights / sizes[0]
    for a, b in zip(sizes, sizes[1:]):
        if weights <= b:
            return SECTORS[a] * (SECTORS[b] / SECTORS[a]) ** (math.log(weights / a) / math.log(b / a))
    return SECTORS[sizes[-1]]


def kind(kernel):
    return kernel if kernel.endswith(("_one", "_tensor")) else kernel.split("_")[0]


def ptx_of(kernel):
    return check.ptx_of(kind(kernel))


def shipped():
    """The files that a Hopper loads to train: all but the probes of the machine."""
    kinds = sorted({p.name.split(".")[0] for p in check.PTX.glob("*.ptx")} - {"micro"})
    return [check.ptx_of(kind) for kind in kinds]


def code_of(kernel, folder, known={}):
    """The machine instructions of a kernel, with the lines of the PTX they come from."""
    if kernel not in known:
        code = pathlib.Path(folder, "cubin")
        subprocess.run([check.TOOLS / check.PTXAS[cubin.VERSION], "-lineinfo", "-arch=sm_90", ptx_of(kernel), "-o", code], check=True)
        nvdisasm = check.TOOLS / "nvdisasm/nvidia/cu13/bin/nvdisasm"
        text = subprocess.run([nvdisasm, "-gp", "-c", code], capture_output=True, text=True, check=True).stdout
        known.update(sass.functions(text))
    return known[kernel]


def text_of(folder):
    """A text of 20,000 words by Zipf's law, in sentences so long that their ends do not count."""
    draw, path, words = random.Random(1), pathlib.Path(folder, "text.txt"), range(2000)
    law = [1 / (i + 10) for i in words]
    path.write_text("".join(" ".join(map(str, draw.choices(words, law, k=500))) + "\n" for _ in range(40)))
    return path


def train(work, folder, known={}):
    """Trains the workload; returns its report and what the stand-in counted."""
    run = work.flags, work.scatter
    if run not in known:
        profile = pathlib.Path(folder, "profile")
        profile.unlink(missing_ok=True)
        data = os.environ.get("HOGWILD_DATA", str(ROOT.parent / "shared" / "data"))
        command = [ROOT / "bin/hogwild-cuda", "train", "--gpu", "0", "--workers", "1", "--epochs", "1", "--json", "--quiet",
                   "--save-every", "0", "--run", tempfile.mkdtemp(dir=folder) + "/run", *work.flags.format(data=data, text=text_of(folder)).split()]
        one = {"HOGWILD_FAKE_SMS": "1"} if work.flags.startswith(PAIRS) else {}  # else a CTA has few of the ratings
        env = dict(os.environ, **one, LD_LIBRARY_PATH=str(ROOT / "bin/fake"), HOGWILD_FAKE_PROFILE=str(profile), HOGWILD_SCATTER=work.scatter)
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
        known[run] = json.loads(done.stdout), [json.loads(line) for line in open(profile)]
    return known[run]


@dataclass
class Count:
    work: Work
    slots: float = 0.0  # a sample
    sectors: float = 0.0  # of weights that are added to
    bytes: float = 0.0  # of sectors of weights that are read, added to and stored
    loops: list = None
    samples: int = 0
    blocks: list = None
    functions: Counter = None  # slots a sample
    warps: int = 0  # of a CTA
    steps: float = 0.0
    barriers: int = 0  # that a warp came to, of all warps together
    fullest: tuple = ()  # of a line of memory: most additions a sample, and most times that a warp adds there


def count(work, folder):
    report, launches = train(work, folder)
    launches = [l for l in launches if l["kernel"] == work.kernel]
    # What every CTA does once belongs to the launch, whose length the program chooses: in
    # all launches, of many steps and of one, it was done as often as there were CTAs.
    once = [{line: times / l["ctas"] for line, times, _ in l["lines"]} for l in launches]
    samples = 10000 * len(launches)  # MNIST's test rows
    if not work.kernel.endswith("evaluate"):
        launches, samples = launches[1:], report["examples"]  # the first launch is the self-check's, of one step
    times = Counter()
    for l in launches:
        for line, n, _ in l["lines"]:
            if len(once) == 1 or len({of.get(line, 0) for of in once}) > 1:
                times[line] += n
    text = ptx_of(work.kernel).read_text()
    lines_with = lambda pattern: {n for n, row in enumerate(text.splitlines(), 1) if re.search(pattern, row)}

    def sectors(access):
        its = lines_with(access)
        return sum(s for l in launches for line, _, s in l["lines"] if line in its) / samples

    found = sass.blocks(code_of(work.kernel, folder))
    sass.execute(found, times)
    c = Count(work, samples=samples, blocks=found)
    c.slots = sum(b.executed * len(b.instructions) for b in found) / samples
    c.functions = lines.functions(found, samples, ptx_of(work.kernel))
    c.sectors = sectors(r"red\..*add.*f32")
    c.bytes = 32 * sectors(r"(ld|st|red)\.relaxed\.sys\.global\..*(f32|b16|b32)")
    c.warps, c.steps = threads_of(text)[work.kernel] // 32, samples / int(re.search(r"--batch (\d+)", work.flags)[1])
    c.barriers = sum(times[line] for line in lines_with(r"\bbar(rier)?\.sync"))
    memory = {}
    for l in launches:
        for line, additions, warps in l["memory"]:
            had = memory.get(line, (0, 0))
            memory[line] = had[0] + additions, had[1] + warps
    c.fullest = tuple(max(n, default=0) / samples for n in zip(*memory.values())) or (0, 0)
    inner = [l for l in sass.loops(found) if l.depth == 0 and l.slots() > 0.05 * c.slots * samples]
    c.loops = sorted(inner, key=lambda l: -l.slots())[:1]
    return c


def threads_of(ptx):
    """{kernel: the threads of a CTA}"""
    return {name: int(n) for name, n in re.findall(r"\.visible \.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)", ptx)}


def resources(folder):
    yield "| kernel | threads | registers | spills | shared | CTAs an SM | bound by |"
    yield "|---|---|---|---|---|---|---|"
    code = pathlib.Path(folder, "cubin")
    for ptx in shipped():
        sizes = threads_of(ptx.read_text())
        for kernel, (registers, spills, shared) in check.assemble(ptx, cubin.VERSION, "90", code).items():
            threads = sizes[kernel]
            ctas, bound = occupancy(registers, shared, threads)
            yield f"| {kernel} | {threads} | {registers} | {spills} | {shared:,} | {ctas} | {bound} |"


def slots(counts):
    yield "| kernel | workload | slots a sample | issue allows, M/s | sectors a sample | additions allow, M/s | bytes a sample |"
    yield "|---|---|---|---|---|---|---|"
    for c in counts:
        w = c.work
        digits = 3 if c.slots >= 1000 else 2  # launches of short steps differ
        issue = SMS * SCHEDULERS * CLOCK / rounded(c.slots, digits) / 1e6
        red = number(spread(w.weights) / c.sectors / 1e6) if c.sectors else "–"
        sectors = number(c.sectors) if c.sectors else "–"
        yield f"| {w.kernel} | {w.what} | {number(c.slots, digits)} | {number(issue)} | {sectors} | {red} | {number(c.bytes, 3) if c.bytes else '–'} |"


# Counted as below before steps of several rows had 512 threads: slots a sample, a warp's instructions, barriers and rounds a step.
NARROW = {
    "softmax 784-10, MNIST, b 8": (1903, 1900, 9.2, 4), "softmax 784-10, MNIST, b 32": (2542, 10200, 35, 16), "linear 784-1, MNIST, b 8": (1206, 1210, 9.2, 1),
    "784-128-10, MNIST, b 8": (9668, 9670, 38, 17), "784-128-10, MNIST, b 32": (17208, 68800, 204, 70), "784-256-128-10, MNIST, b 8": (24194, 24200, 58, 68),
    "softmax 784-10, MNIST, b 1": (6471, 809, 9, 1.9), "784-128-10, MNIST, b 1": (28238, 3530, 32, 10), "convnet, MNIST, b 4": (56072, 28000, 24, 58),
}


def of_steps(counts):
    """What a step of a whole CTA waits for: a warp's instructions, barriers, and rounds of loads of weights, which are turns
    of the innermost loops that have some."""
    yield "| kernel | workload | threads | slots a sample | a warp's instructions a step | barriers a step | rounds of loads a step |"
    yield "|---|---|---|---|---|---|---|"
    for c in counts:
        what = c.work.what.removesuffix(", fp32")
        if what not in NARROW or c.work.kernel.startswith("steps"):
            continue
        loads = [l for l in sass.loops(c.blocks) if l.depth == 0 and any(re.fullmatch(r"LDG\.E(\.64)?\.STRONG\.SYS", i.op) for b in l.blocks for i in b.instructions)]
        own = c.warps * c.steps  # warps' steps
        now = c.slots, c.slots * c.samples / own, c.barriers / own, sum(l.turns() for l in loads) / own
        cells = " | ".join(f"{number(was, 3 if was >= 1000 else 2)} → {number(v, 3 if v >= 1000 else 2)}" for was, v in zip(NARROW[what], now))
        yield f"| {c.work.kernel} | {c.work.what} | {32 * c.warps} | {cells} |"


def fullest(folder):
    yield "| rows | columns | additions to the fullest line a row | warps that add to one line a row, at most | sectors a row | slots a row | pairs allow, M/s |"
    yield "|---|---|---|---|---|---|---|"
    for w in LINES:
        c = count(w, folder)
        additions, warps = c.fullest
        columns = "in order" if w.scatter else "scattered"
        yield f"| {w.what} | {columns} | {number(additions)} | {number(warps)} | {number(c.sectors)} | {number(c.slots)} | {number(PAIRS_OF_A_LINE / rounded(warps) / 1e6)} |"


def functions(counts, most=3):
    yield "| kernel | workload | the functions with the most slots |"
    yield "|---|---|---|"
    for c in counts:
        shares = ", ".join(f"{name} {100 * n / c.slots:.0f}%" for name, n in c.functions.most_common(most))
        yield f"| {c.work.kernel} | {c.work.what} | {shares} |"


def inner(counts):
    yield "| kernel | workload | instructions of the loop | turns a sample | FFMA | LDS | LDG | share of the slots |"
    yield "|---|---|---|---|---|---|---|---|"
    for c in counts:
        for l in c.loops:
            size = sum(len(b.instructions) for b in l.blocks)
            shares = " | ".join(f"{100 * l.share(op):.0f}%" for op in ("FFMA", "LDS", "LDG"))
            yield f"| {c.work.kernel} | {c.work.what} | {size} | {number(l.turns() / c.samples)} | {shares} | {100 * l.slots() / c.samples / c.slots:.0f}% |"


def bytes_of(folder, names):
    return sum(f.stat().st_size for f in folder.glob(names))


def sizes(folder):
    """Of the programs. The files of machine code lie in hogwild-cuda as they are."""
    yield "| | as built, MB | without tables for debuggers, MB |"
    yield "|---|---|---|"
    stripped = pathlib.Path(folder, "stripped")
    ptx, code = bytes_of(check.PTX, "*.ptx"), bytes_of(cubin.CUBIN, "*.gz")
    for program, less, what in (("hogwild", 0, ""), ("hogwild-cuda", code, " without machine code"), ("hogwild-cuda", 0, "")):
        file = ROOT / "bin" / program
        subprocess.run(["strip", "-o", stripped, file], check=True)
        yield f"| {program}{what} | {(file.stat().st_size - less) / 1e6:.1f} | {(stripped.stat().st_size - less) / 1e6:.1f} |"
    yield f"| the PTX in it | {ptx / 1e6:.1f} | {ptx / 1e6:.1f} |"
    each = ", ".join(f"sm_{arch} {bytes_of(cubin.CUBIN, f'*.sm_{arch}.gz') / 1e6:.2f}" for arch in cubin.GPUS)
    yield f"| the machine code in it ({each}) | {code / 1e6:.1f} | {code / 1e6:.1f} |"


def checksums():
    """Of the PTX that the page was made from."""
    return " ".join(f"{p.name.split('.')[0]}:{hashlib.sha256(p.read_bytes()).hexdigest()[:12]}" for p in shipped())


def stale():
    """What is wrong with the committed page, or None."""
    if not PAGE.exists() or f"<!-- {checksums()} -->" not in PAGE.read_text():
        return "docs/results/kernels.md was made from other PTX than cuda/ptx: make sass-table"


def page():
    with tempfile.TemporaryDirectory() as folder:
        counts = [count(w, folder) for w in WORK if ptx_of(w.kernel).exists()]
        return TEXT.format(
            ptxas=cubin.VERSION, schedulers=SCHEDULERS, sms=SMS, clock=CLOCK / 1e9, rate=round(SMS * SCHEDULERS * CLOCK / 1e9), measured="{:g}, {:g} and {:g}".format(*(v / 1e9 for v in SECTORS.values())),
            resources="\n".join(resources(folder)), slots="\n".join(slots(counts)), fullest="\n".join(fullest(folder)), steps="\n".join(of_steps(counts)), merges="\n".join(scaling.merges()), queued=f"{scaling.QUEUED * 1e6:g}", wide=f"{8 * SMS:,}", scaling="\n".join(scaling.scaling(counts)), functions="\n".join(functions(counts)), inner="\n".join(inner(counts)), sizes="\n".join(sizes(folder)), sums=checksums())


def where(kernel, workload):
    """Prints the costliest functions and lines of a kernel, in the workloads whose names have the words."""
    with tempfile.TemporaryDirectory() as folder:
        for w in WORK:
            if w.kernel == kernel and workload in w.what:
                c = count(w, folder)
                print(f"\n{kernel}, {w.what}: {c.slots:,.0f} slots a sample\n")
                print("\n".join(lines.costliest(c.blocks, c.samples, ptx_of(kernel))))


if __name__ == "__main__":
    check.fetch()
    if sys.argv[1:2] == ["--where"] and len(sys.argv) > 2:
        where(sys.argv[2], " ".join(sys.argv[3:]))
        sys.exit()
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(ROOT)}")
