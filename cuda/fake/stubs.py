#!/usr/bin/env python3
"""Writes, from CUDA's cuda.h, the symbols that a libcuda.so.1 must have.

    stubs.py cuda.h > stubs.cc

Every function of the header, under each name that its macros give it, is a weak symbol:
those that driver_*.cc define win, the others say once that they are not played and return
801. And the names of all errors.
"""
import re
import sys


def symbols(header):
    """The declared functions, and what the header's macros turn their names into."""
    names = set(re.findall(r"\bCUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(", header))
    for target in re.findall(r"#\s*define\s+cu[A-Z]\w*\s+(\S+)", header):
        wrapped = re.fullmatch(r"__CUDA_API_(PTDS|PTSZ)\((cu\w+)\)", target)
        if wrapped:
            names |= {wrapped[2], wrapped[2] + "_" + wrapped[1].lower()}
        elif re.fullmatch(r"cu[A-Z]\w*", target):
            names.add(target)
    return sorted(names)


def errors(header):
    """(code, name, text) of each CUresult; the text is the name in words."""
    body = header[: header.index("} CUresult;")]
    body = re.sub(r"/\*.*?\*/", "", body[body.rindex("typedef enum"):], flags=re.S)
    found = [(int(code), name) for name, code in re.findall(r"(CUDA_\w+)\s*=\s*(\d+)", body)]
    words = lambda name: re.sub("^CUDA_(ERROR_)?", "", name).lower().replace("_", " ")
    return sorted((code, name, words(name)) for code, name in found)


def stand_in(header):
    lines = ["// Made by stubs.py from cuda.h.", 'extern "C" {', "int fake_stub(const char* symbol);",
             "#pragma GCC visibility push(default)"]
    for name in symbols(header):
        lines.append('__attribute__((weak)) int %s() { return fake_stub("%s"); }' % (name, name))
    lines += ["#pragma GCC visibility pop", "struct FakeError { int code; const char *name, *text; };",
              "extern const FakeError fake_errors[];", "extern const int fake_error_count;",
              "const FakeError fake_errors[] = {"]
    lines += ['    {%d, "%s", "%s"},' % e for e in errors(header)]
    lines += ["};", "const int fake_error_count = %d;" % len(errors(header)), "}"]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        print(stand_in(file.read()))
