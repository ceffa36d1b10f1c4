#!/usr/bin/env bash
# Runs on a machine with a GPU what only a GPU proves, and ends with a summary: status
# 0 when all of it held. Builds nothing: bin/hogwild, bin/hogwild-cuda and
# bin/cuda.test come from `make build cuda`, here or on another machine.
#
#   cuda/gpu-check.sh [FOLDER]     keeps reports and errors in the folder (default build/gpu-check)
#
# DATA, MODEL, EPOCHS and LIMIT change what is trained.
set -uo pipefail
cd "$(dirname "$0")/.."

out=${1:-build/gpu-check}
data=${DATA:-digits}
model=${MODEL:-softmax}
epochs=${EPOCHS:-3}
limit=${LIMIT:-0}
rm -rf "$out" && mkdir -p "$out" || exit 1
summary=$out/summary.txt
failures=0

# check NAME COMMAND... notes whether the command succeeds, and what it says.
check() {
	local name=$1 text
	shift
	if text=$("$@" 2>"$out/stderr" | tr '\n' ' '); then
		printf 'ok    %-28s %s\n' "$name" "$text" | tee -a "$summary"
	else
		failures=$((failures + 1))
		printf 'FAIL  %-28s %s\n' "$name" "$text $(tail -n 3 "$out/stderr")" | tee -a "$summary"
	fi
}

# train NAME FLAGS... trains, and keeps the report in NAME.json.
train() {
	local name=$1
	shift
	bin/hogwild train --data "$data" --model "$model" --epochs "$epochs" --limit "$limit" --lr 0.1 --batch 16 \
		--run "$out/$name" --json --quiet "$@" >"$out/$name.json"
}

# field NAME FIELD prints a number of a report.
field() { sed -n "s/^ *\"$2\": \([^,]*\),*$/\1/p" "$out/$1.json"; }

# agree MODE WORKERS WITHIN FLAGS... trains on the GPU and on the CPU, and compares the
# losses.
agree() {
	local mode=$1 workers=$2 within=$3 gpu=gpu-$1-$2 cpu=cpu-$1-$2
	shift 3
	train "$gpu" --mode "$mode" --workers "$workers" --gpu 0 "$@" && train "$cpu" --mode "$mode" --workers "$workers" || return
	awk -v g="$(field "$gpu" test_loss)" -v c="$(field "$cpu" test_loss)" -v within="$within" \
		-v gs="$(field "$gpu" examples_per_second)" -v cs="$(field "$cpu" examples_per_second)" 'BEGIN {
		d = g > c ? g - c : c - g
		printf "test loss %.5f, on the CPU %.5f; %.0f examples/s, on the CPU %.0f", g, c, gs, cs
		exit !(g != "" && c != "" && d <= within)
	}'
}

# repeats trains in barrier mode twice, which must come to the same bits.
repeats() {
	train first --mode sync --workers 2 --gpu 0 && train second --mode sync --workers 2 --gpu 0 || return
	echo "train loss $(field first train_loss) and $(field second train_loss)"
	test "$(field first train_loss)" = "$(field second train_loss)"
}

# survives kills one of three workers in the middle of a run.
survives() {
	train killed --mode async --workers 3 --gpu 0 --epochs $((epochs * 20)) &
	local run=$! worker=
	for _ in $(seq 300); do # until a first epoch is in the metrics
		grep -qs . "$out/killed/metrics.jsonl" && worker=$(pgrep -P "$(pgrep -P $run)" -f 'worker 1')
		test -n "$worker" && break
		sleep 0.1
	done
	test -n "$worker" && kill -KILL "$worker" || { echo "no worker was found to kill"; wait "$run"; return 1; }
	wait "$run" || return
	echo "restarts $(field killed restarts), lost examples $(field killed lost_examples)"
	test "$(field killed restarts)" = 1
}

{ nvidia-smi --query-gpu=name,driver_version,memory.total,compute_mode --format=csv,noheader ||
	echo "no nvidia-smi: is this the stand-in driver?"; } 2>/dev/null | tee "$summary"
check "driver" bin/hogwild-cuda --version
check "kernels against Go" env -C cuda ../bin/cuda.test
for workers in 1 2 4; do
	check "sync, workers: $workers" agree sync "$workers" 0.001
	if [ "$workers" = 1 ]; then # with one step in flight serial on both; with more, the order is chance
		check "async, workers: 1" agree async 1 0.001 --in-flight 1
	else
		check "async, workers: $workers" agree async "$workers" 0.1
	fi
done
check "sync repeats its bits" repeats
check "a worker is killed" survives

echo
if [ "$failures" = 0 ]; then
	echo "all held; reports are in $out"
else
	echo "$failures did not hold; see $out"
	exit 1
fi
