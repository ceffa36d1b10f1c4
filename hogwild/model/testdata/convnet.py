"""Makes convnet.json: loss and gradients of PyTorch's convnet on five images, without
dropout. Inputs and weights are those of a formula, so that only results are stored: the
gradients as their sum, sum of squares, and every 97th element.

    python convnet.py > convnet.json
"""
import json

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def numbers(n, start):
    """n numbers in [-1, 1), all different: a linear congruential generator."""
    out, s = [], start
    for _ in range(n):
        s = (s * 1103515245 + 12345) % 2**31
        out.append(s / 2**30 - 1)
    return torch.tensor(out)


shapes = {
    "conv1.weight": (10, 1, 5, 5), "conv1.bias": (10,),
    "conv2.weight": (20, 10, 5, 5), "conv2.bias": (20,),
    "fc1.weight": (50, 320), "fc1.bias": (50,),
    "fc2.weight": (10, 50), "fc2.bias": (10,),
}
w = {}
for i, (name, shape) in enumerate(shapes.items()):
    n = torch.Size(shape).numel()
    # float32, as the trainer has them
    w[name] = (numbers(n, i + 1).float() / 8).double().reshape(shape).requires_grad_()
x = numbers(5 * 784, 100).float().double().reshape(5, 1, 28, 28)
y = torch.tensor([3, 1, 4, 1, 5])

h = F.relu(F.max_pool2d(F.conv2d(x, w["conv1.weight"], w["conv1.bias"]), 2))
h = F.relu(F.max_pool2d(F.conv2d(h, w["conv2.weight"], w["conv2.bias"]), 2))
h = F.relu(F.linear(h.flatten(1), w["fc1.weight"], w["fc1.bias"]))
z = F.log_softmax(F.linear(h, w["fc2.weight"], w["fc2.bias"]), dim=1)
loss = F.nll_loss(z, y)
loss.backward()
gradients = [
    {"name": name, "shape": list(p.shape), "sum": p.grad.sum().item(),
     "squares": p.grad.square().sum().item(), "some": p.grad.flatten()[::97].tolist()}
    for name, p in w.items()
]
print(json.dumps({"torch": torch.__version__.split("+")[0], "loss": loss.item(), "gradients": gradients}, indent=1))
