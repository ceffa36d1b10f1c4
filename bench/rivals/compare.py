"""Runs hogwild and its rivals in turns on the same jobs, and prints the ratios of their speeds
with the losses reached.

    make rivals                                     # once: the rivals, into build/rivals
    make bench-rivals [CASES="mlp128 a9a"] [ROUNDS=3] [OUT=FILE]
    compare.py [CASE ...] [--rounds N] [--out FILE]      # the same; use the Python in build/rivals/v
    compare.py --list
    compare.py --table FILE ...                     # print the table of ratios of results files
    compare.py --show FILE ...                      # print all sides of each case, and the claims

Every round runs each side of a case once, one after the other, and measures the machine's
core-to-core ping-pong before and after; a ratio is the median of the rounds' ratios. Missing
rivals are skipped. FILE has every figure, with machine, versions and commit (default:
build/rivals/results-TIME.json); it is written after each round.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays clean

import cases
import sides


def say(text):
    print(text, file=sys.stderr, flush=True)


def ping_pong():
    """Nanoseconds a cache line takes from a core to its neighbour; None on one core."""
    lines = [f["median"] for f in sides.limits(0.3)["limits"] if f["name"].startswith("cache line")]
    return max(lines) if lines else None


def open_case(name, case):
    """The result of a case before the first round: available and missing sides."""
    absent = {side: sides.missing(s.needs) for side, s in case.sides.items()}
    left_out = {side: " and ".join(needs) for side, needs in absent.items() if needs}
    there = {side: s for side, s in case.sides.items() if side not in left_out}
    for side, needs in left_out.items():
        say(f"  {name}: {side} is left out: there is no {needs}")
    return {"case": name, "title": case.title, "unit": case.unit, "ping_pong_ns": [], "figures": {side: [] for side in there},
            "against": {side: s.against for side, s in there.items() if s.against}, "left_out": left_out, "failed": {}}


def measure(case, result, rounds, save):
    """Fills the result: a list of rounds for each side."""
    result["ping_pong_ns"].append(ping_pong())
    for turn in range(rounds):
        for side, figures in result["figures"].items():
            if side in result["failed"]:
                continue
            try:
                figures.append(case.sides[side].run(turn))
                say(f"  {result['case']} {turn + 1}/{rounds} {side}: {number(figures[-1]['rate'])} {case.unit}")
            except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError, LookupError) as e:
                result["failed"][side] = str(e)
                say(f"  {result['case']}: {side} failed: {e}")
        result["ping_pong_ns"].append(ping_pong())
        result["claims"] = [c for c in (judge(c, result["figures"]) for c in case.claims) if c]
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


def reached(rounds):
    """The medians of what a side has reached, by figure."""
    return {f: middle(rounds, f) for f in ("loss", "accuracy", "rmse", "excess") if rounds[0].get(f) is not None}


def ratios(results):
    """The table of ratios in Markdown: one row per rival and case."""
    lines = ["| rival | case | hogwild is faster by, median (range) | loss: hogwild; rival | accuracy: hogwild; rival |", "|---|---|---|---|---|"]
    for result in results:
        for rival, side in result["against"].items():
            mine, theirs = result["figures"][side], result["figures"][rival]
            if not mine or not theirs:
                continue
            values = [m["rate"] / t["rate"] for m, t in zip(mine, theirs)]
            a, b = reached(mine), reached(theirs)
            other = next((f for f in ("rmse", "excess") if f in a and f in b), "loss")
            word = {"rmse": "RMSE ", "excess": "excess "}.get(other, "")
            loss, accuracy = (f"{a[f]}; {b.get(f, '-')}" if f in a else "" for f in (other, "accuracy"))
            which = "" if side == "hogwild" else f"; {side}"
            lines.append(f"| {rival} | {result['title']}{which} | {spread(values, digits)} | {word + loss} | {accuracy} |")
    return "\n".join(lines)


def details(result):
    """One case in Markdown: its sides, then its claims."""
    pings = [p for p in result["ping_pong_ns"] if p]
    lines = [f"**{result['title']}** (`{result['case']}`; cache line from core to core {spread(pings, lambda v: f'{v:.0f}')} ns)", "",
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
    # The variables that restrict the instruction set of both sides (docs/speed.md).
    caps = ("HOGWILD_CPU", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"time": now, "commit": git(sides.ROOT, "describe", "--always", "--dirty", "--exclude=*"), "command": " ".join(sys.argv[1:]),
            "hogwild": sides.execute([sides.HOGWILD, "--version"]).splitlines()[0], "machine": sides.limits(3), "versions": versions,
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


def run(names, rounds, path):
    """Runs the cases, prints the ratios; returns the exit status."""
    report = {**about(), "cases": []}
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
                hint = "make cuda" if lacking[-1].endswith("-cuda") else "make rivals says why"
                say(f"  {name} is left out: there is no {' and '.join(lacking)} ({hint})")
                continue
            report["cases"].append(open_case(name, case))
            measure(case, report["cases"][-1], rounds or case.rounds, save)
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
    p.add_argument("--rounds", type=int, default=0, metavar="N", help="how often each side is run (default: by case, 1 to 5)")
    p.add_argument("--out", metavar="FILE", help="where the figures go")
    a = p.parse_args()
    if a.list:
        for name, case in cases.CASES.items():
            print(f"{'*' if name in cases.USUAL else ' '} {name:12} {case().title}")
    elif a.table:
        print(ratios(read(a.table, "against")))
    elif a.show:
        print("\n".join(details(r) for r in read(a.show, "claims")))
    else:
        if unknown := [c for c in a.cases if c not in cases.CASES]:
            p.error(f"no case {', '.join(unknown)}; there are {', '.join(cases.CASES)}")
        if not os.access(sides.HOGWILD, os.X_OK):
            p.error(f"no {sides.HOGWILD}: make build")
        sys.exit(run(a.cases or cases.USUAL, a.rounds, a.out))


if __name__ == "__main__":
    main()
