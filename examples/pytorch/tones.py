"""What ddp_before.py and ddp.py share: a data set with two inputs, and a model for it.

A tone of unknown pitch and phase is heard by four microphones of known gains, with noise. The model
gets the 4 x 64 samples and the gains, and tells the tone's amplitude.
"""

import torch
from torch import nn
from torch.utils.data import Dataset


class Tones(Dataset):
    """rows examples ((wave, gains), amplitude), the same for the same seed."""

    def __init__(self, rows, seed=1):
        g = torch.Generator().manual_seed(seed)
        self.amplitude = 0.5 + 1.5 * torch.rand(rows, 1, generator=g)
        self.gains = 0.5 + torch.rand(rows, 4, generator=g)
        pitch = 1 + 7 * torch.rand(rows, 1, 1, generator=g)
        phase = torch.rand(rows, 4, 1, generator=g)
        t = torch.linspace(0, 1, 64)
        clean = torch.sin(2 * torch.pi * (pitch * t + phase)) * (self.amplitude * self.gains).unsqueeze(2)
        self.wave = clean + 0.1 * torch.randn(rows, 4, 64, generator=g)

    def __len__(self):
        return len(self.amplitude)

    def __getitem__(self, i):
        return (self.wave[i], self.gains[i]), self.amplitude[i]


class Amplitude(nn.Module):
    def __init__(self):
        super().__init__()
        self.ear = nn.Sequential(
            nn.Conv1d(4, 16, 7, stride=2), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2), nn.BatchNorm1d(32), nn.ReLU(), nn.Flatten())
        self.gains = nn.Linear(4, 32)
        self.head = nn.Sequential(nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, 1))
        self(torch.zeros(2, 4, 64), torch.zeros(2, 4))  # sets the size of the lazy layer

    def forward(self, wave, gains):
        return self.head(torch.cat([self.ear(wave), self.gains(gains)], 1))
