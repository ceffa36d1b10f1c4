#!/bin/sh
# Fetches and builds the programs that compare.py runs hogwild against, and prepares their
# data, in build/rivals (or $RIVALS). What is there already is left alone.
#
#   bench/rivals/build.sh DATA       DATA holds a9a, w8a, imdb and mnist, a folder each
#
# Needed: git, make, gcc, g++, python3 with venv; on Debian also libnuma-dev and liblinear-dev.
set -eu
data=${1:?usage: build.sh DATA}
here=$(cd "$(dirname "$0")" && pwd)
out=${RIVALS:-$here/../../build/rivals}
mkdir -p "$out/data"
cd "$out"

# source NAME COMMIT takes a repository as it was at a commit.
source() {
	test -d "$(basename "$1")" && return
	git clone --quiet "https://github.com/$1" && git -C "$(basename "$1")" checkout --quiet "$2"
}

source huanzhang12/hogwildpp 6aaf9efe6247f83866e2fa82218b1873fd985c46
sed -i 's/int posn\[\];/int posn[0];/' hogwildpp/hazytl/include/hazy/types/tuple.h # for gcc 12 and later
make -s -C hogwildpp bin/svm bin/numasvm
source cjlin1/libmf 1498368bc79f86b59376b39751b3a72757d0624e
make -s -C libmf mf.o DFLAG='-DUSEAVX -DUSEOMP'

cc -O3 -march=native -pthread -o sparse "$here/sparse.c" -lm
cc -O2 -o liblinear "$here/liblinear.c" -llinear -lm
g++ -O3 -march=native -fopenmp -I libmf -o factor "$here/libmf.cpp" libmf/mf.o

if ! test -x v/bin/python; then
	python3 -m venv v
	v/bin/pip install --quiet -r "$here/requirements.txt"
fi

# One split of each set for all: w8a, which has none, into four fifths and a fifth.
v/bin/python - "$data" <<'END'
import gzip, random, shutil, sys
data = sys.argv[1]
shutil.copyfile(f"{data}/a9a/a9a", "data/a9a")
shutil.copyfile(f"{data}/a9a/a9a.t", "data/a9a.t")
rows = [r for r in open(f"{data}/w8a/w8a") if r.strip()]
random.Random(1).shuffle(rows)
open("data/w8a", "w").writelines(rows[len(rows) // 5 :])
open("data/w8a.t", "w").writelines(rows[: len(rows) // 5])
for part, name in ("train", "imdb"), ("test", "imdb.t"):
    with gzip.open(f"{data}/imdb/imdb_ltc_{part}.gz") as f, open(f"data/{name}", "wb") as g:
        shutil.copyfileobj(f, g)
END
test -e data/mnist || ln -s "$(cd "$data" && pwd)/mnist" data/mnist
for set in a9a w8a imdb; do
	./sparse data/$set bin=data/$set.bin
	./sparse data/$set.t bin=data/$set.t.bin
done

# Made data, written by hogwild itself: 4 GB.
hogwild=$here/../../bin/hogwild
if test -x "$hogwild" && ! test -e data/rcv1.test.libsvm.bin; then
	"$hogwild" data make rcv1 data/rcv1.libsvm
	./sparse data/rcv1.libsvm bin=data/rcv1.libsvm.bin
	./sparse data/rcv1.test.libsvm bin=data/rcv1.test.libsvm.bin
	"$hogwild" data make lowrank:100000x100000x50000000x10 data/lowrank.npy
fi
