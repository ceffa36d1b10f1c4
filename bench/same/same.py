#!/usr/bin/env python3
"""Does another build of hogwild do the same, to the bit?

    bench/same/same.py OLD NEW          compares two programs: make same OLD=COMMIT
    bench/same/same.py OLD --keep FILE  keeps what OLD does, to compare with later
    bench/same/same.py FILE NEW

It is for changes that are to change nothing. Both programs carry out the same commands: training of all families of models with
one worker, in sync and delayed mode, also resumed; then what users see: reports, config files, predictions, help, completion,
and the errors of cmd/hogwild/testdata/wrong.txt. What OLD does twice in the same way, NEW must do too; the rest (times, rates,
losses of racing workers) is compared with all numbers masked, or not at all if even then two runs of OLD differ.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WRONG = os.path.join(ROOT, "cmd", "hogwild", "testdata", "wrong.txt")
NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?[µnm]?")

SMALL = "--data digits:600 --seed 7"
# Training that repeats to the bit: the weights of each are compared.
EXACT = {
    "softmax": f"{SMALL} --workers 1 --epochs 3",
    "softmax-centred": f"{SMALL} --workers 1 --epochs 3 --center on",
    "softmax-held-out": f"{SMALL} --workers 1 --epochs 6 --validation 0.2 --patience 2",
    "mlp": f"{SMALL} --workers 1 --epochs 3 --model mlp:32",
    "mlp-deep": f"{SMALL} --workers 1 --epochs 2 --model mlp:32,16,16 --batch 7 --loss squared",
    "mlp-batch-1": f"{SMALL} --workers 1 --epochs 2 --model mlp:16 --batch 1 --l2 0.001",
    "mlp-momentum": f"{SMALL} --workers 1 --epochs 3 --model mlp:32 --optimizer momentum --schedule cosine",
    "mlp-adam": f"{SMALL} --workers 1 --epochs 3 --model mlp:32 --optimizer adam --lr 0.002",
    "mlp-adagrad": f"{SMALL} --workers 1 --epochs 3 --model mlp:32 --optimizer adagrad --lr 0.05 --schedule step",
    "convnet": f"{SMALL} --workers 1 --epochs 1 --model convnet",
    "conv": f"{SMALL} --workers 1 --epochs 1 --model conv:4x3,pool2,16 --batch 16",
    "logistic": "--data synth:sparse:2000x500x20 --workers 1 --epochs 3 --seed 7",
    "logistic-l1": "--data synth:sparse:2000x500x20 --workers 1 --epochs 3 --seed 7 --l1 0.0001",
    "hinge": "--data synth:rcv1:0.002 --model hinge --no-bias --workers 1 --epochs 2 --schedule exp --decay 0.9",
    "dense": "--data synth:dense:2000x30 --workers 1 --epochs 3 --scale unit",
    "linear": "--data synth:linear:2000x12 --workers 1 --epochs 3",
    "l1-loss": "--data synth:linear:2000x12 --model l1 --workers 1 --epochs 3",
    "linear-mlp": "--data synth:linear:2000x12 --model mlp:16,16 --workers 1 --epochs 4 --scale standard",
    "factor": "--data synth:lowrank:200x150x8000x5 --model factor:5 --workers 1 --epochs 4 --lr 0.05",
    "factor-biases": "--data synth:netflix:0.0002 --workers 1 --epochs 3",
    "cut": "--data synth:abdomen:0.0002 --model cut --workers 1 --epochs 2 --lr 0.02",
    "sync": f"{SMALL} --workers 2 --mode sync --epochs 3 --model mlp:32",
    "sync-steps": f"{SMALL} --workers 3 --mode sync --average-every 2 --epochs 2 --model mlp:16 --batch 8 --optimizer momentum",
    "sync-gradients": f"{SMALL} --workers 2 --mode sync --average gradients --epochs 2 --model mlp:16 --batch 16",
    "sync-sparse": "--data synth:sparse:2000x500x20 --workers 2 --mode sync --epochs 2",
    "delayed": f"{SMALL} --workers 1 --mode delayed:3 --epochs 3 --lr 0.1",
    "delayed-geometric": "--data synth:sparse:2000x500x20 --workers 1 --mode delayed:geometric:4 --epochs 2",
    "locked": f"{SMALL} --workers 1 --mode locked --epochs 2 --model mlp:16",
    "ordered": f"{SMALL} --workers 1 --mode ordered --epochs 2 --model mlp:16",
    "atomic": f"{SMALL} --workers 1 --mode atomic --epochs 2 --model mlp:16",
    "nodes": f"{SMALL} --workers 1 --nodes 2 --rounds 2 --mode sync --epochs 2 --model mlp:16",
    "rollback": f"{SMALL} --workers 1 --epochs 3 --lr 30 --lr-cap off --on-divergence rollback --model mlp:16",
    "diverged": "--data synth:linear:2000x12 --workers 1 --epochs 3 --lr 50 --lr-cap off",
    "target": f"{SMALL} --workers 1 --epochs 30 --target-accuracy 0.8",
}
# Continued from those, with one more epoch.
RESUMED = ["softmax-centred", "mlp-momentum", "mlp-adam", "logistic", "factor", "sync-steps", "delayed"]
# Then, in this order.
OTHERS = {
    "racing": f"train {SMALL} --workers 2 --epochs 2 --model mlp:16 --run racing --json",
    "progress": f"train {SMALL} --workers 1 --epochs 3 --run progress",
    "timing": f"train {SMALL} --workers 1 --epochs 1 --timing --run timing",
    "tune": "train --data synth:sparse:500x50x10 --workers 1 --epochs 2 --tune --run tune",
    "same-folder": f"train {SMALL} --workers 1 --epochs 3 --run progress",
    "eval": "eval softmax --data digits:100", "eval-json": "eval mlp --data digits:100 --json", "eval-own": "eval logistic",
    "predict": "predict softmax --data digits:50", "predict-probabilities": "predict mlp --data digits:50 --probabilities",
    "predict-values": "predict linear --data synth:linear:50x12", "predict-pairs": "predict factor --data pairs.csv",
    "predict-sparse": "predict logistic --data rows.libsvm", "predict-json": "predict softmax --data digits:20 --json",
    "runs": "runs .", "runs-json": "runs . --json",
    "report": "report softmax mlp --out page.html", "export": "export mlp --out mlp.onnx",
    "info": "data info digits", "info-rows": "data info rows.libsvm", "info-json": "data info pairs.csv --json",
    "make": "data make linear:20x3 made.csv", "convert": "data convert rows.libsvm --out rows.hog",
    "bench": "bench --data digits:300 --model mlp:8 --modes async,sync --workers 1,2 --epochs 1 --repeat 1 --same-lr --out b --json",
    "version": "version --json", "man": "man",
} | {f"help-{command.replace(' ', '-')}": f"{command} --help" for command in (
    "", "eval", "predict", "export", "runs", "top", "scale", "pause", "continue", "stop", "report", "bench", "sweep", "reproduce paper",
    "reproduce tutorial", "data", "data info", "data get", "data convert", "data make", "devices", "doctor", "completion", "man", "version")} | {
    "help-train": "train --help", "help-train-all": "help train all", "help-train-lr": "help train lr",
    "completion-bash": "completion bash", "completion-zsh": "completion zsh", "completion-fish": "completion fish",
} | {f"complete-{i}": f"complete -- {words}" for i, words in enumerate((
    "''", "tr", "train --", "train --mode ''", "train --mode sync --av", "train --optimizer ''", "data ''", "predict so", "report --"))}
INPUTS = {
    "rows.libsvm": "".join(f"{1 - 2 * (i % 2)} {1 + i % 7}:{i / 8} {9 + i % 11}:1 {40 + i}:0.5\n" for i in range(40)),
    "pairs.csv": "user,item,rating\n" + "".join(f"{i * 7 % 90},{i * 13 % 80},{i % 5 / 2}\n" for i in range(60)),
}


def wrong():
    """The rows of the table of errors, {name: command line}, and the files that they are about."""
    with open(WRONG) as f:
        table, *files = re.split(r"^-- (.+) --\n", f.read(), flags=re.M)
    rows = [line.split(" => ")[0].strip() for line in table.splitlines() if " => " in line and not line.startswith("#")]
    return {f"error: {row}": row for row in rows}, dict(zip(files[::2], files[1::2]))


def words_of(line):
    """A command line of Go's words, with settings of the environment in front."""
    words = [json.loads(w.replace(r"\x1b", r"\u001b")) if w.startswith('"') and r"\x" not in w.replace(r"\x1b", "") else w
             for w in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line)]
    env = {}
    while words and re.match(r"(HOGWILD|OMPI)_\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return words, env


class Program:
    """A build of hogwild in a folder of its own."""

    def __init__(self, path, folder):
        self.path, self.folder, self.did = os.path.abspath(path), folder, {}
        for name, text in INPUTS.items():
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def call(self, name, words, env={}):
        """Carries out a command; what it prints is what it did."""
        p = subprocess.run([self.path, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                           env=os.environ | {"PATH": "/nowhere", "HOME": self.folder, "NO_COLOR": "1"} | env)
        self.did[name] = {"status": str(p.returncode)} | {
            k: text.decode(errors="replace").replace(self.folder, "DIR").replace(self.path, "hogwild") for k, text in (("stdout", p.stdout), ("stderr", p.stderr))}

    def look(self, name, run):
        """Adds what stands in a run folder."""
        folder, did = os.path.join(self.folder, run), self.did[name]
        for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, file), "rb") as f:
                content = f.read()
            if file == "weights.safetensors":  # the header has settings and times
                header = int.from_bytes(content[:8], "little")
                did["weights"] = hashlib.sha256(content[8 + header:]).hexdigest()
                did["header"] = json.dumps(json.loads(content[8:8 + header]), indent=1)
            elif file.endswith((".yaml", ".jsonl", ".json")):
                did[file] = content.decode().replace(self.folder, "DIR")
            elif not file.startswith("events"):
                did["files"] = did.get("files", "") + file + "\n"

    def everything(self, say):
        for name, line in EXACT.items():
            self.call(name, ["train", *shlex.split(line), "--run", name, "--quiet", "--json"])
            self.look(name, name)
        for name in RESUMED:
            epochs = int(re.search(r"--epochs (\d+)", EXACT[name]).group(1)) + 1
            self.call(f"{name}, resumed", ["train", "--resume", name, "--epochs", str(epochs), "--quiet", "--json"])
            self.look(f"{name}, resumed", name)
        say("trained")
        for name, line in OTHERS.items():
            self.call(name, shlex.split(line))
        for run in ("racing", "progress"):
            self.look(run, run)
        rows, files = wrong()
        for name, text in files.items():
            self.write(name, text)
        for name, line in rows.items():
            self.call(name, *words_of(line))
        say("carried out all commands")
        return self.did


