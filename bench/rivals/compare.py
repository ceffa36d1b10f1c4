"""Runs hogwild and its rivals in turns on the same jobs, and prints the ratios of their speeds
and of their times to the same test loss.

    bench/rivals/build.sh                           # once: the rivals, into build/rivals
    compare.py [CASE ...] [--only RIVAL] [--rounds N] [--settings N] [--quick] [--out FILE]   # compare.sh is it, by the Python in build/rivals/v
    compare.py --list
    compare.py --table FILE ...                     # print the table of ratios of results files
    compare.py --show FILE ...                      # print all sides of each case, and the claims

Before the rounds each side of most cases is searched for its best batch and rate (search.py), on validation rows.
The target is 1.02 times the lowest of the sides' median test losses at the end; a side's time to it is the seconds of training
until the first pass whose test loss is there. Every round runs each side of a case once, one after the other;
a ratio is the median of the rounds' ratios. Missing rivals are skipped. FILE has every figure and all that the search tried, with machine, versions and commit (default:
build/rivals/results-TIME.json); it is written after each trial and each round.
"""

import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays clean

import cases
import parts
import search
import sides


def say(text):
    print(text, file=sys.stderr, flush=True)


def open_case(name, case, only):
    """The result of a case before the first round: available and missing sides, of the rivals that are wanted."""
    wanted = {side: s for side, s in case.sides.items() if s.against and only.lower() in side.lower()}
    wanted = {side: s for side, s in case.sides.items() if side in wanted or not only or any(side == w.against for w in wanted.values())}
    absent = {side: sides.missing(s.needs) for side, s in wanted.items()}
    left_out = {side: " and ".join(needs) for side, needs in absent.items() if needs}
    there = {side: s for side, s in wanted.items() if side not in left_out}
    for side, needs in left_out.items():
        say(f"  {name}: {side} is left out: there is no {needs}")
    return {"case": name, "title": case.title, "inputs": case.inputs, "unit": case.unit, "figures": {side: [] for side in there},
            "against": {side: s.against for side, s in there.items() if s.against}, "left_out": left_out, "failed": {},
            "tried": {side: [] for side, s in there.items() if s.grid}, "chosen": {}, "claims": []}


def attempt(case, result, side, *how):
    """A run of a side; None, and noted, if it failed."""
    try:
        return case.sides[side].run(*how)
    except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError, LookupError) as e:
        result["failed"][side] = str(e)
        say(f"  {result['case']}: {side} failed: {e}")
        return None


def choose(case, result, settings, files, save):
    """Fills what was tried and chosen."""
    def run(side, setting):
        n = len(result["tried"][side])
        got = attempt(case, result, side, search.SEED + n, setting, files)
        save()
        if not got:
            return None
        loss = search.last(got["losses"])
        say(f"  {result['case']}, search {n + 1}/{settings} {side}, {told(setting)}: validation loss {loss:.4f}")
        return {"losses": got["losses"], "to": got["to"], "rate": got.get("rate")}

    if result["tried"]:
        result["chosen"] = search.search({side: case.sides[side].grid for side in result["tried"]}, settings, run, result["tried"])


def measure(case, result, rounds, files, save):
    """Fills the result: a list of rounds for each side."""
    for turn in range(rounds):
        for side, figures in result["figures"].items():
            if side in result["failed"]:
                continue
            setting = {k: v for k, v in result["chosen"].get(side, {}).items() if k in ("batch", "lr")}
            got = attempt(case, result, side, turn, setting, files)
            if got and "rate" not in got:
                result["failed"][side] = f"diverged with {told(setting)}"
            elif got:
                figures.append(got)
                say(f"  {result['case']} {turn + 1}/{rounds} {side}: {number(got['rate'])} {case.unit}")
        result["claims"] = [c for c in (judge(c, result["figures"]) for c in case.claims) if c]
        result["target"] = search.target([r for r in result["figures"].values() if r and all(run.get("losses") for run in r)])
        if not math.isfinite(result["target"]):
            result["target"] = None  # no side tells its loss
        save()


def judge(claim, figures):
    """A claim's outcome, by round and as the median; None if one of its sides is missing."""
    theirs = [figures[t] for t in claim.theirs if figures.get(t)]
    if not figures.get(claim.ours) or claim.theirs and not theirs:
        return None
    values = []
    for mine, *others in zip(*([r.get(claim.of) for r in side] for side in (figures[claim.ours], *theirs))):
        if None in (mine, *others):
            continue
        best = (min if claim.most else max)(others, default=None)
        values.append(mine if best is None else mine / best if claim.of == "rate" else mine - best)
    got = statistics.median(values) if values else None
    held = got is not None and (got <= claim.target if claim.most else got >= claim.target)
    return {"text": claim.text, "got": got, "rounds": values, "target": claim.target, "most": claim.most, "of": claim.of, "held": held}


