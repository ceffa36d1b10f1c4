"""Tests the search and the times to the same loss on sides whose best settings are known: python -m unittest -v search_test, from
bench/rivals."""

import gzip
import importlib.util
import itertools
import math
import os
import struct
import tempfile
import unittest

import compare
import parts
import search
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


def tried(sides, grids, settings=8):
    record = {side: [] for side in sides}
    return search.search(grids, settings, lambda side, setting: sides[side](setting), record), record


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

    def test_fewer_seconds_win_over_a_lower_loss(self):
        slow = {"at": (0, 0), "losses": [0.5, 0.101, 0.1], "to": [10, 20, 30]}
        fast = {"at": (0, 1), "losses": [0.2, 0.11, 0.1015], "to": [1, 2, 3]}
        self.assertIs(search.ranked([slow, fast], search.goal({"a": [slow, fast]}))[0], fast)
        fast["losses"][-1] = 0.1021  # above 1.02 times the best
        self.assertIs(search.ranked([slow, fast], search.goal({"a": [slow, fast]}))[0], slow)

    def test_a_failed_side_drops_out(self):
        chosen, record = tried({"a": bowl(0.1, 64), "b": lambda setting: None}, {"a": Grid(0.1, 64), "b": Grid(0.1, 64)})
        self.assertEqual((list(chosen), list(record)), (["a"], ["a"]))

    def test_batches_are_whole(self):
        grid = Grid(0.1, 4)
        self.assertEqual([grid.allows((i, 0)) for i in (-2, -1, 1)], [False, True, True])
        self.assertFalse(Grid(0.1).allows((1, 0)))
        self.assertEqual(grid.setting((1, 1)), {"batch": 16, "lr": 0.9})


class Target(unittest.TestCase):
    def test_is_the_best_sides_median(self):
        a, b = [{"losses": [1, v]} for v in (0.1, 0.3, 0.2)], [{"losses": [1, v]} for v in (0.05, 0.4, 0.5)]
        self.assertAlmostEqual(search.target([a, b]), 1.02 * 0.2)

    def test_times_and_misses(self):
        def rounds(*ends):
            return [{"losses": [0.5, 0.2, end], "to": [t * 1.0, t * 2.0, t * 3.0]} for t, end in ends]

        mine, theirs = rounds((1, 0.1), (2, 0.1), (1, 0.1)), rounds((2, 0.1), (2, 0.1), (3, 0.1))
        for goal, want in ((0.15, "2.00 (1.00 to 3.00)"), (0.05, "both miss 0.0500")):
            self.assertEqual(compare.sooner(mine, theirs, goal), want)
        self.assertEqual(compare.sooner(mine, rounds((1, 0.3), (1, 0.3), (1, 0.1)), 0.15), "the rival misses 0.1500")
        self.assertEqual(compare.sooner(mine, rounds((2, 0.3), (2, 0.1), (4, 0.1)), 0.15), "2.50 (1.00 to 4.00); the rival missed it 1 of 3 times")
        self.assertEqual(compare.sooner(mine, [{"loss": 0.1}], 0.15), "")

    def test_table(self):
        mine = {"rate": 6.0, "loss": 0.1, "losses": [0.3, 0.1], "to": [1.0, 2.0]}
        result = {"title": "job", "inputs": "standardised", "unit": "examples/s", "target": 0.102, "against": {"R": "hogwild"},
                  "figures": {"hogwild": [mine], "R": [{**mine, "rate": 2.0, "to": [5.0, 10.0]}]},
                  "chosen": {"hogwild": {"batch": 16, "lr": 0.3, "edge": ["rate"]}, "R": {"batch": 64, "lr": 0.1, "edge": []}}}
        self.assertEqual(compare.ratios([result]).splitlines()[-1],
                         "| R | job | standardised | 3.00 | 5.0 | batch 16, rate 0.3 (rate at an edge); batch 64, rate 0.1 | 0.1000; 0.1000 |")


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
