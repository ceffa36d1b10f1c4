"""Lets a program of a new glibc start on an older one: glibc.py PROGRAM...

Since 2.34 glibc's threads and dlopen are in libc.so.6 itself, and a program linked there asks
for them under the name of that version, though they are the functions of ever. Here such a name
is taken from each symbol, so that it is found in whichever library has it, and from the list of
versions without which the loader refuses to start. The program must ask for libpthread.so.0
and libdl.so.2, which had them before (the Makefile links it so).
"""

import struct
import sys

NEWEST = (2, 28)  # RHEL 8; Debian 11 has 2.31, Ubuntu 20.04 too


def sections(b):
    """The sections of an ELF file of 64 bits, by type: offset, size, link."""
    at, size, count = struct.unpack_from("<Q", b, 40)[0], *struct.unpack_from("<HH", b, 58)
    all = [struct.unpack_from("<IIQQQQII", b, at + i * size) for i in range(count)]
    return {s[1]: (s[4], s[5], all[s[6]][4] if s[6] < count else 0) for s in all}


def version(name):
    return tuple(int(n) for n in name[6:].split(b".") if n.isdigit())


def age(b):
    """Takes the names of versions newer than NEWEST from a program: an old one stands in their place."""
    found = sections(b)
    needs, _, names = found[0x6FFFFFFE]  # SHT_GNU_verneed
    symbols, size, _ = found[0x6FFFFFFF]  # SHT_GNU_versym
    new, old = {}, None
    while True:
        count, _, first, after = struct.unpack_from("<HIII", b, needs + 2)
        entry = needs + first
        for _ in range(count):
            _, _, index, name, step = struct.unpack_from("<IHHII", b, entry)
            text = bytes(b[names + name : b.index(0, names + name)])
            if text.startswith(b"GLIBC_") and version(text) > NEWEST:
                new[index] = entry
            elif text.startswith(b"GLIBC_"):
                old = struct.unpack_from("<I", b, entry)[0], name
            entry += step
        if not after:
            break
        needs += after
    for i in range(symbols, symbols + size, 2):
        if struct.unpack_from("<H", b, i)[0] in new:
            struct.pack_into("<H", b, i, 1)  # VER_NDX_GLOBAL: of any version
    for entry in new.values():
        struct.pack_into("<I", b, entry, old[0])
        struct.pack_into("<I", b, entry + 8, old[1])


for file in sys.argv[1:]:
    with open(file, "r+b") as f:
        b = bytearray(f.read())
        age(b)
        f.seek(0)
        f.write(b)
