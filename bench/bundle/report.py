"""Writes the page of what run.sh has found: report.py FOLDER >report.md

The folder is the archive of run.sh, unpacked. What is not there was not measured; what was cut off is left out.
"""

import glob
import json
import os
import re
import sys

# Between a run on the GPU and the same run on the CPU.
AGREE_SERIAL = 0.001  # test loss; one step in flight: the same steps, but for the order of sums
AGREE_TOGETHER = 0.1  # the same; several: their order is chance
AGREE_PROGRAM = 0.02  # test accuracy of a program, whose dropout is chance too

# Of a kernel in ncu's report: how it was launched, and what held it back.
NCU_LINE = re.compile(r"Context \d|Duration|Registers Per|Shared Memory Per|Waves Per|Achieved|Theoretical Occ|Throughput|Warp Cycles"
                      r"|No Eligible|ERR")
# Of its raw page: for how many cycles a warp waits for a reason, for each instruction that it issues.
NCU_STALL = re.compile(r"^ *smsp__average_warps_issue_stalled_(?!selected|\w+_not_issued)(\w+)_per_issue_active\.ratio .*?([\d.]+)$", re.M)
# The note of a run on what was in flight, and that on what its CTAs kept back.
IN_FLIGHT = re.compile(r"(\d+) steps? of \d+ \w+ in flight: (\d+ CTAs?(?: of \d+ teams)?)")
KEPT = re.compile(r"each CTA .*((?:bias|merged) every \d+) of its steps")
# What go test -v prints of a test: that it begins or goes on, how it ended, or what it says, which is indented by
# four for a subtest too.
TEST_LINE = re.compile(r"^(?:=== (RUN|CONT|NAME) +(\S+)|\s*--- (PASS|FAIL|SKIP): (\S+)|    \w+\.go:\d+: (.*))", re.M)
# A line of go test -bench. Of one that was cut off there is only the name.
BENCH_LINE = re.compile(r"^BenchmarkMicro/(\S+?)(?:-\d+)?\s+\d+\s+(\S.*)", re.M)


def read(name):
    """The text of a file; "" if there is none."""
    path = os.path.join(sys.argv[1], name)
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().strip("\n")


def lines(text):
    return [line for line in text.split("\n") if line]


def fields(name, between, n):
    """The rows of a table."""
    return [f for f in (line.split(between, n - 1) for line in lines(read(name))) if len(f) == n]


def objects(text):
    """The objects of a text with one a line."""
    all = []
    for line in lines(text):
        try:
            all.append(json.loads(line))
        except ValueError:
            continue
    return all


def number(text):
    """The number that a text is, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def short(x):
    """A number of three digits."""
    return f"{x:.0f}" if abs(x) >= 999.5 or x == 0 else f"{x:#.3g}".rstrip(".")


def rate(x):
    """A number from 0 on of three digits, with a prefix where it is large: 512, 84.2 k, 1.43 M."""
    unit = ""
    for larger in (" k", " M", " G"):
        if x >= 999.5:
            x, unit = x / 1000, larger
    return short(x) + unit


def shown(form, x, times=1):
    return "–" if x is None else form % (times * x)


def loss(x):
    return shown("%.4f", x)


def percent(x):
    return shown("%.2f %%", x, 100)


def runs():
    """The runs of trained/GROUP.KIND.HOW.json, a number behind the last dot or dash counting as one: 8 before 64. Each is the
    report of hogwild train --json, with its flags, its epochs and how busy it kept the host's cores."""
    all = []
    for path in glob.glob(os.path.join(sys.argv[1], "trained", "*.json")):
        name = os.path.basename(path)[: -len(".json")]
        for run in objects(read(f"trained/{name}.json").replace("\n", " ")):
            group, _, rest = name.partition(".")
            kind, _, how = rest.partition(".")
            epochs = [e for e in objects(read(f"trained/{name}.metrics")) if e.get("kind") == "epoch"]
            notes = "\n".join(run.get("notes") or [])
            steps, ctas = (IN_FLIGHT.findall(notes) or [("–", "–")])[0]  # as they ran
            ctas = ", ".join([ctas, *KEPT.findall(notes)])
            run.update(name=name, group=group, kind=kind, how=how, flags=read(f"trained/{name}.flags"), epochs=epochs,
                       host=number(read(f"trained/{name}.host")), steps=steps, ctas=ctas)
            all.append(run)
    return sorted(all, key=lambda run: re.sub(r"(?<=[.-])\d+$", lambda m: m[0].zfill(9), run["name"]))


