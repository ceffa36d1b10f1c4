#!/usr/bin/env bash
# Checks and benchmarks hogwild on this machine's GPU, in BUDGET seconds (560):
#
#   ./run.sh [FOLDER]      writes report.md, results.tar.gz and rows.txt to the folder (default results)
#
# Needs a driver, and python3 for the report. Uses nvidia-smi, nvidia-cuda-mps-control, ncu, compute-sanitizer and PyTorch if
# they are installed. Each part has a time limit. If less is left of the budget, it gets what is left, and below half of its limit
# is skipped; a run of hogwild has EACH seconds (25). The report names such parts, runs that hang, failures and missing tools. Report and
# archive are rewritten every EVERY seconds (15), and rows.txt gets a line as soon as something is measured: of a script
# that is stopped, even by kill -9, the results so far remain. Its other files are in TMPDIR (2 GB).
# PARTS="driver:20 rates:120" runs selected parts with these limits in seconds. Two extended regular expressions select more: RATES
# the rows that the parts rates and mps measure, TESTS what the parts kernels and training run. JOBS are some of rivals/gpu.py's.
# QUICK=1 runs a minimal version, as a smoke test. GPU is the GPU's index (0).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" != --part ]; then
	OUT=$(realpath -m "${1:-results}") WORK=$(mktemp -d -t hogwild.XXXXXX) || exit 1
	export OUT WORK
fi
export GPU=${GPU:-0} QUICK=${QUICK:-}
BUDGET=${BUDGET:-560} EVERY=${EVERY:-15} EACH=${EACH:-25}
# found goes into the archive; the rest of work is programs, run folders, large data and the driver's cache.
work=$WORK found=$WORK/found data=$WORK/data
PATH=$work/bin:$PATH
# The driver translates the kernels for its GPU once, not in each process.
export CUDA_CACHE_PATH=$work/cache

# Limits in seconds. First what decides most: those up to rivals fit into the budget. mps is last: a hang there may outlive it.
parts=${PARTS:-"driver:20 microbench:25 tools:75 rates:120 rivals:290 kernels:150 machine:30 agree:60 programs:150 kills:45 training:200 flight:210 sanitizer:45 mps:45"}

# quick VALUE OTHER is the first value, or with QUICK the other.
quick() { if [ -n "$QUICK" ]; then echo "$2"; else echo "$1"; fi; }
# note NAME STATUS TEXT... is a line of the page. FAIL counts; info and skipped do not.
note() { local name=$1 status=$2; shift 2; printf '%s\t%s\t%s\t%s\n' "$PART" "$name" "$status" "$(tr '\n\t' '  ' <<<"$*")" | tee -a "$found/checks.tsv" "$OUT/rows.txt"; }
# check NAME COMMAND... notes whether it succeeds, and what it says.
check() {
	local name=$1 text
	shift
	if text=$("$@" 2>"$work/stderr"); then note "$name" ok "$text"; else note "$name" FAIL "$text" "$(tail -n 3 "$work/stderr")"; false; fi
}
has() { command -v "$1" >/dev/null || { note "$1" skipped "not installed"; false; }; }
# bounded SECONDS COMMAND... ends the command in time. One that hangs within the driver cannot be killed: it is left behind.
bounded() {
	local pid until=$((SECONDS + $1 + 3))
	timeout --foreground -k 1 "$@" <&0 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		((SECONDS < until)) || return 137
		sleep 0.1
	done
	wait $pid
}

