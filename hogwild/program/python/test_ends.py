"""How runs end, their progress, and the page docs/python.md: see test_data.py.

python3 test_ends.py
"""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import types
import unittest
import unittest.mock

import pyarrow as pa
import pyarrow.parquet

import hogwild
from hogwild import _progress
from test_data import Folder, environment, passengers, points

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/python.md")


def processes(folder):
    """The processes of the program that have a variable of this test in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if f"HOGWILD_TEST={folder}\0".encode() in file.read():
                found.append(int(pid))
    return found


def await_none(folder):
    deadline = time.monotonic() + 30
    while processes(folder) and time.monotonic() < deadline:
        time.sleep(.05)
    return processes(folder)


LONG = """
import sys, numpy as np, hogwild
X = np.random.RandomState(0).randn(20000, 50)
def told(epoch):
    print("epoch", flush=True)
try:
    hogwild.train(X, X[:, 0] > 0, model="mlp:64", epochs=100000, workers=2, on_epoch=told)
except BaseException as e:
    print(type(e).__name__, e, getattr(e, "run", None) and e.run.classes, flush=True)
"""


class Ends(Folder):
    def begun(self):
        script = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True,
                                  env=environment(HOGWILD_TEST=self.folder))
        self.addCleanup(script.stdout.close)
        self.assertEqual(script.stdout.readline(), "epoch\n")
        self.assertGreater(len(processes(self.folder)), 3)  # Python, the program, its workers
        return script

    def said(self, script):
        line = [line for line in script.stdout if line != "epoch\n"][0]
        script.wait()
        self.assertEqual(await_none(self.folder), [])
        return line

    def test_the_program_is_killed(self):
        script = self.begun()
        for pid in processes(self.folder):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"\0arrays\0" in file.read():
                    os.kill(pid, signal.SIGKILL)
        self.assertRegex(self.said(script), "Killed the program hogwild ended with signal 9")

    def test_interrupted(self):
        script = self.begun()
        script.send_signal(signal.SIGINT)
        self.assertRegex(self.said(script), r"KeyboardInterrupt.*\[False  True\]")

    def test_python_is_killed(self):
        script = self.begun()
        script.kill()
        script.wait()
        self.assertEqual(await_none(self.folder), [])

    def test_on_epoch_stops(self):
        X, y = points()
        told = []
        run = hogwild.train(X, y, epochs=100, on_epoch=lambda epoch: told.append(epoch) or len(told) == 3)
        self.assertEqual(run.history[:3], told)
        self.assertEqual(len(told), 3)
        self.assertLess(len(run.history), 100)
        with self.assertRaises(ZeroDivisionError):
            hogwild.train(X, y, epochs=100, on_epoch=lambda epoch: 1 / 0)


class Progress(unittest.TestCase):
    def test_text(self):
        epoch = {"epoch": 3, "train_loss": .25, "test_accuracy": .9, "test_loss": .3, "examples": 3000, "seconds": .5}
        self.assertEqual(_progress.line(epoch, 12, 4.),
                         "epoch 3 of 12  loss 0.2500  test accuracy 0.9000  6,000 examples/s  12 s left")
        self.assertEqual(_progress.line({**epoch, "test_accuracy": None}, None, 4.),
                         "epoch 3  loss 0.2500  test loss 0.3000  6,000 examples/s")

    def test_ends(self):
        """On a terminal the line ends when the run does, with its last epoch; programs print above it."""
        err, out, epoch = io.StringIO(), io.StringIO(), {"train_loss": .25, "examples": 3000, "seconds": .5}
        err.isatty = lambda: True
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
            line = _progress.Line(text="starting")
            for n in (1, 2, 3):
                line.epoch({"epoch": n, **epoch}, 20)
            line.above("printed\n")
            line.end()
            line.end()
        self.assertEqual(out.getvalue(), "printed\n")
        self.assertRegex(err.getvalue(), r"^\rstarting\x1b\[K\repoch 1 of 20 [^\r]*\r\x1b\[K[^\n]*\repoch 3 of 20 [^\r\n]*\x1b\[K\n$")

    def test_time_left_of_automatic_epochs(self):
        X, y = points()
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            run = hogwild.train(X, y, verbose=True, workers=1)
        self.assertRegex(err.getvalue(), f"(?m)^epoch 1 of {run.result['epochs']} .* s left$")

    def test_where(self):
        epoch = {"epoch": 1, "train_loss": .25, "examples": 3000, "seconds": .5}
        for terminal, verbose, lines in ((True, None, r"^\repoch.*\x1b\[K$"), (True, False, "^$"), (False, None, "^$"),
                                         (False, True, r"^epoch.*\n$")):
            err = io.StringIO()
            err.isatty = lambda: terminal
            with contextlib.redirect_stderr(err):
                _progress.Line(verbose).epoch(epoch, 5)
            self.assertRegex(err.getvalue(), lines)

    def test_notebook(self):
        drawn = []
        cell = types.SimpleNamespace(update=lambda data, raw: drawn.append(data["text/plain"]))
        display = types.ModuleType("IPython.display")
        display.display = lambda data, raw, display_id: cell
        python = types.ModuleType("IPython")
        python.get_ipython, python.display = lambda: types.SimpleNamespace(kernel=1), display
        with unittest.mock.patch.dict(sys.modules, {"IPython": python, "IPython.display": display}):
            _progress.Line().epoch({"epoch": 1, "train_loss": .25, "examples": 3000, "seconds": .5}, 5)
        self.assertEqual(len(drawn), 1)
        self.assertRegex(drawn[0], "^epoch 1 of 5  loss 0.2500")


class Page(Folder):
    def test_blocks_run(self):
        """The Python blocks of docs/python.md run one after the other; mlflow and wandb are recorded."""
        with open(PAGE, encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        self.assertEqual(len(blocks[0].splitlines()), 6)
        calls = {"mlflow": [], "wandb": []}
        modules = {name: recorder(name, calls[name]) for name in calls}
        df = passengers()
        df.to_csv(os.path.join(self.folder, "titanic.csv"), index=False)
        pa.parquet.write_table(pa.Table.from_pandas(df[["Age", "Survived"]].dropna()), os.path.join(self.folder, "t.parquet"))
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with unittest.mock.patch.dict(sys.modules, modules), contextlib.redirect_stdout(io.StringIO()):
                names = {}
                for block in blocks:
                    exec(compile(block, PAGE, "exec"), names)
        finally:
            os.chdir(before)
        logged = [args for name, args, _ in calls["mlflow"] if name == "log_metrics"]
        self.assertEqual([more["step"] for name, _, more in calls["mlflow"] if name == "log_metrics"], [1, 2, 3])
        self.assertTrue(all(isinstance(v, (int, float)) for args in logged for v in args[0].values()))
        self.assertIn("train_loss", logged[0][0])
        self.assertTrue(any(name == "log_params" for name, _, _ in calls["mlflow"]))
        self.assertEqual([args[0]["epoch"] for name, args, _ in calls["wandb"] if name == "log"], [1, 2, 3])

    def test_fields(self):
        """The page names each field of metrics."""
        X, y = points()
        with open(PAGE, encoding="utf-8") as file:
            named = set(re.findall(r"`(\w+)`", file.read().split("## Metrics")[1].split("\n## ")[0]))
        seen = set()
        for run in (hogwild.train(X, y, epochs=2), hogwild.train(X, X[:, 0], epochs=2)):
            seen |= {name for epoch in run.history for name in epoch}
        self.assertLessEqual(seen, named)


def recorder(name, calls):
    """A module whose functions record their calls, and whose objects are contexts."""
    class Recorded:
        def __getattr__(self, method):
            return lambda *args, **more: calls.append((method, args, more)) or self

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    module = types.ModuleType(name)
    module.__getattr__ = Recorded().__getattr__
    return module


if __name__ == "__main__":
    unittest.main()
