#!/usr/bin/env python3
"""Draws rivals.svg, beside this file or where the first argument says: hogwild and others, by the time
to the other's best test loss.

All figures come from bench/results/xeon-2core-rivals.json (bench/rivals/compare.py). JOBS says which of its
jobs, if they are there, each with every rival that has as many processes or threads; the table in docs/results/speed.md has the
others. For each rival there are two bars: hogwild's time to the rival's mean test loss at the end, and
the rival's (search.race), each by the sooner of its settings. A bar is the median of the rounds; the thin line runs from the shortest to the longest. Where
hogwild does not get there, its bar is hollow and shows the whole training.
"""

import json
import math
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "../../bench/rivals"))

import search

RESULTS = HERE / "../../bench/results/xeon-2core-rivals.json"
JOBS = [  # case, title, hogwild's side, its rivals and what they are called
    ("mlp128-std", "Perceptron mlp:128 on MNIST, standardised, 2 cores", "hogwild", {"PyTorch": "PyTorch, best", "PyTorch plain": "PyTorch, plain"}),
    ("mlp256", "Perceptron mlp:256,128 on MNIST, pixels (81% zeros), 2 cores", "hogwild", {"PyTorch": "PyTorch, best", "PyTorch plain": "PyTorch, plain"}),
    ("fashion", "Perceptron mlp:128 on Fashion-MNIST, standardised, 2 cores", "hogwild", {"PyTorch": "PyTorch, best", "PyTorch plain": "PyTorch, plain"}),
    ("convnet", "Convolutional network on MNIST, 2 cores", "hogwild", {"PyTorch": "PyTorch, best", "PyTorch plain": "PyTorch, plain"}),
    *((name, f"Logistic regression on {name}, sparse rows, one thread", "one worker",
       {r: r for r in ("plain C", "scikit-learn", "Vowpal Wabbit")}) for name in ("a9a", "imdb")),
]
WIDTH, LEFT, BAR, ROW, HEAD = 760, 118, 225, 16, 22
STYLE = (
    ":root{color-scheme:light dark;color:CanvasText;background:Canvas;font-family:system-ui,sans-serif;"
    "--ours:#5878e2;--theirs:#9a9a9a}"
    "@media (prefers-color-scheme:dark){:root{--ours:#7da6fe;--theirs:#8a8a8a}}"
    "text{font-size:12px;fill:currentColor}.head{font-weight:600}.small{font-size:11px;fill-opacity:.75}"
    ".ours{fill:var(--ours);stroke:var(--ours)}.theirs{fill:var(--theirs);stroke:var(--theirs)}"
    ".missed{fill:none;stroke-dasharray:3 2}path{stroke:currentColor;stroke-opacity:.7}"
)


def time(seconds):
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1000 * seconds:.2g} ms"


def pair(case, ours, rival):
    """The two bars of a rival: name, median, range, whether it does not get there, and words."""
    figures = case["figures"]
    like = case["like"].get(rival, rival)
    goal, found = figures[rival], [runs for runs in (figures[ours], figures.get(f"{ours} for {like}")) if runs]
    others = [runs for runs in (goal, figures.get(f"{rival} for {ours}")) if runs]
    loss = statistics.fmean(search.last(r["losses"]) for r in goal)
    times = search.race(found, goal)[0]
    missed = math.inf in times
    if missed:
        times = [r["to"][-1] for r in found[0]]
    middle, own = statistics.median(times), search.race(others, goal)[0]
    end = statistics.fmean(search.last(r["losses"]) for r in found[0])
    says = f"misses {loss:.4f}, ends at {end:.4f} after {time(middle)}" if missed else f"{time(middle)} to test loss {loss:.4f}"
    return [("hogwild", middle, (min(times), max(times)), missed, says),
            (rival, statistics.median(own), (min(own), max(own)), False, time(statistics.median(own)))]


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{words}</text>'


def job(y, title, bars):
    """The bars of a job, to the same scale, and the y below them."""
    body = [text(0, y + 16, title, "head")]
    y += HEAD
    scale = BAR / max(high for _, _, (_, high), _, _ in bars)
    for name, middle, (low, high), missed, words in bars:
        who = "ours" if name == "hogwild" else "theirs"
        body += [
            text(LEFT - 8, y + 12, name, anchor="end", kind="head" if who == "ours" else ""),
            f'<rect x="{LEFT}" y="{y + 3}" width="{scale * middle:.1f}" height="{ROW - 5}" class="{who}{" missed" * missed}"/>',
            f'<path d="M{LEFT + scale * low:.1f},{y + 8.5}H{LEFT + scale * high:.1f}"/>',
            text(LEFT + scale * max(middle, high) + 7, y + 12, words),
        ]
        y += ROW + 4 * (who == "theirs")
    return body, y


def main():
    results = json.loads(RESULTS.read_text())
    cases = {c["case"]: c for c in results["cases"]}
    body, y, rounds = [], 0, set()
    for name, title, ours, rivals in JOBS:
        bars = []
        for rival, called in rivals.items():
            if name in cases and cases[name]["figures"].get(rival):
                mine, other = pair(cases[name], ours, rival)
                bars += [mine, (called, *other[1:])]
                rounds.add(len(cases[name]["figures"][rival]))
        if bars:
            more, y = job(y, title, bars)
            body += more
    body += [
        text(0, y + 18, "Training time to the mean test loss at which the rival ends; bars of a job have one scale. Median of "
             f"{'/'.join(map(str, sorted(rounds)))} runs,", "small"),
        text(0, y + 32, "thin line: range; hollow: hogwild ends above it. Each side's own optimizer, schedule, batch, rate and passes.", "small"),
        text(0, y + 46, f"{results['machine']['cores']} cores of an {results['machine']['cpu']} (AVX-512), {results['time'][:10]}, "
             f"commit {results['commit']}.", "small"),
    ]
    title = "Training time of hogwild and others to the test loss of the other"
    height = y + 52
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "rivals.svg"
    out.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" width="{WIDTH}" height="{height}" '
                   f'viewBox="0 0 {WIDTH} {height}"><title>{title}</title><style>{STYLE}</style>\n' + "\n".join(body) + "\n</svg>\n")


main()
