"""What vectors of words have learnt, by gensim and by runs of hogwild, in float64, as one line of JSON.

    alike.py CORPUS HELD SIZE RATE PASSES MODE RUN...

gensim trains as many times as there are runs, each with another seed. Of each are told the root mean squares of the two tables and
the loss of fixed windows of the held-out lines, with fixed negatives.
"""
import json
import sys

import numpy as np
from gensim.models import Word2Vec
from safetensors.numpy import load_file

corpus, held, size, rate, passes, mode, *runs = sys.argv[1:]


def lines(path):
    return [line.split() for line in open(path, encoding="utf-8")]


def judge(words, inputs, outputs, windows):
    ids, a, b = {w: i for i, w in enumerate(words)}, inputs.astype(np.float64), outputs.astype(np.float64)
    total, softplus = 0.0, lambda x: np.logaddexp(0, x)
    for around, word, negatives in windows:
        rows = a[[ids[w] for w in around]]
        if mode == "cbow":
            rows = rows.mean(0, keepdims=True)
        total += (softplus(-rows @ b[ids[word]]).sum() + softplus(rows @ b[[ids[w] for w in negatives]].T).sum()) / len(rows)
    return {"loss": total / len(windows), "in": np.sqrt((a * a).mean()), "out": np.sqrt((b * b).mean())}


theirs, ours, windows, r = [], [], [], np.random.default_rng(1)
for seed, run in enumerate(runs, 1):
    m = Word2Vec(vector_size=int(size), window=5, min_count=5, sample=1e-3, sg=int(mode != "cbow"), negative=5, alpha=float(rate), min_alpha=0,
                 workers=1, seed=seed, epochs=int(passes), batch_words=500)  # jobs of so few words, because each has one rate
    text = lines(corpus)
    m.build_vocab(text)
    m.wv.vectors *= 0.5  # gensim begins with numbers up to 1/size, word2vec.c and hogwild with such up to half of that
    m.train(text, total_examples=m.corpus_count, epochs=int(passes))
    known = m.wv.index_to_key
    if not windows:
        share = np.array([m.wv.get_vecattr(w, "count") for w in known], np.float64) ** 0.75
        for line in lines(held):
            line = [w for w in line if w in m.wv.key_to_index]
            for i, word in enumerate(line):
                around = line[max(0, i - 3):i] + line[i + 1:i + 4]
                drawn = [known[j] for j in r.choice(len(known), 5, p=share / share.sum())]
                if around:
                    windows.append((around, word, [w for w in drawn if w != word]))
    theirs.append(judge(known, m.wv.vectors, m.syn1neg, windows))
    table = load_file(run + "/weights.safetensors")
    names = [line.rsplit(" ", 1)[0] for line in open(run + "/words.txt", encoding="utf-8")]
    ours.append(judge(names, table["in.weight"], table["out.weight"], windows))
print(json.dumps({"theirs": theirs, "ours": ours, "windows": len(windows)}))
