"""ddp_before.py as a program of hogwild. The module, the data set, the loss and the optimizer are the
same. The sampler, DistributedDataParallel, the schedule, the test loop and the snapshots have gone:
the run deals out the examples, sets the rate, tests, saves and restarts.

    hogwild train --program 'python3 ddp.py' --workers 2 --epochs 10 --batch 32 --lr 0.002 --schedule cosine
    hogwild train --program 'python3 ddp.py' --workers 2 --epochs 10 --batch 32 --lr 0.002 --schedule cosine \
        --mode sync --average-every 1
"""

import argparse

import torch
from torch import nn

import hogwild
from tones import Amplitude, Tones

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=20000)
args = parser.parse_args()

model = Amplitude()
job = hogwild.join(model, dataset=Tones(args.rows), test=Tones(2000, seed=2))
optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.95))


@job.evaluate
def test(inputs, target):
    return nn.functional.l1_loss(model(*inputs), target)


for (wave, gains), target in job.batches():
    optimizer.param_groups[0]["lr"] = job.lr  # the run's rate, on its schedule
    optimizer.zero_grad()
    loss = nn.functional.l1_loss(model(wave, gains), target)
    loss.backward()
    optimizer.step()
    job.done(loss)
