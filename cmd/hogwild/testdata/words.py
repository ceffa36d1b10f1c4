"""What gensim and fastText make of files that hogwild has written, as one line of JSON."""
import json
import sys

import fasttext
import numpy as np
from gensim.models import KeyedVectors
from safetensors.numpy import load_file

words, lines = sys.argv[1:3]
weights = load_file(words + "/weights.safetensors")["in.weight"]
counts = dict(line.rsplit(" ", 1) for line in open(words + "/words.txt", encoding="utf-8"))
names = list(counts)
out = {}
for kind in "bin", "vec":
    v = KeyedVectors.load_word2vec_format(f"{words}/weights.{kind}", fvocab=words + "/words.txt", binary=kind == "bin")
    assert all(v.get_vecattr(name, "count") == int(count) for name, count in counts.items()), kind
    out[kind] = v.index_to_key == names and np.array_equal(v.vectors.view(np.int32), weights.view(np.int32))
out["nearest"] = [[word, float(cosine)] for word, cosine in v.most_similar(names[3], topn=5)]
v.save_word2vec_format("gensim.bin", binary=True)

model = fasttext.load_model(lines + "/model.bin")
out["labels"], out["test"] = model.labels, model.test("lines.txt")
out["several"] = [model.test("several.txt", k=k) for k in (1, 2, 9)]
text = [line.rstrip("\n") for line in open("unlabelled.txt", encoding="utf-8")]
labels, p = model.predict(text, k=-1)
out["probabilities"] = [{l: float(x) for l, x in zip(ls, ps)} for ls, ps in zip(labels, p)]
print(json.dumps(out))