# train GROUP.NAME FLAGS... trains, and keeps report and metrics under that name.
train() {
	local name=$1 at=$found/trained/$1 run=$work/run/$1 status=0
	shift
	echo "$*" >"$at.flags"
	bounded $EACH hogwild-cuda train --json --quiet --save-every 0 --run "$run" "$@" >"$at.json.new" 2>"$at.err" </dev/null || status=$?
	case $status in
	0) mv "$at.json.new" "$at.json" ;;
	3) echo '{"stopped": "diverged"}' >"$at.json" ;; # that is an answer too
	124 | 137) note "$name" FAIL "not done after $EACH s, and ended; $(tail -n 2 "$at.err")" ;;
	*) note "$name" FAIL "$(tail -n 2 "$at.err")" ;;
	esac
	cp "$run/metrics.jsonl" "$at.metrics" 2>/dev/null
	rm -f "$at.json.new"
	if [ -f "$at.json" ]; then printf '%s\t%s\n' "$name" "$(tr -s '\n\t ' ' ' <"$at.json")" >>"$OUT/rows.txt"; fi
	test $status = 0
}
images() { if [ -d "$data/mnist" ] && [ -z "$QUICK" ]; then echo "--data $data/mnist"; else echo "--data digits:$(quick 20000 400)"; fi; }
# smi FLAGS... asks of the GPU by its UUID: CUDA_VISIBLE_DEVICES changes numbers for CUDA alone.
smi() { exec nvidia-smi -i "$(grep . "$found/uuid.txt" || echo "$GPU")" --format=csv,noheader,nounits "$@" 2>/dev/null; }
memory() { (smi --query-gpu=memory.used) || echo 0; } # MiB
# processes are pairs of a process and its parent, the second field behind the name in brackets; one may have just ended.
processes() { { cat /proc/[0-9]*/stat 2>/dev/null || true; } | awk '{ pid = $1; sub(/.*\) /, ""); print pid, $2 }'; }
children() { processes | awk -v of="$1" '$2 == of { print $1 }'; }
# tree PID are its children, theirs, and so on.
tree() { processes | awk -v of="$1" '{ parent[$1] = $2 } END { for (pid in parent) { at = parent[pid]; while (at != of && at in parent) at = parent[at]; if (at == of) print pid } }'; }

driver() {
	{ timeout 5 nvidia-smi --query-gpu=name,driver_version,memory.total,compute_mode,clocks.max.sm,pcie.link.gen.current --format=csv,noheader || echo "no nvidia-smi"
	timeout 5 nvidia-smi topo -m; nproc; uname -sr; grep -m 1 'model name' /proc/cpuinfo; ldd --version | head -n 1; } >"$found/machine.txt" 2>/dev/null
	hogwild-cuda devices | awk -v gpu="gpu $GPU " 'index($0, gpu) == 1 { found = 1 } found && $1 ~ /^GPU-/ { print $1; exit }' >"$found/uuid.txt"
	check "hogwild-cuda --version" hogwild-cuda --version
}
machine() { check "doctor" tell doctor; check "devices" tell devices; }
tell() { bounded 12 hogwild-cuda "$1" >>"$found/machine.txt" </dev/null; }
microbench() {
	HOGWILD_GPU=$GPU cuda.test -test.run '^$' -test.bench '^BenchmarkMicro$' -test.benchtime "$(quick 50ms 1x)" >"$found/microbench.txt" 2>&1 ||
		note microbench FAIL "$(tail -n 4 "$found/microbench.txt")"
}

# tests NAME FLAGS...: the page counts what is in the file, also when the tests are cut off.
tests() {
	local name=$1
	shift
	mkdir -p "$work/cuda" && cd "$work/cuda" && HOGWILD_DATA=$data cuda.test -test.v -test.short "$@" >"$found/$name.test" 2>&1
}
# Of one kernel each: the driver's compiler takes 20 s for all of them.
steps='Step|Reduce|Teams|Average|Projection|Evaluate|Rules|Torn|Together|Large|Stop|Samples|Conflicts|Microbench|Order|Lists|Sums'
kernels() { tests kernels -test.run "${TESTS:-$(quick "$steps" 'LinearStep|MLPStep|Average|MicrobenchRuns')}"; }
training() { tests training -test.run "${TESTS:-$(quick . SyncRepeats)}" -test.skip "$steps"; }

