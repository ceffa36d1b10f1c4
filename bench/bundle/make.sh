#!/usr/bin/env bash
# Builds build/gpu-bundle (make gpu-bundle): programs, data, the rivals and run.sh. The bundle runs on a machine with a GPU and needs neither Go nor a network.
set -euo pipefail
cd "$(dirname "$0")/../.."

bundle=build/gpu-bundle
data=${HOGWILD_DATA:-../shared/data}
most=40 # MB: with the 20 of a checkout it fits into 64
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/data"

# Stripped of debug symbols: two thirds of the size.
strip -o "$bundle/bin/hogwild-cuda" bin/hogwild-cuda
strip -o "$bundle/bin/cuda.test" bin/cuda.test
python3 bench/bundle/glibc.py "$bundle/bin/hogwild-cuda" "$bundle/bin/cuda.test"
for program in hogwild-cuda cuda.test; do
	newest=$(readelf -V "$bundle/bin/$program" | grep -o 'Name: GLIBC_[0-9.]*' | cut -d _ -f 2 | sort -V | tail -n 1)
	test "$(printf '%s\n' "$newest" 2.28 | sort -V | tail -n 1)" = 2.28 || { echo "$program needs glibc $newest; want 2.28, the version of RHEL 8"; exit 1; }
	for library in libpthread.so.0 libdl.so.2; do
		readelf -d "$bundle/bin/$program" | grep -q "NEEDED.*$library" || { echo "$program does not link $library: see glibc.py"; exit 1; }
	done
done
gzip "$bundle"/bin/*
cp bench/bundle/{run.sh,report.py} "$bundle/"
mkdir "$bundle/rivals"
cp bench/rivals/gpu{,_dense,_factor,_jobs,_sparse,_torch}.py bench/rivals/mnist.py bench/rivals/cumf.cu "$bundle/rivals/"
cp examples/pytorch/mnist.py "$bundle/convnet.py"
{ git rev-parse HEAD; git diff --quiet HEAD || echo "with uncommitted changes"; } >"$bundle/COMMIT"

# Where the tests look for them, but packed: run.sh unpacks a9a.
if [ -d "$data/mnist" ]; then cp -r "$data/mnist" "$bundle/data/"; fi
if [ -d "$data/a9a" ]; then
	mkdir "$bundle/data/a9a"
	for name in a9a a9a.t; do gzip -9c "$data/a9a/$name" >"$bundle/data/a9a/$name.gz"; done
fi
if [ -d "$data/imdb" ]; then # the rows that the tests read, of 34 MB
	mkdir "$bundle/data/imdb"
	for of in train:5000 test:4000; do
		gzip -dc "$data/imdb/imdb_ltc_${of%:*}.gz" | awk -v n=${of#*:} 'NR <= n' | gzip -9c >"$bundle/data/imdb/imdb_ltc_${of%:*}.gz"
	done
fi
test -d "$bundle/data/mnist" || echo "no MNIST in $data: the bundle uses digits and synthetic data"

size=$(du -sm "$bundle" | cut -f 1)
echo "$bundle: $size MB"
test "$size" -le "$most" || { echo "the bundle is larger than $most MB"; exit 1; }
