"""Compares hogwild's kge with PyKEEN on a knowledge graph: the tables of docs/results/graphs.md.

    python3 bench/rankings/graphs.py HOGWILD FOLDER [EPOCHS [NEGATIVES [SEEDS]]]

FOLDER has train.txt, valid.txt and test.txt. Both sides train ComplEx with 128 numbers a row, relations for both
directions, AdaGrad, and as many negatives and passes; PyKEEN with its softmax loss over the negatives, and each side with
a rate of its own, the best of three by the validation facts. Passes are timed alone, in seconds and processor seconds.
All weights are scored here, by the filtered rank of all test facts that have only known names, ties by their mean. Needs
numpy, torch and pykeen 1.11.1. (PyKEEN shares no negatives within a batch: it draws as many for each fact, half of them
heads.)
"""
import collections
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

K, WORKERS = 128, 2
RATES = {"hogwild": (0.1, 0.3, 1.0), "pykeen": (0.03, 0.1, 0.3)}


def read(folder, part):
    with open(os.path.join(folder, part + ".txt")) as f:
        return [line.rstrip("\n").split("\t") for line in f if line.strip()]


def numbers(train):
    """Numbers entities and relations as hogwild does: by falling count, and then as they come."""
    seen = [collections.Counter(), collections.Counter()]
    for fact in train:
        for i, name in enumerate(fact):
            seen[i % 2][name] += 1
    return [{name: i for i, (name, _) in enumerate(sorted(c.items(), key=lambda x: -x[1]))} for c in seen]


def ids(facts, entities, relations):
    return np.array([(entities[h], relations[r], entities[t]) for h, r, t in facts
                     if h in entities and t in entities and r in relations])


def mrr(entity, relation, facts, known):
    """Returns MRR and hits at 10 of complex rows; relation 2r asks for tails, and 2r + 1 for heads."""
    filtered = collections.defaultdict(set)
    for h, r, t in known:
        filtered[h, 2 * r].add(t)
        filtered[t, 2 * r + 1].add(h)
    ranks = []
    for h, r, t in facts:
        for node, rel, answer in ((h, 2 * r, t), (t, 2 * r + 1, h)):
            scores = ((entity[node] * relation[rel]) @ entity.conj().T).real
            own = scores[answer]
            scores[list(filtered[node, rel])] = -np.inf
            ranks.append(1 + (scores > own).sum() + 0.5 * (scores == own).sum())
    ranks = np.array(ranks)
    return (1 / ranks).mean(), (ranks <= 10).mean()


def tensors(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {name: np.frombuffer(body[t["data_offsets"][0]:t["data_offsets"][1]], "<f4").reshape(t["shape"])
            for name, t in head.items() if name != "__metadata__"}


def as_complex(rows):
    half = rows.shape[1] // 2
    return rows[:, :half] + 1j * rows[:, half:]


def hogwild(program, folder, rate, epochs, negatives, seed):
    with tempfile.TemporaryDirectory() as out:
        run = os.path.join(out, "run")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "train", "--data", folder, "--model", f"kge:complex:{K}", "--epochs", str(epochs),
                        "--negatives", str(negatives), "--lr", str(rate), "--seed", str(seed), "--workers", str(WORKERS),
                        "--run", run], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(os.path.join(run, "result.json")) as f:
            seconds = json.load(f)["seconds"]
        w = tensors(os.path.join(run, "weights.safetensors"))
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return as_complex(w["entity.weight"]), as_complex(w["relation.weight"]), seconds / epochs, used / epochs


def pykeen(train, n_entities, n_relations, rate, epochs, negatives, seed):
    import torch
    from pykeen.losses import CrossEntropyLoss
    from pykeen.models import ComplEx
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import CoreTriplesFactory

    torch.set_num_threads(WORKERS)
    torch.manual_seed(seed)
    facts = CoreTriplesFactory.create(torch.as_tensor(train), num_entities=n_entities, num_relations=n_relations,
                                      create_inverse_triples=True)
    model = ComplEx(triples_factory=facts, embedding_dim=K // 2, loss=CrossEntropyLoss(), random_seed=seed)
    loop = SLCWATrainingLoop(model=model, triples_factory=facts, negative_sampler="basic",
                             negative_sampler_kwargs={"num_negs_per_pos": negatives},
                             optimizer=torch.optim.Adagrad(model.parameters(), lr=rate))
    wall, used = time.time(), time.process_time()
    loop.train(triples_factory=facts, num_epochs=epochs, batch_size=256, use_tqdm=False, use_tqdm_batch=False,
               num_workers=0)
    wall, used = time.time() - wall, time.process_time() - used
    rows = [r(indices=None).detach().numpy() for r in (model.entity_representations[0], model.relation_representations[0])]
    return rows[0], rows[1], wall / epochs, used / epochs


def main(program, folder, epochs=20, negatives=64, seeds=3):
    train = read(folder, "train")
    entities, relations = numbers(train)
    sets = [ids(part, entities, relations) for part in (train, read(folder, "valid"), read(folder, "test"))]
    known = np.concatenate(sets)
    sides = {"hogwild": lambda rate, seed: hogwild(program, folder, rate, epochs, negatives, seed),
             "pykeen": lambda rate, seed: pykeen(sets[0], len(entities), len(relations), rate, epochs, negatives, seed)}
    for side, fit in sides.items():
        best = max(RATES[side], key=lambda rate: mrr(*fit(rate, 100)[:2], sets[1], known)[0])
        for seed in range(1, seeds + 1):
            entity, relation, wall, used = fit(best, seed)
            score, hits = mrr(entity, relation, sets[2], known)
            print(f"{side}: rate {best}, seed {seed}: MRR {score:.4f}, hits at 10 {hits:.4f}, a pass {wall:.2f} s, "
                  f"{used:.2f} processor seconds", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
