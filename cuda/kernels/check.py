#!/usr/bin/env python3
"""Assembles the committed PTX with NVIDIA's ptxas and reads the machine code.

It fails on spills, on stack frames, on more registers or shared memory than the
launches count on, on generic or local accesses, unless weights are read and
written by accesses of system scope, and unless ../cubin holds that machine code. It prints a table. NVIDIA's tools come from PyPI
(pinned, with checksums) into build/cuda/tools; no toolkit is needed.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import cubin

HERE = pathlib.Path(__file__).resolve().parent
PTX = HERE.parent / "ptx"
TOOLS = HERE.parent.parent / "build" / "cuda" / "tools"

PACKAGES = {  # folder: requirement, sha256 of the x86_64 wheel
    "nvcc-12.6": ("nvidia-cuda-nvcc-cu12==12.6.85", "d75d9d74599f4d7c0865df19ed21b739e6cb77a6497a3f73d6f61e8038a765e4"),
    "nvcc-12.9": ("nvidia-cuda-nvcc-cu12==12.9.86", "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0"),
    "cuobjdump": ("nvidia-cuda-cuobjdump==13.5.37", "38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58"),
    "nvdisasm": ("nvidia-cuda-nvdisasm==13.5.37", "d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca"),
}
PTXAS = {"12.6": "nvcc-12.6/nvidia/cuda_nvcc/bin/ptxas", "12.9": "nvcc-12.9/nvidia/cuda_nvcc/bin/ptxas"}
CUOBJDUMP = "cuobjdump/nvidia/cu13/bin/cuobjdump"

# Which ptxas assembles which file for which GPUs. (For sm_70 and sm_75 that of 12.6 keeps
# one word of mlp_step, the next ticket, in local memory; that of 12.9 finds room.)
TARGETS = {
    "sm_70": [("12.6", "90")] + [("12.9", a) for a in ("70", "75", "80", "86", "89", "90", "100", "120")],
    "sm_80": [("12.6", "90")] + [("12.9", a) for a in ("80", "86", "89", "90")],
    "sm_90": [("12.6", "90"), ("12.9", "90"), ("12.9", "100"), ("12.9", "120")],
}
READABLE = {"90", "120"}  # machine code that is looked at; older GPUs name their operations otherwise

MAX_REGISTERS = 128  # two CTAs of 256 threads, or one of 512, a multiprocessor
MAX_SHARED = 48 * 1024  # more would need cuFuncSetAttribute

READ, ADD, STORE = "LDG.E.STRONG.SYS", "REDG.E.ADD.F32.FTZ.RN.STRONG.SYS", "STG.E.STRONG.SYS"
MUST = {  # of kernels whose names do not say it
    "linear_step": (READ, ADD, STORE),
    "linear_one": (READ, ADD, STORE),
    "mlp_step": (READ, ADD, STORE),
    "mlp_one": (READ, ADD, STORE),
    "evaluate": (READ,),
    "factor_step": (READ, ADD, STORE),
    "factor_half": (READ, ADD, "LDG.E.64.STRONG.SYS", "STG.E.64.STRONG.SYS", "STG.E.U16.STRONG.SYS"),
    "factor_evaluate": (READ,),
    "skipgram_step": (READ, ADD, STORE),
    "cut_step": (READ, ADD),
    "cut_evaluate": (READ,),
    "sparse_step": (READ, ADD, STORE),
    "sparse_whole": (READ, ADD, STORE),
    "sparse_evaluate": (READ,),
    "average_weights": (READ, STORE),
    "average_gradients": (READ, STORE),
    "reduce_begin": (READ, STORE),
    "reduce_merge": (READ, ADD, STORE),
    "reduce_sum": (READ, STORE),
    "reduce_add": (READ, ADD),
    "survey_keep": (READ, STORE),
    "survey_count": (READ,),
    "conv_step": (READ, ADD, STORE),
    "conv_evaluate": (READ,),
}


def ptx_of(kind, arch=90):
    """The file for a GPU, a Hopper if nothing is said: that for older ones where it has no other."""
    own = [PTX / f"{kind}.sm_{made}.ptx" for made in (90, 80) if made <= arch]
    return next((file for file in own if file.exists()), PTX / f"{kind}.sm_70.ptx")


def fetch(folders=tuple(PACKAGES)):
    """Gets the tools that are not there yet."""
    for folder in folders:
        requirement, sha256 = PACKAGES[folder]
        if (TOOLS / folder).exists():
            continue
        TOOLS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=TOOLS) as new:
            wanted = pathlib.Path(new, "requirements.txt")
            wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n")
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
                 "--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--platform", "manylinux2010_x86_64",
                 "--platform", "manylinux1_x86_64", "--dest", new, "--requirement", str(wanted)], check=True)
            wheel = next(pathlib.Path(new).glob("*.whl"))
            unpacked = pathlib.Path(new, "unpacked")
            with zipfile.ZipFile(wheel) as z:
                z.extractall(unpacked)
            for tool in unpacked.glob("nvidia/*/bin/*"):
                tool.chmod(0o755)
            unpacked.rename(TOOLS / folder)


def assemble(ptx, ptxas, arch, cubin):
    """Returns {kernel: (registers, spilled bytes and stack, shared bytes)}."""
    done = subprocess.run([TOOLS / PTXAS[ptxas], "-v", f"-arch=sm_{arch}", ptx, "-o", cubin], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ptxas {ptxas} refuses {ptx.name} for sm_{arch}:\n{done.stderr}")
    used = {}
    for part in done.stderr.split("Compiling entry function '")[1:]:
        number = lambda pattern: sum(map(int, re.findall(pattern, part)))
        spilled = number(r"(\d+) bytes stack frame") + number(r"(\d+) bytes spill")
        used[part[: part.index("'")]] = number(r"Used (\d+) registers"), spilled, number(r"(\d+) bytes smem")
    return used


def operations(cubin):
    """Returns {kernel: its machine operations, with repetitions}."""
    env = dict(os.environ, PATH=f"{TOOLS / 'nvdisasm/nvidia/cu13/bin'}:{os.environ['PATH']}")
    text = subprocess.run([TOOLS / CUOBJDUMP, "-sass", cubin], capture_output=True, text=True, check=True, env=env).stdout
    return {
        part.split(None, 1)[0]: re.findall(r"/\*[0-9a-f]{4,6}\*/ +(?:@!?U?P\w+ +)?([A-Z][A-Z0-9_.x]+)", part)
        for part in text.split("Function : ")[1:]
    }


def is_micro(kernel):
    """Whether it measures the machine, other scopes than that of the weights among it."""
    return kernel.startswith("micro")


def musts(kernel):
    if is_micro(kernel) or kernel.startswith("steps_"):  # which know no weights
        return ()
    return MUST.get(kernel) or ((READ,) if kernel.endswith("_evaluate") else (READ, ADD))


def faults(kernel, ops):
    """Yields what is wrong with a kernel's machine code."""
    for must in musts(kernel):
        if must not in ops:
            yield f"has no {must}"
    for op in sorted(set(ops)):
        head = op.split(".")[0]
        if head in ("RED", "REDG", "ATOM", "ATOMG") and "STRONG.SYS" not in op and not is_micro(kernel):
            yield f"{op} is not of system scope"
        if ".STRONG." in op and "STRONG.SYS" not in op and not is_micro(kernel):
            yield f"{op} does not reach other processes"
        if head in ("LD", "ST", "RED", "ATOM"):
            yield f"{op} is a generic access"
        if head in ("LDL", "STL"):
            yield f"{op}: local memory"
        if kernel.endswith("evaluate") and op == ADD:
            yield f"{op}: it writes weights"