# The page compares pairs NAME.gpu and NAME.cpu: at one in flight both take the same steps.
agree() {
	local name flags
	while read -r name flags; do
		train "agree.$name.gpu" $flags --gpu "$GPU" && train "agree.$name.cpu" ${flags/--in-flight [0-9]/}
	done <<-END
		softmax --workers 1 --in-flight 1 --data digits:$(quick 4000 500) --model softmax --epochs $(quick 3 1) --lr 0.05 --batch 16
		mlp --workers 1 --in-flight 1 --data digits:$(quick 4000 300) --model mlp:$(quick 128 32) --epochs $(quick 3 1) --lr 0.02 --batch 4
		factor --workers 1 --in-flight 1 --data synth:lowrank:200x200x$(quick 20000 2000)x4 --model factor:$(quick 32 8) --epochs $(quick 3 1) --lr 0.05 --batch 1
		a9a --workers 1 --in-flight 1 $(if [ -f "$data/a9a/a9a" ]; then echo "--data $data/a9a/a9a --test $data/a9a/a9a.t --limit $(quick 10000 400)"; else echo "--data synth:rcv1:0.001"; fi) --model logistic --epochs 1 --lr 0.02 --batch 1
		convnet --workers 1 --in-flight 1 --data digits:$(quick 1000 60) --model convnet --epochs 1 --lr 0.01 --batch 4
		async-4 --workers 4 --in-flight 4 --data digits:$(quick 4000 500) --model softmax --epochs $(quick 3 1) --lr 0.05 --batch 16
	END
	check "sync with two workers is bitwise repeatable" repeats
	check "what other nodes learn is added while workers train" tests added -test.run 'ReduceAdd|AddWhileWorkersTrain'
}
numbers() { # of a run's weights, without the file's head, which names the run
	tail -c +$(($(od -An -tu8 -N8 "$1/weights.safetensors") + 9)) "$1/weights.safetensors"
}
repeats() {
	for turn in 1 2; do
		train repeats.sync-$turn --data digits:500 --model mlp:32 --batch 16 --lr 0.01 --epochs 1 --mode sync --workers 2 --gpu "$GPU" >&2 || return
	done
	cmp <(numbers "$work/run/repeats.sync-1") <(numbers "$work/run/repeats.sync-2")
}

# begun RUN waits until a run in the background has saved a snapshot, after its first epoch.
begun() { for _ in $(seq 150); do sleep 0.1; test -f "$work/run/$1/snapshot.safetensors" && return; done; echo "the run did not start"; false; }
# long NAME FLAGS... is a run in the background, a child of $!. It ends with the subshell that check is.
long() {
	local name=$1
	shift
	timeout --foreground -k 1 $EACH hogwild-cuda train --data digits:$(quick 20000 4000) --model softmax --batch 16 --lr 0.01 --gpu "$GPU" --epochs 1000000 --save-every 1s \
		--json --quiet --run "$work/run/$name" "$@" >"$found/trained/$name.json" 2>"$found/trained/$name.err" &
	trap "kill -KILL $! \$(tree $!) 2>/dev/null" EXIT
}
worker() { # killed in the middle of a run
	local at=$found/trained/kills.worker coordinator
	long kills.worker --workers 3
	begun kills.worker && coordinator=$(children $!) && kill -KILL $(children $coordinator | tail -n 1) || return
	sleep 3
	kill -TERM $coordinator
	wait $!
	test $? = 143 || tail -n 2 "$at.err"
	grep -E '"(restarts|lost_examples)"' "$at.json" | head -n 2
	grep -q '"restarts": 1,' "$at.json"
}
coordinator() { # workers and memory go with it, and the run can be resumed
	local before=$(memory) run=$work/run/kills.coordinator left=0 pid workers
	long kills.coordinator --workers 2
	begun kills.coordinator && pid=$(children $!) && workers=$(children $pid) || return
	kill -KILL $pid
	wait $! 2>/dev/null
	sleep 2
	for worker in $workers; do test ! -e "/proc/$worker" || left=$((left + 1)); done
	echo "$left of $(wc -w <<<"$workers") workers left; GPU memory in use: $before MiB before, $(memory) after;"
	timeout 20 hogwild-cuda train --resume "$run" --stop-after 2s --json --quiet >"$found/trained/kills.resumed.json" &&
		echo "resumed, then at $(grep -m 1 '"epochs"' "$found/trained/kills.resumed.json")" || return
	test -n "$workers" && test $left = 0 && test "$(memory)" -le $((before + 64))
}
kills() { check "a worker is killed" worker; check "the coordinator is killed" coordinator; }

