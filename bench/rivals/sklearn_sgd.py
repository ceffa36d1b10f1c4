"""scikit-learn's SGDClassifier on sparse rows: logistic loss, float32, one core, one
example a step, no regularization.

    sklearn_sgd.py TRAIN TEST --lr X --epochs N [--schedule falling|constant] [--seed N]

TRAIN and TEST are LIBSVM files that sparse.c has read (it keeps FILE.csr beside them). The
rate of step t is 5 lr / t^0.25, or constant: a cosine schedule would need one call per pass, which is a
third slower and reaches the same loss. Prints one line of JSON; seconds are those of fit, which
shuffles the rows in each pass, in equal shares. The losses after half and a quarter of the
passes are those of shorter fits, which take the same steps.
"""

import os
import time

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

import rows


def main():
    a = rows.arguments(__doc__)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    y, ptr, idx, val, d = rows.read(a.train)
    x = csr_matrix((val, idx.astype(np.int32), ptr.astype(np.int32)), (len(y), d))
    test, found = rows.read(a.test), []
    rate = {"learning_rate": "constant", "eta0": a.lr} if a.schedule == "constant" else {"learning_rate": "invscaling", "eta0": 5 * a.lr, "power_t": 0.25}
    for passes in range(1, a.epochs + 1):
        if passes not in (a.epochs, a.epochs // 2, a.epochs // 4):
            found.append((None, None))
            continue
        model = SGDClassifier(loss="log_loss", penalty=None, max_iter=passes, tol=None, random_state=a.seed, **rate)
        began = time.perf_counter()
        model.fit(x, y)
        seconds = time.perf_counter() - began
        found.append(rows.reached(rows.scores(model.coef_[0], model.intercept_[0], test), test[0]))
    rows.report(a, len(y), seconds, found, sklearn.__version__)


if __name__ == "__main__":
    main()
