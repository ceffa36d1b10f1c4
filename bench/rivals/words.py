"""Trains vectors of words and classifiers of text by hogwild, gensim and fastText, in turns, and prints words/s and quality.

    words.py FOLDER [--rounds N] [--seeds N] [--sides NAME,NAME] [--only speed|quality|lines] [--quick] [--out FILE]   # by the Python in build/rivals/v

FOLDER has corpus.txt, a sentence a line, and train.txt and test.txt, a line "__label__x words" each. A file that is not there is
not trained on. Questions (questions-words.txt, wordsim353.tsv) come from gensim's package.

Speed: every round trains each side once, one after the other. words/s are all words of the corpus times the passes, over the wall time
of training (of gensim: of train(), with the text in memory; of fastText: of its one call, which reads the text first; of hogwild: of the
passes). Beside it stand the words over the wall and the CPU time of whole processes, which start, read, train and write; those of Python
take two seconds or so to start.
Quality: every side takes the rate, of one grid, with which it answers most analogies (of the classifiers: with which it is
best on a tenth of the training lines) with a seed that is not used again; then come the seeds. The settings are the same: 100 numbers a word, window 5,
5 negatives, words that occur 5 times, sampling 1e-3, 5 passes.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HOGWILD = os.environ.get("HOGWILD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bin/hogwild")
RATES = {"words": [0.0125, 0.025, 0.05], "cbow": [0.025, 0.05, 0.1], "lines": [0.1, 0.25, 0.5, 1.0, 2.0]}
PER = {"words_per_second": "seconds", "words_per_second_whole": "whole", "words_per_cpu_second": "train_cpu", "words_per_cpu_second_whole": "cpu"}
FEW = ["--quiet", "--json", "--save-every", "0"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def version():
    out = json.loads(subprocess.run([HOGWILD, "version", "--json"], check=True, capture_output=True, text=True).stdout)
    return {key: value for key, value in out.items() if key != "gpu"}  # which may name folders of this machine


def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


# What is trained: functions of (file, workers, rate, seed, folder, more) that return seconds, cpu and what they have left.


def hogwild(path, workers, lr, seed, folder, *more):
    run, before = os.path.join(folder, "run"), cpu()
    begun = time.time()
    out = json.loads(subprocess.run([HOGWILD, "train", "--data", path, "--workers", str(workers), "--lr", str(lr), "--seed", str(seed), "--run", run, *FEW,
                                     *more], check=True, capture_output=True, text=True).stdout)
    return {"seconds": out["seconds"], "whole": time.time() - begun, "cpu": cpu() - before, "left": run, "loss": out.get("test_loss"),
            "accuracy": out.get("test_accuracy")}


def hogwild_words(*more):
    return lambda path, workers, lr, seed, folder: hogwild(path, workers, lr, seed, folder, "--model", "word2vec:100", "--epochs", "5", *more)


def python_side(kind, **settings):
    def train(path, workers, lr, seed, folder):
        job = {"kind": kind, "path": path, "workers": workers, "lr": lr, "seed": seed, "out": os.path.join(folder, "out.bin"), **settings}
        begun, before = time.time(), cpu()
        out = subprocess.run([sys.executable, os.path.abspath(__file__), "--job", json.dumps(job)], check=True, capture_output=True, text=True).stdout
        return {**json.loads(out.splitlines()[-1]), "whole": time.time() - begun, "cpu": cpu() - before}
    return train


def job(j):
    """A rival's part, in a process of its own."""
    if j["kind"] != "gensim":
        import fasttext
    if j["kind"] == "gensim":
        from gensim.models.word2vec import LineSentence, Word2Vec
        reads, epochs = j.get("reads", "list"), j.get("epochs", 5)  # threads.py has the text read in other ways
        text = {"corpus_file": j["path"]} if reads == "file" else {"corpus_iterable": LineSentence(j["path"]) if reads == "lines" else [
            line.split() for line in open(j["path"], encoding="utf-8")]}
        m = Word2Vec(vector_size=100, window=5, min_count=5, sample=1e-3, sg=j["sg"], negative=5, alpha=j["lr"], workers=j["workers"], seed=j["seed"], epochs=epochs)
        m.build_vocab(**text)
        begun, used = time.time(), time.process_time()
        m.train(**text, total_examples=m.corpus_count, total_words=m.corpus_total_words, epochs=epochs)
    elif j["kind"] == "fasttext words":
        fasttext.FastText.unsupervised_default["seed"] = j["seed"]  # the call does not take it
        begun, used = time.time(), time.process_time()
        m = fasttext.train_unsupervised(j["path"], model="skipgram", dim=100, ws=5, minCount=5, t=1e-3, neg=5, lr=j["lr"], thread=j["workers"], epoch=5,
                                        minn=0, maxn=0, bucket=0, verbose=0)
    else:
        begun, used = time.time(), time.process_time()
        m = fasttext.train_supervised(j["path"], dim=100, lr=j["lr"], epoch=5, wordNgrams=j["ngrams"], thread=j["workers"], minCount=1, seed=j["seed"], verbose=0)
    got = {"seconds": time.time() - begun, "train_cpu": time.process_time() - used, "left": j["out"]}
    if j["kind"] == "gensim":
        m.wv.save_word2vec_format(j["out"], binary=True)
    elif j["kind"] == "fasttext words":
        words = m.get_words()
        with open(j["out"], "wb") as f:
            f.write(f"{len(words)} 100\n".encode())
            for w in words:
                f.write(w.encode() + b" " + m.get_word_vector(w).astype("<f4").tobytes() + b"\n")
    else:
        got["accuracy"] = m.test(j["test"])[1]
    print(json.dumps(got))