# large makes a set of 480,000 images of MNIST's 60,000: the time between epochs counts for little.
large() {
	local part head to=$work/large
	test -d "$data/mnist" && test -z "$QUICK" || { echo "digits:$(quick 100000 400)"; return; }
	if [ ! -d "$to" ]; then
		mkdir "$to.new"
		for part in images-idx3:16 labels-idx1:8; do
			head=${part#*:} part=train-${part%:*}-ubyte
			gzip -dcf "$data/mnist/$part"* >"$work/part"
			# The second word of the head is the number of rows: 480,000 is 0x75300.
			{ head -c 4 "$work/part"; printf '\x00\x07\x53\x00'; head -c "$head" "$work/part" | tail -c +9
			for _ in 1 2 3 4 5 6 7 8; do tail -c +$((head + 1)) "$work/part"; done; } >"$to.new/$part"
		done
		cp "$data"/mnist/t10k* "$to.new/" && mv "$to.new" "$to"
	fi
	echo "$to"
}
# decoded NAME prints the flag of a large data set. At its first use it is decoded, to a file that each run maps.
decoded() {
	local at=$work/$1 of n
	if [ ! -f "$at.flag" ]; then
		case $1 in
		images) of=$(large) ;;
		sparse) of=synth:ranked:$(quick 2000000 500)x50000x40 ;;
		pairs) of=synth:lowrank:$(quick 500000x500000x20000000x10 200x200x2000x4) ;;
		text) # 8 million words, frequent as by Zipf's law: 16 times the same
			of=$at.txt
			awk -v n=$(quick 500000 2000) -v words=$(quick 20000 100) 'BEGIN { srand(1); for (i = 1; i <= n; i++) printf "w%d%s", exp(rand() * log(words)), i % 20 ? " " : "\n" }' >"$at.part"
			for n in $(seq $(quick 16 1)); do cat "$at.part"; done >"$of" ;;
		esac
		if bounded 40 hogwild-cuda data convert "$of" --out "$at.hog" $(test $1 = text && echo --task words) >&2 </dev/null; then of=$at.hog; fi
		echo "--data $of" >"$at.flag"
	fi
	cat "$at.flag"
}
# ticks PID... is the time that processes have had on the host's cores, in clock ticks.
ticks() { cat $(printf '/proc/%s/stat ' "$@") 2>/dev/null | awk '{ n += $14 + $15 } END { print n + 0 }'; }
# rate GROUP.NAME DATA FLAGS... trains for three seconds if RATES selects the name, and looks at the host's cores during one of them.
rate() {
	local name=$1 data=$2 run all began
	shift 2
	[[ $name =~ ${RATES:-.} ]] || return 0
	data=$(decoded $data)
	if [ -n "$QUICK" ]; then train "$name" $data --gpu "$GPU" "$@" --epochs 1; return; fi
	train "$name" $data --gpu "$GPU" "$@" --epochs 1000000 --stop-after 3s &
	run=$!
	until grep -qs '"second".*"examples":[1-9]' "$work/run/$name/metrics.jsonl" || [ ! -e /proc/$run ]; do sleep 0.1; done
	all=$(tree $run) began=$(ticks $all)
	sleep 1
	awk -v ticks=$(($(ticks $all) - began)) -v second="$(getconf CLK_TCK)" 'BEGIN { if (ticks > 0) printf "%.2f\n", ticks / second }' >"$found/trained/$name.host"
	wait $run
}
low="--lr 0.001 --lr-cap off"
# several GROUP WORKERS is a row of so many workers on the GPU.
several() { rate $1.mlp128-b8.$2 images --workers $2 --model mlp:$(quick 128 32) --batch 8 --in-flight 132 $low; }
# Those first that decide, if time is short. A name ends with the steps in flight that an H200 runs; the page shows those that ran.
rates() {
	local one="--workers 1" b1="--workers 1 --batch 1" sparse="sparse --workers 1 --model logistic --batch 1" c
	if [ -n "$QUICK" ]; then RATES=${RATES:-'128-b[18].(132|1|4)$|softmax.*132|defaults|word2vec.264|factor128'}; fi
	for c in 1 4 8; do several workers $c; done
	HOGWILD_SCATTER=off rate rates.ordered-b1-defaults.264 $sparse # as below, but frequent columns share lines
	rate rates.sparse-b1-defaults.264 $sparse # each CTA keeps back changes of the bias, at a rate of 0.16
	for c in 264 2112; do rate rates.word2vec.$c text $b1 --model word2vec:$(quick 100 8) --in-flight $c --lr 0.025 --lr-cap off; done
	rate rates.softmax-b8.132 images $one --model softmax --batch 8 --in-flight 132 $low
	rate rates.convnet-b4.132 images $one --model convnet --batch 4 --in-flight 132 $low
	for c in 132 264; do rate rates.mlp128-b1.$c images $b1 --model mlp:$(quick 128 32) --in-flight $c $low; done
	rate rates.factor128.2112 pairs $b1 --model factor:$(quick 128 8) --in-flight 2112 --lr 0.01 --lr-cap off
	several workers 2
	rate rates.sparse-b1-merged.1056 $sparse --in-flight 1056 --merge-every 32 $low
	for c in 264 2112; do rate rates.sparse-b1-plain.$c $sparse --in-flight $c --merge-every 1 $low; done
	rate rates.factor32.8448 pairs $b1 --model factor:32 --in-flight 8448 --lr 0.01 --lr-cap off
	rate rates.sparse-b1-merged.264 $sparse --in-flight 264 --merge-every 32 $low
	rate rates.mlp128-b1.396 images $b1 --model mlp:128 --in-flight 396 $low
	rate rates.convnet-b4.32 images $one --model convnet --batch 4 --in-flight 32 $low
}

