#!/usr/bin/env bash
# Puts together build/gpu-pack (make gpu-pack): the programs, data, PyTorch's side of the
# comparison and run.sh. It runs on a machine with a GPU and without Go or a network.
set -euo pipefail
cd "$(dirname "$0")/../.."

pack=build/gpu-pack
data=${HOGWILD_DATA:-../shared/data}
most=40 # MB
rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/data" "$pack/cuda"

# Without the tables for debuggers: two thirds of the size.
strip -o "$pack/bin/hogwild" bin/hogwild
strip -o "$pack/bin/hogwild-cuda" bin/hogwild-cuda
strip -o "$pack/bin/cuda.test" bin/cuda.test
gzip "$pack"/bin/*
cp bench/pack/run.sh bench/rivals/torch_gpu.py bench/rivals/mnist.py "$pack/"
{ git rev-parse HEAD; git diff --quiet HEAD || echo "with changes that are not committed"; } >"$pack/COMMIT"

if [ -d "$data/mnist" ]; then cp -r "$data/mnist" "$pack/data/"; fi
for set in a9a w8a; do
	for file in "$data/$set/$set" "$data/$set/$set.t"; do
		if [ -f "$file" ]; then gzip -9c "$file" >"$pack/data/${file##*/}.gz"; fi
	done
done
# Every eighth row: the whole set is 33 MB.
for part in train test; do
	file=$data/imdb/imdb_ltc_$part.gz
	if [ -f "$file" ]; then gzip -dc "$file" | awk 'NR % 8 == 1' | gzip -9c >"$pack/data/imdb_$part.gz"; fi
done
test -d "$pack/data/mnist" || echo "no data in $data: the pack makes do with digits and synthetic data"

size=$(du -sm "$pack" | cut -f 1)
echo "$pack: $size MB"
test "$size" -le "$most" || { echo "more than $most MB"; exit 1; }
