"""Trains a PyTorch module in a run of hogwild."""
