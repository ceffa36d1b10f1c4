"""Sparse rows in an EmbeddingBag with gradients that are sparse too."""

import torch.nn.functional as F
from torch import nn

import hogwild


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(100000, 2, mode="sum", sparse=True)
        nn.init.zeros_(self.words.weight)

    def forward(self, x):
        indices, values, offsets = x
        return self.words(indices, offsets, per_sample_weights=values)


net = Bag()
job = hogwild.join(net)


@job.evaluate
def test(x, y):
    out = net(x)
    return F.cross_entropy(out, y), {"accuracy": (out.argmax(1) == y).float().mean()}


for x, y in job.batches():
    loss = F.cross_entropy(net(x), y)
    net.zero_grad(set_to_none=True)
    loss.backward()
    job.step(loss)
