"""Estimators of scikit-learn that the program hogwild trains: HogwildClassifier and HogwildRegressor.

Linear models, or with hidden=(128,) perceptrons. Settings have the names and meanings of SGDClassifier, and what is not
there is refused with a substitute. All rows are trained on; with early_stopping a share of them is held out. Predictions
are made by NumPy: a fitted estimator needs no program, and pickles.

Other than SGDClassifier: classes are told apart together (softmax), not one against the rest; dense columns are brought to
mean 0 and deviation 1 while they are copied (scale), which the penalty sees, and coef_ is in the units of X."""

from __future__ import annotations

import json
import warnings
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_is_fitted, validate_data

import hogwild

from ._arrays import host
from ._rows import Rows
from ._train import Run, _train

__all__ = ["HogwildClassifier", "HogwildRegressor"]

DUAL_EPOCHS = 1000  # at most, unless max_iter says: a pass over the rows takes far less than copying them


class _Hogwild(BaseEstimator):  # type: ignore[misc]
    """What the estimators have in common.

    alpha: of the penalty, as SGDClassifier's    max_iter: epochs; None: chosen from the data, or as many as tol takes
    tol: the duality gap, as a share of the objective, at which the dual solver ends; others do not look at it
    solver: dual (coordinate ascent: sparse rows, two classes, penalty l2), sgd, or auto: dual where it fits, and where
    a linear regression ends above its optimum, that    learning_rate, batch: None: from the curvature of the loss
    scale: auto, none, unit, standard    mode: async, sync, atomic, locked, ordered    n_jobs: worker processes
    early_stopping: ends after n_iter_no_change epochs without a better loss of a held-out validation_fraction
    warm_start: fit begins with the weights of the last one    on_epoch: called with the figures of each epoch; True ends

    n_iter_: epochs    history_: the figures of each    result_: the figures of the run
    coef_, intercept_, or of a perceptron coefs_, intercepts_: as the ones of MLPClassifier"""

    _losses: Dict[str, str]
    _others: Dict[str, str]
    intercept_: Any
    n_iter_: int

    def _set(self, given: Dict[str, Any]) -> None:
        self.__dict__.update((name, value) for name, value in given.items() if name != "self")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.mode != "sync" and effective_n_jobs(self.n_jobs) > 1
        return tags

    def _check(self) -> None:
        """Refuses what is not there."""
        for ok, what, substitute in (
                (self.loss in self._losses, "loss", self._others.get(self.loss, f"use {' or '.join(map(repr, self._losses))}")),
                (self.penalty in ("l2", "l1", "elasticnet", None), "penalty", "use 'l2', 'l1', 'elasticnet' or None"),
                (not isinstance(self.learning_rate, str), "learning_rate", "use None, from the curvature, or a number"),
                (self.solver in ("auto", "sgd", "dual"), "solver", "use 'auto', 'sgd' or 'dual'"),
                (not self.hidden or self.loss in ("log_loss", "squared_error"), "loss", "with hidden use 'log_loss', of values "
                 "'squared_error'"),
                (self.alpha >= 0, "alpha", "use 0 or more")):
            if not ok:
                raise ValueError(f"{what}={getattr(self, what)!r} is not there: {substitute}")

    def _dual(self, sparse: bool, classes: int) -> bool:
        """Whether the dual solver trains."""
        misfit = ("dense rows: use scipy.sparse.csr_array(X)" if not sparse else
                  f"{classes} classes" if classes != 2 else
                  f"penalty={self.penalty!r}" if self.penalty != "l2" else
                  "alpha=0" if self.alpha == 0 else
                  f"hidden={self.hidden!r}" if self.hidden else
                  f"mode={self.mode!r}" if self.mode not in ("async", "atomic") else
                  "early_stopping" if self.early_stopping else
                  "a learning_rate" if self.learning_rate is not None else
                  "a batch" if self.batch is not None else "")
        if self.solver == "dual" and misfit:
            raise ValueError(f"solver='dual' is for linear classifiers, and not for {misfit}; use solver='sgd'")
        return self.solver != "sgd" and not misfit

    def _settings(self, dual: bool, classes: int, seed: int) -> Dict[str, Any]:
        """The settings of hogwild train."""
        penalty = {"l2": {"l2": self.alpha}, "l1": {"l1": self.alpha}, None: {},
                   "elasticnet": {"l1": self.alpha * self.l1_ratio, "l2": self.alpha * (1 - self.l1_ratio)}}[self.penalty]
        model = self._losses[self.loss]
        if self.hidden:
            model = "mlp:" + ",".join(str(int(width)) for width in np.atleast_1d(self.hidden))
        elif model == "logistic" and classes > 2:
            model = "softmax"
        workers = effective_n_jobs(self.n_jobs)
        settings = {"model": model, "workers": workers, "seed": seed, "scale": self.scale,
                    "no_bias": None if self.fit_intercept else True, "epochs": self.max_iter,
                    **{name: value for name, value in penalty.items() if value > 0}}
        if dual:
            return {**settings, "solver": "dual", "epochs": self.max_iter or DUAL_EPOCHS, "target_gap": self.tol or None,
                    "mode": "atomic" if workers > 1 else "async"}
        return {**settings, "mode": self.mode, "lr": self.learning_rate, "batch": self.batch,
                "solver": "sgd" if self.solver == "sgd" and model == "linear" else None,
                "patience": self.n_iter_no_change if self.early_stopping else None}

    def _train(self, X: Any, y: Any, classes: Optional[List[str]], weight: Any) -> None:
        k = len(classes or [])
        seed = int(check_random_state(self.random_state).randint(1 << 31))
        dual = self._dual(hasattr(X, "tocsr"), k)
        settings = self._settings(dual, k, seed)
        test = None
        if self.early_stopping:
            kept, held = train_test_split(np.arange(len(y)), test_size=self.validation_fraction, random_state=seed,
                                          stratify=y if classes else None)
            test = Rows(X[held], y[held], classes=classes)
            X, y, weight = X[kept], y[kept], weight if weight is None else weight[kept]

        def said(epoch: Dict[str, Any]) -> Any:
            if self.verbose:
                print(f"epoch {epoch['epoch']}: training loss {epoch['train_loss']:.6g}")
            return self.on_epoch(epoch) if self.on_epoch is not None else None

        begin = getattr(self, "_weights", None) if self.warm_start and not dual else None
        try:
            run = _train(Rows(X, y, classes=classes, weight=weight, scale=settings.pop("scale"), seed=seed), None, None, test,
                         said if self.verbose or self.on_epoch is not None else None, False, settings,
                         scores=test is not None, begin=begin, take=self._take)
        except hogwild.Error:
            assert_all_finite(X, input_name="X")  # in scikit-learn's words
            raise
        if dual and self.fit_intercept and self.loss != "hinge":
            self.intercept_ = np.array([_intercept(safe_sparse_dot(X, self.coef_[0]), 2.0 * y - 1, self.intercept_[0],
                                                   self.loss, 1.0 if weight is None else weight)])
        if dual and "missed" in run.result:
            warnings.warn(f"{run.result['missed']} after {self.n_iter_} epochs: raise max_iter, tol or alpha",
                          ConvergenceWarning, stacklevel=3)
        elif "warning" in run.result:
            warnings.warn(run.result["warning"], ConvergenceWarning, stacklevel=3)

    def _take(self, run: Run) -> None:
        """Sets what a fitted estimator has."""
        layers = _layers(run)
        for name in ("coef_", "intercept_", "coefs_", "intercepts_", "_weights"):
            self.__dict__.pop(name, None)
        if self.hidden:
            self.coefs_, self.intercepts_ = [w for w, _ in layers], [b for _, b in layers]
        else:
            self.coef_, self.intercept_ = layers[0][0].T, layers[0][1]
        if self.warm_start:
            self._weights = run.weights
        self.history_ = run.history
        self.result_ = {name: value for name, value in run.result.items() if name not in ("history", "run", "per_worker")}
        self.n_iter_ = int(self.result_["epochs"])

    def _outputs(self, X: Any) -> Any:
        """The outputs of the model, n x k."""
        check_is_fitted(self)
        z = validate_data(self, host(X), accept_sparse="csr", reset=False)
        if not hasattr(self, "coefs_"):
            return safe_sparse_dot(z, np.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_
        for i, (w, b) in enumerate(zip(self.coefs_, self.intercepts_)):
            z = safe_sparse_dot(np.maximum(z, 0) if i > 0 else z, w, dense_output=True) + b
        return z


def _layers(run: Run) -> List[Tuple[Any, Any]]:
    """The weights of each layer, inputs x outputs, and its biases. The scaling of the inputs is part of the first."""
    data = json.loads(run.metadata["hogwild.data"])
    layers: List[Tuple[Any, Any]] = []
    for name in sorted((n for n in run.tensors if n.endswith(".weight")), key=lambda n: int(n.split(".")[0])):
        w = run.tensors[name].astype(np.float64).T
        b = run.tensors.get(name[:-len("weight")] + "bias", np.zeros(w.shape[1])).astype(np.float64)
        if not layers:
            mul, add = (np.broadcast_to(data.get(part, default), w.shape[0]) for part, default in (("mul", 1.0), ("add", 0.0)))
            w, b = w * mul[:, None], b + add @ w
        layers.append((np.ascontiguousarray(w), b))
    return layers


def _intercept(z: Any, y: Any, b: float, loss: str, weight: Any) -> float:
    """The intercept at which outputs z + b have the least loss, by Newton's method: the dual solver's is a weight of a
    feature that is always 1, under the penalty as all are, and scikit-learn's is not."""
    for _ in range(50):
        margin = y * (z + b)
        if loss == "log_loss":
            p = expit(-margin)
            slope, curvature = weight * y * p, weight * p * (1 - p)
        else:
            slope, curvature = weight * y * np.maximum(1 - margin, 0), weight * (margin < 1)
        step = np.clip(slope.sum() / max(curvature.sum(), 1e-12), -1, 1)
        b += step
        if abs(step) < 1e-9:
            break
    return float(b)


class HogwildClassifier(ClassifierMixin, _Hogwild):  # type: ignore[misc]
    __doc__ = f"""A classifier. loss: log_loss, hinge, squared_hinge    class_weight: a dict, or balanced
    classes_: in the order of the columns of predict_proba

    {_Hogwild.__doc__}"""

    _losses = {"log_loss": "logistic", "hinge": "hinge", "squared_hinge": "squared-hinge"}
    _others = {"modified_huber": "use 'squared_hinge'", "perceptron": "use 'hinge'",
               **dict.fromkeys(("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"),
                               "use HogwildRegressor")}

    def __init__(self, loss: str = "log_loss", *, penalty: Optional[str] = "l2", alpha: float = 1e-4, l1_ratio: float = 0.15,
                 fit_intercept: bool = True, max_iter: Optional[int] = None, tol: Optional[float] = 1e-3, hidden: Any = (),
                 solver: str = "auto", learning_rate: Optional[float] = None, batch: Optional[int] = None,
                 scale: str = "auto", mode: str = "async", n_jobs: Optional[int] = None, random_state: Any = None,
                 early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
                 class_weight: Any = None, warm_start: bool = False, verbose: int = 0, on_epoch: Any = None) -> None:
        self._set(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HogwildClassifier:
        """Trains on the rows of X, n x d numbers, dense or sparse, and their classes y. sample_weight: n, of the losses."""
        self._check()
        X, y = validate_data(self, host(X), host(y), accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"the data have one class only, {self.classes_[0]!r}: want two or more")
        weight = None if sample_weight is None else _check_sample_weight(host(sample_weight), X)
        if self.class_weight is not None:
            weight = compute_sample_weight(self.class_weight, y) * (1 if weight is None else weight)
        codes = y == self.classes_[1] if len(self.classes_) == 2 else np.searchsorted(self.classes_, y)
        self._train(X, codes.astype(np.float32), [str(i) for i in range(len(self.classes_))], weight)
        return self

    def decision_function(self, X: Any) -> Any:
        """The outputs of the model: n for two classes, else n x classes."""
        z = self._outputs(X)
        return z[:, 0] if z.shape[1] == 1 else z[:, 1] - z[:, 0] if len(self.classes_) == 2 else z

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        z = self.decision_function(X)
        return self.classes_[(z > 0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    @available_if(lambda self: self.loss == "log_loss")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, n x classes."""
        return np.exp(self.predict_log_proba(X))

    @available_if(lambda self: self.loss == "log_loss")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of predict_proba."""
        z = self.decision_function(X)
        return log_softmax(np.c_[np.zeros(len(z)), z] if z.ndim == 1 else z, axis=1)


class HogwildRegressor(RegressorMixin, _Hogwild):  # type: ignore[misc]
    __doc__ = f"""A regression. loss: squared_error, or absolute_error: epsilon_insensitive with epsilon 0

    {_Hogwild.__doc__}"""

    _losses = {"squared_error": "linear", "absolute_error": "l1"}
    _others = {"epsilon_insensitive": "use 'absolute_error', which has epsilon 0", "huber": "use 'absolute_error'",
               "squared_epsilon_insensitive": "use 'squared_error', which has epsilon 0"}

    def __init__(self, loss: str = "squared_error", *, penalty: Optional[str] = "l2", alpha: float = 1e-4,
                 l1_ratio: float = 0.15, fit_intercept: bool = True, max_iter: Optional[int] = None,
                 tol: Optional[float] = 1e-3, hidden: Any = (), solver: str = "auto", learning_rate: Optional[float] = None,
                 batch: Optional[int] = None, scale: str = "auto", mode: str = "async", n_jobs: Optional[int] = None,
                 random_state: Any = None, early_stopping: bool = False, validation_fraction: float = 0.1,
                 n_iter_no_change: int = 5, warm_start: bool = False, verbose: int = 0, on_epoch: Any = None) -> None:
        self._set(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HogwildRegressor:
        """Trains on the rows of X, n x d numbers, dense or sparse, and their values y. sample_weight: n, of the losses."""
        self._check()
        X, y = validate_data(self, host(X), host(y), accept_sparse="csr", dtype="numeric", ensure_all_finite=False, y_numeric=True)
        weight = None if sample_weight is None else _check_sample_weight(host(sample_weight), X)
        self._train(X, y.astype(np.float64, copy=False), None, weight)
        if not self.hidden:
            self.coef_ = self.coef_[0]
        return self

    def predict(self, X: Any) -> Any:
        """The value of each row."""
        return self._outputs(X)[:, 0]
