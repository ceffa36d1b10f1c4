"""What pandas, or for text plain Python, counts in each file of a list: JSON, by the name of what is counted."""
import gzip, json, re, sys
import pandas as pd

MISSING = ["?", r"\N"]  # beside pandas' own


def opened(path):
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")


def column(values, name):
    """A number's mean and holes, or for each text its share of the others, and the holes."""
    holes, values = int(values.isna().sum()), values.dropna()
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return {name: [float(values.astype(float).mean()), holes]}
    return {f"{name}={text}": [n / len(values), holes] for text, n in values.astype(str).value_counts().items()}


def frame(path, args):
    d = pd.read_csv(path, na_values=MISSING, **args)
    d.columns = [str(i + 1) for i in range(d.shape[1])] if args.get("header", 0) is None else d.columns
    return d.dropna(axis=1, how="all")  # of a separator at the end of rows


def table(path, args, target):
    d = frame(path, args)
    d = d[d[target].notna()]
    counts = {"rows": [len(d), 0]}
    for name in d.columns:
        counts |= column(d[name], name)
    return counts


def ratings(path, args, target):
    d = frame(path, args)
    u, i, v = (d[c] for c in target.split(" "))
    return {"rows": [len(d), 0], "users": [u.nunique(), 0], "items": [i.nunique(), 0],
            "pairs": [len(d[[u.name, i.name]].drop_duplicates()), 0], "mean": [float(v.mean()), 0],
            "square": [float((v * v).mean()), 0]}


def edges(path, args, target):
    d = frame(path, args)
    names = target.split(" ")
    weights = d[names[2]] if len(names) > 2 else pd.Series([1.0])
    return {"rows": [len(d), 0], "nodes": [pd.concat([d[c].astype(str) for c in names[:2]]).nunique(), 0],
            "mean": [float(weights.mean()), 0]}


def words(path, args, target):
    tokens = opened(path).read().decode("utf-8-sig").split()
    return {"rows": [len(tokens), 0], "words": [len(set(tokens)), 0]}


def counted(lines):
    """fastText's lines: lines with labels, labels, and words, which lines without labels have too."""
    rows, labels, tokens = 0, set(), {"</s>"}
    for line in lines:
        cells = [w for w in re.split(r"[ \t\n\v\f\r\0]", line) if w]
        of = [w for w in cells if w.startswith("__label__")]
        rows += len(of) > 0
        labels |= set(of)
        tokens |= set(cells) - set(of)
    return {"rows": [rows, 0], "labels": [len(labels), 0], "words": [len(tokens), 0]}


def labels(path, args, target):
    return counted(opened(path).read().decode("utf-8-sig").replace("\r\n", "\n").split("\n"))


def labelled(path, args, target):
    d = frame(path, args)
    d = d[d[target].notna()]
    others = [c for c in d.columns if c != target]
    lines = (" ".join(["__label__" + str(row[target])] + [str(row[c]) for c in others]) for _, row in d.iterrows())
    return counted(lines)


json.dump([globals()[f["Kind"]](f["Path"], f["Args"], f["Target"]) for f in json.load(open(sys.argv[1]))], sys.stdout)