def inspect(ptx, ptxas, arch):
    """Assembles a file for a GPU. Returns the rows of the table, and what is wrong."""
    rows, wrong, file = [], [], ptx.name.split(".")[1]
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder, "cubin")
        for kernel, (registers, spilled, shared) in assemble(ptx, ptxas, arch, code).items():
            rows.append(f"{kernel:18} {file:6} {ptxas:5} sm_{arch:3} {registers:9} {spilled:6} {shared:6}")
            if spilled or registers > MAX_REGISTERS or shared > MAX_SHARED:
                wrong.append(f"{kernel}, {file} for sm_{arch}: spills, or more than {MAX_REGISTERS} registers or {MAX_SHARED} bytes")
        if cubin.shipped(ptxas, arch, ptx) and cubin.stale(ptx, arch, code.read_bytes()):
            wrong.append(f"{cubin.file_of(ptx, arch).name} is not what ptxas makes of {ptx.name}: make cubin")
        if arch in READABLE:
            for kernel, ops in operations(code).items():
                wrong += [f"{kernel}, {file} for sm_{arch}: {fault}" for fault in faults(kernel, ops)]
    return rows, wrong


def main():
    fetch()
    wrong, work = [], []
    for ptx in sorted(PTX.glob("*.ptx")):
        if not is_micro(ptx.name) and re.search(r"^\s*(@%p\d+ )?(call|(ld|st)\.(v\d\.)?[bsuf]\d|(atom|red)\.(?!relaxed\.(sys\.global|cta\.shared)))", ptx.read_text(), re.M):
            wrong.append(f"{ptx.name}: a call, a generic access, or an atomic that is not relaxed.sys.global")
        work += [(ptx, *target) for target in TARGETS[ptx.name.split(".")[1]]]
    print(f"{'kernel':18} {'PTX':6} {'ptxas':5} {'GPU':6} {'registers':>9} {'spills':>6} {'shared':>6}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a ptxas
        for rows, faulty in pool.map(lambda one: inspect(*one), work):
            print("\n".join(rows))
            wrong += faulty
    import table  # which is made of this file

    if old := table.stale():
        wrong.append(old)
    if wrong:
        sys.exit("\n".join(wrong))
    print("weights: read by LDG..STRONG.SYS, written by REDG..STRONG.SYS")


if __name__ == "__main__":
    main()
