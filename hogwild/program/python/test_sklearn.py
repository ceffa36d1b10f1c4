"""Tests of the estimators with the program that HOGWILD_BINARY names: TestPythonEstimators of cmd/hogwild runs them.

HOGWILD_BINARY=../../../bin/hogwild python3 -m unittest test_sklearn"""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import numpy as np
import scipy.sparse as sp

if os.environ.get("HOGWILD_BINARY"):
    from sklearn.base import clone
    from sklearn.datasets import load_iris, make_classification, make_regression
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.estimator_checks import check_estimator

    import hogwild
    from hogwild.sklearn import HogwildClassifier, HogwildRegressor

# SGD takes rows in an order of its own, so that neither twice the weight nor twice the row has the same bits; as in
# scikit-learn's own list for SGDClassifier.
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "rows are taken in a random order",
            "check_sample_weight_equivalence_on_sparse_data": "rows are taken in a random order"}


def sparse_set(n=600, d=80, seed=0):
    """Rows of some ten values, and their classes by a plane with noise and an offset."""
    random = np.random.RandomState(seed)
    X = sp.random(n, d, density=.1, format="csr", random_state=random)
    z = X @ random.randn(d) * 3 + .5 * random.randn(n) + 1
    return X, np.where(z > 0, "yes", "no")


def objective(coef, intercept, X, positive, alpha, weight=1):
    """F: the mean logistic loss, and the penalty of scikit-learn, which leaves out the intercept."""
    z = np.where(positive, 1, -1) * (X @ np.ravel(coef) + intercept)
    return (weight * np.logaddexp(0, -z)).mean() + alpha / 2 * np.sum(np.square(coef))


