"""What several GPUs may come to: computed from one H200's rates and published rates of links."""

from page import number

# Bytes a second each way, as published; an addition over NVLink has a header; seconds a queued launch takes on an H200.
NVLINK, PCIE, HEADER, QUEUED = 450e9, 31.5e9, 1.2, 4.9e-6
ALONE = {"softmax 784-10, MNIST, b 8": 101e6, "784-128-10, MNIST, b 8": 38e6}  # one H200, samples a second at 132 steps in flight


def merges():
    """Through the host a merge reads the base and a vector for each worker, one a GPU, and writes one."""
    yield "| weights | bytes | NVLink, µs | through the host, 2 GPUs, µs | 6 GPUs |"
    yield "|---|---|---|---|---|"
    for weights in (7_850, 101_770, 1 << 24):
        size = 4 * weights
        times = HEADER * size / NVLINK, 3 * size / PCIE, 7 * size / PCIE
        yield f"| {weights:,} | {size:,} | " + " | ".join(number(1e6 * t) for t in times) + " |"


def scaling(counts):
    """Of each workload in ALONE, by the sectors that a sample's additions touch."""
    yield "| workload | weights | way | 2 GPUs, M/s | 4 | 8 | GPU 0's links with 8 |"
    yield "|---|---|---|---|---|---|---|"
    for w, sectors in ((c.work, c.sectors) for c in counts if c.work.what in ALONE and c.sectors):
        alone, step = ALONE[w.what], sectors * 32 * HEADER
        over = lambda n: min((n - 1) * alone, NVLINK / step)
        rates = " | ".join(number((alone + over(n)) / 1e6) for n in (2, 4, 8))
        yield f"| {w.what} | {w.weights:,} | each step adds over NVLink | {rates} | {100 * over(8) * step / NVLINK:.0f}% |"
        for period, name in ((1e-3, "a merge each ms"), (256 * 8 / alone, "a merge every 256 steps"), (64 * 8 / alone, "a merge every 64 steps")):
            bits = HEADER * 4 * w.weights / NVLINK
            turn = lambda n: max(period + QUEUED + bits, (n - 1) * bits)  # the links take one merge after the other
            rates = " | ".join(number((alone + (n - 1) * alone * period / turn(n)) / 1e6) for n in (2, 4, 8))
            yield f"| | | {name} | {rates} | {100 * 7 * bits / turn(8):.1f}% |"
