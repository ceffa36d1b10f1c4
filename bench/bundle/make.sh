#!/usr/bin/env bash
# Puts together build/gpu-bundle (make gpu-bundle): the programs, data, PyTorch's side of the
# comparison and run.sh. It runs on a machine with a GPU and without Go or a network.
set -euo pipefail
cd "$(dirname "$0")/../.."

bundle=build/gpu-bundle
data=${HOGWILD_DATA:-../shared/data}
most=40 # MB
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/data" "$bundle/cuda"

# Without the tables for debuggers: two thirds of the size.
strip -o "$bundle/bin/hogwild" bin/hogwild
strip -o "$bundle/bin/hogwild-cuda" bin/hogwild-cuda
strip -o "$bundle/bin/cuda.test" bin/cuda.test
gzip "$bundle"/bin/*
cp bench/bundle/run.sh bench/rivals/torch_gpu.py bench/rivals/mnist.py "$bundle/"
{ git rev-parse HEAD; git diff --quiet HEAD || echo "with changes that are not committed"; } >"$bundle/COMMIT"

if [ -d "$data/mnist" ]; then cp -r "$data/mnist" "$bundle/data/"; fi
for set in a9a w8a; do
	for file in "$data/$set/$set" "$data/$set/$set.t"; do
		if [ -f "$file" ]; then gzip -9c "$file" >"$bundle/data/${file##*/}.gz"; fi
	done
done
# Every eighth row: the whole set is 33 MB.
for part in train test; do
	file=$data/imdb/imdb_ltc_$part.gz
	if [ -f "$file" ]; then gzip -dc "$file" | awk 'NR % 8 == 1' | gzip -9c >"$bundle/data/imdb_$part.gz"; fi
done
test -d "$bundle/data/mnist" || echo "no data in $data: the bundle makes do with digits and synthetic data"

size=$(du -sm "$bundle" | cut -f 1)
echo "$bundle: $size MB"
test "$size" -le "$most" || { echo "more than $most MB"; exit 1; }
