"""What gpu.py's rivals in PyTorch share."""

import torch

from gpu import Missing


def device(a):
    if a.device == "cuda" and not (torch.cuda.is_available() and a.gpu < torch.cuda.device_count()):
        raise Missing("PyTorch", f"PyTorch {torch.__version__} sees no GPU {a.gpu}")
    if a.device == "cuda":
        torch.cuda.set_device(a.gpu)
    torch.manual_seed(1)
    return a.device


def prepared(where, graph, steps, few, state):
    """A function that runs steps() and waits for them, as one CUDA graph if graph. First few() runs, to load and choose
    kernels, and the graph, as its first replay uploads it; then the tensors of state() are as they were, or zero if there were none."""
    before = [t.detach().clone() for t in state()]
    side = torch.cuda.Stream() if where == "cuda" else None
    with torch.cuda.stream(side):  # None: nothing. Captures demand a warm-up on another stream
        for _ in range(3):
            few()
    go = steps
    if where == "cuda":
        torch.cuda.synchronize()
        if graph:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured):
                steps()
            go = captured.replay
            go()
            torch.cuda.synchronize()
    with torch.no_grad():
        for i, t in enumerate(state()):
            t.copy_(before[i]) if i < len(before) else t.zero_()

    def run():
        go()
        if where == "cuda":
            torch.cuda.synchronize()

    run.of = steps  # with all tensors that it uses: a graph keeps their addresses alone
    return run
