"""Which lines of the kernels' source the issue slots go to (table.py --where KERNEL).

clang says which line of the source each instruction of the PTX comes from when it is asked
to (-gline-tables-only, which changes no instruction: the shipped file is compared). A line
of a function that was inlined in many places has the slots of all of them.
"""

import functools
import pathlib
import re
import subprocess
from collections import Counter, defaultdict

import check

FLAGS = {"sm_70": ["--cuda-gpu-arch=sm_70", "--cuda-feature=+ptx63"], "sm_80": ["--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx70"], "sm_90": ["--cuda-gpu-arch=sm_90", "--cuda-feature=+ptx81"]}
NOISE = re.compile(r"\s*(//|\.(loc|file|section)\s|\$L__(tmp|func_))")


@functools.cache
def origins(ptx):
    """{line of the PTX: (file, line) of the source}; the source must be what it was made of."""
    source = check.HERE / (ptx.name.split(".")[0] + ".cu")
    flags = FLAGS[ptx.name.split(".")[1]] + ["-gline-tables-only"]
    made = subprocess.run(["make", "-s", "-C", check.HERE, "compile", f"FILE={source.name}", "MORE=" + " ".join(flags)],
                          stdout=subprocess.PIPE, text=True)
    if made.returncode:
        raise SystemExit(f"{source.name} does not compile")
    made = made.stdout.splitlines()
    files, at, places = {}, None, []
    for row in made:
        if m := re.match(r'\s*\.file\s+(\d+) "([^"]*)"(?: "([^"]*)")?', row):
            files[m[1]] = pathlib.Path(m[3] or m[2]).name
        elif m := re.match(r"\s*\.loc\s+(\d+) (\d+)", row):
            at = (m[1], int(m[2])) if m[2] != "0" else at
        elif row.startswith(".visible .entry"):
            at = None
        if not NOISE.match(row):
            places.append((row.strip(), at))
    found, n = {}, 0
    for number, row in enumerate(ptx.read_text().splitlines(), 1):
        if NOISE.match(row):
            continue
        if places[n][0] != row.strip():
            raise SystemExit(f"{ptx.name} is not what {source.name} compiles to (line {number}): make ptx")
        if places[n][1]:
            found[number] = files[places[n][1][0]], places[n][1][1]
        n += 1
    return found


def definitions(name):
    """The function around each line of a file, by what definitions look like here."""
    around, found = "", [""]
    for row in (check.HERE / name).read_text().splitlines():
        if re.match(r" {0,4}\S", row) and re.search(r"__(device|global)__", row):
            names = [w for w in re.findall(r"(\w+)\(", row) if not w.startswith("__")]
            around = names[0] if names else around
        found.append(around)
    return found


def functions(found, samples, ptx):
    """Slots a sample by function: those of dev.h, which are one instruction each or nearly,
    count as the function's whose line is before theirs in the PTX."""
    places, around, caller, last = origins(ptx), {}, {}, "the rest"
    for number in sorted(places):
        file, line = places[number]
        if file != "dev.h":
            last = f"{file} {around.setdefault(file, definitions(file))[line]}".strip()
        caller[number] = last
    sums = Counter()
    for b in found:
        for i in b.instructions:
            sums[caller.get(i.line, "the rest")] += b.executed / samples
    return sums


def costliest(found, samples, ptx, most=30):
    """Yields the rows of two tables, of functions and of lines, from executed blocks."""
    places, lines, mixes = origins(ptx), Counter(), defaultdict(Counter)
    for b in found:
        for i in b.instructions:
            place = places.get(i.line, ("", 0))
            lines[place] += b.executed / samples
            mixes[place][i.op.split(".")[0]] += b.executed / samples
    text = {file: (check.HERE / file).read_text().splitlines() for file, _ in lines if file}
    whole = sum(lines.values())
    yield f"{'slots':>9} {'share':>6}  function"
    for name, n in functions(found, samples, ptx).most_common(most // 2):
        yield f"{n:9.1f} {100 * n / whole:5.1f} %  {name}"
    yield f"\n{'slots':>9} {'share':>6}  line"
    for (file, line), n in lines.most_common(most):
        mix = " ".join(f"{op} {100 * k / n:.0f}" for op, k in mixes[file, line].most_common(3))
        yield f"{n:9.1f} {100 * n / whole:5.1f} %  {file}:{line}  {text[file][line - 1].strip()[:90] if file else ''}  [{mix}]"