def lines(text):
    """Text as lines that can be compared: JSON with an item a line."""
    try:
        return json.dumps(json.loads(text), indent=1).splitlines()
    except ValueError:
        return text.splitlines()


def agreed(first, second):
    """Which lines the same program writes twice: as they are, with numbers masked, or not at all (None)."""
    a, b = lines(first), lines(second)
    if a == b:
        return a, False
    a, b = masked(a), masked(b)
    return (a, True) if a == b else (None, True)


def masked(text):
    return [NUMBER.sub("#", line) for line in text]


def compare(old, again, new, say):
    """Prints what differs, and returns how many things do."""
    differ = loose = unlike = 0
    for name, did in old.items():
        for part in sorted({*did, *new.get(name, {})}):
            want, mask = agreed(did.get(part, ""), again[name].get(part, ""))
            got = lines(new.get(name, {}).get(part, ""))
            loose += mask
            if want is None:
                unlike += 1
            elif want != (masked(got) if mask else got):
                differ += 1
                say(f"--- {name}: {part}")
                say("\n".join(list(difflib.unified_diff(want, masked(got) if mask else got, "old", "new", n=0, lineterm=""))[2:40]))
    say(f"{len(old)} commands: {differ} differences; {loose} parts compared without numbers or not at all ({unlike}), since OLD writes them differently each time")
    return differ


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("old", help="a program, or a file that --keep has written")
    p.add_argument("new", nargs="?", help="a program")
    p.add_argument("--keep", metavar="FILE", help="write what OLD does to FILE")
    o = p.parse_args()
    if bool(o.new) == bool(o.keep):
        p.error("give NEW, or --keep FILE")

    def did(path, what):
        with tempfile.TemporaryDirectory(prefix="hogwild-same-") as folder:
            return Program(path, folder).everything(lambda text: print(f"{what} has {text}", file=sys.stderr))

    if o.old.endswith(".json"):
        with open(o.old) as f:
            old, again = json.load(f)
    else:
        old, again = did(o.old, "OLD"), did(o.old, "OLD, again,")
    if o.keep:
        with open(o.keep, "w") as f:
            json.dump([old, again], f, indent=1)
        return
    sys.exit(1 if compare(old, again, did(o.new, "NEW"), print) else 0)


if __name__ == "__main__":
    main()
