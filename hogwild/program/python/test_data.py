"""Training on arrays, tables and batches, by the program that HOGWILD_BINARY names; its results are compared with what NumPy
computes of the same weights.

python3 test_data.py
"""

import contextlib
import functools
import http.server
import io
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

import hogwild
from hogwild import convert


def passengers(n=400, seed=0):
    """A table like the Titanic's, with texts, holes and dates; sex and age decide."""
    rng = np.random.RandomState(seed)
    df = pd.DataFrame({"Age": rng.uniform(1, 80, n), "Sex": rng.choice(["male", "female"], n),
                       "Boarded": pd.date_range("1912-04-01", periods=n, freq="h")})
    df["Survived"] = ((df.Sex == "female") | (df.Age < 12)).astype(int)
    df.loc[5::9, "Age"] = np.nan
    return df


def points(n=300, d=5, seed=0):
    X = np.random.RandomState(seed).randn(n, d)
    return X, np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]


def computed(run, X):
    """The class of each row by a linear model's own definition."""
    meta = run.meta
    x = X * np.asarray(meta["mul"]) + np.asarray(meta["add"]) if meta.get("mul") else X
    (weight,), (bias,) = ([t for name, t in run.tensors.items() if name.endswith(end)] for end in ("weight", "bias"))
    return (x @ weight.reshape(-1) + bias.reshape(-1)[0] > 0).astype(int)


def same(a, b):
    return all((a.tensors[name] == b.tensors[name]).all() for name in a.tensors)


@unittest.skipUnless(os.environ.get("HOGWILD_BINARY"), "HOGWILD_BINARY names no program")
class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name