def answers(vectors, questions):
    """Share of analogies, or Spearman's correlation of pairs, by gensim; vectors are a run's or in a .bin file."""
    from gensim.models import KeyedVectors
    if os.path.isdir(vectors):
        out = os.path.join(vectors, "v.bin")
        if not os.path.exists(out):
            subprocess.run([HOGWILD, "export", vectors, "--to", "bin", "--out", out], check=True, capture_output=True)
        vectors = out
    v = KeyedVectors.load_word2vec_format(vectors, binary=True)
    if questions.endswith(".tsv"):
        return float(v.evaluate_word_pairs(questions)[1][0])
    return v.evaluate_word_analogies(questions)[0]


WORDS = {"hogwild": (hogwild_words(), "words"), "hogwild, shared negatives": (hogwild_words("--share-negatives"), "words"),
         "gensim": (python_side("gensim", sg=1), "words"), "fastText": (python_side("fasttext words"), "words"),
         "hogwild, cbow": (hogwild_words("--cbow"), "cbow"), "gensim, cbow": (python_side("gensim", sg=0), "cbow")}


def as_file(result):
    """A result as the files in bench/results stand: a line for each key."""
    return "{" + ",".join(f"\n  {json.dumps(key)}: {json.dumps(value)}" for key, value in result.items()) + "\n}\n"


def spread(values):
    digits = ",.0f" if min(values) > 1e4 else ".4g"
    return f"{statistics.median(values):{digits}} ({min(values):{digits}} to {max(values):{digits}})"


def speed(path, result, rounds, workers, sides):
    words = 5 * sum(len(line.split()) for line in open(path, encoding="utf-8"))
    for _ in range(rounds):
        for side, (train, rates) in sides.items():
            for w in workers if side.startswith("hogwild") else [w for w in workers if w <= 2]:
                with tempfile.TemporaryDirectory() as folder:
                    got = train(path, w, RATES[rates][1], 1, folder)
                row = result["speed"].setdefault(f"{side}, {w} worker{'s' * (w > 1)}", {})
                for key, time_key in PER.items():
                    if time_key in got:
                        row.setdefault(key, []).append(words / got[time_key])
                say(f"    {side}, {w} workers: {words / got['seconds']:,.0f} words/s, {words / got['whole']:,.0f} in the whole process")
    for name, row in result["speed"].items():
        say(f"  {name}: " + ", ".join(f"{spread(values)} {key.replace('_', ' ')}" for key, values in row.items()))


def quality(path, result, seeds, questions, pairs, workers, sides):
    for side, (train, rates) in sides.items():
        def one(lr, seed, w):
            with tempfile.TemporaryDirectory() as folder:
                got = train(path, w, lr, seed, folder)
                row = {"wordsim": answers(got["left"], pairs), "analogies": answers(got["left"], questions), "loss": got.get("loss")}
            say(f"    {side}, {w} workers, lr {lr}, seed {seed}: WordSim-353 {row['wordsim']:.4f}, analogies {row['analogies']:.4f}")
            return row
        tried = {lr: one(lr, 100, 2) for lr in RATES[rates]}
        lr = max(tried, key=lambda lr: tried[lr]["analogies"])
        for w in workers if side == "hogwild" else [2]:
            row = [one(lr, 1 + s, w) for s in range(seeds)]
            result["quality"][f"{side}, {w} worker{'s' * (w > 1)}"] = {"lr": lr, "tried": {str(k): v for k, v in tried.items()}, "runs": row}
            loss = [r["loss"] for r in row if r["loss"] is not None]
            say(f"  {side}, {w} workers, lr {lr}: WordSim-353 {spread([r['wordsim'] for r in row])}, analogies {spread([r['analogies'] for r in row])}"
                + (f", loss {spread(loss)}" if loss else ""))


