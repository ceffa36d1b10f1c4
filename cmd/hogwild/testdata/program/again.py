"""again.py WEIGHTS TEST-LOSS NORMAL SEED LR L2 EPOCHS ROWS... takes the steps of steps.py by hand, on the joint batches of
all workers, and prints by how much its weights differ from those of the run, and its test loss."""

import sys

import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

from model import Net, Rows

weights, test_loss, normal, seed, lr, l2, epochs, *files = sys.argv[1:]
torch.set_num_threads(1)
torch.manual_seed(int(seed))
net = Net(normal == "normal")
data, test = Rows(3200, 1), Rows(500, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=float(lr), weight_decay=float(l2))
steps = [[int(i) for line in lines for i in line.split()] for lines in zip(*(open(f).readlines() for f in files))]
assert sorted(i for rows in steps for i in rows) == sorted(int(epochs) * list(range(3200))), "each row once an epoch"
for rows in steps:
    optimizer.zero_grad()
    F.cross_entropy(net(data.x[rows]), data.y[rows]).backward()
    optimizer.step()

run = {name: torch.from_numpy(values) for name, values in load_file(weights).items()}
own = net.state_dict()
assert run.keys() == own.keys(), (run.keys(), own.keys())
assert all(run[name].dtype == own[name].dtype for name in own)
difference = max((run[name].double() - own[name].double()).abs().max().item() for name in own)

net.load_state_dict(run, strict=True)
net.eval()
with torch.no_grad():
    loss = F.cross_entropy(net(test.x), test.y).item()
print(len(steps), difference, abs(loss - float(test_loss)))
