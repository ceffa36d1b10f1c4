"""Holds the weights of runs, and what hogwild export made of them, against PyTorch and ONNX Runtime.
Arguments: a JSON list of cases, and docs/runs.md, whose Python is run. Each case is a run folder
with predictions.csv, what hogwild predict says of the test rows (with --proba where the loss has probabilities),
and the loss that hogwild eval says."""

import collections
import csv
import gzip
import json
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn


def idx(path):
    raw = gzip.open(path).read()
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, -1, 4 + 4 * raw[3]).reshape(shape)


def inputs(path, meta):
    """The test rows as float32, as the file has them, and their labels as texts."""
    if path.endswith(".csv"):
        rows = list(csv.DictReader(open(path)))

        def cell(row, name):
            column, _, text = name.partition("=")
            return float(row[column] == text) if text else float(row[name])

        x = [[cell(row, name) for name in meta["columns"]] for row in rows]
        return np.array(x, np.float32), [row[meta["target"]] for row in rows]
    if path.endswith("/mnist"):
        x = idx(path + "/t10k-images-idx3-ubyte.gz").astype(np.float32)
        return x.reshape(len(x), -1), [str(y) for y in idx(path + "/t10k-labels-idx1-ubyte.gz")]
    lines = open(path).read().splitlines()
    x = np.zeros((len(lines), meta["features"]), np.float32)
    for i, line in enumerate(lines):
        for pair in line.split()[1:]:
            j, v = pair.split(":")
            x[i, int(j) - 1] = float(v)
    return x, [line.split()[0] for line in lines]