# compare OF: to the same test loss, at the best rate of each side, which is searched first; each run is on disk when it ends.
compare() {
	local name status text limit=$((LIMIT * 9 / 10))
	if ! has python3; then return; fi
	mkdir -p "$work/rivals"
	python3 "$here/rivals/gpu.py" --of "$1" --data "$data" --work "$work/rivals" --out "$found/rivals.jsonl" --gpu "$GPU" --seconds $limit \
		$(quick "--search $((limit * 2 / 5)) --beside $(nproc)" "--quick --jobs a9a,softmax") ${JOBS:+--jobs $JOBS} 2>"$work/stderr" |
		while IFS=$'\t' read -r name status text; do note "$name" "$status" "$text"; done
	test "${PIPESTATUS[0]}" = 0 || note gpu.py FAIL "$(tail -n 2 "$work/stderr")"
}
flight() { compare flight; }
rivals() { compare rivals; }

# mps starts NVIDIA's Multi-Process Service in folders of its own, and asks whether a program comes through: it waits for ever for a
# server that cannot start. If it does, several workers share the service. All output goes to files: the daemon may keep a pipe open.
mps() {
	local at=$work/mps logs=$found/mps c left
	has nvidia-cuda-mps-control || return 0
	mkdir "$at" "$logs"
	export CUDA_MPS_PIPE_DIRECTORY=$at CUDA_MPS_LOG_DIRECTORY=$logs
	{ uname -a; id; command -v nvidia-cuda-mps-control nvidia-cuda-mps-server; ls -ld /dev/shm; df /dev/shm; } >"$logs/machine.log" 2>&1
	bounded 5 nvidia-cuda-mps-control -d >"$logs/start.log" 2>&1 </dev/null || note "nvidia-cuda-mps-control -d" FAIL "status $?"
	if bounded $((EACH < 20 ? EACH : 20)) hogwild-cuda --version >"$logs/client.log" 2>&1 </dev/null; then
		note "a program under MPS" ok "$(cat "$logs/client.log")"
		for c in 1 2 4 8; do
			left=$((LIMIT - SECONDS - 12)) EACH=$((left < EACH ? left : EACH))
			if [ $left -ge 6 ]; then several mps $c; fi
		done
	else
		note "a program under MPS" FAIL "status $? (124: no answer)"
	fi
	bounded 3 nvidia-cuda-mps-control >"$logs/servers.log" 2>&1 <<<get_server_list
	dmesg 2>&1 | tail -n 20 >"$logs/dmesg.log"
	bounded 5 nvidia-cuda-mps-control >"$logs/quit.log" 2>&1 <<<quit || note "quit" FAIL "status $?"
	kill -KILL $(grep -slz "^CUDA_MPS_PIPE_DIRECTORY=$at" /proc/[0-9]*/environ | cut -d / -f 3) 2>/dev/null || : # what is left of it
}

