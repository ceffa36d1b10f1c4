"""Runs hogwild and its rivals in turns on the same jobs, and writes down the ratios.

    build/rivals/v/bin/python bench/rivals/compare.py [CASE ...] [--repeats N] [--json FILE]
    build/rivals/v/bin/python bench/rivals/compare.py --list
    build/rivals/v/bin/python bench/rivals/compare.py --show FILE ...

Every round runs each side of a case once, one after the other, and measures the machine's
core-to-core ping-pong before and after; a ratio is the median of the rounds' ratios. Needs
bin/hogwild and what build.sh makes. Prints Markdown; FILE keeps every figure (default:
build/rivals/results/TIME.json), and --show prints a table of files again.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays clean

import cases  # noqa: E402


def ping_pong():
    """Nanoseconds in which a cache line goes from a core to its neighbour; None on one core."""
    try:
        out = cases.execute([cases.HOGWILD, "bench", "--floors", "--repeat", 0, "--json", "--seconds", 0.3])
    except RuntimeError as e:
        sys.exit(str(e))
    lines = [f["median"] for f in json.loads(out)["floors"] if f["name"].startswith("cache line")]
    return max(lines) if lines else None


def measure(name, case, repeats):
    """The figures of a case: for each side a list over rounds."""
    figures = {side: [] for side in case.sides}
    pings, failed = [ping_pong()], {}
    for turn in range(repeats):
        for side, run in case.sides.items():
            if side in failed:
                continue
            try:
                figures[side].append(run(turn))
                print(f"  {name} {turn + 1}/{repeats} {side}: {number(figures[side][-1].get('rate'))} {case.unit}", file=sys.stderr, flush=True)
            except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError, IndexError) as e:
                failed[side] = str(e)
                print(f"  {name} {side}: failed: {e}", file=sys.stderr, flush=True)
        pings.append(ping_pong())
    return {"case": name, "title": case.title, "unit": case.unit, "ping_pong_ns": pings, "figures": figures, "failed": failed,
            "claims": [judge(c, figures) for c in case.claims]}


def judge(claim, figures):
    """What came of a claim, round by round, and in the median."""
    ours, theirs = figures[claim.ours], [figures[t] for t in claim.theirs]
    rounds = min([len(ours)] + [len(t) for t in theirs])
    values = []
    for i in range(rounds):
        mine, others = ours[i].get(claim.of), [t[i].get(claim.of) for t in theirs]
        if mine is None or None in others:
            continue
        if not others:
            values.append(mine)
        elif claim.of == "rate":
            values.append(mine / max(others))
        else:
            values.append(mine - (min(others) if claim.most else max(others)))
    got = statistics.median(values) if values else None
    held = got is not None and (got <= claim.target if claim.most else got >= claim.target)
    return {"text": claim.text, "got": got, "rounds": values, "target": claim.target, "most": claim.most, "of": claim.of, "held": held}


def number(v):
    """Three digits and a k, M or G."""
    if v is None:
        return "-"
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(v) >= size:
            return f"{v / size:.3g}{letter}"
    return f"{v:.3g}"


def spread(values, show):
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    low, high = show(min(values)), show(max(values))
    middle = show(statistics.median(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def table(result):
    """One case in Markdown: its sides, then what must hold."""
    pings = [p for p in result["ping_pong_ns"] if p]
    lines = [f"**{result['title']}** (`{result['case']}`; cache line from core to core {spread(pings, lambda v: f'{v:.0f}')} ns)", "",
             f"| | {result['unit']}, median (range) | seconds | accuracy, RMSE or excess |", "|---|---|---|---|"]
    for side, rounds in result["figures"].items():
        if side in result["failed"]:
            lines.append(f"| {side} | failed: {result['failed'][side].splitlines()[0][:80]} | | |")
            continue
        reached = next((f for f in ("excess", "rmse", "accuracy") if rounds and f in rounds[0]), None)
        lines.append("| " + " | ".join([
            side, spread([r["rate"] for r in rounds], number), spread([r.get("seconds") for r in rounds], lambda v: f"{v:.3g}"),
            spread([r[reached] for r in rounds], lambda v: f"{v:.4f}") if reached else ""]) + " |")
    lines += ["", "| what must hold | wanted | measured, median (range) | |", "|---|---|---|---|"]
    for c in result["claims"]:
        sign = "≤" if c["most"] else "≥"
        digits = (lambda v: f"{v:.2f}") if c["of"] in ("rate", "seconds") else (lambda v: f"{v:.4f}")
        lines.append(f"| {c['text']} | {sign} {c['target']:g} | {spread(c['rounds'], digits)} | {'yes' if c['held'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def about():
    """The machine and the versions."""
    import torch

    floors = json.loads(cases.execute([cases.HOGWILD, "bench", "--floors", "--repeat", 0, "--json", "--seconds", 3]))
    commit = subprocess.run(["git", "-C", cases.ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": commit,
            "hogwild": cases.execute([cases.HOGWILD, "--version"]).splitlines()[0], "machine": floors,
            "versions": {"python": platform.python_version(), "torch": torch.__version__, "liblinear": "2.30",
                         "hogwildpp": "6aaf9ef", "libmf": "1498368",
                         "gcc": cases.execute(["gcc", "--version"]).splitlines()[0]}}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="*", help="of --list; all")
    p.add_argument("--list", action="store_true")
    p.add_argument("--show", nargs="+", metavar="FILE")
    p.add_argument("--repeats", type=int, default=0)
    p.add_argument("--json", metavar="FILE")
    a = p.parse_args()
    if a.list:
        for name, case in cases.CASES.items():
            print(f"{name:12} {case().title}")
        return
    if a.show:
        for path in a.show:
            for result in json.load(open(path))["cases"]:
                print(table(result))
        return
    unknown = [c for c in a.cases if c not in cases.CASES]
    if unknown:
        sys.exit(f"no case {', '.join(unknown)}; there are {', '.join(cases.CASES)}")
    report = {**about(), "cases": []}
    stamp = report["time"].replace(":", "").replace("-", "")[:15]
    path = a.json or os.path.join(cases.RIVALS, "results", f"{stamp}-{'-'.join(a.cases[:3]) or 'all'}.json")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    for name in a.cases or cases.CASES:
        case = cases.CASES[name]()
        report["cases"].append(measure(name, case, a.repeats or case.repeats))
        with open(path, "w") as f:  # after every case: a run may be stopped
            json.dump(report, f, indent=1)
        print(table(report["cases"][-1]), flush=True)
    print("figures in", path, file=sys.stderr)


if __name__ == "__main__":
    main()
