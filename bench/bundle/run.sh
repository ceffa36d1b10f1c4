#!/usr/bin/env bash
# Measures and checks hogwild on the GPU of this machine, in less than 8 minutes:
#
#   ./run.sh [FOLDER]      results go to the folder (default results), a page of them to report.md
#
# Needs a driver; uses nvidia-smi, nvidia-cuda-mps-control, compute-sanitizer and PyTorch where
# they are. Each section has a time of its own, and goes on when another one has failed.
# QUICK=1 does the least of everything: to see that it runs. GPU is the GPU's number (0).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" != --section ]; then export OUT=$(realpath -m "${1:-results}"); fi
export GPU=${GPU:-0} QUICK=${QUICK:-}
PATH=$here/bin:$PATH
# The driver translates the kernels for its GPU once, not in each process.
export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-$OUT/cache}
data=$here/data

# quick VALUE OTHER is the first value, or with QUICK the other.
quick() { if [ -n "$QUICK" ]; then echo "$2"; else echo "$1"; fi; }
note() { printf '%s\t%s\t%s\t%s\n' "$SECTION" "$1" "$2" "$3" >>"$OUT/checks.tsv"; }

# check NAME COMMAND... notes whether it succeeds, and what it says.
check() {
	local name=$1 text status=ok
	shift
	text=$("$@" 2>"$OUT/stderr") || status=FAIL
	test $status = ok || text="$text $(tail -n 3 "$OUT/stderr")"
	note "$name" $status "$(printf %s "$text" | tr '\n\t' '  ')"
	echo "$status  $name  $text"
	test $status = ok
}
skip() { note "$1" skipped "$2"; echo "skipped  $1: $2"; }

# train GROUP NAME FLAGS... trains, and keeps report and metrics under the two names.
train() {
	local group=$1 name=$1.$2
	shift 2
	printf '%s\n' "$*" >"$OUT/trained/$name.flags"
	hogwild train --json --quiet --save-every 0 --run "$OUT/trained/$name" "$@" >"$OUT/trained/$name.json" 2>"$OUT/trained/$name.err" &&
		cp "$OUT/trained/$name/metrics.jsonl" "$OUT/trained/$name.metrics" && return
	if [ "$group" = flight ] && grep -q "the numbers diverged" "$OUT/trained/$name.err"; then
		echo '{"stopped": "diverged"}' >"$OUT/trained/$name.json" # that is an answer too
		return
	fi
	note "$name" FAIL "$(tail -n 2 "$OUT/trained/$name.err" | tr '\n\t' '  ')"
	rm -f "$OUT/trained/$name.json"
	return 1
}
# field RUN NAME prints a number of a report.
field() { sed -n "s/^ *\"$2\": \([^,]*\),*$/\1/p" "$OUT/trained/$1.json" | head -n 1; }

images() { if [ -d "$data/mnist" ] && [ -z "$QUICK" ]; then echo "--data $data/mnist"; else echo "--data digits:$(quick 20000 400)"; fi; }
rows() { # NAME TEST, or made ones
	if [ -f "$data/$1" ]; then echo "--data $data/$1 --test $data/$2 --limit $(quick 0 400)"; else echo "--data synth:rcv1:$(quick 0.05 0.001)"; fi
}

machine() {
	{ nvidia-smi --query-gpu=name,driver_version,memory.total,compute_mode,clocks.max.sm,pcie.link.gen.current --format=csv,noheader || echo "no nvidia-smi"
	nvidia-smi topo -m; nproc; uname -sr; grep -m 1 'model name' /proc/cpuinfo; } >"$OUT/machine.txt" 2>/dev/null
	check "driver" hogwild-cuda --version
}
doctor() { check "doctor" hogwild doctor; check "devices" hogwild devices; }
microbench() { hogwild bench --microbench --gpu "$GPU" --json $(quick "" --quick) >"$OUT/microbench.json" 2>"$OUT/stderr" || { note microbench FAIL "$(tail -n 2 "$OUT/stderr")"; rm "$OUT/microbench.json"; }; }
reference() { cd "$here/cuda" && check "kernels against their references" timeout 60 cuda.test $(quick "" "-test.run Linear|MLP|Average|Microbench") -test.short; }
sanitizer() {
	command -v compute-sanitizer >/dev/null || { skip "compute-sanitizer" "it is not here"; return; }
	for tool in memcheck racecheck initcheck; do
		check "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 --target-processes all \
			hogwild-cuda train --gpu "$GPU" --workers 2 --data digits:300 --model mlp:32 --epochs 1 --run "$OUT/trained/$tool" --quiet
	done
}

