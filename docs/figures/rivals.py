#!/usr/bin/env python3
"""Draws rivals.svg, beside this file or where the first argument says: hogwild beside others, by the time
to the same test loss.

All figures come from bench/results/zen3-2core-rivals.json (bench/rivals/compare.py). JOBS says which of its
jobs: one perceptron on both kinds of inputs, PyTorch's example, and both sparse sets, each with every rival
that has as many processes or threads. The table in the README has the others. A bar is the median of a
side's times to the target, which is 1.02 times the lowest of all sides' median test losses at the end; the
thin line runs from the shortest to the longest. A run that does not get there counts as longer than all
others. Where that is the median, the bar is hollow and shows the whole training.
"""

import json
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "../../bench/results/zen3-2core-rivals.json"
JOBS = [  # case, title, the sides and what they are called
    ("mlp128", "Perceptron mlp:128 on MNIST, pixels (81% zeros), 2 processes",
     {"hogwild": "hogwild", "PyTorch plain": "PyTorch", "PyTorch hand": "PyTorch, by hand"}),
    ("mlp128-std", "The same on standardised columns (no zeros)",
     {"hogwild": "hogwild", "PyTorch plain": "PyTorch", "PyTorch hand": "PyTorch, by hand"}),
    ("example", "PyTorch's mnist_hogwild as it is: its convolutional network, 2 processes",
     {"hogwild": "hogwild", "mnist_hogwild": "mnist_hogwild"}),
    ("a9a", "Logistic regression on a9a, sparse rows, one thread",
     {"one worker": "hogwild", "plain C": "plain C", "scikit-learn": "scikit-learn", "Vowpal Wabbit": "Vowpal Wabbit"}),
    ("imdb", "Logistic regression on imdb, sparse rows, one thread",
     {"one worker": "hogwild", "plain C": "plain C", "scikit-learn": "scikit-learn", "Vowpal Wabbit": "Vowpal Wabbit"}),
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


def side(runs, target):
    """What a bar shows: its length, the range, whether the target was missed, and its text."""
    hits = [next((i for i, loss in enumerate(r["losses"]) if loss <= target), None) for r in runs]
    times = [math.inf if i is None else r["to"][i] for r, i in zip(runs, hits)]
    missed = sum(i is None for i in hits)
    middle = statistics.median(times)
    if middle == math.inf:
        whole = [r["seconds"] for r in runs]
        loss, accuracy = (statistics.median(r[k] for r in runs) for k in ("loss", "accuracy"))
        middle = statistics.median(whole)
        words = f"misses {target:.4f} in {missed} of {len(runs)} runs: test loss {loss:.4f} ({100 * accuracy:.1f}%) after {time(middle)}"
        return middle, (min(whole), max(whole)), True, words
    accuracy = statistics.median(r["passes"][i] for r, i in zip(runs, hits) if i is not None)
    words = f"{time(middle)} to test loss {target:.4f} ({100 * accuracy:.1f}%)"
    if missed:
        words += f"; {missed} of {len(runs)} runs miss"
    return middle, (min(times), max(t for t in times if t < math.inf)), False, words


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{words}</text>'


def job(y, title, sides):
    """The bars of a job, to the same scale, and the y below them."""
    body = [text(0, y + 16, title, "head")]
    y += HEAD
    scale = BAR / max(high for _, (_, high), _, _ in sides.values())
    for name, (middle, (low, high), missed, words) in sides.items():
        who = "ours" if name == "hogwild" else "theirs"
        body += [
            text(LEFT - 8, y + 12, name, anchor="end", kind="head" if who == "ours" else ""),
            f'<rect x="{LEFT}" y="{y + 3}" width="{scale * middle:.1f}" height="{ROW - 5}" class="{who}{" missed" * missed}"/>',
            f'<path d="M{LEFT + scale * low:.1f},{y + 8.5}H{LEFT + scale * high:.1f}"/>',
            text(LEFT + scale * max(middle, high) + 7, y + 12, words),
        ]
        y += ROW
    return body, y


def main():
    results = json.loads(RESULTS.read_text())
    cases = {c["case"]: c for c in results["cases"]}
    body, y = [], 0
    for name, title, names in JOBS:
        case = cases[name]
        sides = {called: side(case["figures"][key], case["target"]) for key, called in names.items()}
        more, y = job(y, title, sides)
        body += more
    rounds = {len(case["figures"][key]) for name, _, names in JOBS for case in [cases[name]] for key in names}
    body += [
        text(0, y + 18, "Training time to 1.02 times the best side's test loss (accuracy there); bars of a job have one scale. "
             f"Median of {'/'.join(map(str, sorted(rounds)))} runs,", "small"),
        text(0, y + 32, "thin line: range; hollow: the median run misses the loss. Batch and rate: each side's best of 8; "
             "the example's as given.", "small"),
        text(0, y + 46, f"{results['machine']['cores']} cores of an {results['machine']['cpu']} (AVX2), {results['time'][:10]}, "
             f"commit {results['commit']}. Other programs ran at times.", "small"),
    ]
    title = "Training time of hogwild and others to the same test loss"
    height = y + 52
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "rivals.svg"
    out.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" width="{WIDTH}" height="{height}" '
                   f'viewBox="0 0 {WIDTH} {height}"><title>{title}</title><style>{STYLE}</style>\n' + "\n".join(body) + "\n</svg>\n")


main()
