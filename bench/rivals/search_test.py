"""Tests the search and the times to the other side's loss on sides whose best settings are known: python -m unittest -v search_test, from
bench/rivals."""

import argparse
import contextlib
import gzip
import importlib.util
import io
import itertools
import json
import math
import os
import struct
import tempfile
import unittest
import unittest.mock

import cases
import compare
import parts
import search
import sides
from search import Grid


def bowl(lr, batch, speed=1.0):
    """A side whose loss falls as exp(-n/3) to 0.1 and more, the farther from the best rate and batch; far away it diverges.
    A pass takes longer with a small batch."""

    def run(setting):
        off = abs(math.log(setting["lr"] / lr)) + 0.3 * abs(math.log(setting.get("batch", batch) / batch))
        if off > 6:
            return {"losses": [], "to": []}
        return {"losses": [0.1 + 0.02 * off + math.exp(-n / 3) for n in range(1, 21)], "to": [n / speed for n in range(1, 21)]}

    return run


def fall(optimum):
    """A side that offers optimizers and schedules: its loss is the bowl's and more with another than these; passes are as set."""

    def run(setting):
        got = bowl(0.03, 64)(setting)
        more = (setting["optimizer"] != optimum[0]) + (setting["schedule"] != optimum[1])
        return {"losses": [v + more for v in got["losses"]][:setting["epochs"]], "to": got["to"][:setting["epochs"]]}

    return run


def ending(*ends, seconds=3.0, middle=0.2):
    """Runs of three passes that end at these losses."""
    return [{"losses": [0.5, middle, end], "to": [seconds / 3, 2 * seconds / 3, seconds]} for end in ends]


def tried(runs, grids, settings=8):
    record = {side: [] for side in runs}
    return search.search(grids, settings, lambda side, setting: runs[side](setting), record), record


class Search(unittest.TestCase):
    def test_finds_the_best_beyond_the_first_grid(self):
        for lr, batch in ((0.1, 64), (2.7, 64), (0.0123, 64), (0.3, 256), (0.033, 16)):
            chosen, record = tried({"a": bowl(lr, batch)}, {"a": Grid(0.1, 64)}, 16)
            self.assertLess(abs(math.log(chosen["a"]["lr"] / lr)), math.log(2), (lr, batch, chosen))
            self.assertEqual((chosen["a"]["batch"], chosen["a"]["edge"]), (batch, []), (lr, chosen))
            self.assertEqual(len({tuple(t["at"]) for t in record["a"]}), 16)

    def test_sides_get_equally_many_settings(self):
        sides = {"a": bowl(0.1, 64), "b": bowl(0.9, 1024), "c": bowl(0.1, 1), "d": lambda setting: {"losses": [], "to": []}}
        _, record = tried(sides, {"a": Grid(0.1, 64), "b": Grid(0.1, 64), "c": Grid(0.1), "d": Grid(0.1, 64)})
        self.assertEqual({side: len(trials) for side, trials in record.items()}, dict.fromkeys("abcd", 8))
        self.assertTrue(all("batch" not in t for t in record["c"]))

    def test_marks_an_edge(self):
        chosen, _ = tried({"a": bowl(50, 64)}, {"a": Grid(0.1, 64)}, 5)
        self.assertIn("rate", chosen["a"]["edge"])
        self.assertNotIn("batch", tried({"a": bowl(50, 64)}, {"a": Grid(0.1)}, 3)[0]["a"]["edge"])

    def test_tries_each_optimizer_and_walks_to_the_best_choices(self):
        grid = Grid(0.03, 64, {"optimizer": {"adam": 1, "momentum": 10, "sgd": 100}, "schedule": {"cosine": 1, "linear": 1, "constant": 1 / 3},
                               "epochs": {5: 1, 3: 1, 10: 1}})
        for optimum in itertools.product(("adam", "sgd"), ("cosine", "linear")):
            # the rate of the optimum is 0.03: that of sgd begins at 3, four steps above
            chosen, record = tried({"a": fall(optimum)}, {"a": grid}, 24)
            self.assertEqual([t["optimizer"] for t in record["a"][:3]], ["adam", "momentum", "sgd"])
            self.assertEqual((chosen["a"]["optimizer"], chosen["a"]["schedule"], chosen["a"]["epochs"]), (*optimum, 10), record)
        self.assertEqual(grid.setting((0, 0, "sgd", "constant", 3)), {"batch": 64, "lr": 1.0, "optimizer": "sgd", "schedule": "constant", "epochs": 3})
        self.assertEqual([p[4] for p in grid.others((0, 0, "adam", "cosine", 3), ("epochs",))], [5])  # not 10 at once

    def test_fewer_seconds_win_over_a_lower_loss(self):
        slow = {"at": (0, 0), "losses": [0.5, 0.101, 0.1], "to": [10, 20, 30]}
        fast = {"at": (0, 1), "losses": [0.2, 0.11, 0.1015], "to": [1, 2, 3]}
        grid = Grid(0.1)
        self.assertIs(search.best(grid, [slow, fast]), fast)
        self.assertEqual(search.against(grid, [slow, fast], 0.098)["lr"], 0.1)  # 1.03 times that is below the end of fast
        self.assertEqual(search.against(grid, [slow, fast], 0.099)["lr"], 0.3)
        fast["losses"][-1] = 0.1031  # above 1.03 times the best
        self.assertIs(search.best(grid, [slow, fast]), slow)

    def test_goes_on_where_it_stopped(self):
        sides, grids = {"a": bowl(0.9, 256), "b": bowl(0.03, 16)}, {"a": Grid(0.1, 64), "b": Grid(0.1, 64)}
        whole = tried(sides, grids, 9)
        record = {"a": [], "b": []}
        for settings in (2, 5, 9):
            chosen = search.search(grids, settings, lambda side, setting: sides[side](setting), record)
        self.assertEqual((chosen, record), whole)

    def test_ends_with_the_seconds(self):
        record = {"a": [], "b": []}
        search.search({"a": Grid(0.1), "b": Grid(0.1)}, 8, lambda side, _: bowl(0.1, 64, {"a": 1, "b": 100}[side])({"lr": 0.1}), record, seconds=70)
        self.assertEqual([len(record[side]) for side in "ab"], [2, 8])  # a trial of a takes 2 x 20

    def test_mean_of_seeds(self):
        got = search.mean(ending(0.1, 0.3, seconds=3) + ending(0.2, seconds=6))
        for want, have in zip([0.5, 0.2, 0.2, 4 / 3, 8 / 3, 4], [*got["losses"], *got["to"]]):
            self.assertAlmostEqual(have, want)
        self.assertEqual(search.last(search.mean([*ending(0.1), {"losses": [0.5, None], "to": [1, 2]}])["losses"]), math.inf)

    def test_a_failed_side_drops_out(self):
        chosen, record = tried({"a": bowl(0.1, 64), "b": lambda setting: None}, {"a": Grid(0.1, 64), "b": Grid(0.1, 64)})
        self.assertEqual((list(chosen), list(record)), (["a"], ["a"]))

    def test_batches_are_whole(self):
        grid = Grid(0.1, 4)
        self.assertEqual([grid.allows((i, 0)) for i in (-2, -1, 1)], [False, True, True])
        self.assertFalse(Grid(0.1).allows((1, 0)))
        self.assertEqual(grid.setting((1, 1)), {"batch": 16, "lr": 0.9})


