"""Tables: DataFrames as the program's table reader takes them, and batches of Arrow."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

import hogwild
from hogwild import _check

from ._arrays import host
from ._rows import Rows, encoded
from ._session import File, need


def is_table(X: Any) -> bool:
    """Whether X is a DataFrame, of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "write_csv"))


def numbers(frame: Any) -> Optional[Any]:
    """The columns of a DataFrame of pandas that has numbers without holes alone, as an array; None of another."""
    if not hasattr(frame, "iloc"):
        return None
    types = list(frame.dtypes)
    if not types or not all(isinstance(t, np.dtype) and t.kind in "fiub" for t in types):
        return None
    x = frame.to_numpy(dtype=np.result_type(*types))
    return None if np.isnan(x).any() else x


def csv(frame: Any) -> File:
    """A DataFrame as CSV: texts, holes and dates are the table reader's."""
    names = [str(c) for c in frame.columns]
    for name in names:
        _check(names.count(name) == 1, f"two columns are named {name}: rename one")
    _check(len(frame) and names, f"the DataFrame has the shape {tuple(frame.shape)}: there is nothing in it")
    _check(not any(getattr(t, "kind", "") == "c" for t in frame.dtypes),
           "the DataFrame has complex numbers: want real ones, texts or dates")
    file = File(name="the DataFrame")
    if hasattr(frame, "iloc"):
        with file.writer() as out:
            frame.to_csv(out, index=False)
    else:
        frame.write_csv(file.path)
    return file


def column(frame: Any, name: Any) -> Any:
    """A column of a DataFrame by its name. An error lists what is there."""
    _check(name in frame.columns, f"no column {name!r}; the columns are {', '.join(map(str, frame.columns))}")
    return frame[name]


def is_values(y: Any) -> bool:
    """Whether whole numbers are values, by the table reader's rule, rather than the numbers of classes."""
    labels = np.unique(y)
    counted = labels[0] in (0, 1) and labels[-1] - labels[0] == len(labels) - 1
    return len(y) < 3 * len(labels) or len(labels) > 20 and not counted


def taken_apart(X: Any, y: Any, test: Any, target: Any) -> Tuple[Any, Any, Any, Any]:
    """X, y, test and target of DataFrames: X and test[0] are arrays if they have numbers alone, else X and test are
    DataFrames that have the column target, and y is None."""
    given = [(X, y), test] if target is None else [None if part is None else _parted(part, target) for part in (X, test)]
    pairs = [pair for pair in given if pair is not None]
    arrays = [(numbers(x), np.asarray(host(v))) for x, v in pairs]
    if all(x is not None for x, _ in arrays) and not any(hasattr(v, "isna") and v.isna().any() for _, v in pairs):
        x, y = arrays[0]
        if target is not None and y.dtype.kind in "iu" and len(y) and is_values(y):
            y = y.astype("f8")
        return x, y, arrays[1] if test is not None else None, target
    if target is None:
        _check(hasattr(X, "assign"), "the DataFrame has texts or holes: have y as a column of it, and name that as target=")
        target = getattr(y, "name", None) or "target"
        X, test = (None if part is None else part[0].assign(**{target: np.asarray(host(part[1]))}) for part in ((X, y), test))
    return X, None, test, target


def _parted(frame: Any, target: Any) -> Tuple[Any, Any]:
    y = column(frame, target)
    return frame.drop(columns=[target]) if hasattr(frame, "iloc") else frame.drop(target), y


def by_name(frame: Any, names: Optional[List[str]]) -> Any:
    """The columns with these names, in their order."""
    if names is None or [str(c) for c in frame.columns] == names:
        return frame
    at = {str(c): c for c in frame.columns}
    missing = [name for name in names if name not in at]
    _check(not missing, f"the rows lack the columns {', '.join(missing[:5])}")
    return frame[[at[name] for name in names]]


