"""Runs hogwild and its rivals in turns on the same jobs, and prints how many times sooner hogwild is at the rival's best test
loss, and at its own.

    bench/rivals/build.sh                           # once: the rivals, into build/rivals
    compare.py [CASE ...] [--only RIVAL] [--rounds N] [--settings N] [--quick] [--out FILE]   # compare.sh is it, by the Python in build/rivals/v
    compare.py ... --out FILE --seconds 70          # as far as that goes; again, it goes on from FILE, until it exits with 0 and not with 3
    compare.py ... --again OLD --out FILE           # rivals with the settings that they tried in OLD; hogwild searches anew
    compare.py --list
    compare.py --table FILE ...                     # print the table of results files
    compare.py --show FILE ...                      # print all sides of each case, and the claims

Before the rounds each side of most cases is searched for its settings (search.py), on validation rows. Every round runs each
side of a case once with each of its settings, one after the other; a ratio is the median of the rounds' ratios. Missing rivals
are skipped. FILE has every figure and all that the search tried, with machine, versions and commit (default:
build/rivals/results-TIME.json); it is written after each trial and each run.
"""

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time

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
            "like": {side: s.like for side, s in there.items() if s.like},
            "tried": {side: [] for side, s in there.items() if s.grid}, "chosen": {}, "claims": []}


class Pause(Exception):
    """The seconds of this call are over."""


def attempt(case, result, side, *how):
    """A run of a side; None, and noted, if it failed."""
    try:
        return case.sides[side].run(*how)
    except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError, LookupError) as e:
        result["failed"][side] = str(e)
        say(f"  {result['case']}: {side} failed: {e}")
        return None


def choose(case, result, a, files, save, pause):
    """Fills what was tried, and chosen: each side's best setting, and that to the best loss of each side that it is compared with."""
    settings = a.settings or (3 if a.quick else 12)

    def run(side, setting):
        save()
        pause()
        n = len(result["tried"][side])
        runs = [attempt(case, result, side, search.SEED + search.SEEDS * n + k, setting, files) for k in range(search.SEEDS)]
        if None in runs:
            return None
        got = search.mean(runs)
        say(f"  {result['case']}, search {n + 1}/{settings} {side}, {told(setting)}: validation loss {search.last(got['losses']):.4f}")
        return {**got, "ends": [search.finite(search.last(r["losses"])) for r in runs]}

    grids, tried = {side: case.sides[side].grid for side in result["tried"]}, result["tried"]
    if not tried or result["chosen"]:
        return
    best = search.search(grids, settings, run, tried, a.budget)
    of = {side: case.sides[side].like or side for side in result["figures"]}
    result["chosen"] = {side: best[of[side]] for side in of if of[side] in best}
    for rival, side in result["against"].items():
        for x, y in ((side, rival), (rival, side)):
            if of[x] in tried and of[y] in tried:
                setting = search.against(grids[of[x]], tried[of[x]], best[of[y]]["loss"] or math.inf)
                if plain(setting) != plain(result["chosen"][x]):
                    result["chosen"][f"{x} for {of[y]}"] = setting
    result["figures"] |= {key: [] for key in result["chosen"] if key not in result["figures"]}
    save()


def plain(setting):
    """What a side is told of a setting."""
    return {k: v for k, v in setting.items() if k not in ("loss", "to", "edge")}


def measure(case, result, rounds, files, save, pause):
    """Fills the result: a list of rounds for each side, and for each of its settings for another one."""
    for turn in range(rounds):
        for key, figures in result["figures"].items():
            side = key if key in case.sides else key.partition(" for ")[0]
            if side in result["failed"] or len(figures) > turn:
                continue
            pause()
            setting = plain(result["chosen"].get(key, {}))
            got = attempt(case, result, side, turn, setting, files)
            if got and "rate" not in got:
                result["failed"][side] = f"diverged with {told(setting)}"
            elif got:
                figures.append(got)
                say(f"  {result['case']} {turn + 1}/{rounds} {key}: {got['seconds']:.3g} s, {number(got['rate'])} {case.unit}")
            save()
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


def told(setting):
    """A setting in words."""
    words = [str(setting[k]) for k in ("optimizer", "schedule") if k in setting]
    words += [f"{word} {setting[k]:g}" for k, word in (("batch", "batch"), ("lr", "rate")) if k in setting]
    words += [f"{setting['epochs']} passes"] if "epochs" in setting else []
    words += ["one process"] if setting.get("processes") == 1 else []
    return ", ".join(words) + "".join(f" ({what} at an edge)" for what in setting.get("edge", []))


def options(result, side, other):
    """The runs of a side with its best setting, and with that for another side: one is the other side's, or of what that is like."""
    figures = result["figures"]
    return [runs for runs in (figures[side], figures.get(f"{side} for {other}"), figures.get(f"{side} for {result.get('like', {}).get(other)}")) if runs]


