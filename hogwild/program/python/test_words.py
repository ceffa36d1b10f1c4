"""Tests of words, texts and factors with the program that HOGWILD_BINARY names: TestPythonWords of cmd/hogwild runs them.

HOGWILD_BINARY=../../../bin/hogwild python3 -m unittest test_words"""

import collections
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid

import numpy as np

if os.environ.get("HOGWILD_BINARY"):
    import fasttext
    from gensim.models import KeyedVectors
    from gensim.models import Word2Vec as GensimWord2Vec

    import hogwild


def topics(lines, words=20, seed=0):
    """Sentences of words of one of ten topics, tI_J, and of words of none; and the topic of each."""
    random = np.random.RandomState(seed)
    of = random.randint(10, size=lines)
    return [[f"t{t}_{random.randint(15)}" if random.rand() < .5 else f"c{int(random.pareto(1)) % 100}" for _ in range(words)]
            for t in of], of


def within(kv):
    """The share of the five nearest words of each word of a topic that are of the topic."""
    own = [word for word in kv.index_to_key if word[0] == "t"]
    return np.mean([near.split("_")[0] == word.split("_")[0] for word in own for near, _ in kv.most_similar(word, topn=5)])


def refused(test, message, call):
    with test.assertRaises(hogwild.Error) as e:
        call()
    test.assertRegex(str(e.exception), message)
    test.assertNotIn("\n", str(e.exception))
    test.assertNotIn("/proc", str(e.exception))