class Race(unittest.TestCase):
    THEIRS = ending(0.098, 0.100, 0.102, 0.099, 0.101, seconds=6)

    def told(self, *mine, theirs=None):
        figures = {"hogwild": mine[0], "R": theirs or self.THEIRS, **({"hogwild for R": mine[1]} if mine[1:] else {})}
        return compare.against({"figures": figures, "like": {}}, "R", "hogwild")

    def test_three_of_five_seeds_below_are_equal(self):
        mine = ending(0.097, 0.103, 0.099, 0.104, 0.0985, seconds=3)
        self.assertEqual(search.arrival(mine, self.THEIRS)[:2], ([3.0] * 5, "equal"))
        self.assertEqual(self.told(mine), ["2.00, equal within 3.7%"] * 2)

    def test_a_loss_above_the_interval_is_not_reached(self):
        mine = ending(0.111, 0.109, 0.110, 0.1105, 0.1095, seconds=3)
        self.assertEqual(search.arrival(mine, self.THEIRS)[1], "higher")
        first, second = self.told(mine)
        self.assertRegex(first, r"^hogwild ends 10\.0% \(± 2\.0\) above it$")
        self.assertEqual(second, "2.00")  # the rival passes 0.11 in its last pass, after 6 s
        self.assertEqual(search.arrival(self.THEIRS, mine)[:2], ([6.0] * 5, "lower"))

    def test_a_lower_loss_is_timed_by_its_passes(self):
        mine = ending(*[0.09] * 5, seconds=3, middle=0.0995)
        self.assertEqual(search.arrival(mine, self.THEIRS)[:2], ([2.0] * 5, "lower"))
        self.assertEqual(self.told(mine), ["3.00", "the rival ends 11.1% (± 2.2) above it"])

    def test_both_sides_are_timed_by_their_passes(self):
        theirs = ending(*[0.1] * 5, seconds=6, middle=0.0999)  # at its own loss after 4 s
        mine = ending(*[0.09] * 5, seconds=3, middle=0.0995)
        self.assertEqual(self.told(mine, theirs=theirs)[0], "2.00")
        past = ending(*[0.12] * 5, seconds=3, middle=0.0995)  # was there, and has gone past it
        self.assertEqual((self.told(past, theirs=theirs)[0], search.arrival(past, theirs)[1]), ("2.00", "higher"))

    def test_wide_intervals_show_nothing(self):
        mine = ending(0.08, 0.12, 0.09, 0.13, 0.085, seconds=3)
        self.assertEqual(self.told(mine)[0], "2.00, losses not told apart")
        self.assertEqual(search.arrival(mine[:1], self.THEIRS)[1], "unclear")
        self.assertEqual(search.apart([math.inf], [0.1]), (math.inf, 0.0))

    def test_equal_ends_without_any_spread(self):
        for end, want in ((0.1, "equal"), (0.1001, "equal"), (0.0999, "equal"), (0.1003, "higher"), (0.0997, "lower")):
            self.assertEqual(search.arrival(ending(*[end] * 5), ending(*[0.1] * 5))[1], want)

    def test_the_sooner_of_two_settings_counts(self):
        best, soon = ending(*[0.09] * 5, seconds=9), ending(0.099, 0.101, 0.1, 0.102, 0.098, seconds=2)
        self.assertEqual(self.told(best, soon)[0], "3.00, equal within 2.3%")
        late = ending(*[0.2] * 5, seconds=1)
        self.assertEqual(self.told(best, late)[0], "0.67")
        self.assertEqual(search.race([late, late], best)[1], "higher")
        figures = {"hogwild": soon, "R": self.THEIRS, "R plain": self.THEIRS, "R for hogwild": ending(0.099, 0.101, 0.1, 0.102, 0.098, seconds=4), "R plain for hogwild": late}
        told = [compare.against({"figures": figures, "like": {"R plain": "R"}}, rival, "hogwild") for rival in ("R", "R plain")]
        self.assertEqual(told, [["2.00, equal within 2.3%"] * 2, ["3.00, equal within 2.3%"] * 2])  # it does not get there sooner by late

    def test_table(self):
        mine = {"rate": 6.0, "loss": 0.1, "losses": [0.3, 0.1], "to": [1.0, 2.0]}
        result = {"title": "job", "inputs": "standardised", "unit": "examples/s", "against": {"R": "hogwild"},
                  "figures": {"hogwild": [mine, {**mine}], "R": [{**mine, "rate": 2.0, "to": [5.0, 10.0]}, {**mine, "to": [5.0, 12.0]}]},
                  "chosen": {"hogwild": {"batch": 16, "lr": 0.3, "optimizer": "adam", "epochs": 5, "edge": ["rate"]}, "R": {"batch": 64, "lr": 0.1, "edge": []}}}
        self.assertEqual(compare.ratios([result]).splitlines()[-1], "| R | job | standardised | 5.5 (5.0 to 6.0), equal within 0.2% | 5.5 (5.0 to 6.0), equal within 0.2% | "
                         "adam, batch 16, rate 0.3, 5 passes (rate at an edge); batch 64, rate 0.1 | 0.1000; 0.1000 |")
        for run in (*result["figures"]["hogwild"], *result["figures"]["R"]):
            del run["losses"]
        self.assertIn("| 2.00 (1.00 to 3.00) (examples/s) |  |", compare.ratios([result]).splitlines()[-1])