def against(result, rival, side):
    """How many times sooner hogwild is at the rival's best loss, and at its own, as text; empty if a loss is not known."""
    mine, theirs = options(result, side, rival), options(result, rival, side)
    if not all(r.get("losses") for runs in (*mine, *theirs) for r in runs):
        return ["", ""]
    texts = []
    for runs, others, who in ((mine, theirs, "hogwild"), (theirs, mine, "the rival")):
        goal = others[0]
        times, losses, half = search.race(runs, goal)
        if statistics.median(times) == math.inf:
            by, half = search.apart([search.last(r["losses"]) for r in runs[0]], [search.last(r["losses"]) for r in goal])
            texts.append(f"{who} ends {100 * by:.1f}% (± {100 * half:.1f}) above it")
            continue
        own = search.race(others, goal)[0]
        pairs = zip(times, own) if who == "hogwild" else zip(own, times)
        words = {"equal": f", equal within {100 * half:.2g}%", "unclear": ", losses not told apart"}.get(losses, "")
        texts.append(spread([b / a for a, b in pairs], digits) + words)
    return texts


def reached(rounds):
    """The medians of what a side has reached, by figure."""
    return {f: middle(rounds, f) for f in ("loss", "accuracy", "rmse", "excess") if rounds[0].get(f) is not None}


def ratios(results):
    """The table of results in Markdown: one row per rival and case."""
    lines = ["| rival | job | inputs | hogwild is sooner at the rival's best loss by | at its own best loss by | chosen: hogwild; rival | test loss: hogwild; rival |",
             "|---|---|---|---|---|---|---|"]
    for result in results:
        for rival, side in result["against"].items():
            mine, theirs = result["figures"][side], result["figures"][rival]
            if not mine or not theirs:
                continue
            a, b = reached(mine), reached(theirs)
            figure = next((f for f in ("rmse", "excess", "loss", "accuracy") if f in a and f in b), None)
            word = {"rmse": "RMSE ", "loss": ""}.get(figure, f"{figure} ")
            which = "" if side == "hogwild" else f"; {side}"
            ratio = against(result, rival, side)
            if not any(ratio):  # what they reach is not known by pass
                unit = "" if result["unit"] == "1/s" else f" ({result['unit']})"
                ratio[0] = spread([m["rate"] / t["rate"] for m, t in zip(mine, theirs)], digits) + unit
            chosen = [told(result.get("chosen", {}).get(s, {})) or "as given" for s in (side, rival)]
            chosen = chosen[0] if chosen[0] == chosen[1] else "; ".join(chosen)
            ends = "; ".join(spread([r[figure] for r in runs], lambda v: f"{v:.4f}") for runs in (mine, theirs)) if figure else ""
            lines.append(f"| {rival} | {result['title']}{which} | {result.get('inputs', '')} | {' | '.join(ratio)} | {chosen} | {word if figure else ''}{ends} |")
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
    with open(sides.HOGWILD, "rb") as f:
        program = f"sha256 {hashlib.file_digest(f, 'sha256').hexdigest()[:12]}"
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"time": now, "commit": git(sides.ROOT, "describe", "--always", "--dirty", "--exclude=*"), "command": " ".join(sys.argv[1:]),
            "hogwild": f"{sides.execute([sides.HOGWILD, '--version']).splitlines()[0]}, {program}",
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
    """Runs the cases, prints the table; returns the exit status."""
    report, path, began = {**about(), "quick": a.quick, "cases": []}, a.out, time.monotonic()
    found = {c["case"]: c for c in read([a.again], "tried")} if a.again else {}
    path = path or os.path.join(sides.RIVALS, f"results-{report['time'][:19].replace(':', '').replace('-', '')}.json")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if os.path.exists(path):
        with open(path) as f:
            before = json.load(f)
        if changed := [k for k in ("hogwild", "machine", "versions", "quick") if before[k] != report[k]]:
            sys.exit(f"{path} is of another {' and '.join(changed)}: take another --out")
        report = before

    def save():
        with open(path + ".part", "w") as f:
            f.write(lines(report))
        os.replace(path + ".part", path)

    def pause():
        if a.seconds and time.monotonic() - began > a.seconds:
            raise Pause

    status = 0
    try:
        for name in names:
            case = cases.CASES[name]()
            if lacking := sides.missing(case.needs):
                hint = "make cuda" if lacking[-1].endswith("-cuda") else "bench/rivals/build.sh says why"
                say(f"  {name} is left out: there is no {' and '.join(lacking)} ({hint})")
                continue
            result = next((c for c in report["cases"] if c["case"] == name), None) or open_case(name, case, a.only)
            if not result["against"]:
                say(f"  {name} is left out: there is no rival{' ' * bool(a.only)}{a.only}")
                continue
            if result not in report["cases"]:
                report["cases"].append(result)
                result["tried"] |= {side: t for side, t in found.get(name, {}).get("tried", {}).items() if side in result["against"]}
            files = parts.held(case.data, f"{sides.RIVALS}/sparse", a.quick) if case.data else {}
            choose(case, result, a, files, save, pause)
            measure(case, result, a.rounds or (2 if a.quick else case.rounds), files if a.quick else {}, save, pause)
    except KeyboardInterrupt:
        status = 130
    except Pause:
        save()
        say(f"figures in {path}: the same command goes on from there")
        return 3
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
    p.add_argument("--settings", type=int, default=0, metavar="N", help="how many settings each side is tried with (default 12)")
    p.add_argument("--budget", type=float, default=300, metavar="S", help="seconds of training after which a side's search ends (default 300)")
    p.add_argument("--seconds", type=float, default=0, metavar="S", help="begin no run after that, and exit with 3: the same command goes on from --out")
    p.add_argument("--again", metavar="FILE", help="take what rivals tried from the results in FILE; hogwild searches anew")
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
