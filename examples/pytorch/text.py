"""A small transformer learns to write, character by character, sentences that a grammar generates. It has
a Dataset of its own, tied embeddings, and AdamW.

    hogwild train --program 'python3 text.py' --workers 2 --epochs 5 --batch 32 --lr 0.003 --schedule cosine --run runs/text
    python3 text.py --write runs/text/weights.safetensors     # a few sentences; needs the package safetensors

The test loss is in nats a character. The grammar's entropy, 0.29, is its lower limit.
"""

import argparse
import random
import re

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

# A word in capitals stands for one of its phrases, all equally likely.
GRAMMAR = {
    "SENTENCE": ["NOUN VERB NOUN. ", "NOUN VERB NOUN and NOUN VERB NOUN. ", "when NOUN VERB NOUN, NOUN VERB NOUN. "],
    "NOUN": ["the ADJECTIVE ANIMAL", "the ANIMAL", "a ADJECTIVE ANIMAL"],
    "ADJECTIVE": ["small", "red", "hungry", "sleepy", "clever"],
    "ANIMAL": ["fox", "owl", "horse", "mouse", "badger", "heron"],
    "VERB": ["sees", "follows", "finds", "calls", "hears"],
}
LETTERS = "\n ,.abcdefghijklmnopqrstuvwxyz"
LENGTH = 64


def sentence(r):
    text = "SENTENCE"
    while word := re.search("[A-Z]+", text):
        text = text[: word.start()] + r.choice(GRAMMAR[word.group()]) + text[word.end() :]
    return text


class Text(Dataset):
    """rows examples: the numbers of LENGTH characters, and those of the characters after them."""

    def __init__(self, rows, seed):
        r = random.Random(seed)
        self.text = torch.empty(rows, LENGTH + 1, dtype=torch.long)
        for row in self.text:
            text = "\n"
            while len(text) <= LENGTH:
                text += sentence(r)
            row[:] = torch.tensor([LETTERS.index(c) for c in text[: LENGTH + 1]])

    def __len__(self):
        return len(self.text)

    def __getitem__(self, i):
        return self.text[i, :-1], self.text[i, 1:]


class Transformer(nn.Module):
    def __init__(self, width=64, heads=4, layers=2):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), width)
        self.places = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, len(LETTERS), bias=False)
        self.head.weight = self.letters.weight  # tied: one tensor with two names
        nn.init.normal_(self.letters.weight, std=0.1)

    def forward(self, x):
        n = x.shape[1]
        h = self.letters(x) + self.places(torch.arange(n))
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        return self.head(self.layers(h, mask=mask, is_causal=True))


def loss_of(net, x, y):
    return F.cross_entropy(net(x).flatten(0, 1), y.flatten())


def train(rows):
    import hogwild  # before the module, because it seeds torch; and here, because only a run has it

    net = Transformer()
    job = hogwild.join(net, dataset=Text(rows, seed=1), test=Text(500, seed=2))
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=0.01)

    @job.evaluate
    def test(x, y):
        return loss_of(net, x, y)

    for x, y in job.batches():
        optimizer.param_groups[0]["lr"] = job.lr  # the run's rate, on its schedule
        optimizer.zero_grad()
        loss = loss_of(net, x, y)
        loss.backward()
        optimizer.step()
        job.done(loss)


@torch.no_grad()
def write(path, sentences=3):
    from safetensors import safe_open

    net = Transformer()
    with safe_open(path, "pt") as f:
        net.load_state_dict({name: f.get_tensor(name) for name in f.keys()})
    for _ in range(sentences):
        text = [LETTERS.index("\n")]
        while LETTERS[text[-1]] != "." and len(text) < LENGTH:
            odds = net(torch.tensor([text]))[0, -1].softmax(0)
            odds[0] = 0  # a line ends with its sentence
            text.append(torch.multinomial(odds, 1).item())
        print("".join(LETTERS[i] for i in text[1:]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    write(args.write) if args.write else train(args.rows)