@unittest.skipUnless(os.environ.get("HOGWILD_BINARY"), "HOGWILD_BINARY names no program")
class TestWord2Vec(unittest.TestCase):
    def test_words_are_counted_and_near_ones_found_as_gensim_does(self):
        sentences, _ = topics(4000)
        counts = collections.Counter(word for sentence in sentences for word in sentence)
        for sg in (1, 0):
            settings = {"vector_size": 24, "window": 5, "sg": sg, "min_count": 5, "negative": 5, "sample": 1e-2, "epochs": 4,
                        "seed": 2}
            ours = hogwild.Word2Vec(workers=1, **settings).fit(iter(sentences))
            theirs = GensimWord2Vec(sentences, workers=1, **settings).wv
            kv = ours.wv
            self.assertIsInstance(kv, KeyedVectors)
            self.assertEqual({word: kv.get_vecattr(word, "count") for word in kv.index_to_key},
                             {word: n for word, n in counts.items() if n >= 5})
            self.assertEqual({word: theirs.get_vecattr(word, "count") for word in theirs.index_to_key},
                             {word: kv.get_vecattr(word, "count") for word in kv.index_to_key})
            self.assertEqual(kv.vectors.tobytes(), ours.vectors.tobytes())
            self.assertGreater(within(kv), within(theirs) - .05)
            self.assertGreater(within(kv), .5)
            losses = [epoch["train_loss"] for epoch in ours.history]
            self.assertEqual([epoch["epoch"] for epoch in ours.history], [1, 2, 3, 4])
            self.assertLess(losses[-1], losses[0])

    def test_strings_are_split_and_one_worker_repeats(self):
        sentences, _ = topics(300)
        fits = [hogwild.Word2Vec(8, min_count=1, workers=1, epochs=2, seed=seed).fit(given) for seed, given in (
            (1, sentences), (1, [" ".join(sentence) for sentence in sentences]), (2, sentences))]
        self.assertEqual(fits[0].vectors.tobytes(), fits[1].vectors.tobytes())
        self.assertNotEqual(fits[0].vectors.tobytes(), fits[2].vectors.tobytes())

    def test_files_and_pickles(self):
        sentences, _ = topics(300)
        ours = hogwild.Word2Vec(8, min_count=1, workers=1, epochs=1).fit(sentences + [["żółw", "naïve"]])
        with tempfile.TemporaryDirectory() as folder:
            for name, binary in (("v.bin", True), ("v.vec", False)):
                ours.save_word2vec_format(os.path.join(folder, name), binary=binary)
                loaded = KeyedVectors.load_word2vec_format(os.path.join(folder, name), binary=binary)
                self.assertEqual(loaded.index_to_key, ours.words)
                self.assertEqual(loaded.vectors.tobytes(), ours.vectors.tobytes())
        open_files = os.listdir("/proc/self/fd")
        ours.wv
        script = """if True:
            import pickle, sys
            sys.modules["gensim"] = sys.modules["gensim.models"] = None  # as where it is not installed
            m = pickle.load(sys.stdin.buffer)
            print(type(m.wv).__name__, m.wv["naïve"].tolist() == m.vectors[m.words.index("naïve")].tolist())"""
        said = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(ours), capture_output=True, check=True,
                              env={**os.environ, "HOGWILD_BINARY": "/nowhere"})
        self.assertEqual(said.stdout.split(), [b"Vectors", b"True"])
        self.assertEqual(os.listdir("/proc/self/fd"), open_files)

    def test_training_ends_when_on_epoch_says_so(self):
        ours = hogwild.Word2Vec(8, min_count=1, epochs=50).fit(topics(200)[0], on_epoch=lambda epoch: epoch["epoch"] == 2)
        self.assertLess(len(ours.history), 10)

    def test_an_interrupt_keeps_what_was_learnt(self):
        def interrupt(epoch):
            if epoch["epoch"] == 2:
                os.kill(os.getpid(), signal.SIGINT)

        sentences, topic = topics(200)
        texts = [" ".join(sentence) for sentence in sentences]
        for model, given in ((hogwild.Word2Vec(8, min_count=1, epochs=5000), (sentences,)),
                             (hogwild.TextClassifier(dim=8, epochs=5000), (texts, topic)),
                             (hogwild.Factorization(4, epochs=5000), (topic, range(200), range(200)))):
            with self.assertRaises(KeyboardInterrupt):
                model.fit(*given, on_epoch=interrupt)
            self.assertGreaterEqual(len(model.history), 2)
            self.assertLess(len(model.history), 4000)
        self.assertEqual(model.predict([topic[0]], [0]).shape, (1,))

    def test_misuse(self):
        fit = hogwild.Word2Vec(4, min_count=1).fit
        refused(self, "no sentences", lambda: fit([]))
        refused(self, "the word 'a b' is empty or has a blank", lambda: fit([["x", "a b"]]))
        refused(self, r"the word 'a\\n' ", lambda: fit([["x", "a\n"]]))
        refused(self, "the word '' ", lambda: fit([["x", ""]]))
        refused(self, "occurs 9 times", lambda: hogwild.Word2Vec(4, min_count=9).fit([["x", "y"]]))
        refused(self, "unknown setting hs", lambda: hogwild.Word2Vec(4, hs=1).fit([["x", "y"]]))


