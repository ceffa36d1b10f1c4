#!/usr/bin/env python3
"""Keeps the kernels' machine code: ../cubin/KERNEL.sm_90.gz and others, which check.py's
ptxas of one pinned version makes of the committed PTX.

A GPU takes the machine code of its own compute capability, and of a lower one with the same
major number: sm_80 is for 8.0, sm_86 for 8.6 to 8.9 (for 8.9 ptxas writes the same
instructions), sm_90 for 9.0, sm_100 for 10.0 and 10.3, sm_120 for 12.0 and 12.1. Other GPUs'
drivers compile the PTX. The name in a file's gzip header is that of its PTX with the CRC-32
of its text: hogwild does not load machine code of another text.

    cubin.py            makes what is not there, or made otherwise
    cubin.py --check    fails instead
"""

import concurrent.futures
import gzip
import io
import os
import pathlib
import sys
import tempfile
import zlib

CUBIN = pathlib.Path(__file__).resolve().parent.parent / "cubin"
VERSION = "12.9"  # of ptxas: a driver for CUDA 12 takes its machine code, if it knows the GPU
GPUS = ("80", "86", "90", "100", "120")


def packed(ptx, code):
    """What a file has to contain."""
    out = io.BytesIO()
    with gzip.GzipFile(f"{ptx.name} {zlib.crc32(ptx.read_bytes()):08x}", "wb", 9, out, mtime=0) as z:
        z.write(code)
    return out.getvalue()


def unpacked(data):
    """The name in the header, and the machine code; another zlib may compress it otherwise."""
    return data[10 : data.index(0, 10)], gzip.decompress(data)


def file_of(ptx, arch):
    return CUBIN / f"{ptx.name.split('.')[0]}.sm_{arch}.gz"


def stale(ptx, arch, code):
    """Whether what is kept is something else than the machine code of that PTX."""
    file = file_of(ptx, arch)
    return not file.exists() or unpacked(file.read_bytes()) != unpacked(packed(ptx, code))


def shipped(ptxas, arch, ptx):
    """Whether what that ptxas makes of a file is kept: other PTX may be for that GPU."""
    import check

    return ptxas == VERSION and arch in GPUS and check.ptx_of(ptx.name.split(".")[0], int(arch)) == ptx


def leftover(kinds):
    """The files that belong to no kernel or no GPU."""
    return sorted(set(CUBIN.glob("*")) - {CUBIN / f"{kind}.sm_{arch}.gz" for kind in kinds for arch in GPUS})


def main():
    import check

    check.fetch([check.PTXAS[VERSION].split("/")[0]])
    checks, wrong = sys.argv[1:] == ["--check"], []
    kinds = sorted({ptx.name.split(".")[0] for ptx in check.PTX.glob("*.ptx")})

    def make(work):
        ptx, arch = check.ptx_of(work[0], int(work[1])), work[1]
        with tempfile.TemporaryDirectory() as folder:
            cubin = pathlib.Path(folder, "cubin")
            check.assemble(ptx, VERSION, arch, cubin)
            return ptx, arch, cubin.read_bytes()

    CUBIN.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a ptxas
        for ptx, arch, code in pool.map(make, [(kind, arch) for arch in GPUS for kind in kinds]):
            if stale(ptx, arch, code):
                wrong.append(file_of(ptx, arch))
                if not checks:
                    file_of(ptx, arch).write_bytes(packed(ptx, code))
    for file in leftover(kinds):
        wrong.append(file)
        if not checks:
            file.unlink()
    if checks and wrong:
        sys.exit("\n".join(f"cuda/cubin/{file.name} is not what ptxas makes: make cubin" for file in wrong))
    print(f"cuda/cubin: {len(kinds) * len(GPUS)} files{'' if checks else f', {len(wrong)} of them remade or removed'}")


if __name__ == "__main__":
    main()