class Pieces(unittest.TestCase):
    def whole(self, every):
        """The result of a case that pauses before every so many runs and trials."""

        def side(run, *rest):
            return sides.Side(lambda turn, setting, parts: {"rate": 1.0, "seconds": 20.0, **run(setting)} | {"turn": turn}, *rest)

        grids = [Grid(0.1, 64, {"epochs": {5: 1, 10: 1}}), Grid(0.03, 64)]
        quick, slow = bowl(0.1, 64, 3.0), bowl(0.3, 64)
        case = cases.Case("job", "examples/s", {"hogwild": side(lambda s: {k: v[:s["epochs"]] for k, v in quick(s).items()}, "", (), grids[0]),
                                                "R": side(slow, "hogwild", (), grids[1]), "R plain": side(slow, "hogwild", (), None, "R")}, [])
        result, calls = compare.open_case("c", case, ""), itertools.count(1)

        def pause():
            if every and next(calls) % every == 0:
                raise compare.Pause

        with contextlib.redirect_stderr(io.StringIO()):
            for _ in range(100):
                result = json.loads(json.dumps(result))  # as from a file
                with contextlib.suppress(compare.Pause):
                    compare.choose(case, result, argparse.Namespace(settings=5, quick=False, budget=1e9), {}, int, pause)
                    compare.measure(case, result, 3, {}, int, pause)
                    return result
        self.fail("never done")

    def test_again_searches_hogwild_alone(self):
        """The rival has what it tried in the older results, and goes on from there; hogwild begins anew."""
        count = {"hogwild": 0, "R": 0}

        def side(name, run, *rest):
            def counted(turn, setting, parts):
                count[name] += turn >= search.SEED
                return {"rate": 1.0, "seconds": 20.0, "loss": 0.1, **run(setting)}

            return sides.Side(counted, *rest)

        case = cases.Case("job", "examples/s", {"hogwild": side("hogwild", bowl(0.1, 64, 3.0), "", (), Grid(0.1, 64)),
                                                "R": side("R", bowl(0.3, 64), "hogwild", (), Grid(0.03, 64))}, [])
        wanted = {"only": "", "quick": False, "rounds": 2, "settings": 5, "budget": 1e9, "seconds": 0}
        about = {"time": "2026-11-29T00:00:00", "hogwild": "", "machine": {}, "versions": {}}
        with (tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(cases.CASES, {"c": lambda: case}),
              unittest.mock.patch.object(compare, "about", lambda: dict(about)),
              contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO())):
            old, new = (os.path.join(folder, name) for name in ("old", "new"))
            self.assertEqual(compare.run(["c"], argparse.Namespace(**wanted, again=None, out=old)), 0)
            before = dict(count)
            self.assertEqual(compare.run(["c"], argparse.Namespace(**{**wanted, "settings": 6}, again=old, out=new)), 0)
            self.assertEqual({s: count[s] - before[s] for s in count}, {"hogwild": 6 * search.SEEDS, "R": search.SEEDS})
            first, second = (json.load(open(path))["cases"][0] for path in (old, new))
        self.assertEqual(second["tried"]["R"][:5], first["tried"]["R"])
        self.assertEqual({s: len(t) for s, t in second["tried"].items()}, {"hogwild": 6, "R": 6})
        self.assertEqual(second["figures"].keys(), {"hogwild", "R", *(k for k in second["chosen"])})

    def test_pieces_are_as_one(self):
        once = self.whole(0)
        self.assertEqual(self.whole(3), json.loads(json.dumps(once)))
        self.assertEqual({key: [r["turn"] for r in runs] for key, runs in once["figures"].items()}, dict.fromkeys(once["figures"], [0, 1, 2]))
        self.assertEqual({side: len(t) for side, t in once["tried"].items()}, {"hogwild": 5, "R": 5})
        self.assertEqual(once["chosen"]["R plain"], once["chosen"]["R"])
        self.assertEqual([once["chosen"][s]["lr"] for s in ("hogwild", "R")], [0.1, 0.27])
        self.assertLessEqual({"hogwild", "R", "R plain"}, once["chosen"].keys())
        self.assertEqual(once["chosen"].get("R plain for hogwild"), once["chosen"].get("R for hogwild"))