def number(v):
    """Three digits, with k, M or G."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(v) >= size:
            return f"{v / size:.3g}{letter}"
    return f"{v:.3g}"


def digits(v):
    """A ratio."""
    return f"{v:.0f}" if v >= 20 else f"{v:.1f}" if v >= 5 else f"{v:.2f}"


def spread(values, show):
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    low, high = show(min(values)), show(max(values))
    middle = show(statistics.median(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def middle(rounds, figure):
    values = [r[figure] for r in rounds if r.get(figure) is not None]
    return f"{statistics.median(values):.4f}" if values else "-"


def told(setting):
    """A setting in words."""
    words = [f"{word} {setting[k]:g}" for k, word in (("batch", "batch"), ("lr", "rate")) if k in setting]
    return ", ".join(words) + "".join(f" ({what} at an edge)" for what in setting.get("edge", []))


def sooner(mine, theirs, target):
    """How many times sooner mine are at the target than theirs, by round, as text."""
    if target is None or not all(r.get("losses") for r in (*mine, *theirs)):
        return ""
    times = [[search.time_to(target, r) for r in rounds] for rounds in (mine, theirs)]
    ends = [statistics.median(t) == math.inf for t in times]
    if any(ends):
        return f"{'both miss' if all(ends) else 'hogwild misses' if ends[0] else 'the rival misses'} {target:.4f}"
    missed = [sum(t == math.inf for t in side) for side in times]
    note = "".join(f"; {who} missed it {n} of {len(mine)} times" for who, n in zip(("hogwild", "the rival"), missed) if n)
    return spread([b / a for a, b in zip(*times) if math.inf not in (a, b)], digits) + note


def reached(rounds):
    """The medians of what a side has reached, by figure."""
    return {f: middle(rounds, f) for f in ("loss", "accuracy", "rmse", "excess") if rounds[0].get(f) is not None}


def ratios(results):
    """The table of ratios in Markdown: one row per rival and case."""
    lines = ["| rival | job | inputs | hogwild is faster by | sooner at the same test loss by | chosen: hogwild; rival | test loss: hogwild; rival |",
             "|---|---|---|---|---|---|---|"]
    for result in results:
        for rival, side in result["against"].items():
            mine, theirs = result["figures"][side], result["figures"][rival]
            if not mine or not theirs:
                continue
            values = [m["rate"] / t["rate"] for m, t in zip(mine, theirs)]
            a, b = reached(mine), reached(theirs)
            figure = next((f for f in ("rmse", "excess", "loss", "accuracy") if f in a and f in b), None)
            word = {"rmse": "RMSE ", "loss": ""}.get(figure, f"{figure} ")
            which = "" if side == "hogwild" else f"; {side}"
            ratio = [spread(values, digits), sooner(mine, theirs, result.get("target"))]
            if result["unit"] == "1/s":  # the seconds to a given end
                ratio = ["", ratio[0]]
            chosen = [told(result.get("chosen", {}).get(s, {})) or "as given" for s in (side, rival)]
            chosen = "as given" if chosen == ["as given"] * 2 else "; ".join(chosen)
            lines.append(f"| {rival} | {result['title']}{which} | {result.get('inputs', '')} | {' | '.join(ratio)} | {chosen} | "
                         f"{f'{word}{a[figure]}; {b[figure]}' if figure else ''} |")
    return "\n".join(lines)


def details(result):
    """One case in Markdown: its sides, then its claims."""
    lines = [f"**{result['title']}** (`{result['case']}`)", "",
             f"| | {result['unit']}, median (range) | seconds | reached |", "|---|---|---|---|"]
    for side, rounds in result["figures"].items():
        if side in result["failed"]:
            lines.append(f"| {side} | failed: {result['failed'][side].splitlines()[0][:80]} | | |")
        elif rounds:
            found = ", ".join(f"{f} {v}" for f, v in reached(rounds).items())
            seconds = spread([r.get("seconds") for r in rounds], lambda v: f"{v:.3g}")
            lines.append(f"| {side} | {spread([r['rate'] for r in rounds], number)} | {seconds} | {found} |")
    lines += ["", "| what must hold | wanted | measured, median (range) | |", "|---|---|---|---|"]
    for c in result["claims"]:
        sign = "≤" if c["most"] else "≥"
        show = digits if c["of"] in ("rate", "seconds") else (lambda v: f"{v:.4f}")
        lines.append(f"| {c['text']} | {sign} {c['target']:g} | {spread(c['rounds'], show)} | {'yes' if c['held'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, *arguments], check=False, capture_output=True, text=True).stdout.strip()


def about():
    """The machine and the versions."""
    versions = {"python": platform.python_version()}
    for package in ("numpy", "torch", "torchvision", "scikit-learn", "vowpalwabbit"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    for source in ("hogwildpp", "libmf"):
        if os.path.exists(f"{sides.RIVALS}/{source}/.git"):
            versions[source] = git(f"{sides.RIVALS}/{source}", "rev-parse", "--short", "HEAD")
    # The variables that restrict the instruction set of both sides (docs/results/speed.md).
    caps = ("HOGWILD_CPU", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
    cpu = next((x.split(": ")[1] for x in open("/proc/cpuinfo") if x.startswith("model name")), "").strip()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"time": now, "commit": git(sides.ROOT, "describe", "--always", "--dirty", "--exclude=*"), "command": " ".join(sys.argv[1:]),
            "hogwild": sides.execute([sides.HOGWILD, "--version"]).splitlines()[0],
            "machine": {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()}, "versions": versions,
            "environment": {name: os.environ[name] for name in caps if name in os.environ}}


def read(paths, wanted):
    """The cases of results files; each must have the wanted key."""
    found = []
    for path in paths:
        try:
            with open(path) as f:
                found += [r for r in json.load(f)["cases"] if r[wanted] is not None]
        except OSError as e:
            sys.exit(f"{path}: {e.strerror}")
        except (ValueError, TypeError, LookupError):
            sys.exit(f"{path}: not what compare.py writes, or what an older one wrote: its cases have no {wanted}")
    return found


def lines(report):
    """The report as JSON, one line per case."""
    text = {key: json.dumps(value) for key, value in report.items()}
    text["cases"] = "[" + ",".join("\n    " + json.dumps(case) for case in report["cases"]) + "\n  ]"
    return "{" + ",".join(f"\n  {json.dumps(key)}: {value}" for key, value in text.items()) + "\n}\n"


def run(names, a):
    """Runs the cases, prints the ratios; returns the exit status."""
    report, path = {**about(), "quick": a.quick, "cases": []}, a.out
    found = {c["case"]: c for c in read([a.again], "chosen")} if a.again else {}
    path = path or os.path.join(sides.RIVALS, f"results-{report['time'][:19].replace(':', '').replace('-', '')}.json")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)

    def save():
        with open(path + ".part", "w") as f:
            f.write(lines(report))
        os.replace(path + ".part", path)

    status = 0
    try:
        for name in names:
            case = cases.CASES[name]()
            if lacking := sides.missing(case.needs):
                hint = "make cuda" if lacking[-1].endswith("-cuda") else "bench/rivals/build.sh says why"
                say(f"  {name} is left out: there is no {' and '.join(lacking)} ({hint})")
                continue
            result = open_case(name, case, a.only)
            if not result["against"]:
                say(f"  {name} is left out: it has no rival {a.only}")
                continue
            report["cases"].append(result)
            files = parts.held(case.data, f"{sides.RIVALS}/sparse", a.quick) if case.data else {}
            if name in found:
                result["tried"], result["chosen"] = found[name]["tried"], found[name]["chosen"]
            else:
                choose(case, result, a.settings or (3 if a.quick else 8), files, save)
            measure(case, result, a.rounds or (2 if a.quick else case.rounds), files if a.quick else {}, save)
    except KeyboardInterrupt:
        status = 130
    if not report["cases"]:
        say("nothing was measured")
        return status or 1
    save()
    print(ratios(report["cases"]))
    say(f"figures in {path}" + (": stopped before the end" if status else ""))
    return status or int(any(r["failed"] for r in report["cases"]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", help="of --list (default: those with a star there)")
    p.add_argument("--list", action="store_true", help="the cases")
    p.add_argument("--table", nargs="+", metavar="FILE", help="print the table of ratios of earlier results")
    p.add_argument("--show", nargs="+", metavar="FILE", help="print all of earlier results")
    p.add_argument("--only", default="", metavar="RIVAL", help="the rivals whose names contain this, and hogwild beside them")
    p.add_argument("--rounds", type=int, default=0, metavar="N", help="how often each side is run (default: by case, 1 to 5)")
    p.add_argument("--settings", type=int, default=0, metavar="N", help="how many batches and rates each side is tried with (default 8)")
    p.add_argument("--again", metavar="FILE", help="take batches and rates from the results in FILE, and search only for cases that are not in it")
    p.add_argument("--quick", action="store_true", help="on a few rows, with 3 settings and 2 rounds: to see that it runs; the figures mean nothing")
    p.add_argument("--out", metavar="FILE", help="where the figures go")
    a = p.parse_args()
    if a.list:
        for name, case in cases.CASES.items():
            print(f"{'*' if name in cases.USUAL else ' '} {name:12} {', '.join(filter(None, (case().title, case().inputs)))}")
    elif a.table:
        print(ratios(read(a.table, "against")))
    elif a.show:
        print("\n".join(details(r) for r in read(a.show, "claims")))
    else:
        if unknown := [c for c in a.cases if c not in cases.CASES]:
            p.error(f"no case {', '.join(unknown)}; there are {', '.join(cases.CASES)}")
        if not os.access(sides.HOGWILD, os.X_OK):
            p.error(f"no {sides.HOGWILD}: make build")
        sys.exit(run(a.cases or cases.USUAL, a))


if __name__ == "__main__":
    main()