@unittest.skipUnless(os.environ.get("HOGWILD_BINARY"), "HOGWILD_BINARY names no program")
class TestTextClassifier(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sentences, cls.of = topics(2000, 6)
        cls.texts = [" ".join(sentence) for sentence in sentences]
        cls.labels = [f"topic {t}" for t in cls.of]

    def test_fasttext_predicts_the_same(self):
        for loss in ("softmax", "ova"):
            ours = hogwild.TextClassifier(2, dim=16, epochs=8, lr=.5, loss=loss, workers=1).fit(self.texts[:1500],
                                                                                                self.labels[:1500])
            self.assertEqual(ours.classes_.tolist(), [f"topic {t}" for t in range(10)])
            rest = self.texts[1500:] + ["t3_1\nt3_2", "", "unknown words", "t4_1 </s> t5_1 t5_2 t5_3"]
            proba = ours.predict_proba(rest)
            with tempfile.TemporaryDirectory() as folder:
                ours.save_fasttext(os.path.join(folder, "model.bin"))
                theirs = fasttext.load_model(os.path.join(folder, "model.bin"))
            for text, row in zip(rest, proba):
                labels, want = theirs.predict(text.split("</s>")[0].replace("\n", " "), k=10)
                got = [row[int(label[len("__label__topic-"):])] for label in labels]
                if loss == "ova":  # which fastText looks up in a table that ends at 3e-4, and we divide by their sum
                    want = want / want.sum() if want.max() > .1 else got
                np.testing.assert_allclose(got, want, atol=2e-5 if loss == "softmax" else 1e-2)
            self.assertEqual(ours.predict(rest).tolist(), ours.classes_[proba.argmax(axis=1)].tolist())
            self.assertGreater((ours.predict(rest[:500]) == self.labels[1500:]).mean(), .9)
            again = pickle.loads(pickle.dumps(ours))
            self.assertEqual(again.predict_proba(rest).tobytes(), proba.tobytes())
            self.assertEqual(len(ours.history), 8)

    def test_texts_with_several_labels(self):
        several = [[t, 10 + t % 2] for t in self.of.tolist()]
        ours = hogwild.TextClassifier(dim=16, epochs=15, lr=.5, loss="ova").fit(self.texts, several)
        found = ours.predict(self.texts, k=2)
        self.assertEqual(found.shape, (2000, 2))
        self.assertGreater(np.mean([set(row) == set(of) for row, of in zip(found.tolist(), several)]), .9)

    def test_misuse(self):
        fit = hogwild.TextClassifier(dim=4).fit
        refused(self, "2 texts and 3 labels", lambda: fit(["a", "b"], ["x", "y", "z"]))
        refused(self, "3 texts and 2 labels", lambda: fit(["a", "b", "c"], ["x", "y"]))
        refused(self, "0 texts", lambda: fit([], []))
        refused(self, "text 1 is a float", lambda: fit(["a", float("nan")], ["x", "y"]))
        refused(self, "text 0 has a word with __label__", lambda: fit(["a __label__q", "b"], ["x", "y"]))
        refused(self, "every label is 'x'", lambda: fit(["a", "b"], ["x", "x"]))
        refused(self, "want softmax or ova", lambda: hogwild.TextClassifier(loss="hs"))
        refused(self, "texts is one string", lambda: fit(["a", "b"], ["x", "y"]).predict("a"))


@unittest.skipUnless(os.environ.get("HOGWILD_BINARY"), "HOGWILD_BINARY names no program")
class TestFactorization(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random = np.random.RandomState(0)
        users, items = random.randn(200, 3), random.randn(120, 3)
        cls.u, cls.i = random.randint(200, size=12000), random.randint(120, size=12000)
        cls.y = 3 + (users[cls.u] * items[cls.i]).sum(axis=1) * .5 + .1 * random.randn(12000)
        cls.kinds = {"ints": lambda k: k * 3 - 40, "sparse ints": lambda k: (k * 7919 % 1009) << 40, "strings": "id {}".format,
                     "UUIDs": lambda k: uuid.UUID(int=int(k) << 64)}

    def fitted(self, kind, **settings):
        make = self.kinds[kind]
        users, items = [make(k) for k in self.u], [make(k) for k in self.i]
        return users, items, hogwild.Factorization(4, epochs=30, workers=1, **settings).fit(users, items, self.y)

    def test_ids_of_any_kind(self):
        losses = []
        for kind in self.kinds:
            users, items, mf = self.fitted(kind)
            losses.append(np.sqrt(np.mean((mf.predict(users, items) - self.y) ** 2)))
            self.assertAlmostEqual(losses[-1], mf.history[-1]["test_rmse"], places=5)
            self.assertEqual(set(mf.user_ids.tolist()), set(users))
            self.assertEqual(mf.item_factors.shape, (120, 4))
        self.assertLess(max(losses), .25)  # the ratings' deviation is .9
        self.assertLess(max(losses) - min(losses), .02)

    def test_weights_belong_to_their_ids(self):
        users, items, mf = self.fitted("strings")
        u, i = mf.user_ids.tolist().index(users[5]), mf.item_ids.tolist().index(items[5])
        z = (mf.user_factors[u].astype(float) @ mf.item_factors[i].astype(float) + mf.user_biases[u] + mf.item_biases[i]
             + mf.mean)
        self.assertAlmostEqual(mf.predict([users[5]], [items[5]])[0], z, places=5)

    def test_rankings_of_what_was_liked(self):
        random = np.random.RandomState(1)
        users = np.repeat(np.arange(300), 12)
        items = users % 6 + 6 * random.randint(30, size=len(users))
        for loss in ("bpr", "warp"):
            mf = hogwild.Factorization(8, epochs=60, workers=2, loss=loss, lr=.2 if loss == "bpr" else .05)
            mf.fit([f"u{u}" for u in users], items)
            right = 0
            for user in range(50):
                ids, scores = mf.recommend(f"u{user}", n=5)
                self.assertFalse(set(ids) & set(items[users == user]))
                self.assertTrue(np.all(np.diff(scores) <= 0))
                right += np.count_nonzero(ids % 6 == user % 6)
            self.assertGreater(right, 225)  # of 250, by chance 42
        with self.assertRaisesRegex(hogwild.Error, "every user likes every item"):
            mf.fit([1, 1], [2, 3])
        with self.assertRaisesRegex(hogwild.Error, "no ratings"):
            hogwild.Factorization(2).fit(users, items)
        with self.assertRaisesRegex(hogwild.Error, "want squared, bpr or warp"):
            hogwild.Factorization(2, loss="hinge")

    def test_recommends_what_was_not_seen(self):
        for kind in ("ints", "UUIDs"):
            users, items, mf = self.fitted(kind)
            again = pickle.loads(pickle.dumps(mf))
            scores = (mf.user_factors.astype(float) @ mf.item_factors.T.astype(float) + mf.user_biases[:, None]
                      + mf.item_biases + mf.mean)
            for u in (0, 17, len(mf.user_ids) - 1):
                user = mf.user_ids.tolist()[u]
                rated = {item for of, item in zip(users, items) if of == user}
                order = [int(i) for i in np.argsort(-scores[u])]
                unseen = [i for i in order if mf.item_ids.tolist()[i] not in rated]
                for seen, best in ((False, unseen), (True, order)):
                    ids, ratings = again.recommend(user, n=7, seen=seen)
                    self.assertEqual(ids.tolist(), mf.item_ids[best[:7]].tolist())
                    np.testing.assert_allclose(ratings, scores[u][best[:7]], rtol=1e-5)
                self.assertEqual(len(mf.recommend(user, n=1000)[0]), len(unseen))

    def test_workers_in_blocks_learn_as_one_does(self):
        random = np.random.RandomState(1)
        users, items = random.randn(500, 3), random.randn(400, 3)
        u, i = random.randint(500, size=70000), random.randint(400, size=70000)  # enough to be sorted by the blocks of a grid
        y = (users[u] * items[i]).sum(axis=1)
        one, two = (hogwild.Factorization(4, l2=.01, epochs=12, workers=n).fit(u, i, y) for n in (1, 2))
        self.assertLess(abs(two.history[-1]["train_loss"] / one.history[-1]["train_loss"] - 1), .25)
        self.assertLess(two.history[-1]["test_rmse"], .5 * y.std())

    def test_misuse(self):
        fit = hogwild.Factorization(2).fit
        refused(self, "rating 1 is not a finite number", lambda: fit([1, 2], [1, 2], [1, float("nan")]))
        refused(self, "2 users, 1 items and ratings of shape", lambda: fit([1, 2], [1], [1, 2]))
        refused(self, "users lacks an id", lambda: fit(["a", None], [1, 2], [1, 2]))
        refused(self, "items lacks an id", lambda: fit([1, 2], [1, float("nan")], [1, 2]))
        mf = hogwild.Factorization(2, workers=1).fit(["a", "b", "a"], [7, 8, 9], [1, 2, 3])
        refused(self, "unknown user 'c'", lambda: mf.recommend("c"))
        refused(self, "unknown item 5", lambda: mf.predict(["a"], [5]))
        refused(self, "1 users and 2 items", lambda: mf.predict(["a"], [7, 8]))


if __name__ == "__main__":
    unittest.main()