@unittest.skipUnless(os.environ.get("HOGWILD_BINARY"), "needs the program: HOGWILD_BINARY")
class Estimators(unittest.TestCase):
    def checked(self, estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(estimator, expected_failed_checks=EXPECTED, on_fail=None)
        failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
        self.assertEqual(failed, [])
        # with what was expected to fail and does not named too
        self.assertLessEqual({r["check_name"] for r in results if r["status"] == "xfail"}, set(EXPECTED))
        self.assertGreater(sum(r["status"] == "passed" for r in results), 45)

    def test_scikit_learn_checks_the_classifier(self):
        self.checked(HogwildClassifier())

    def test_scikit_learn_checks_the_regressor(self):
        self.checked(HogwildRegressor())

    def test_scikit_learn_checks_the_perceptron(self):
        self.checked(HogwildClassifier(hidden=(16,)))

    def test_rows_are_written_or_copied_alike(self):
        X, y = sparse_set()
        for rows in (X, X.toarray(), np.asfortranarray(X.toarray()), X.toarray().astype("f4")):
            fits = []
            for cores in (0, 1 << 20):
                with unittest.mock.patch("hogwild._session.WRITERS", cores):
                    fits.append(HogwildClassifier(random_state=0).fit(rows, y, np.arange(1, 601)))
            np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)

    def test_grid_search_of_a_pipeline(self):
        words = "red blue green fast slow big small old new odd".split()
        random = np.random.RandomState(0)
        texts = [" ".join(random.choice(words, 6)) for _ in range(300)]
        labels = ["colour" if "red" in text or "blue" in text else "none" for text in texts]
        search = GridSearchCV(make_pipeline(TfidfVectorizer(), HogwildClassifier(random_state=0)),
                              {"hogwildclassifier__alpha": [1e-1, 1e-4]}, n_jobs=2, cv=3).fit(texts, labels)
        self.assertGreater(search.score(texts, labels), .95)
        self.assertEqual(search.best_params_["hogwildclassifier__alpha"], 1e-4)

    def test_dual_reaches_the_optimum_of_logistic_regression(self):
        X, y = sparse_set()
        for alpha, within in ((1 / len(y), 1e-3), (1e-2, 1e-3), (1e-1, 2e-3)):  # where the intercept's penalty costs more
            ours = HogwildClassifier(alpha=alpha, tol=1e-4, random_state=0, n_jobs=2).fit(X, y)
            best = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=10000).fit(X, y)
            f = objective(ours.coef_, ours.intercept_, X, y == "yes", alpha)
            optimum = objective(best.coef_, best.intercept_, X, y == "yes", alpha)
            self.assertLess(f, optimum * (1 + within), f"alpha {alpha}")
            self.assertEqual(ours.result_["stopped"], "target gap 0.0001")

    def test_a_gap_that_is_missed_warns(self):
        X, y = sparse_set()
        with self.assertWarnsRegex(ConvergenceWarning, "after 2 epochs"):
            HogwildClassifier(alpha=1e-6, tol=1e-9, max_iter=2, random_state=0).fit(X, y)

    def test_a_regression_is_that_of_ridge(self):
        X, y = make_regression(400, 12, noise=3, bias=40, effective_rank=4, random_state=0)
        ours = HogwildRegressor(alpha=0, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), Ridge(alpha=0).fit(X, y).predict(X), rtol=1e-3, atol=1e-2)

    def test_inputs_of_any_layout_are_equal(self):
        X, y = load_iris(return_X_y=True)
        X = np.ascontiguousarray(X.astype(np.float16), dtype=np.float64)  # so that all types have these numbers
        fit = lambda X: HogwildClassifier(random_state=3, max_iter=5).fit(X, y)
        plain = fit(X)
        wide, frozen = np.zeros((2 * len(X), 2 * X.shape[1])), X.copy()
        wide[::2, ::2], frozen.flags.writeable = X, False
        for name, other in {"float32": X.astype(np.float32), "float16": X.astype(np.float16), "Fortran": np.asfortranarray(X),
                            "strided": wide[::2, ::2], "read-only": frozen, "backwards": X[::-1].copy()[::-1]}.items():
            np.testing.assert_array_equal(fit(other).coef_, plain.coef_, name)
            np.testing.assert_allclose(plain.predict_proba(other), plain.predict_proba(X), rtol=1e-12, err_msg=name)

    def test_sparse_inputs_of_any_layout_are_equal(self):
        X, y = sparse_set()
        fit = lambda X: HogwildClassifier(random_state=3, tol=1e-2).fit(X, y)
        plain = fit(X)
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        turned = X.copy()  # each row from its end
        for begin, end in zip(X.indptr[:-1], X.indptr[1:]):
            turned.indices[begin:end], turned.data[begin:end] = X.indices[begin:end][::-1], X.data[begin:end][::-1]
        turned.has_sorted_indices = turned.has_canonical_format = False
        twice = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)
        for name, other in {"int64": wide, "unsorted": turned, "duplicated": twice, "coo": X.tocoo(), "csc": X.tocsc(),
                            "array": sp.csr_array(X)}.items():
            np.testing.assert_array_equal(fit(other).coef_, plain.coef_, name)
        self.assertFalse(twice.has_canonical_format, "the caller's matrix stays as it was")

    def test_predicts_as_the_program_does(self):
        X, y = make_classification(300, 10, n_informative=6, n_classes=3, random_state=0)
        for hidden in ((), (12, 7)):
            run = hogwild.train(X, y, model="mlp:12,7" if hidden else "softmax", seed=5, workers=1, epochs=3)
            ours = HogwildClassifier(hidden=hidden, alpha=0, random_state=1)
            ours.classes_, ours.n_features_in_ = np.arange(3), 10
            ours._take(run)
            np.testing.assert_allclose(ours.predict_proba(X), run.predict_proba(X), rtol=1e-4, atol=1e-6)
        run = hogwild.train(X, 1000. * y, model="mlp:12", seed=5, workers=1, epochs=3)
        ours = HogwildRegressor(hidden=(12,))
        ours.n_features_in_ = 10
        ours._take(run)
        np.testing.assert_allclose(ours.predict(X), run.predict(X), rtol=1e-4, atol=1e-2)

    def test_repeats(self):
        X, y = load_iris(return_X_y=True)
        fit = lambda **settings: HogwildClassifier(max_iter=5, **settings).fit(X, y).coef_
        np.testing.assert_array_equal(fit(random_state=7), fit(random_state=7))
        np.testing.assert_array_equal(fit(random_state=7, mode="sync", n_jobs=2), fit(random_state=7, mode="sync", n_jobs=2))
        self.assertTrue((fit(random_state=7) != fit(random_state=8)).any())
        for settings, drifts in (({}, False), ({"n_jobs": 2}, True), ({"n_jobs": 2, "mode": "sync"}, False)):
            self.assertEqual(HogwildClassifier(**settings).__sklearn_tags__().non_deterministic, drifts)

    def test_pickles_into_a_process_without_the_program(self):
        X, y = load_iris(return_X_y=True)
        with tempfile.TemporaryDirectory() as empty:
            for fitted in (HogwildClassifier(random_state=0).fit(X, y), HogwildClassifier(hidden=8, random_state=0).fit(X, y),
                           HogwildRegressor(random_state=0).fit(X, y)):
                text = pickle.dumps(fitted)
                self.assertNotIn(b"/tmp", text)
                there = subprocess.run(
                    [sys.executable, "-c", "import pickle, sys; c, X = pickle.load(sys.stdin.buffer); "
                     "sys.stdout.buffer.write(pickle.dumps(c.predict(X)))"], input=pickle.dumps((fitted, X)), check=True,
                    stdout=subprocess.PIPE, env={**os.environ, "HOGWILD_BINARY": "/none", "PATH": empty}).stdout
                np.testing.assert_array_equal(pickle.loads(there), fitted.predict(X))
                self.assertEqual(clone(fitted).get_params(), fitted.get_params())

    def test_holds_out_rows_to_stop_early(self):
        X, y = make_classification(2000, 20, flip_y=.3, random_state=0)
        fitted = HogwildClassifier(hidden=32, early_stopping=True, max_iter=300, random_state=0).fit(X, y)
        self.assertLess(fitted.n_iter_, 300)
        self.assertIn("validation_loss", fitted.history_[0])
        self.assertEqual(fitted.result_["rows"]["train"], 1800)
        fitted = HogwildClassifier(max_iter=3, random_state=0).fit(X, y)
        self.assertEqual(fitted.result_["rows"]["train"], 2000)
        self.assertEqual([e["epoch"] for e in fitted.history_], [1, 2, 3])
        self.assertGreater(fitted.history_[0]["train_loss"], 0)
        self.assertIsNone(fitted.history_[0].get("test_loss"), "what no one has asked for is not measured")

    def test_begins_warm(self):
        X, y = load_iris(return_X_y=True)
        warm = HogwildClassifier(max_iter=40, warm_start=True, random_state=0)
        first = warm.fit(X, y).history_[0]["train_loss"]
        self.assertLess(warm.fit(X, y).history_[0]["train_loss"], .7 * first)

    def test_epochs_can_be_watched_and_ended(self):
        X, y = load_iris(return_X_y=True)
        seen = []
        HogwildClassifier(max_iter=1000, random_state=0, on_epoch=lambda e: seen.append(e) or len(seen) == 3).fit(X, y)
        self.assertEqual([e["epoch"] for e in seen], [1, 2, 3])

    def test_weights_of_rows_and_classes(self):
        X, y = sparse_set()
        for X in (X, X.toarray()):
            weight = np.where(y == "yes", 3., 1.)
            fit = lambda weight=None, **settings: HogwildClassifier(alpha=1e-2, tol=1e-5, random_state=0, **settings).fit(X, y, weight)
            best = LogisticRegression(C=1 / (1e-2 * len(y)), tol=1e-10, max_iter=10000).fit(X, y, weight)
            ours = fit(weight)
            np.testing.assert_array_equal(ours.coef_, fit(class_weight={"yes": 3, "no": 1}).coef_)
            if sp.issparse(X):
                f = [objective(c.coef_, c.intercept_, X, y == "yes", 1e-2, weight) for c in (ours, best)]
                self.assertLess(f[0], f[1] * 1.002)
            self.assertGreater(ours.decision_function(X).mean(), fit().decision_function(X).mean() + .3)

    def test_what_is_not_there_is_refused_with_a_substitute(self):
        X, y = load_iris(return_X_y=True)
        for settings, message in (({"loss": "modified_huber"}, "use 'squared_hinge'"), ({"loss": "huber"}, "HogwildRegressor"),
                                  ({"penalty": "l3"}, "use 'l2'"), ({"learning_rate": "optimal"}, "use None"),
                                  ({"solver": "dual"}, "csr_array"), ({"solver": "lbfgs"}, "use 'auto'"),
                                  ({"hidden": 8, "loss": "hinge"}, "use 'log_loss'"), ({"mode": "fast"}, "async")):
            with self.assertRaisesRegex(ValueError, message):
                HogwildClassifier(**settings).fit(X, y)
        with self.assertRaisesRegex(ValueError, "use 'absolute_error'"):
            HogwildRegressor(loss="epsilon_insensitive").fit(X, y)
        self.assertFalse(hasattr(HogwildClassifier(loss="hinge"), "predict_proba"))


if __name__ == "__main__":
    unittest.main()