# agree MODE WORKERS WITHIN FLAGS... compares the losses with those of the CPU.
agree() {
	local mode=$1 workers=$2 within=$3 flags="--data digits:$(quick 4000 500) --model softmax --epochs $(quick 3 1) --lr 0.1 --batch 16 --center off"
	shift 3
	train agree "$mode-$workers-gpu" $flags --mode "$mode" --workers "$workers" --gpu "$GPU" "$@" &&
		train agree "$mode-$workers-cpu" $flags --mode "$mode" --workers "$workers" || return
	awk -v g="$(field agree.$mode-$workers-gpu test_loss)" -v c="$(field agree.$mode-$workers-cpu test_loss)" -v within="$within" 'BEGIN {
		d = g > c ? g - c : c - g
		printf "test loss %.5f, on the CPU %.5f", g, c
		exit !(g != "" && c != "" && d <= within) }'
}
numbers() { # of a run's weights, without the file's head, which names the run
	local file=$OUT/trained/$1/weights.safetensors
	tail -c +$(($(od -An -tu8 -N8 "$file") + 9)) "$file"
}
repeats() { # barrier mode comes to the same bits twice
	for turn in first second; do
		train repeats $turn --data digits:500 --batch 16 --epochs 1 --mode sync --workers 2 --gpu "$GPU" || return
	done
	echo "train loss $(field repeats.first train_loss) and $(field repeats.second train_loss)"
	cmp <(numbers repeats.first) <(numbers repeats.second)
}
processes() {
	for workers in 1 2 4; do
		check "sync, workers: $workers" agree sync "$workers" 0.001
		# One step in flight is serial on both; with more the order is chance.
		if [ "$workers" = 1 ]; then check "async, workers: 1" agree async 1 0.001 --in-flight 1
		else check "async, workers: $workers" agree async "$workers" 0.1 --in-flight "$workers"; fi
	done
	check "sync repeats its bits" repeats
}

