"""Tests in which order, how long and at which rates gpu.py runs its sides, with runs that are played."""

import contextlib
import dataclasses
import json
import math
import os
import tempfile
import time
import types
import unittest
import unittest.mock

import gpu
import gpu_jobs

A4 = types.SimpleNamespace(device="cuda", gpu=0, cores=4, of="rivals")


def job(name, **of):
    return dataclasses.replace(next(j for j in gpu_jobs.JOBS if j.name == name), **of)


def terms(passes=10**6, end=math.inf, **of):
    return gpu.Terms(end, passes, **of)


class Sweeps(unittest.TestCase):
    def test_middle_rates_come_first(self):
        texts = [(text, round(lr, 3)) for text, lr, _ in gpu.points([("a", 3, 1), ("b", 6, 2)], (1, 1 / 3, 3))]
        self.assertEqual(texts, [("a", 3), ("b", 6), ("a", 1), ("b", 2), ("a", 9), ("b", 18)])

    def test_how_runs_end(self):
        for losses, seconds, late, want in (([3, 2, 1], math.inf, 9, ("reached", 3)), ([3, math.nan], math.inf, 9, ("diverged", 2)),
                                            ([3] * 4, math.inf, 9, ("passes", 4)), ([3, 3], 0, 9, ("slower", 1)), ([3], math.inf, -9, ("out of time", 1))):
            row = gpu.until(1, 10, lambda: None, lambda it=iter(losses): (next(it), None), terms(4, time.perf_counter() + late, seconds=seconds))
            self.assertEqual((row["ended"], row["passes"]), want)

    def sweep(self, sides, play, go):
        """Calls go(a, sides) with sides of two settings whose runs are play(name, lr, terms); returns the runs and the rows written."""
        runs = []

        def run(point, terms):
            runs.append((*point, terms))
            return play(*point, terms)

        grid = gpu.points([("first", 0.3, "a"), ("second", 6, "b")])
        with tempfile.TemporaryDirectory() as folder:
            a = types.SimpleNamespace(of="rivals", out=folder + "/rows", quick=False)
            go(a, {name: gpu.Side(grid, run, like=like) for name, like in sides.items()})
            with open(a.out) as f:
                return runs, [json.loads(line) for line in f]

    @staticmethod
    def played(name, lr, terms):
        # Passes to the target by rate: the first setting is best at three times its middle rate, and no run of the second reaches it.
        n = next((n for rate, n in {0.3: 9, 0.1: 12, 0.9: 4, 0.9 / 27: 20, 2.7: 7}.items() if math.isclose(rate, lr)), None) if name == "a" else None
        if n and n <= terms.passes:
            return {"ended": "reached", "seconds": n + terms.seed / 10, "passes": n, "loss": 0.1}
        return {"ended": "passes", "seconds": 60, "passes": terms.passes, "loss": 0.2 if n else lr}

    def test_each_setting_is_timed_at_the_best_rate_of_its_search(self):
        def go(a, sides):
            gpu.searched(a, job("a9a"), "side", sides["side"], math.inf)
            for name, side in sides.items():
                gpu.timed(a, job("a9a"), name, side, math.inf)
            gpu.timed(a, job("softmax"), "side", sides["side"], math.inf)

        runs, rows = self.sweep({"side": "", "of its precision": "side"}, self.played, go)
        self.assertEqual([round(lr, 3) for name, lr, _ in runs[:10] if name == "a"], [0.3, 0.1, 0.9, 0.033, 2.7])
        # Later runs may take no more passes than the best before them; the second setting's reach nothing.
        self.assertEqual([t.passes for name, _, t in runs[:10] if name == "a"], [60, 9, 9, 4, 4])
        self.assertEqual({t.passes for name, _, t in runs[:10] if name == "b"}, {60})
        timed = [row for row in rows if row["of"] == "rivals" and row["job"] == "a9a" and not row.get("search")]
        self.assertEqual([(row["setting"], round(row["lr"], 3)) for row in timed], 2 * [("first", 0.9), ("second", 0.667)])
        self.assertEqual({row["searched"] for row in timed}, {"10 of 10"})
        self.assertEqual(sum(row["job"] == "softmax" and row["of"] == "rivals" for row in rows), 10)  # there was no search for that job

    def test_the_fastest_settings_run_with_five_seeds(self):
        def play(name, lr, terms):  # the second setting is slower, and reaches the target with one seed of two
            row = self.played("a", 0.9, terms) if name == "a" or terms.seed % 2 else {"ended": "passes", "seconds": 60, "passes": 60, "loss": 0.5}
            return row | {"seconds": row["seconds"] + (name == "b")}

        def go(a, sides):
            gpu.searched(a, job("a9a"), "side", sides["side"], math.inf)
            gpu.timed(a, job("a9a"), "side", sides["side"], math.inf)

        runs, rows = self.sweep({"side": ""}, play, go)
        self.assertEqual([(name, t.seed) for name, _, t in runs[12:]], [(name, n) for name in "ab" for n in (2, 3, 4, 5)])
        self.assertEqual({t.seconds for *_, t in runs[12:]}, {math.inf})  # each runs to its end
        fast, slow = (row for row in rows if row["of"] == "spread")
        self.assertEqual((fast["setting"], fast["runs"], fast["reached"], fast["planned"]), ("first", 5, 5, 5))
        self.assertEqual(fast["seconds"], {"median": 4.3, "least": 4.1, "most": 4.5})
        self.assertEqual((slow["setting"], slow["runs"], slow["reached"], slow["losses"]), ("second", 5, 3, [0.1, 0.5, 0.1, 0.5, 0.1]))
        self.assertEqual(slow["seconds"], {"median": 5.5, "least": 5.1, "most": None})

    def test_no_seed_but_the_first_where_there_is_none(self):
        runs, _ = self.sweep({"side": "-"}, self.played, lambda a, sides: gpu.timed(a, job("a9a"), "side", sides["side"], math.inf))
        self.assertEqual({t.seed for *_, t in runs}, {1})

    def test_a_setting_is_named_by_what_ran_and_timed_once(self):
        def play(name, lr, terms):
            return self.played("a", lr if name == "a" else lr / 20, terms) | {"setting": gpu.as_run("--in-flight 9999 --batch 8", [
                "9 words", "264 steps of 8 examples in flight: 264 CTAs in one worker", "--in-flight 9999 was lowered"])}

        def go(a, sides):
            gpu.searched(a, job("a9a"), "side", sides["side"], math.inf)
            gpu.timed(a, job("a9a"), "side", sides["side"], math.inf)

        runs, rows = self.sweep({"side": ""}, play, go)
        timed = [row for row in rows if row["of"] == "rivals" and not row.get("search")]
        self.assertEqual([(row["setting"], row["asked"]) for row in timed], [("--in-flight 264 --batch 8", "first")])
        self.assertEqual(gpu.as_run("--batch 1", []), "--batch 1")

    def test_fast_settings_are_timed_first_and_those_not_searched_last(self):
        grid = gpu.points([(text, 1, text) for text in ("c", "d", "a", "b", "e")])
        found = [{"asked": text, "setting": text, "lr": lr, "ended": ended, "passes": 3, "seconds": seconds, "loss": loss}
                 for text, lr, ended, seconds, loss in (("a", 3, "reached", 2, 0.1), ("a", 1, "passes", 1, 0.2), ("b", 1, "reached", 1, 0.1), ("e", 1 / 3, "passes", 9, 0.3))]
        self.assertEqual([p[:2] for p in gpu.chosen(grid, found)], [("b", 1), ("a", 3), ("e", 1 / 3), ("c", 1), ("d", 1)])
        self.assertEqual(gpu.chosen(grid, []), grid)

    def test_jobs_and_sides_have_equal_shares(self):
        clock, used, ends = [0.0], {"a": 50, "b": 10, "c": 30}, []
        with unittest.mock.patch.object(gpu.time, "perf_counter", lambda: clock[0]):
            for name, end in gpu.shares(90, list(used)):
                ends.append(end)
                clock[0] += used[name]
        self.assertEqual(ends, [30, 70, 90])  # a took too long: b and c still share what is left

    def test_no_setting_is_another_in_disguise(self):
        most = {"factor": 4224, "a9a": 2112, "rcv1": 2112}
        for j in gpu_jobs.JOBS:
            for setting in (*j.gpu, *j.flight):
                flags = dict(zip(setting.split()[::2], setting.split()[1::2]))
                one = j.name in ("mlp128", "softmax") and flags.get("--batch") == "1"
                self.assertLessEqual(int(flags["--in-flight"]), most.get(j.name, 396 if one else 132), (j.name, setting))

    def test_every_side_has_as_many_settings(self):
        for j in gpu_jobs.JOBS:
            self.assertEqual((len(j.gpu), len(j.cores)), (gpu.SETTINGS, gpu.SETTINGS), j.name)
            for name in ("hogwild, GPU 0", "hogwild, 4 cores"):
                side = gpu.ours(A4, j, None)[name]
                self.assertEqual((len(side.grid), side.like), (gpu.SETTINGS * len(gpu_jobs.RATES), ""), j.name)

    def test_a_rival_that_fails_takes_no_other_with_it(self):
        a = types.SimpleNamespace(of="rivals", device="cpu", gpu=0, cores=1)
        files = gpu.Inputs("", "", [])
        for go, error, says in ((os_exit, OSError, "ended early"), (wrong, OSError, "ZeroDivisionError"), (missing, gpu.Missing, "no driver"),
                                (fine, None, "")):
            with self.assertRaisesRegex(error, says) if error else contextlib.nullcontext():
                gpu.apart(time.perf_counter() + 30, go, a, job("a9a"), files, "hogwild, 1 cores")
        began = time.perf_counter()
        with self.assertRaisesRegex(gpu.Missing, "asleep runs were cut off"):
            gpu.apart(began, asleep, a, job("a9a"), files, "hogwild, 1 cores")
        self.assertLess(time.perf_counter() - began, 60)  # it sleeps for 600


def os_exit(a, job, name, side):
    os._exit(1)


def wrong(a, job, name, side):
    return 1 // 0


def missing(a, job, name, side):
    raise gpu.Missing("CUDA", "no driver")


def fine(a, job, name, side):
    assert side.grid and name == "hogwild, 1 cores"


def asleep(a, job, name, side):
    time.sleep(600)


if __name__ == "__main__":
    unittest.main()