def network(model, tensors):
    """The module that a user writes to load weights.safetensors."""
    if model == "convnet":
        return nn.Sequential(collections.OrderedDict(
            conv1=nn.Conv2d(1, 10, 5), pool1=nn.MaxPool2d(2), relu1=nn.ReLU(),
            conv2=nn.Conv2d(10, 20, 5), drop=nn.Dropout2d(), pool2=nn.MaxPool2d(2), relu2=nn.ReLU(),
            flat=nn.Flatten(), fc1=nn.Linear(320, 50), relu3=nn.ReLU(), drop2=nn.Dropout(), fc2=nn.Linear(50, 10)))
    layers = []
    while f"{len(layers)}.weight" in tensors:
        out, width = tensors[f"{len(layers)}.weight"].shape
        layers += [nn.Linear(width, out, bias=f"{len(layers)}.bias" in tensors), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def loss_of(kind, z, y):
    z = z.astype(float)
    if kind == "cross-entropy":
        top = z.max(1, keepdims=True)
        return (np.log(np.exp(z - top).sum(1)) + top[:, 0] - z[np.arange(len(z)), y]).mean()
    if kind in ("squared", "l1"):
        return (abs(z[:, 0] - y) ** (2 if kind == "squared" else 1)).mean()
    t = np.where(y[:, None] == (np.arange(z.shape[1]) if z.shape[1] > 1 else [1]), 1, -1)
    return (np.logaddexp(0, -t * z) if kind == "logistic" else np.maximum(0, 1 - t * z)).sum(1).mean()


def near(what, got, want, scale=1.0):
    got, want = np.asarray(got, float), np.asarray(want, float)
    worst = (abs(got - want) / (scale * (1 + abs(want)))).max()
    assert got.shape == want.shape and worst < 1e-5, f"{what} {got.shape} differ from {want.shape} by {worst:.3g}"


def same_label(what, got, want, z):
    """Classes may differ only where two logits are as good as equal."""
    top = np.sort(z, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4 if z.shape[1] > 1 else abs(z[:, 0]) > 1e-4
    wrong = [(i, g, w) for i, (g, w) in enumerate(zip(got, want)) if g != w and clear[i]]
    assert not wrong, f"{what}: {len(wrong)} labels differ, e.g. {wrong[0]}"


def onnx_outputs(path, x):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    declared = session.get_inputs()[0].shape
    assert declared[0] == "batch", declared
    x = x.reshape(-1, *declared[1:])
    one = session.run(names, {"input": x[:1]})
    all_rows = dict(zip(names, session.run(names, {"input": x})))
    for name, value in zip(names, one):
        near("ONNX of one row: " + name, value, all_rows[name][:1])
    return all_rows, session.get_modelmeta().custom_metadata_map


def check(case):
    folder = case["folder"]
    path = folder + "/weights.safetensors"
    with safe_open(path, "np") as f:
        meta = json.loads(f.metadata()["hogwild.data"])
    x, labels = inputs(case["data"], meta)
    classes, kind = meta.get("classes"), case["kind"]
    if classes == ["-1", "1"]:
        labels = [s.lstrip("+") for s in labels]
    y = np.array([classes.index(s) if classes else float(s) for s in labels])

    # PyTorch
    tensors = load_file(path)
    net = network(case["model"], tensors)
    net.load_state_dict(tensors, strict=True)
    net.eval()
    scaled = x * np.float32(meta.get("mul") or [1]) + np.float32(meta.get("add") or [0])
    with torch.no_grad():
        z = net(torch.from_numpy(scaled).reshape(-1, *([1, 28, 28] if case["model"] == "convnet" else [x.shape[1]]))).numpy()

    # hogwild
    near("the loss of PyTorch's outputs and of hogwild eval", loss_of(kind, z, y), case["loss"])
    proba, said = None, None
    with open(folder + "/predictions.csv", newline="") as f:
        rows = list(csv.reader(f))[1:]
    if kind in ("cross-entropy", "logistic"):
        proba = np.array([row[1:] for row in rows], np.float32)
        said = [row[0] for row in rows]
        want = torch.tensor(z).softmax(1).numpy()
        if kind == "logistic":
            p = torch.tensor(z).sigmoid().numpy()
            want = np.concatenate([1 - p, p], 1) if p.shape[1] == 1 else p / p.sum(1, keepdims=True)
        near("probabilities", proba, want)
        if kind == "cross-entropy":  # their logarithms are the logits, but for a constant a row
            likely = proba > 1e-3
            logits = np.log(np.where(likely, proba, 1.0))
            near("logits", logits[likely], torch.tensor(z).log_softmax(1).numpy()[likely])
    elif classes:
        said = [row[0] for row in rows]
    else:
        near("predictions", [float(row[0]) for row in rows], z[:, 0])
    if classes:
        best = z.argmax(1) if z.shape[1] > 1 else (z[:, 0] > 0).astype(int)
        same_label("hogwild predict", said, [classes[b] for b in best], z)

    # ONNX Runtime
    got, notes = onnx_outputs(folder + "/weights.onnx", x)
    if classes:
        near("ONNX: logits", got["logits"], z)
        assert json.loads(notes["classes"]) == classes, notes
        same_label("ONNX", [classes[k] for k in got["label"]], said, z)
        assert ("probabilities" in got) == (proba is not None), list(got)
        if proba is not None:
            near("ONNX: probabilities", got["probabilities"], proba)
    else:
        near("ONNX: value", got["value"], z)
    assert json.loads(notes.get("columns", "null")) == meta.get("columns"), notes


def snippets(page):
    """Runs the Python of the page's section on other programs, block after block, where runs/export is."""
    names = {}
    section = open(page).read().split("\n## Weights for other programs\n")[1]
    for block in section.split("```python\n")[1:]:
        exec(block.split("```")[0], names)
    assert (len(names["users"]), len(names["vectors"])) == (40, 50)
    convnet = {name: list(t.shape) for name, t in names["convnet"].state_dict().items()}
    assert convnet == {name: list(t.shape) for name, t in network("convnet", {}).state_dict().items()}, convnet


for c in json.loads(sys.argv[1]):
    try:
        check(c)
    except Exception as e:
        raise SystemExit(f"{c['folder']}: {type(e).__name__}: {e}")
sys.stdout = sys.stderr
snippets(sys.argv[2])
sys.stdout = sys.__stdout__
print("same")
