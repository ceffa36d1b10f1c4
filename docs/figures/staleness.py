#!/usr/bin/env python3
"""Draws the figures of docs/asynchrony.md: staleness.svg and delays.svg, beside this file.

The first is a sketch: two workers read, compute and write. The second is exact: the error
e = w - w* of gradient descent on a one-dimensional quadratic when each gradient is K steps
old, e[t+1] = e[t] - a e[t-K], with a = lr x lambda x h = 0.1.
"""

import pathlib

HERE = pathlib.Path(__file__).parent
A, STEPS = 0.1, 150
THEME = (
    ":root{color-scheme:light dark;color:CanvasText;background:Canvas;font-family:system-ui,sans-serif;"
    "--a:#5878e2;--b:#169eb5;--c:#b86e00;--d:#b3492a}"
    "@media (prefers-color-scheme:dark){:root{--a:#7da6fe;--b:#2cdcff;--c:#e19209;--d:#ec7a54}}"
    "text{font-size:13px;fill:currentColor}.small{font-size:12px;fill-opacity:.75}.on{fill:Canvas}"
    "path{fill:none;stroke-width:1.5}.axis{stroke:currentColor;stroke-opacity:.4;stroke-width:1}.grid{stroke:currentColor;stroke-opacity:.17;stroke-width:1}"
)


def svg(name, title, width, height, body):
    (HERE / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><title>{title}</title><style>{THEME}</style>\n' + "\n".join(body) + "\n</svg>\n"
    )


def text(x, y, words, anchor="middle", kind=""):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{words}</text>'


def arrow(x, y, to, color):
    """A vertical arrow from y to to."""
    tip = 6 if to > y else -6
    return f'<path d="M{x:g},{y:g}V{to:g}m-4,{-tip:g}l4,{tip:g}l4,{-tip:g}" style="stroke:var(--{color})"/>'


def sketch():
    """Worker a above, worker b below, and between them the weights, a version for each write."""
    left, unit, high, mid, low, size = 92, 38, 42, 122, 202, 34
    at = lambda t: left + unit * t
    body = [text(8, high + 5, "worker a", "start"), text(8, mid + 5, "weights", "start"), text(8, low + 5, "worker b", "start")]
    for begin, end, name in (0, 5, "w0"), (5, 8, "w1"), (8, 11, "w2"), (11, 14, "w3"), (14, 16, "w4"):
        body.append(f'<rect x="{at(begin) + 1:g}" y="{mid - 13}" width="{unit * (end - begin) - 2:g}" height="26" rx="3" '
                    'style="fill:currentColor;fill-opacity:.12"/>')
        body.append(text(at((begin + end) / 2), mid + 5, name))
    steps = [("a", high, 0, 5, "g(w0)"), ("a", high, 6, 11, "g(w1)"), ("b", low, 1, 8, "g(w0)"), ("b", low, 9, 14, "g(w2)")]
    for color, y, read, write, gradient in steps:
        body.append(f'<rect x="{at(read):g}" y="{y - size / 2:g}" width="{unit * (write - read):g}" height="{size}" rx="4" style="fill:var(--{color})"/>')
        body.append(text(at((read + write) / 2), y + 5, f"compute {gradient}", kind="on"))
        near, far = (y + size / 2, mid - 14) if y < mid else (y - size / 2, mid + 14)
        body += [arrow(at(read) + 6, far, near, color), arrow(at(write) - 2, near, far, color)]
    body += [
        text(at(0) + 14, 79, "read", "start", "small"), text(at(5) - 8, 79, "write", "end", "small"),
        text(at(11) - 8, 79, "stale by 1", "end", "small"),
        text(at(8) - 8, 176, "stale by 1", "end", "small"), text(at(14) - 8, 176, "stale by 1", "end", "small"),
        f'<path class="axis" d="M{left},246H{at(16):g}m-6,-4l6,4l-6,4"/>', text(at(16), 264, "time", "end", "small"),
    ]
    svg("staleness.svg", "Two workers share weights: what one read has changed when it writes", 712, 272, body)


def errors(delay):
    e = [1.0] * (delay + 1)  # nothing lands until the first gradient is old enough
    for _ in range(STEPS):
        e.append(e[-1] - A * e[-1 - delay])
    return e[delay:]


def curves():
    left, right, top, bottom, most = 44, 560, 12, 250, 2.0
    x = lambda t: left + (right - left) * t / STEPS
    y = lambda e: (top + bottom) / 2 - (bottom - top) / 2 * max(-most, min(most, e)) / most
    body = [f'<path class="grid" d="M{left},{y(v):g}H{right}"/>' + text(left - 6, y(v) + 4, f"{v:g}", "end", "small") for v in (-2, -1, 0, 1, 2)]
    body += [text(x(t), bottom + 18, str(t), kind="small") for t in range(0, STEPS + 1, 50)]
    body += [text((left + right) / 2, bottom + 38, "steps", kind="small")]
    for n, (delay, color, dash) in enumerate([(0, "a", ""), (7, "b", "7 3"), (13, "c", "2 3"), (17, "d", "")]):
        points = " ".join(f"{x(t):.1f},{y(e):.1f}" for t, e in enumerate(errors(delay)))
        body.append(f'<path d="M{points}" style="stroke:var(--{color});stroke-dasharray:{dash or "none"}"/>')
        row = 60 + 28 * n
        body.append(f'<path d="M580,{row}h26" style="stroke:var(--{color});stroke-dasharray:{dash or "none"}"/>' + text(614, row + 5, f"K = {delay}", "start"))
    svg("delays.svg", "Error of gradient descent whose gradients are K steps old", 680, 296, body)


sketch()
curves()
