"""The search for the settings of each side of a case, and what its runs say about the time to a loss.

A side's settings are points around its first one: (i, j) is the batch first * 4^i and the rate first * 3^(i+j), since a batch
four times as large takes about three times the rate; then come its choices: optimizer, schedule, passes, and what else it
offers, each with a factor on the rate. First every optimizer is tried, then always the nearest point to the best so far that
has not been tried: both neighbouring rates, both batches, fewer and more passes, the other choices, and rates between. So the
grid grows while the best lies at its edge. Sides take turns; each has the same number of trials, and of seconds of training.
A trial trains with two seeds on nine tenths of the training rows, and is judged by the mean of its losses on the rest. While
searching, the best trial needs the fewest seconds to 1.03 times the lowest loss of all sides (1.002 times with sparse rows, where
seeds differ less); where none gets there, it has the lowest loss.

A side's best setting is the shortest of those that end within as much of its own lowest loss. Its setting for a rival is its soonest
trial to within as much of the loss of the rival's best one, and the other way round. Whichever of the two is sooner counts, for both sides.
"""

import math
import statistics
from dataclasses import dataclass, field

SAME = 0.002  # final losses that differ by a smaller share are equal, however exact
VAGUE = 0.1  # an interval that is wider, on either side, cannot show that losses are equal
BATCH, RATE = 4, 3  # from a point to the next
RATES, BATCHES = ((0, 1), (0, -1)), ((1, 0), (-1, 0))
REST = ((0, 0.5), (0, -0.5), (1, 1), (-1, -1), (1, -1), (-1, 1), (0, 0.25), (0, -0.25), (0, 2), (0, -2))
SEED, SEEDS = 1000, 2  # turns from SEED on are those of the search: their seeds are not those of the rounds
STUDENT = (math.inf, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)  # of 95% intervals, by degrees of freedom


@dataclass
class Grid:
    """Where the search begins: the rate, the batch (without one there are only rates), and choices: by name the values, the first
    one first, each with what the rate is multiplied by."""

    lr: float
    batch: int = 0
    choices: dict = field(default_factory=dict)
    close: float = 1.03  # losses of trials within that are alike: two seeds cannot tell them apart

    def first(self):
        return 0, 0, *(next(iter(values)) for values in self.choices.values())

    def setting(self, at):
        i, j, *chosen = at
        batch = {"batch": int(self.batch * BATCH**i)} if self.batch else {}
        factor = math.prod(self.choices[name][value] for name, value in zip(self.choices, chosen))
        return {**batch, "lr": float(f"{self.lr * factor * RATE ** (i + j):.3g}"), **dict(zip(self.choices, chosen))}

    def allows(self, at):
        """Batches are whole numbers, and there are none without a first one."""
        return at[0] == 0 or bool(self.batch) and self.batch * BATCH ** at[0] >= 1

    def others(self, at, of):
        """The points with another value of a choice; of numbers those next to it."""
        for k, (name, values) in enumerate(self.choices.items(), 2):
            listed = sorted(values) if name == "epochs" else list(values)
            here = listed.index(at[k])
            for n, value in enumerate(listed):
                if name in of and n != here and (name != "epochs" or abs(n - here) == 1):
                    yield *at[:k], value, *at[k + 1:]

    def around(self, at):
        """The neighbours of a point, the most important first."""
        i, j, *chosen = at

        def by(steps):
            return [(i + a, j + b, *chosen) for a, b in steps]

        points = [*by(RATES), *by(BATCHES), *self.others(at, ("epochs",)), *self.others(at, self.choices.keys() - {"epochs"}), *by(REST)]
        return [p for p in points if self.allows(p)]


def last(losses):
    """The final loss, infinite if training diverged."""
    return losses[-1] if losses and losses[-1] is not None and math.isfinite(losses[-1]) else math.inf


def time_to(target, run):
    """Seconds of training until the loss was first at the target, as seen after each pass; infinite if never."""
    return next((s for s, loss in zip(run["to"], run["losses"]) if loss is not None and loss <= target), math.inf)


def mean(runs):
    """The run of several seeds: their mean losses and seconds after each pass; it has diverged if one of them has."""
    if any(last(r["losses"]) == math.inf for r in runs):
        return {"losses": [], "to": []}
    means = [[None if None in v else statistics.fmean(v) for v in zip(*(r[what] for r in runs))] for what in ("losses", "to")]
    return {"losses": means[0], "to": means[1]}


def ranked(tried, goal):
    """The trials by seconds to the goal; those that never reach it come last, by their loss."""
    return sorted(tried, key=lambda t: (time_to(goal, t), last(t["losses"])))