tools() { # what holds up four kernels
	local kernel flags to page
	has ncu || return 0
	while read -r kernel flags <&3; do
		to=$found/ncu.$kernel
		# Without the first flag ncu would lock the clocks of the card, which others may use.
		bounded 14 ncu --clock-control none --cache-control none --target-processes all --kernel-name "regex:${kernel}_(step|one|whole)" --launch-skip 2 --launch-count 1 \
			--section LaunchStats --section Occupancy --section SpeedOfLight --section WarpStateStats --export "$to.ncu-rep" \
			hogwild-cuda train --gpu "$GPU" --workers 1 --quiet --lr 0.01 --epochs 20 $flags --run "$work/run/ncu.$kernel" >"$to.txt" 2>&1 </dev/null
		# The details have no numbers of the reasons why warps stall.
		test ! -f "$to.ncu-rep" || for page in details raw; do bounded 5 ncu --import "$to.ncu-rep" --page $page >>"$to.txt" 2>&1 </dev/null; done
		grep -q 'Context [0-9]' "$to.txt" || note "ncu $kernel" FAIL "no kernel was profiled: $(tail -n 2 "$to.txt")"
	done 3<<-END
		linear $(images) --model softmax --batch 8 --in-flight 132
		mlp $(images) --model mlp:128 --batch 8 --in-flight 132
		conv $(images) --model convnet --batch 4 --in-flight 132
		sparse --data synth:ranked:$(quick 200000 500)x50000x40 --model logistic --batch 1 --in-flight 264 --merge-every 1
	END
}
sanitizer() {
	local tool
	has compute-sanitizer || return 0
	# initcheck takes memory that another process has written for never written.
	for tool in memcheck initcheck; do
		timeout 20 compute-sanitizer --tool $tool --error-exitcode 9 --target-processes all hogwild-cuda train --gpu "$GPU" --workers 1 --lr 0.01 --quiet \
			--data digits:300 --model mlp:32 --epochs 1 --run "$work/run/$tool" >"$found/$tool.txt" 2>&1 && note $tool ok "$(tail -n 1 "$found/$tool.txt")" ||
			note $tool "$(test $tool = memcheck && echo FAIL || echo info)" "$(tail -n 2 "$found/$tool.txt")"
	done
}

