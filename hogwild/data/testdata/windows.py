"""What gensim has of a text: words, counts, how often it keeps each, how many words it trains in a pass, and pairs."""
import json
import sys

import numpy as np
from gensim.models import Word2Vec

path, least, sample, window, passes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
lines = [line.split() for line in open(path, encoding="utf-8")]
m = Word2Vec(vector_size=4, window=window, min_count=least, sample=sample, sg=1, workers=1, epochs=1)
m.build_vocab(lines)
kept, _ = m.train(lines, total_examples=m.corpus_count, epochs=passes)
words = m.wv.index_to_key
keep = np.array([m.wv.get_vecattr(w, "sample_int") for w in words]) / (2**32 - 1)

# As word2vec_inner.pyx forms pairs: of the kept words, each has all within window - randint(window) on either side.
r, pairs, ids = np.random.default_rng(1), [], m.wv.key_to_index
for _ in range(passes):
    pairs.append(0)
    for line in lines:
        ran = [ids[w] for w in line if w in ids]
        n = int((r.random(len(ran)) <= keep[ran]).sum())
        reach, at = window - r.integers(window, size=n), np.arange(n)
        pairs[-1] += int((np.minimum(at, reach) + np.minimum(n - 1 - at, reach)).sum())
print(json.dumps({"words": words, "counts": [int(m.wv.get_vecattr(w, "count")) for w in words], "keep": keep.tolist(),
                  "kept": kept / passes, "pairs": float(np.mean(pairs)), "spread": float(np.std(pairs))}))