class Tables(Folder):
    def test_texts_holes_dates(self):
        df = passengers()
        run = hogwild.train(df[:300], target="Survived", model="mlp:16", epochs=30, test=df[300:])
        new = passengers(100, seed=1)
        predicted = run.predict(new.drop(columns="Survived")[["Boarded", "Sex", "Age"]])
        self.assertEqual(predicted.dtype, df.Survived.dtype)
        self.assertGreater((predicted == new.Survived).mean(), .85)
        proba = run.predict_proba(new)
        self.assertEqual(proba.shape, (100, 2))
        np.testing.assert_allclose(proba.sum(1), 1, atol=1e-5)
        np.testing.assert_array_equal(run.classes[proba.argmax(1)], predicted)

    def test_equals_the_command(self):
        df, path = passengers(), os.path.join(self.folder, "t.csv")
        df.to_csv(path, index=False)
        table = hogwild.train(df, target="Survived", epochs=5, workers=1)
        file = hogwild.train(path, target="Survived", epochs=5, workers=1, test="none")
        self.assertTrue(same(table, file))
        np.testing.assert_array_equal(table.predict(df), file.predict(path))

    def test_truth_as_polars_writes_it(self):
        path = os.path.join(self.folder, "t.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(["a,t\n", *(f"{i},{'true' if i > 20 else 'false'}\n" for i in range(40))])
        self.assertEqual(hogwild.train(path, target="t", epochs=1).classes.tolist(), [False, True])

    def test_texts_without_target(self):
        df = passengers()
        run = hogwild.train(df.drop(columns="Survived"), df.Survived.map({0: "died", 1: "lived"}), epochs=5)
        self.assertEqual(list(run.classes), ["died", "lived"])

    def test_numbers_by_name(self):
        X, y = points()
        df = pd.DataFrame(X, columns=list("abcde")).assign(flag=True, t=y)
        run = hogwild.train(df, target="t", epochs=5)
        np.testing.assert_array_equal(run.predict(df), run.predict(df[["t", "flag", "e", "d", "c", "b", "a"]]))
        values = hogwild.train(df.assign(t=np.arange(300) * 7), target="t", epochs=1)
        self.assertIsNone(values.classes)


class Labels(Folder):
    def test_as_they_were(self):
        X, y = points()
        yes = y == "yes"
        for labels in (y, yes, yes.astype("i1") + 3, y.astype(object)):
            with self.subTest(labels.dtype):
                run = hogwild.train(X, labels, epochs=5)
                predicted = run.predict(X)
                self.assertEqual(predicted.dtype.kind, np.unique(labels).dtype.kind if labels.dtype != object else "U")
                np.testing.assert_array_equal(predicted == run.classes[1], computed(run, X) == 1)
                self.assertGreater((predicted == labels).mean(), .9)
                np.testing.assert_array_equal(pickle.loads(pickle.dumps(run)).predict(X), predicted)

    def test_test_rows_have_names_too(self):
        X, y = points()
        run = hogwild.train(X, y, test=(X[y == "yes"], y[y == "yes"]), epochs=3, workers=1)
        self.assertAlmostEqual(run.history[-1]["test_accuracy"], (run.predict(X)[y == "yes"] == "yes").mean(), places=6)

    def test_values(self):
        X, _ = points()
        run = hogwild.train(X, X[:, 0], epochs=30)
        self.assertIsNone(run.classes)
        self.assertLess(np.abs(run.predict(X) - X[:, 0]).mean(), .2)

    def test_floats_of_classes(self):
        X, y = points()
        run = hogwild.train(X, np.where(y == "yes", 1., -1.), model="logistic", epochs=3)
        self.assertEqual(run.classes.tolist(), [-1, 1])


class Folders(Folder):
    def test_load_and_save(self):
        X, y = points()
        path, file = os.path.join(self.folder, "run"), os.path.join(self.folder, "w.safetensors")
        run = hogwild.train(X, y, epochs=3, run=path)
        run.save(file)
        for again in (hogwild.load(path), hogwild.load(file)):
            self.assertTrue(same(run, again))
            np.testing.assert_array_equal(again.predict(X), run.predict(X))
        self.assertEqual([e["epoch"] for e in hogwild.load(path).history], [1, 2, 3])
        self.assertEqual(hogwild.load(path).result["seed"], 1)

    def test_resume(self):
        X, y = points()
        whole = hogwild.train(X, y, epochs=6, lr=.1, workers=1)
        half = hogwild.train(X, y, epochs=3, lr=.1, workers=1, run=os.path.join(self.folder, "a"))
        there = hogwild.load(half.path)
        for resumed in (half.resume(epochs=6), there.resume(X, y, epochs=9)):
            self.assertEqual([e["epoch"] for e in resumed.history], list(range(1, resumed.result["epochs"] + 1)))
        resumed = hogwild.train(X, y, epochs=3, lr=.1, workers=1, run=os.path.join(self.folder, "b")).resume(epochs=6)
        self.assertTrue(same(whole, resumed))
        df = passengers()
        table = hogwild.train(df, target="Survived", epochs=2, run=os.path.join(self.folder, "t"))
        self.assertEqual(table.resume(epochs=4).history[-1]["epoch"], 4)
        with self.assertRaisesRegex(hogwild.Error, "give resume the data again"):
            hogwild.load(table.path).resume(epochs=5)
        with self.assertRaisesRegex(hogwild.Error, "no folder"):
            whole.resume(epochs=7)


class Datasets(Folder):
    def check(self, make, X, y):
        expected = hogwild.train(X, y, epochs=3, workers=1)
        run = hogwild.train(make(), epochs=3, workers=1)
        self.assertTrue(same(expected, run))
        np.testing.assert_array_equal(run.predict(X), expected.predict(X))

    def test_batches(self):
        X, y = points()
        df = pd.DataFrame(X, columns=list("abcde")).assign(t=y)
        table, S = pa.Table.from_pandas(df), sp.random(300, 50, .2, "csr", random_state=1)
        parts = [slice(0, 70), slice(70, 71), slice(71, 300)]

        class Stream:  # as DuckDB and polars have it
            __arrow_c_stream__ = staticmethod(table.__arrow_c_stream__)

        class HuggingFace:
            def with_format(self, kind):
                self.kind = kind
                return self

            def iter(self, batch_size):
                return iter([table.slice(0, 120), table.slice(120)])

        for name, batches, target in (
                ("arrays", [(X[p], y[p]) for p in parts], None), ("iterator", ((X[p], y[p]) for p in parts), None),
                ("frames", [df[p] for p in parts], "t"), ("table", table, "t"), ("stream", Stream(), "t"),
                ("function", lambda: table.to_batches(max_chunksize=50), "t"), ("Hugging Face", HuggingFace(), "t")):
            with self.subTest(name):
                self.check(lambda: hogwild.Dataset.from_batches(batches, target), X, y)
        with self.subTest("CSR"):
            self.check(lambda: hogwild.Dataset.from_batches([(S[p], y[p]) for p in parts]), S, y)

    def test_empty(self):
        X, y = points()

        def make():
            data = hogwild.Dataset.empty(300, 5, classes=["no", "yes"])
            for i in range(0, 300, 100):
                data.X[data.place[i:i + 100]] = X[i:i + 100]
                data.y[data.place[i:i + 100]] = y[i:i + 100] == "yes"
            return data.seal()

        self.check(make, X, y)
        data = hogwild.Dataset.empty(10, 2)
        with self.assertRaisesRegex(hogwild.Error, "not sealed"):
            hogwild.train(data)
        x = data.X
        with self.assertRaisesRegex(hogwild.Error, "del it"):
            data.seal()
        del x
        data.seal()
        with self.assertRaisesRegex(hogwild.Error, "sealed already"):
            data.seal()

    def test_no_second_copy(self):
        """What a list of blocks takes at its most, in a process of its own: the room, and a block of 2 %."""
        script = """
import resource, numpy as np, hogwild
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
block = np.random.RandomState(0).randn(4000, 500).astype("f4"), np.arange(4000) % 2
hogwild.Dataset.from_batches([block])
before = peak()
data = hogwild.Dataset.from_batches([block] * 20)
print((peak() - before) * 1024 / (20 * block[0].nbytes))
"""
        out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment())
        self.assertLess(float(out.stdout), 1.3)

    def test_convert(self):
        df, source = passengers(), os.path.join(self.folder, "t.parquet")
        pa.parquet.write_table(pa.Table.from_pandas(df), source)
        df.to_json(os.path.join(self.folder, "t.jsonl"), orient="records", lines=True, date_format="iso")
        whole = hogwild.train(df, target="Survived", epochs=3, workers=1)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=self.folder))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        web = f"http://127.0.0.1:{server.server_port}"
        for name in (source, "file://" + source, os.path.join(self.folder, "t.jsonl"), web + "/t.parquet"):
            out = os.path.join(self.folder, "t.hog")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                convert.main([name, "--out", out, "--target", "Survived", "--test", "none"])
            run = hogwild.train(out, epochs=3, workers=1)
            self.assertEqual(run.meta["rows"], len(df))
            self.assertGreater((run.predict(df) == whole.predict(df)).mean(), .95)
            os.remove(out)
            self.assertIn("400 training rows", said.getvalue())
        for name, words in (("t.xyz", "want one of .parquet"), (web + "/none.parquet", "none.parquet: no such file, or"), ("hf:imdb", r"datasets.*hogwild\[arrow\]"),
                            ("none.parquet", "no such file")):
            with self.assertRaisesRegex(SystemExit, words):
                convert.main([name, "--out", out])
        self.assertEqual(sorted(os.listdir(self.folder)), ["t.jsonl", "t.parquet"])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Misuse(Folder):
    def test_one_line(self):
        X, y = points()
        df = passengers()
        for words, wrong in (
                ("X has the shape .300,.", lambda: hogwild.train(X[:, 0], y)),
                ("y has the shape", lambda: hogwild.train(X, y[:5])),
                ("want real numbers; a DataFrame may have texts", lambda: hogwild.train(X.astype(str), y)),
                ("type complex128", lambda: hogwild.train(X * 1j, y)),
                ("type object", lambda: hogwild.train(X.astype(object), y)),
                ("complex numbers", lambda: hogwild.train(df.assign(c=1j), target="Survived")),
                ("masked", lambda: hogwild.train(np.ma.masked_array(X, X > 1), y)),
                ("nothing in it", lambda: hogwild.train(X[:0], y[:0])),
                ("nothing in it", lambda: hogwild.train(df[:0], target="Survived")),
                ("y has NaN", lambda: hogwild.train(X, np.where(X[:, 0] > 1, np.nan, 1.5))),
                ("row 3, column 2: NaN", lambda: hogwild.train(np.where(np.arange(1500).reshape(300, 5) == 17, np.nan, X), y)),
                ("class yes alone", lambda: hogwild.train(X, np.full(300, "yes"))),
                ("every label is", lambda: hogwild.train(df.assign(Survived=1), target="Survived")),
                ("labels of different types", lambda: hogwild.train(X, np.array([None, *y[1:]], object))),
                ("y is missing", lambda: hogwild.train(X)), ("y is missing", lambda: hogwild.train(df)),
                ("no column 'Survive'; the columns are Age", lambda: hogwild.train(df, target="Survive")),
                ("test rows have classes that the training rows lack: maybe",
                 lambda: hogwild.train(X, y, test=(X[:1], np.array(["maybe"])))),
                ("unknown setting modle; did you mean mode?", lambda: hogwild.train(X, y, modle="mlp:8")),
                ("only 10 training rows", lambda: hogwild.train(X[:10], y[:10], workers=40)),
                ("rows lack the columns e", lambda: hogwild.train(pd.DataFrame(X, columns=list("abcde")), y, epochs=1).predict(
                    pd.DataFrame(X[:, :4], columns=list("abcd")))),
                ("3 inputs, want 5", lambda: hogwild.train(X, y, epochs=1).predict(X[:, :3])),
                ("no weights.safetensors", lambda: hogwild.load(self.folder)),
                ("target is missing", lambda: hogwild.Dataset.from_batches([df])),
                ("'Sex' has the type", lambda: hogwild.Dataset.from_batches(pa.Table.from_pandas(df), "Survived")),
                ("no batches", lambda: hogwild.Dataset.from_batches([])),
                ("of several sets, train, test: give one", lambda: hogwild.Dataset.from_batches({"train": [], "test": []}, "t")),
                ("a batch has 4 columns", lambda: hogwild.Dataset.from_batches([(X, y), (X[:, :4], y)]))):
            with self.subTest(words), self.assertRaisesRegex(hogwild.Error, words) as raised:
                wrong()
            self.assertNotIn("\n", str(raised.exception))
            self.assertNotIn("/proc", str(raised.exception))


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)), **more}


if __name__ == "__main__":
    unittest.main()
