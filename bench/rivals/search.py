"""The search for the batch and the rate of each side of a case, and the time to the same loss.

A side's settings are points (i, j) around its first one: batch = first * 4^i, rate = first * 3^(i+j), since a batch four
times as large takes about three times the rate. The next point is the nearest to the best so far that is not tried:
both neighbouring rates, both batches, then rates between. So the grid grows while the best lies at its edge. Sides
take turns, and all of them try equally many points. A trial trains on nine tenths of the training rows and is judged on the
rest: the best needs the fewest seconds to the target; where none reaches it, it has the lowest loss.
"""

import math
import statistics
from dataclasses import dataclass

SLACK = 1.02  # the target is that times the best side's loss
BATCH, RATE = 4, 3  # from a point to the next
NEAR = ((0, 1), (0, -1), (1, 0), (-1, 0), (0, 0.5), (0, -0.5), (1, 1), (-1, -1), (1, -1), (-1, 1), (0, 0.25), (0, -0.25), (0, 2), (0, -2))
SEED = 1000  # turns from here on are those of the search: their seeds are not those of the rounds


@dataclass
class Grid:
    """Where the search begins. Without a batch, only rates are searched."""

    lr: float
    batch: int = 0

    def setting(self, at):
        i, j = at
        batch = {"batch": int(self.batch * BATCH**i)} if self.batch else {}
        return {**batch, "lr": float(f"{self.lr * RATE ** (i + j):.3g}")}

    def allows(self, at):
        """Batches are whole numbers, and there are none without a first one."""
        return at[0] == 0 or bool(self.batch) and self.batch * BATCH ** at[0] >= 1


def last(losses):
    """The final loss, infinite if training diverged."""
    return losses[-1] if losses and losses[-1] is not None and math.isfinite(losses[-1]) else math.inf


def time_to(target, run):
    """Seconds of training until the loss was first at the target, as seen after each pass; infinite if never."""
    return next((s for s, loss in zip(run["to"], run["losses"]) if loss is not None and loss <= target), math.inf)


def target(sides):
    """SLACK times the lowest of the sides' median final losses; sides are lists of runs."""
    best = min((statistics.median(last(r["losses"]) for r in runs) for runs in sides if runs), default=math.inf)
    return best * SLACK


def ranked(tried, goal):
    """The trials by seconds to the goal; those that never reach it come last, by their loss."""
    return sorted(tried, key=lambda t: (time_to(goal, t), last(t["losses"])))


def around(tried, at):
    """The neighbours of a point that are not tried, the most important first."""
    done = {tuple(t["at"]) for t in tried}
    return [p for p in ((at[0] + i, at[1] + j) for i, j in NEAR) if p not in done]


def goal(tried):
    return target([[t] for trials in tried.values() for t in trials])


def following(grid, tried, goal):
    """The next point to try: near the best, or, when all of those have been tried, near the next best."""
    return next((p for t in ranked(tried, goal) for p in around(tried, t["at"]) if grid.allows(p)), (0, 0))


def edges(grid, tried, at):
    """What lies at an edge: a neighbouring rate, or a batch, was not tried."""
    left = [(p[0] - at[0], p[1] - at[1]) for p in around(tried, at) if grid.allows(p)]
    return [what for what, steps in (("rate", ((0, 1), (0, -1))), ("batch", ((1, 0), (-1, 0)))) if any(s in left for s in steps)]


def search(grids, settings, attempt, tried):
    """Fills tried, by side, with that many trials each; attempt(side, setting) is a run, with losses and the seconds to them,
    or None: the side has failed, and drops out. Returns what each side should use."""
    for _ in range(settings):
        for side, grid in grids.items():
            if side not in tried:
                continue
            at = following(grid, tried[side], goal(tried))
            run = attempt(side, grid.setting(at))
            if run:
                tried[side].append({"at": at, **grid.setting(at), **run})
            else:
                del tried[side]
    end = goal(tried)
    found = {side: ranked(trials, end)[0] for side, trials in tried.items()}
    return {side: {**grids[side].setting(t["at"]), "loss": finite(last(t["losses"])), "to": finite(time_to(end, t)),
                   "edge": edges(grids[side], tried[side], t["at"])} for side, t in found.items()}


def finite(v):
    """For JSON."""
    return v if math.isfinite(v) else None