def labels_of(names: Optional[List[str]], y: Any = None) -> Any:
    """The labels of classes by their names: as y has them, else whole numbers, truth values or texts; None of values."""
    if names is None:
        return None
    if y is not None:
        y = np.asarray(y)
        at = {text: v for v in dict.fromkeys(y.tolist()) for text in (str(v), str(v).lower() if v in (True, False) else str(v))}
        if all(name in at for name in names):
            return np.array([at[name] for name in names], None if y.dtype.kind == "O" else y.dtype)
    for kind in (int, float, {"True": True, "False": False, "true": True, "false": False}.__getitem__):
        try:
            labels = [kind(name) for name in names]
        except (ValueError, KeyError):
            continue
        if [str(label) for label in labels] in (names, [name.title() for name in names]):  # polars writes true
            return np.array(labels)
    return np.array(names)


Block = Tuple[Any, Any, Optional[List[str]]]  # X, y and the names of columns


def blocks(batches: Any, target: Any) -> Callable[[], Iterator[Block]]:
    """What gives the blocks of batches again and again. Of an iterator, which can be gone through once, they are kept."""
    if isinstance(batches, dict):  # as of Hugging Face
        raise hogwild.Error(f"the batches are of several sets, {', '.join(map(str, batches))}: give one of them")
    if is_table(batches):
        batches = [batches]
    if callable(batches):
        source = batches
    elif hasattr(batches, "to_batches"):  # a Table, or a Dataset of pyarrow
        source = batches.to_batches
    elif hasattr(batches, "with_format"):  # a Dataset of Hugging Face
        def source() -> Any:
            return batches.with_format("arrow").iter(batch_size=1 << 14)
    elif hasattr(batches, "__arrow_c_stream__") and not hasattr(batches, "__next__"):  # what DuckDB and polars have
        def source() -> Any:
            return need("pyarrow", "arrow").RecordBatchReader.from_stream(batches)
    elif iter(batches) is not batches:
        source = batches.__iter__
    else:
        kept = [_block(batch, target, True) for batch in batches]
        return lambda: iter(kept)
    return lambda: (_block(batch, target) for batch in source())


def _block(batch: Any, target: Any, keep: bool = False) -> Block:
    names: Optional[List[str]] = None
    _check(target is not None or isinstance(batch, tuple), "target is missing: the name of the column to be predicted")
    if isinstance(batch, tuple):
        X, y = batch
        y = np.asarray(host(y))
    elif is_table(batch):
        X, y = _parted(batch, target)
        names, X, y = [str(c) for c in X.columns], X.to_numpy(), np.asarray(y)
    else:
        _check(target in batch.schema.names, f"no column {target!r}; the columns are {', '.join(batch.schema.names)}")
        names = [name for name in batch.schema.names if name != target]
        y = _values(batch, target)
        X = np.empty((batch.num_rows, len(names)), "f4")
        for j, name in enumerate(names):
            values = _values(batch, name)
            _check(values.dtype.kind in "fiub", f"column {name!r} has the type {batch.schema.field(name).type}: want numbers "
                   "without holes; python -m hogwild.convert reads texts, dates and holes, too")
            X[:, j] = values
    X = Rows(X).X  # checks it; sparse rows are CSR then
    if keep:
        X = X.astype("f4")
    _check(y.shape == (X.shape[0],), f"a batch has {X.shape[0]} rows, and y of the shape {y.shape}")
    return X, y, names


def _values(batch: Any, name: str) -> Any:
    values = batch.column(name)
    return values.to_numpy() if hasattr(values, "num_chunks") else values.to_numpy(zero_copy_only=False)


def survey(source: Callable[[], Iterator[Block]]) -> Dict[str, Any]:
    """What is to be known of blocks before they are copied: of all but y nothing is kept."""
    ys, lengths, names, sparse, width = [], [], None, False, None
    for X, y, names in source():
        _check(width in (None, X.shape[1]), f"a batch has {X.shape[1]} columns, the ones before have {width}")
        width, sparse = X.shape[1], hasattr(X, "tocsr")
        ys.append(y)
        if sparse:
            lengths.append(np.diff(X.indptr))
    _check(ys, "there are no batches")
    y, labels = encoded(np.concatenate(ys))
    return {"n": len(y), "labels": labels, "d": width, "columns": names, "lengths": np.concatenate(lengths) if sparse else None}