class Tests:
    """What a file of go test -v says: tests and subtests as they began, those below each, how they ended, and the last that each
    said. A test all of whose subtests were skipped is skipped; one without an end was cut off."""

    def __init__(self, text):
        self.names, self.below, self.ended, self.says, of = [], {}, {}, {}, ""
        for began, name, ended, of_ended, says in TEST_LINE.findall(text):
            if began:
                of = name
                if began == "RUN":
                    self.names.append(name)
                    self.below.setdefault(name.rpartition("/")[0], []).append(name)
            elif ended:
                self.ended[of_ended] = ended
            else:
                self.says[of] = says
        for name in reversed(self.names):  # subtests before what they are of
            ends = {self.ended.get(s) for s in self.below.get(name, ())}
            if self.ended.get(name) == "PASS" and ends == {"SKIP"}:
                self.ended[name] = "SKIP"


def tested(part, text):
    """A check of a file of go test -v, and the tests that were skipped, subtests too: {why: names}."""
    v, skipped = Tests(text), {}
    for name in v.names:
        if v.ended.get(name) == "SKIP" and name not in v.below:
            skipped.setdefault(v.says.get(name, ""), []).append(name)
    top = {name: v.ended.get(name) for name in v.names if "/" not in name}
    ends = list(top.values())
    says = f"{ends.count('PASS')} passed, {ends.count('SKIP')} skipped"
    failed, cut = ([name for name in top if top[name] == end] for end in ("FAIL", None))
    if failed:
        says += "; failed: " + " ".join(failed)
    if cut:
        says += "; ended in " + cut[-1]
    elif not failed and "\nPASS" not in text:
        cut, says = True, says + "; " + " ".join(text[-200:].split())
    return (part, "tests", "FAIL" if failed or cut else "ok", says), skipped


def near(part, what, gpu, cpu, name, within):
    """A check that a figure on the GPU is that on the CPU, but for the difference."""
    a, b, check = gpu.get(name), cpu.get(name), gpu["kind"] + " as on the CPU"
    if a is None or b is None:
        return part, check, "FAIL", f"a {what} is not finite"
    return part, check, "ok" if abs(a - b) <= within else "FAIL", f"{what} {a:.5f}, on the CPU {b:.5f}; within {within:g}"