def classify(train, test, result, seeds, folder):
    lines = open(train, encoding="utf-8").readlines()
    random.Random(1).shuffle(lines)
    cut = len(lines) // 10
    for name, part in (("held", lines[:cut]), ("fit", lines[cut:])):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.writelines(part)
    held, fit = os.path.join(folder, "held"), os.path.join(folder, "fit")
    for ngrams in (1, 2):
        def by_hogwild(path, on, lr, seed, ngrams=ngrams):
            with tempfile.TemporaryDirectory() as where:
                return hogwild(path, 2, lr, seed, where, "--model", "text:100", "--test", on, "--epochs", "5", "--word-ngrams", str(ngrams))

        def by_fasttext(path, on, lr, seed, ngrams=ngrams):
            return python_side("fasttext lines", ngrams=ngrams, test=on)(path, 2, lr, seed, folder)

        for side, run in (("hogwild", by_hogwild), ("fastText", by_fasttext)):
            tried = {lr: run(fit, held, lr, 100)["accuracy"] for lr in RATES["lines"]}
            lr = max(tried, key=tried.get)
            rows = [run(train, test, lr, 1 + s) for s in range(seeds)]
            result["lines"][f"{side}, {ngrams}-grams"] = {"lr": lr, "tried": {str(k): v for k, v in tried.items()},
                                                          "accuracy": [r["accuracy"] for r in rows], "seconds": [r["seconds"] for r in rows], "cpu": [r["cpu"] for r in rows]}
            say(f"  {side}, {ngrams}-grams, lr {lr}: accuracy {spread([r['accuracy'] for r in rows])}, training {spread([r['seconds'] for r in rows])} s, "
                f"cpu {spread([r['cpu'] for r in rows])} s")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--quick", action="store_true", help="the first twentieth of the corpus, one round, two seeds")
    p.add_argument("--sides", default=",".join(s.replace(", ", " ") for s in WORDS), help="of the vectors, by their names without commas")
    p.add_argument("--only", choices=["speed", "quality", "lines"])
    p.add_argument("--out")
    p.add_argument("--job", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.job:
        return job(json.loads(o.job))
    import gensim
    data = os.path.join(os.path.dirname(gensim.__file__), "test/test_data")
    questions, pairs = os.path.join(data, "questions-words.txt"), os.path.join(data, "wordsim353.tsv")
    about = version()
    sides = {s: how for s, how in WORDS.items() if s.replace(", ", " ") in o.sides.split(",")}
    result = {"version": about, "gensim": gensim.__version__, "speed": {}, "quality": {}, "lines": {}}
    with tempfile.TemporaryDirectory() as folder:
        corpus, rounds, seeds = os.path.join(o.folder, "corpus.txt"), o.rounds, o.seeds
        if o.quick:
            rounds, seeds, whole, corpus = 1, 2, corpus, os.path.join(folder, "corpus.txt")
            lines = open(whole, encoding="utf-8").readlines()
            with open(corpus, "w", encoding="utf-8") as f:
                f.writelines(lines[:len(lines) // 20])
        steps = {"speed": lambda: speed(corpus, result, rounds, [1, 2, 16], sides), "quality": lambda: quality(corpus, result, seeds, questions, pairs, [1, 2, 8], sides),
                 "lines": lambda: classify(os.path.join(o.folder, "train.txt"), os.path.join(o.folder, "test.txt"), result, seeds, folder)}
        for name, step in steps.items():
            if (not o.only or name == o.only) and os.path.exists(os.path.join(o.folder, "train.txt" if name == "lines" else "corpus.txt")):
                say(name)
                step()
                if o.out:
                    with open(o.out, "w", encoding="utf-8") as f:
                        f.write(as_file(result))
    if not o.out:
        sys.stdout.write(as_file(result))


if __name__ == "__main__":
    main()
