"""Trains vectors of words by gensim and by hogwild with 1, 2, 4 and 8 threads or workers, in turns, and prints words/s, the cores
in use and a score of the vectors.

    threads.py [--text FILE] [--out FILE]
    threads.py [--text FILE] [--workers 1,2,4,8] [--passes N] [--rounds N] [--words N] [--skip-gram] [--out FILE]

The text is FILE, a sentence a line, or else the dictionary of Debian's package dict-gcide (apt-get install dict-gcide), of which each
paragraph is a line of lower-case words. gensim gets it in three ways: LineSentence(FILE), a list in memory, and corpus_file=FILE.
words/s are the words of the text times the passes over the wall time of training (words.py says what that is), and beside them
stand those over the wall and the processor time of the whole process. Cores are the processor time of gensim's train() over its wall time. The score is Spearman's
correlation on WordSim-353. Settings are those of words.py. CBOW is gensim's default; --skip-gram is the other.
"""

import argparse
import gzip
import os
import re
import statistics
import sys
import tempfile

import words
from words import say

GCIDE = os.environ.get("GCIDE") or "/usr/share/dictd/gcide.dict.dz"
SIDES = {"gensim, LineSentence": "lines", "gensim, list": "list", "gensim, corpus_file": "file", "hogwild": None}


def dictionary():
    """Paragraphs of GCIDE, but for the marks of their sources."""
    text = gzip.open(GCIDE, "rt", encoding="utf-8", errors="replace").read()
    for paragraph in re.split(r"\n\s*\n", re.sub(r"\[[^][]*\]", "\n\n", text)):
        line = re.findall(r"[a-z]+", re.sub(r"\\[^\\\n]*\\", " ", paragraph).lower())
        if len(line) > 2:
            yield line


def write(o, path):
    """The text of the options: its words, and words a line."""
    lines = (line.split() for line in open(o.text, encoding="utf-8")) if o.text else dictionary()
    count = rows = 0
    with open(path, "w", encoding="utf-8") as f:
        for line in lines:
            f.write(" ".join(line) + "\n")
            count, rows = count + len(line), rows + 1
            if o.words and count >= o.words:
                break
    return count, count / max(1, rows)


def train(o, side, path, workers, folder):
    lr = words.RATES["words" if o.skip_gram else "cbow"][1]
    if SIDES[side]:
        return words.python_side("gensim", sg=int(o.skip_gram), reads=SIDES[side], epochs=o.passes)(path, workers, lr, 1, folder)
    return words.hogwild(path, workers, lr, 1, folder, "--model", "word2vec:100", "--epochs", str(o.passes), *([] if o.skip_gram else ["--cbow"]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text")
    p.add_argument("--workers", default="1,2,4,8")
    p.add_argument("--passes", type=int, default=5)
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--words", type=int, default=0, help="the beginning of the text only")
    p.add_argument("--skip-gram", action="store_true")
    p.add_argument("--out")
    o = p.parse_args()
    import gensim
    pairs = os.path.join(os.path.dirname(gensim.__file__), "test/test_data/wordsim353.tsv")
    with tempfile.TemporaryDirectory() as folder:
        path, cases = os.path.join(folder, "text.txt"), {}
        count, mean = write(o, path)
        say(f"{count:,} words, {mean:.1f} a line, {o.passes} passes, {'skip-gram' if o.skip_gram else 'cbow'}")
        for _ in range(o.rounds):
            for workers in map(int, o.workers.split(",")):
                for side in SIDES:
                    with tempfile.TemporaryDirectory() as where:
                        got = train(o, side, path, workers, where)
                        row = {"words_per_second": count * o.passes / got["seconds"], "whole": count * o.passes / got["whole"],
                               "per_cpu_second": count * o.passes / got["cpu"], "wordsim": words.answers(got["left"], pairs)}
                    if "train_cpu" in got:
                        row["cores"] = got["train_cpu"] / got["seconds"]
                    for key, value in row.items():
                        cases.setdefault(f"{side}, {workers}", {}).setdefault(key, []).append(float(f"{value:.4g}"))
                    say(f"    {side}, {workers}: " + ", ".join(f"{value:,.4g} {key}" for key, value in row.items()))
    for name, row in cases.items():
        say(f"  {name}: " + ", ".join(f"{statistics.median(v):,.4g} {key}" for key, v in row.items()))
    result = {"version": words.version(), "gensim": gensim.__version__, "cores": os.cpu_count(), "text": "the user's" if o.text else "dict-gcide",
              "words": count, "words_per_line": round(mean, 1), "passes": o.passes, "model": "skip-gram" if o.skip_gram else "cbow", "speed": cases}
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(words.as_file(result))


if __name__ == "__main__":
    main()