class Results:
    def __init__(self):
        self.runs = runs()
        bench = read("microbench.txt")
        self.figures = [(name.replace("_", " "), text.split()) for name, text in BENCH_LINE.findall(bench)]
        self.rivals = objects(read("rivals.jsonl"))
        devices = re.findall(r"^gpu: (.*)", bench, re.M)
        devices += [v["device"] for v in self.runs + self.rivals if str(v.get("device")).startswith("cuda")]
        self.device = devices[0] if devices else "an unknown GPU"
        self.stand_in = any("stand-in" in d for d in devices)  # there was no GPU: times say nothing
        self.checks = [(*f[:3], " ".join(f[3].split())) for f in fields("checks.tsv", "\t", 4)]
        self.checks += self.agree() + list(self.rates())
        self.skipped = []
        for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.test"))):
            part = os.path.basename(path)[: -len(".test")]
            check, skipped = tested(part, read(part + ".test"))
            self.checks.append(check)
            self.skipped += [(part, why, ", ".join(names)) for why, names in skipped.items()]
        self.parts = fields("parts.tsv", "\t", 4)
        order = {f[0]: i for i, f in enumerate(self.parts)}
        self.checks.sort(key=lambda check: order.get(check[0], -1))

    def of(self, group):
        return [run for run in self.runs if run["group"] == group]

    def timed(self, text):
        """A figure that means something on a GPU only."""
        return "–" if self.stand_in else text

    def agree(self):
        """A check for each run on the GPU that there is on the CPU too: both must end near each other."""
        checks = []
        for group, name, what in (("agree", "test_loss", "test loss"), ("programs", "test_accuracy", "test accuracy")):
            cpu = {run["kind"]: run for run in self.of(group) if run["how"] == "cpu"}
            for run in self.of(group):
                if run["how"] == "gpu" and run["kind"] in cpu:
                    within = AGREE_PROGRAM if group == "programs" else AGREE_SERIAL if "--in-flight 1 " in run["flags"] else AGREE_TOGETHER
                    checks.append(near(group, what, run, cpu[run["kind"]], name, within))
        return checks

    def rates(self):
        """A check for each run of the parts rates and mps whose speed says nothing, or not all."""
        for run in self.of("rates") + self.of("workers") + self.of("mps"):
            part, name = "mps" if run["group"] == "mps" else "rates", run["name"]
            speed, wall = run.get("examples_per_second", 0), run.get("wall_examples_per_second", 0)
            if not run.get("examples"):
                yield part, name, "FAIL", ("no example was trained " + run.get("stopped", "")).strip()
            elif not self.stand_in and 0 < 2 * wall < speed:
                yield part, name, "FAIL", f"{rate(speed)} examples/s while it trains, {rate(wall)} of wall time: most of it passes between epochs"

    def write(self):
        print(f"# hogwild on {self.device}\n")
        if self.stand_in:
            print("**Run on the stand-in driver, without a GPU.** Results are as valid as on a GPU. Times are those of an interpreter and are\n"
                  "left out.\n")
        print(f"Commit {read('commit.txt').replace(chr(10), ', ')}, {read('date.txt')}.")
        if lines(read("machine.txt")):
            print("", "```", *lines(read("machine.txt")), "```", sep="\n")
        self.card()
        table("Checks", "", "part|check|status|message", [(*check[:3], check[3][:300]) for check in self.checks])
        table("Skipped tests", "", "part|reason|tests", self.skipped)
        table("Parts", "", "part|status|seconds|limit", [(name, ended(status), self.timed(f"{float(seconds):.1f}"), limit)
                                                         for name, status, seconds, limit in self.parts])
        table("Microbenchmarks", "Peak rates of the GPU. docs/results/kernels.md says what they decide.", "figure|value|unit",
              [(name, self.timed(short(float(value))), unit) for name, values in self.figures
               for value, unit in zip(values[::2], values[1::2]) if unit != "ns/op" or len(values) == 2])
        self.speeds()
        self.sweeps()
        self.flight()
        self.programs()
        self.kernels()
        self.service()

    def kernels(self):
        texts = [(kernel, read(f"ncu.{kernel}.txt")) for kernel in ("linear", "mlp", "conv", "sparse")]
        stalls = [(kernel, sorted(NCU_STALL.findall(text), key=lambda stall: -float(stall[1]))) for kernel, text in texts]
        table("Stall reasons", "For each instruction that a warp issues, the cycles that it waits for a reason, as ncu saw it.", "kernel|cycles",
              [(kernel, ", ".join(f"{reason.replace('_', ' ')} {float(n):.2f}" for reason, n in all if float(n) >= 0.005)) for kernel, all in stalls if all])
        lines_of = [" ".join(line.split()) for _, text in texts for line in lines(text) if NCU_LINE.search(line)]
        if lines_of:
            print("\n## Four kernels, profiled with ncu\n", "```", *lines_of, "```", sep="\n")

    def service(self):
        """What the service's logs end with, if no program came through."""
        if any(check[0] == "mps" and check[2] == "FAIL" for check in self.checks):
            print("\n## The end of MPS's logs\n", "```", sep="\n")
            for name in ("machine", "start", "client", "control", "server", "servers", "quit", "dmesg"):
                for line in lines(read(f"mps/{name}.log"))[-12:]:
                    print(f"{name}: {line[:200]}")
            print("```")

    def card(self):
        """The GPU during the whole time, as nvidia-smi saw it twice a second: the one that was used, or all if that is not known."""
        rows = [f for f in fields("smi.csv", ", ", 6) if read("uuid.txt") in ("", f[1])]
        if not rows:
            return
        busy = [f for f in rows if number(f[4])]

        def spread(column, unit):
            values = sorted(v for v in (number(f[column]) for f in busy) if v is not None) or [0]  # [N/A] is none
            return f"{values[0]:g} to {values[-1]:g} {unit}, median {values[len(values) // 2]:g}"
        memory = max(number(f[5]) or 0 for f in rows)
        print(f"\nnvidia-smi looked {len(rows)} times, and {len(busy)} times a kernel ran. In those, clock {spread(2, 'MHz')}; power\n"
              f"{spread(3, 'W')}. Memory in use: {memory:.0f} MiB at most.")

    def speeds(self):
        def row(run):
            wall = run.get("wall_examples_per_second")
            return (run["steps"], self.timed(rate(run.get("examples_per_second", 0))), self.timed(rate(wall) if wall else "–"),
                    run["ctas"], self.timed(shown("%.2f", run["host"])))
        heads = "|steps in flight|examples/s|of wall time|CTAs of each worker|busy host cores"
        table("Rates", """\
Three seconds each on large data sets, at a low learning rate: throughput only, and beside no other program and no cores. Steps in flight
are those that ran, fewer than were asked for where no more CTAs fit. The rate counts the time in which workers train; of wall time it
also counts what passes between epochs. CTAs: a multiprocessor without one is idle, and utilization as nvidia-smi reports it does not
show that. The last column is the host cores kept busy by coordinator and workers; if one of them is fully busy, it may be the bottleneck.""",
              "workload" + heads, ((run["kind"], *row(run)) for run in self.of("rates")))
        table("Workers on one GPU", "Measured as the rates are. Without MPS the GPU runs the kernels of one process at a time; with it, of several.",
              "|workload|workers" + heads, (("MPS" if run["group"] == "mps" else "no MPS", run["kind"], run["how"], *row(run))
                                            for run in self.of("workers") + self.of("mps")))

    def timed_of(self, what):
        """The timed runs of gpu.py, by job and side."""
        sides = {}
        for v in self.rivals:
            if v["of"] == what and not v.get("search"):
                sides.setdefault((v["job"], v["side"]), []).append(v)
        return sides.values()

    def to_loss(self, v):
        """What the tables of gpu.py's runs have in common: seconds, and the rest of a row."""
        return (self.timed(f"{v['seconds']:.3g}") if v["ended"] == "reached" else "not reached: " + v["ended"],
                loss(v.get("loss")), percent(v.get("accuracy")), v.get("passes", 0), self.timed(rate(v.get("rate", 0))))

    def sweeps(self):
        def rank(v):  # faster to the target, or, if none reached it, nearer to it
            return (0, v["seconds"]) if v["ended"] == "reached" else (1, float("inf") if v.get("loss") is None else v["loss"])

        def row(all):
            v, reached = min(all, key=rank), sum(v["ended"] == "reached" for v in all)
            of = f"{reached} of {len(all)}" + (f", {v['planned']} planned" if len(all) < v["planned"] else "")
            return (v["job"], v["target"], v["side"], v["setting"], shown("%.3g", v["lr"]), *self.to_loss(v), self.timed(f"{v['wall']:.3g}"), of)
        table("Rivals, to the same test loss", """\
Each side had four settings, each at the best of five rates; L-BFGS has no rate. A row is the fastest timed run
that reached the target, or if none did the one with the least loss. Seconds are of training alone on every side: without start-up,
data loading, graph capture and the test after each pass (a gradient for L-BFGS). Wall has all of that. The loss of factor is the mean
squared error. docs/results/gpu.md says what each side is, and how rates were found.""",
              "workload|target|side|setting|lr|seconds|test loss|accuracy|passes|examples/s|wall|timed runs that reached it",
              map(row, self.timed_of("rivals")))

        def seeded(v):
            seconds = v["seconds"]
            return (v["job"], v["side"], v["setting"], shown("%.3g", v["lr"]), f"{v['reached']} of {v['runs']}",
                    self.timed(" to ".join(shown("%.3g", seconds[of]) for of in ("least", "most"))), self.timed(shown("%.3g", seconds["median"])),
                    short(v["passes"]["median"]) if v["passes"]["median"] else "–", " ".join(map(loss, v["losses"])))
        table("The same with five seeds", "A claim against a rival is made from these: medians of the fastest settings. A run that misses the target takes for ever (–).",
              "workload|side|setting|lr|reached it|seconds|median|passes, median|test losses",
              (seeded(v) for v in self.rivals if v["of"] == "spread"))

    def flight(self):
        def row(all):
            v = all[-1]
            return (v["job"], v["setting"], shown("%.3g", v["lr"]), *self.to_loss(v), "–" if v.get("delay") is None else short(v["delay"]), v.get("p99", "–"))
        table("Steps in flight", """\
Each row is at the best of five rates, a factor of three apart, to the same test loss as the others of its model. The delay is the
number of other updates between a step's read of the weights and its write, sampled.""",
              "model|setting|lr|seconds|test loss|accuracy|passes|examples/s|delay, mean|99 %", map(row, self.timed_of("flight")))

    def programs(self):
        table("PyTorch programs",
              "The ConvNet of PyTorch's example mnist_hogwild (examples/pytorch/mnist.py) for one epoch, its weights on the GPU or on the cores.",
              "workers|weights|examples/s|train loss|test loss|accuracy",
              [(run.get("workers", 0), run["how"], self.timed(rate(run.get("examples_per_second", 0))), loss(run.get("train_loss")), loss(run.get("test_loss")),
                percent(run.get("test_accuracy"))) for run in self.of("programs")])


def ended(status):
    """How a part ended, from its line in parts.tsv: a number, "running", or "skipped" and why."""
    known = {"0": "finished", "124": "cut off: out of time", "137": "cut off: out of time", "running": "running when this was written"}
    return known.get(status, "status " + status if status.isdigit() else status)


def table(title, text, heads, rows):
    """A section, if its table has rows."""
    rows, heads = list(rows), heads.split("|")
    if rows:
        print(f"\n## {title}\n", *([text + "\n"] if text else []), sep="\n")
        for row in (heads, *rows):
            print("| " + " | ".join(map(str, row)) + " |")
            if row is heads:
                print("|" + "---|" * len(heads))


if __name__ == "__main__":
    if not os.path.isfile(os.path.join(sys.argv[1], "parts.tsv")):
        sys.exit(f"{sys.argv[1]} has no results of run.sh, which make gpu-bundle packs: parts.tsv is not there")
    Results().write()