programs() { # PyTorch in the GPU memory that it opens itself, and on cores
	local workers of
	note PyTorch info "$(python3 -c 'import torch; print(torch.__version__)' 2>&1 | tail -n 1)"
	python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || { note GPU skipped "no PyTorch with CUDA"; return; }
	for workers in $(quick "1 2 4" 1); do # a few steps of several workers end anywhere
		for of in "gpu --gpu $GPU" cpu; do
			EACH=60 train programs.$workers-workers.${of%% *} --program "python3 '$here/convnet.py'" $(images) --limit $(quick 20000 400) --scale 0.1307,0.3081 \
				--workers $workers --epochs 1 $(test "${of%% *}" = cpu || echo ${of#* })
		done
	done
}

if [ "${1:-}" = --part ]; then
	export PART=$2
	"$2"
	exit
fi

# publish rewrites the report and the archive, replacing each atomically. tar returns 1 if a file grew meanwhile.
publish() {
	PYTHONIOENCODING=utf-8 timeout 20 python3 "$here/report.py" "$found" >"$work/report.md" 2>"$work/trouble" || cat "$work/trouble" "$found"/*.tsv >>"$work/report.md"
	cp "$work/report.md" "$found/report.md" && cp "$work/report.md" "$OUT/report.md.new" && mv "$OUT/report.md.new" "$OUT/report.md"
	tar -C "$found" -czf "$OUT/results.tar.gz.new" . 2>"$work/trouble"
	test $? -le 1 && mv "$OUT/results.tar.gz.new" "$OUT/results.tar.gz"
}
running= log=
# stop is the end, of a script that is stopped too.
stop() {
	trap - EXIT TERM INT HUP
	publish
	if [ -n "$running$log" ]; then kill $running $log 2>/dev/null; sleep 1; fi
	rm -rf "$work" # the archive has what was found
}
# ended NAME STATUS SECONDS LIMIT is a line of the page.
ended() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$found/parts.tsv"; echo "== $1: status $2"; }
# part NAME LIMIT runs a part. One that hangs within the driver cannot be killed: it is left behind.
part() {
	local began=$(date +%s%N) left=$((BUDGET - SECONDS - 8)) status=137 limit=$2 until next=$((SECONDS + EVERY))
	if [ $((limit / 2)) -gt $left ]; then ended "$1" "skipped: only $left s are left" 0 $limit; return; fi
	limit=$((limit < left ? limit : left)) until=$((SECONDS + limit + 7))
	LIMIT=$limit timeout -k 5 $limit bash "$here/run.sh" --part "$1" >"$found/$1.log" 2>&1 </dev/null &
	running=$!
	ended "$1" running 0 $limit >/dev/null
	while ((SECONDS < until)); do
		kill -0 $running 2>/dev/null || { wait $running; status=$?; break; }
		sleep 0.1
		if ((SECONDS >= next)); then publish; next=$((SECONDS + EVERY)); fi
	done
	running=
	sed -i '$d' "$found/parts.tsv"
	tail -n 12 "$found/$1.log"
	ended "$1" $status "$(awk -v n=$(($(date +%s%N) - began)) 'BEGIN { printf "%.1f", n / 1e9 }')" $limit
	rm -rf "$work/run"
	publish
	return $status
}

mkdir -p "$OUT" "$found/trained" "$work/bin" && rm -f "$OUT"/{report.md,results.tar.gz,rows.txt}{,.new} || exit 1
trap stop EXIT
trap 'exit 143' TERM
trap 'exit 130' INT HUP
for program in "$here"/bin/*.gz; do
	gzip -dc "$program" >"$work/bin/$(basename "$program" .gz)" || exit 1
done
chmod +x "$work"/bin/*
if [ -d "$here/data" ]; then cp -r "$here/data" "$work/" && chmod -R u+w "$data" && gzip -dq "$data"/a9a/*.gz; fi 2>/dev/null
cp "$here/COMMIT" "$found/commit.txt"
date -u +%Y-%m-%dT%H:%M:%SZ >"$found/date.txt"
# All the time, so that the driver stays loaded between two processes.
timeout "$BUDGET" nvidia-smi --query-gpu=timestamp,uuid,clocks.sm,power.draw,utilization.gpu,memory.used --format=csv,noheader,nounits -lms 500 >"$found/smi.csv" 2>/dev/null &
log=$!

missing=
for of in $parts; do
	if [ -n "$missing" ]; then ended ${of%:*} "skipped: no driver" 0 ${of#*:}; continue; fi
	part ${of%:*} ${of#*:}
	case ${of%:*}:$? in driver:0 | driver:124) ;; driver:*) missing=1 ;; esac # 124: it starts slowly
done
stop
failures=$(grep -c '| FAIL |' "$OUT/report.md")
echo
echo "$failures checks failed; see $OUT/report.md"
test "$failures" = 0
