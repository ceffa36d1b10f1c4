#!/bin/sh
# Makes build/cuda/include, the headers of CUDA 12: a link to those of CUDA_HOME when
# that is a 12 (gorgonia.org/cu v0.9.6 does not compile with 13's), else those of
# NVIDIA's package on PyPI, of one version with one checksum. No toolkit is needed.
# HOGWILD_PYTHON is the Python whose pip is used, else python3.
set -eu
cd "$(dirname "$0")/.."

package=nvidia-cuda-runtime-cu12==12.6.77
sha256=ba3b56a4f896141e25e19ab287cd71e52a6a0f4b29d0d31609f60e3b4d5219b7
python=${HOGWILD_PYTHON:-python3}
cache=build/cuda

if [ -e "$cache/include/cuda.h" ]; then
	exit 0
fi
rm -rf "$cache/include" # a link whose target is gone
mkdir -p "$cache"
if grep -qs '^#define CUDA_VERSION 12[0-9][0-9][0-9]$' "${CUDA_HOME:-}/include/cuda.h"; then
	ln -s "$CUDA_HOME/include" "$cache/include"
	exit 0
fi
if ! "$python" -m pip --version >/dev/null 2>&1; then
	echo "the headers of CUDA 12 are missing: set CUDA_HOME to a CUDA 12, or install pip for $python to get $package" >&2
	exit 1
fi

# The headers are the same on all machines, so the wheel is always that of x86_64.
new=$(mktemp -d "$cache/headers.XXXXXX")
trap 'rm -rf "$new"' EXIT
echo "$package --hash=sha256:$sha256" >"$new/requirements.txt"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
	--platform manylinux2014_x86_64 --dest "$new" --requirement "$new/requirements.txt" >&2
"$python" -m zipfile -e "$new"/*.whl "$new"
mv "$new/nvidia/cuda_runtime/include" "$cache/include"