def lowest(tried):
    return min((last(t["losses"]) for t in tried), default=math.inf)


def untried(grid, tried, at):
    done = {tuple(t["at"]) for t in tried}
    return [p for p in grid.around(tuple(at)) if p not in done]


def following(grid, tried, goal):
    """The next point: the first one with each optimizer, then near the best, or, when all of those have been tried, near the next best."""
    begin = [grid.first(), *grid.others(grid.first(), ("optimizer",))]
    if len(tried) < len(begin):
        return begin[len(tried)]
    return next((p for t in ranked(tried, goal) for p in untried(grid, tried, t["at"])), grid.first())


def edges(grid, tried, at):
    """What lies at an edge: a neighbouring rate, or a batch, was not tried."""
    left = [(p[0] - at[0], p[1] - at[1]) for p in untried(grid, tried, at) if p[2:] == tuple(at)[2:]]
    return [what for what, steps in (("rate", RATES), ("batch", BATCHES)) if any(s in left for s in steps)]


def search(grids, settings, attempt, tried, seconds=math.inf):
    """Fills tried, by side, with that many trials each, or fewer if they have trained for the seconds; it goes on from what is there.
    attempt(side, setting) is a trial, with losses and the seconds to them, or None: the side has failed, and drops out.
    Returns the best setting of each side."""
    for n in range(settings):
        for side, grid in grids.items():
            if side not in tried or len(tried[side]) > n or sum(SEEDS * t["to"][-1] for t in tried[side] if t["to"]) > seconds:
                continue
            at = following(grid, tried[side], grid.close * min(map(lowest, tried.values())))
            run = attempt(side, grid.setting(at))
            if run:
                tried[side].append({"at": at, **grid.setting(at), **run})
            else:
                del tried[side]
    return {side: chosen(grids[side], trials, best(grids[side], trials)) for side, trials in tried.items()}


def best(grid, trials):
    goal = grid.close * lowest(trials)
    return min((t for t in trials if last(t["losses"]) <= goal), key=lambda t: t["to"][-1] if t["to"] else math.inf)


def chosen(grid, trials, t):
    """A trial as what its side should use."""
    return {**grid.setting(t["at"]), "loss": finite(last(t["losses"])), "to": finite(t["to"][-1] if t["to"] else math.inf), "edge": edges(grid, trials, t["at"])}


def against(grid, trials, goal):
    """The setting of the soonest trial to a loss, or to one that two seeds cannot tell from it."""
    return chosen(grid, trials, ranked(trials, grid.close * goal)[0])


def finite(v):
    """For JSON."""
    return v if math.isfinite(v) else None


def apart(mine, theirs):
    """The difference of two sides' mean losses as a share of theirs, and half of its 95% interval (Welch's), exact to no more than SAME."""
    if math.inf in (*mine, *theirs):
        return (0.0 if math.inf in mine and math.inf in theirs else math.inf if math.inf in mine else -math.inf), 0.0
    goal, counts = statistics.fmean(theirs), (len(mine), len(theirs))
    by = (statistics.fmean(mine) - goal) / goal
    if min(counts) < 2:
        return by, math.inf
    errors = [statistics.variance(v) / len(v) for v in (mine, theirs)]
    freedom = sum(errors) ** 2 / sum(e * e / (n - 1) for e, n in zip(errors, counts)) if any(errors) else 1
    return by, max(SAME, STUDENT[min(int(freedom), len(STUDENT) - 1)] * math.sqrt(sum(errors)) / goal)


def arrival(runs, theirs):
    """The seconds of each run to the first pass at which their mean loss is the other side's mean final loss, how the final losses
    compare, and half of the interval: "lower", "higher", "equal" within the interval, or "unclear", where it is too wide to say so. Runs that only
    end equal are there at their end; infinite: they never are. A side's time to its own loss is told in the same way."""
    ends, middle = [last(r["losses"]) for r in theirs], mean(runs)["losses"]
    by, half = apart([last(r["losses"]) for r in runs], ends)
    at = next((k for k, loss in enumerate(middle) if loss is not None and loss <= statistics.fmean(ends)), None)
    if at is None and middle and abs(by) <= half:
        at = len(middle) - 1
    word = "lower" if by < -half else "higher" if by > half else "equal" if half <= VAGUE else "unclear"
    return [math.inf if at is None else r["to"][at] for r in runs], word, half


def race(options, theirs):
    """The arrival of the soonest of a side's settings, each a list of runs, at the other side's loss or at that of its own best setting.
    If none gets there, the first one, its best."""
    found = [arrival(runs, theirs) for runs in options]
    return min(found, key=lambda f: statistics.median(f[0]))
