#!/usr/bin/env bash
# Installs and builds the programs that compare.py runs hogwild against, and prepares their
# data, in build/rivals (or $RIVALS). It leaves existing parts alone, and names and
# skips what it cannot get; compare.py continues without those.
#
#   MARCH=x86-64-v3 bench/rivals/build.sh    plain C and LIBMF for AVX2 (default: native)
#   bench/rivals/build.sh [DATA]     DATA (or $HOGWILD_DATA) has a folder each for mnist, fashion-mnist,
#                                    a9a, w8a and imdb, or some of them
#
# Needed: python3 (3.11 or later, with venv), gcc; for some also g++, make, git, and Debian's
# libnuma-dev and liblinear-dev. PyTorch comes with CUDA's libraries: 5.4 GB. With MADE=1 it
# also writes the large synthetic data: 4 GB.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
hogwild=${HOGWILD:-$root/bin/hogwild}
data=$(realpath -m "${1:-${HOGWILD_DATA:-$root/../shared/data}}")
RIVALS=$(realpath -m "${RIVALS:-$root/build/rivals}")
mkdir -p "$RIVALS/data" "$RIVALS/log" && cd "$RIVALS" || exit 1
failed=

# step NAME COMMAND... runs it and prints whether it worked.
step() {
	local name=$1
	shift
	if "$@" >"log/$name" 2>&1 </dev/null; then
		echo "  $name: there"
	else
		echo "  $name: left out: $(grep . "log/$name" | tail -n 1) ($PWD/log/$name)"
		failed="$failed $name"
		return 1
	fi
}

# there PROGRAM... fails if programs are missing, and names them.
there() {
	local lacking=
	for program; do command -v "$program" >/dev/null || lacking="$lacking $program"; done
	test -z "$lacking" || { echo "there is no$lacking"; return 1; }
}

# header NAME PACKAGE fails if gcc does not find it.
header() {
	echo "#include <$1>" | gcc -E - >/dev/null 2>&1 || { echo "there is no $1, which Debian has in $2"; return 1; }
}

# source NAME COMMIT checks out a repository at a commit.
source() {
	local name=${1#*/}
	test -d "$name/.git" || git clone --quiet "https://github.com/$1" "$name" && git -C "$name" checkout --quiet "$2"
}

environment() {
	there python3 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python3 is older than 3.11")' || return
	test -x v/bin/pip || python3 -m venv v && install numpy safetensors
}
install() { # as requirements.txt pins them
	v/bin/pip install --quiet --disable-pip-version-check --constraint "$here/requirements.txt" "$@"
}
plain_c() {
	there gcc && gcc -O3 -march=${MARCH:-native} -pthread -o sparse "$here/sparse.c" -lm
}
liblinear() {
	there gcc && header linear.h liblinear-dev && gcc -O2 -o liblinear "$here/liblinear.c" -llinear -lm
}
hogwildpp() {
	there gcc g++ make git && header numa.h libnuma-dev && source huanzhang12/hogwildpp 6aaf9efe6247f83866e2fa82218b1873fd985c46 || return
	sed -i 's/int posn\[\];/int posn[0];/' hogwildpp/hazytl/include/hazy/types/tuple.h # for gcc 12 and later
	make -s -C hogwildpp bin/svm bin/numasvm
}
libmf() {
	there g++ make git && source cjlin1/libmf 1498368bc79f86b59376b39751b3a72757d0624e || return
	sed -i "s/-march=[^ ]*/-march=${MARCH:-native}/" libmf/Makefile
	make -s -C libmf mf.o DFLAG='-DUSEAVX -DUSEOMP' && g++ -O3 -march=${MARCH:-native} -fopenmp -I libmf -o factor "$here/libmf.cpp" libmf/mf.o
}

images() {
	test -d "$data/$1" || { echo "there is no $data/$1"; return 1; }
	ln -sfn "$data/$1" "data/$1"
}
# set NAME: one split for all programs; w8a has none, so it is split into four fifths and a fifth.
set_of() {
	test -e "data/$1" || python3 - "$data" "$1" <<-'END' || return
		import gzip, os, random, shutil, sys
		data, name = sys.argv[1:]
		files = {"a9a": ["a9a", "a9a.t"], "w8a": ["w8a"], "imdb": ["imdb_ltc_train.gz", "imdb_ltc_test.gz"]}[name]
		for f in files:
		    os.path.exists(f"{data}/{name}/{f}") or sys.exit(f"there is no {data}/{name}/{f}")
		rows = []
		for f in files:
		    with (gzip.open if f.endswith(".gz") else open)(f"{data}/{name}/{f}", "rt") as g:
		        rows.append([r for r in g if r.strip()])
		if len(rows) == 1:
		    random.Random(1).shuffle(rows[0])
		    fifth = len(rows[0]) // 5
		    rows = rows[0][fifth:], rows[0][:fifth]
		for end, part in zip((".t", ""), reversed(rows)):
		    with open(f"data/{name}{end}", "w") as g:
		        g.writelines(part)
	END
	binary "data/$1" "data/$1.t"
}
binary() { # converts to the formats of Hogwild! and of plain C
	for file; do test "$file.bin" -nt "$file" || ./sparse "$file" bin="$file.bin" || return; done
}
made() { # made NAME FILE
	test -x "$hogwild" || { echo "there is no $hogwild: make build"; return 1; }
	test -e "$2" || "$hogwild" data make "$1" "$2" || return
	case $2 in *.libsvm) binary "$2" "${2%.libsvm}.test.libsvm" ;; esac
}

echo "in $PWD, with data of $data:"
step environment environment || exit 1
step PyTorch install torch torchvision pillow
step scikit-learn install scikit-learn
step "Vowpal Wabbit" install vowpalwabbit
step "Snap ML" install snapml
step "liblinear's package" install liblinear-official
step "plain C" plain_c
step liblinear liblinear
step Hogwild++ hogwildpp
step LIBMF libmf
for set in mnist fashion-mnist; do step $set images $set; done
for set in a9a w8a imdb; do step $set set_of $set; done
step rcv1:0.1 made rcv1:0.1 data/rcv1-0.1.libsvm
if [ -n "${MADE:-}" ]; then
	step rcv1 made rcv1 data/rcv1.libsvm
	step lowrank made lowrank:100000x100000x50000000x10 data/lowrank.npy
fi
test -z "$failed" || echo "without$failed"
