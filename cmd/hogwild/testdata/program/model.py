"""A module with all kinds of tensors, and rows for it. steps.py trains it in a run, again.py by hand."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, normal):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16) if normal else nn.Identity()
        self.frozen = nn.Linear(16, 16).requires_grad_(False)
        self.tied = nn.Linear(16, 16)
        self.again = nn.Linear(16, 16)
        self.again.weight = self.tied.weight
        self.last = nn.Linear(16, 3)

    def forward(self, x):
        x = self.frozen(torch.tanh(self.norm(self.first(x))))
        return self.last(torch.tanh(self.again(torch.tanh(self.tied(x)))))


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(rows, 8, generator=g)
        self.y = (self.x @ torch.randn(8, 3, generator=torch.Generator().manual_seed(0))).argmax(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i], i
