"""The network of mnist_before.py as a program of hogwild: the module, the loss and the optimizer are
the same. The files, the processes, the split of the rows, the test and the printing have gone.

    hogwild train --program 'python3 mnist.py' --data mnist/ --scale 0.1307,0.3081 --workers 2 --epochs 10
"""

import torch
import torch.nn.functional as F
from torch import nn

import hogwild


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.drop2d = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.drop = nn.Dropout()
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop2d(self.conv2(x)), 2))
        x = self.drop(F.relu(self.fc1(x.flatten(1))))
        return F.log_softmax(self.fc2(x), dim=1)


net = Net()
job = hogwild.join(net)  # the module's parameters are now in the weights that all workers share
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)


@job.evaluate
def test(x, y):
    out = net(x)
    return F.nll_loss(out, y), {"accuracy": (out.argmax(1) == y).float().mean()}


for x, y in job.batches():
    optimizer.zero_grad()
    loss = F.nll_loss(net(x), y)
    loss.backward()
    optimizer.step()
    job.done(loss)