survives() { # a worker killed in the middle of a run
	train kill worker --data digits:$(quick 20000 4000) --model softmax --batch 16 --workers 3 --gpu "$GPU" --epochs $(quick 200 20) &
	local run=$! worker=
	for _ in $(seq 100); do
		sleep 0.1
		grep -qs . "$OUT/trained/kill.worker/metrics.jsonl" || continue
		for pid in $(cat /proc/$run/task/*/children 2>/dev/null); do
			for child in $(cat /proc/$pid/task/*/children 2>/dev/null); do worker=$child; done
		done
		test -n "$worker" && break
	done
	test -n "$worker" && kill -KILL "$worker" || { echo "no worker was found to kill"; wait "$run"; return 1; }
	wait "$run" || return
	echo "restarts $(field kill.worker restarts), lost examples $(field kill.worker lost_examples)"
	test "$(field kill.worker restarts)" = 1
}
leaves() { # the coordinator is killed: workers and memory go with it, and the run can be resumed
	local run=$OUT/trained/coordinator pid workers before left=0 done
	memory() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i "$GPU" 2>/dev/null || echo 0; }
	before=$(memory)
	hogwild train --data digits:$(quick 20000 4000) --model softmax --batch 16 --workers 2 --gpu "$GPU" --epochs 1000 --run "$run" --quiet 2>"$OUT/stderr.killed" >&2 &
	pid=$!
	for _ in $(seq 100); do sleep 0.1; test -f "$run/snapshot.safetensors" && break; done
	workers=$(cat /proc/$pid/task/*/children)
	kill -KILL $pid
	wait $pid 2>/dev/null
	sleep 2
	for worker in $workers; do test ! -e "/proc/$worker" || left=$((left + 1)); done
	echo "of $(wc -w <<<"$workers") workers $left are left; $before MiB of GPU memory in use before, $(memory) after"
	test -n "$workers" && test $left = 0 && test "$(memory)" -le $((before + 64)) || return
	done=$(grep -c '"kind":"epoch"' "$run/metrics.jsonl")
	hogwild train --resume "$run" --epochs $((done + 1)) --json --quiet >"$OUT/trained/kill.resumed.json" && echo "resumed: accuracy $(field kill.resumed test_accuracy)"
}
kills() { check "a worker is killed" survives; check "the coordinator is killed" leaves; }

mps() {
	local with="plain"
	if command -v nvidia-cuda-mps-control >/dev/null; then with="plain mps"; else skip "MPS" "nvidia-cuda-mps-control is not here"; fi
	for workers in 1 2 4; do
		for how in $with; do
			train mps "$how-$workers" $(images) --model mlp:128 --batch 8 --in-flight 132 --lr 0.02 --epochs $(quick 3 1) \
				--workers $workers --gpu "$GPU" $(test $how = mps && echo --mps)
		done
	done
}

speed() {
	local gpu="--gpu $GPU --workers 1" e=$(quick 10 1)
	for c in $(quick "64 528" 64); do
		train speed "softmax.in-flight-$c" $gpu $(images) --model softmax --batch 8 --lr 0.05 --epochs "$e" --target-accuracy 0.92 --in-flight $c
		train speed "mlp128.in-flight-$c" $gpu $(images) --model mlp:128 --batch 1 --lr 0.02 --epochs "$e" --target-accuracy 0.975 --in-flight $c
		train speed "a9a.in-flight-$c" $gpu $(rows a9a.gz a9a.t.gz) --model logistic --batch 1 --lr 0.02 --epochs "$e" --in-flight $c
		train speed "imdb.in-flight-$c" $gpu $(rows imdb_train.gz imdb_test.gz) --model logistic --batch 1 --lr 1 --epochs "$e" --in-flight $c
		train speed "factor.in-flight-$c" $gpu --data synth:lowrank:$(quick 20000x20000x5000000x10 200x200x2000x4) --model factor:$(quick 32 8) --lr 0.05 --epochs $(quick 4 1) --in-flight $c
		train speed "convnet.in-flight-$c" $gpu $(if [ -n "$QUICK" ]; then echo "--data digits:60"; else images; fi) --model convnet --batch 4 --lr 0.01 --epochs $(quick 3 1) --target-accuracy 0.985 --in-flight $c
	done
}
rivals() {
	python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || { skip "PyTorch" "there is none that sees the GPU"; return; }
	test -d "$data/mnist" || { skip "PyTorch" "there is no MNIST"; return; }
	for of in softmax=0.92 mlp:128=0.975 convnet=0.985; do # the targets of hogwild's runs
		local model=${of%=*}
		timeout 25 python3 "$here/torch_gpu.py" --data "$data/mnist" --model $model --target ${of#*=} --seconds $(quick 4 1) \
			>>"$OUT/rivals.jsonl" 2>"$OUT/stderr" || note "PyTorch $model" FAIL "$(tail -n 1 "$OUT/stderr")"
	done
}
flight() { # a fixed rate, more and more steps in flight; those first that decide, if time is short
	local flags
	for c in $(quick "1 132 1056 8 32 264 528 2112" "1 8"); do
		for model in softmax mlp:128; do
			flags="--gpu $GPU --workers 1 $(images) --model $model --batch 1 --lr 0.02 --epochs $(quick 3 2) --in-flight $c"
			train flight "${model/:/}.free-$c" $flags --lr-cap off
			if [ "$c" -ge "$(quick 132 8)" ]; then train flight "${model/:/}.capped-$c" $flags --lr-cap auto; fi
		done
	done
}
against() { # the GPU, the cores, and both together, in turns: hogwild bench, with its page
	local cores folder=$OUT/bench
	cores=$(nproc)
	printf '%s\n' "name: gpu-and-cores" "base: {model: 'mlp:128', batch: 8, lr: 0.02, epochs: $(quick 3 1)}" "cases:" \
		"  - {name: cores, mode: async, workers: $cores}" \
		"  - {name: gpu, mode: async, workers: 1, gpu: '$GPU'}" \
		"  - {name: both, mode: async, workers: 'gpu:1,cpu:$((cores > 2 ? cores - 2 : 1))', gpu: '$GPU'}" >"$OUT/bench.yaml"
	# Stopped, it writes what there is.
	timeout -k 4 25 hogwild bench --config "$OUT/bench.yaml" $(images) --repeat $(quick 3 1) --out "$folder" >"$OUT/bench.txt" 2>"$OUT/bench.err"
	if [ -s "$folder/report.html" ]; then note "GPU and cores" ok "bench/report.html has the figures, bench.txt the table"
	else note "GPU and cores" FAIL "$(tail -n 1 "$OUT/bench.err")"; fi
}
latency() { # one step in flight: the time of a step
	for model in softmax mlp:128; do
		for batch in 1 8; do
			train latency "${model/:/}.$batch" --gpu "$GPU" --workers 1 $(images) --model $model --batch $batch --limit $(quick 10000 200) --lr 0.01 --epochs 1 --in-flight 1
		done
	done
}

if [ "${1:-}" = --section ]; then
	SECTION=$2
	"$2"
	exit
fi

if [ -e "$OUT" ] && [ -n "$(ls -A "$OUT")" ] && ! [ -e "$OUT/sections.tsv" ]; then
	echo "$OUT is not empty, and has no results of this script: name another folder"
	exit 2
fi
rm -rf "$OUT" && mkdir -p "$OUT/trained" || exit 1
for program in "$here"/bin/*.gz; do
	test -f "${program%.gz}" || gzip -dk "$program" || exit 1
done
if ! hogwild bench --microbench --quick --gpu "$GPU" >"$OUT/stderr" 2>&1; then
	echo "no GPU to measure: $(tail -n 1 "$OUT/stderr")"
	rm -rf "$OUT"
	exit 2
fi
cp "$here/COMMIT" "$OUT/commit.txt"
date -u +%Y-%m-%dT%H:%M:%SZ >"$OUT/date.txt"
for of in machine:10 doctor:20 microbench:25 reference:65 sanitizer:40 processes:40 kills:30 mps:30 latency:12 against:32 flight:60 speed:60 rivals:50; do # 474 s
	name=${of%:*} limit=${of#*:} began=$(date +%s%N)
	echo "== $name"
	timeout -k 5 "$limit" bash "$here/run.sh" --section "$name" 2>&1 | tail -n 12 # its status is the section's, by pipefail
	status=$?
	printf '%s\t%s\t%s\t%s\n' "$name" $status "$(awk -v n=$(($(date +%s%N) - began)) 'BEGIN { printf "%.1f", n / 1e9 }')" "$limit" >>"$OUT/sections.tsv"
	hogwild bench --report "$OUT" >"$OUT/report.md" 2>"$OUT/stderr"
done
hogwild bench --report "$OUT" --json >"$OUT/report.json" && hogwild bench --report "$OUT" >"$OUT/report.md" || exit 1
find "$OUT/trained" -mindepth 1 -type d -exec rm -rf {} + # weights
rm -rf "$OUT/cache"
failures=$(grep -c "	FAIL	" "$OUT/checks.tsv")
echo
echo "$failures checks failed; the page is $OUT/report.md"
test "$failures" = 0