@unittest.skipIf(not importlib.util.find_spec("torch"), "there is no PyTorch")
class Inputs(unittest.TestCase):
    def test_parts_and_scaling(self):
        import numpy as np

        import mnist

        r = np.random.default_rng(3)
        x, y = r.integers(0, 256, (200, 3, 2)).astype(np.uint8), np.arange(200, dtype=np.uint8)
        x[:, 0, 0] = 0
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "set")
            os.mkdir(source)
            for name, v in (("images-idx3", x), ("labels-idx1", y)):
                with gzip.open(f"{source}/train-{name}-ubyte.gz", "wb") as f:
                    f.write(struct.pack(f">BBBB{v.ndim}I", 0, 0, 8, v.ndim, *v.shape) + v.tobytes())
            to = parts.held([source], "", False)[source]
            (train, labels), (rest, others) = mnist.load(to, "train"), mnist.load(to, "t10k")
            self.assertEqual(sorted(itertools.chain(labels.tolist(), others.tolist())), list(range(200)))
            self.assertEqual(len(others), 20)
            np.testing.assert_array_equal(rest, x[others])
            got = mnist.inputs(rest, *mnist.scaling("standard", to))[:, 0]
            from_train = train.numpy().astype(float)
            want = (x[others] - from_train.mean(0)) / np.where(from_train.std(0) > 0, from_train.std(0), 255)
            np.testing.assert_allclose(got, want, atol=1e-6)
            np.testing.assert_allclose(mnist.inputs(rest, *mnist.scaling("unit", to))[:, 0], x[others] / 255, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
