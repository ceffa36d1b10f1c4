#!/bin/sh
# Makes build/cuda/stub/libcuda.so, against which hogwild-cuda is linked where there is
# no driver: every function that cuda.h declares, under the name that its macros give
# it (cuMemAlloc is cuMemAlloc_v2), and none that does anything. Its soname is the
# driver's, so a program linked against it asks for libcuda.so.1 when it starts.
set -eu
cd "$(dirname "$0")/.."

stub=build/cuda/stub
mkdir -p "$stub"
${CC:-cc} -E -P build/cuda/include/cuda.h |
	grep -oE '\bcu[A-Z][A-Za-z0-9_]* *\(' | tr -d ' (' | sort -u |
	sed 's/.*/void &(void) {}/' >"$stub/libcuda.c"
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libcuda.so.1 -o "$stub/libcuda.so" "$stub/libcuda.c"
