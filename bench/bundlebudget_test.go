package bench

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The service's daemon keeps its output open. Where programs hang, it does not end when it is told to.
const playedControl = `#!/bin/bash
log=$CUDA_MPS_LOG_DIRECTORY/control.log
if [ "$1" = -d ]; then sleep 60 & echo $! >"$CUDA_MPS_PIPE_DIRECTORY/pid"; echo 'Server 92 exited with status 1' >"$log"; exit; fi
read command
echo "$command" >>"$log"
[ "$command" = quit ] || exit 0
[ "$PLAYED_HANG" != mps ] || sleep 60
kill "$(cat "$CUDA_MPS_PIPE_DIRECTORY/pid")"
`

// TestRunScriptBudget: parts that do not fit are skipped and named; a driver that starts slowly is waited for,
// one that does not start ends it. A run that hangs is named, and the next one begins.
func TestRunScriptBudget(t *testing.T) {
	t.Parallel()
	bundle, tools := playedBundle(t), toolsWithoutPS(t)
	for _, c := range []struct {
		name  string
		env   []string
		page  []string
		never string
	}{
		{"budget", []string{"BUDGET=60", "PARTS=flight:300 training:9"},
			[]string{"| flight | skipped: only 5", "| training | tests | ok |"}, ""},
		{"what is left", []string{"BUDGET=60", "PARTS=kernels:80", "TESTS=Chosen"},
			[]string{"| kernels | finished |", "| kernels | tests | ok | 1 passed, 0 skipped |"}, "| 80 |"},
		{"slow driver", []string{"PLAYED_HANG=--version", "PARTS=driver:1 training:9"},
			[]string{"| driver | cut off: out of time |", "| training | finished |"}, ""},
		{"no driver", []string{"PLAYED_STATUS=1", "PARTS=driver:9 training:9"},
			[]string{"| driver | hogwild-cuda --version | FAIL |", "| training | skipped: no driver |"}, ""},
		{"hang", []string{"EACH=3", "PLAYED_HANG=workers.mlp128-b8.1", "RATES=^workers|word2vec.264", "PARTS=rates:90"},
			[]string{"| rates | workers.mlp128-b8.1 | FAIL | not done after 3 s", "| no MPS | mlp128-b8 | 4 | 132 |",
				"| word2vec | 264 |"}, "| softmax"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := play(t, bundle, tools, c.env...)
			_ = p.Wait()
			p.want(c.page...)
			if c.never != "" && strings.Contains(p.printed(), c.never) {
				t.Errorf("there is %q in\n%s", c.never, p.printed())
			}
		})
	}
}

// TestRunScriptMPS: of a service whose server never comes the logs are there, and no process stays.
func TestRunScriptMPS(t *testing.T) {
	t.Parallel()
	p := play(t, playedBundle(t), toolsWithoutPS(t), "EACH=1", "PLAYED_HANG=mps", "PARTS=mps:45")
	_ = p.Wait()
	p.want("| mps | a program under MPS | FAIL | status 124", "| mps | quit | FAIL | status 124", "| mps | finished |",
		"control: Server 92 exited with status 1", "control: get_server_list", "machine: Linux")
	if files := archived(t, filepath.Join(p.out, "results.tar.gz")); files["mps/control.log"] == "" {
		t.Error("the service's log is not in the archive")
	}
	p.cleared()
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), "CUDA_MPS_PIPE_DIRECTORY="+p.temp) {
			t.Errorf("%s is of a process of the service", path)
		}
	}
}

// TestRunScriptCalls: in the two calls that docs/results/gpu.md names each part has its time, if all before it need
// theirs; so has each up to rivals where no parts are named.
func TestRunScriptCalls(t *testing.T) {
	script, err := os.ReadFile("bundle/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../docs/results/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	standard := regexp.MustCompile(`PARTS:-"(.*? rivals:\d+) `).FindSubmatch(script)
	calls := regexp.MustCompile(`(?m)^    BUDGET=(\d+) .*?(?:PARTS="(.*?)" )?\./run\.sh`).FindAllSubmatch(docs, -1)
	if standard == nil || len(calls) != 2 {
		t.Fatalf("%d calls in docs/results/gpu.md, of run.sh %q", len(calls), standard)
	}
	for _, call := range calls {
		budget, _ := strconv.Atoi(string(call[1]))
		parts := string(call[2])
		if parts == "" {
			parts = string(standard[1])
		}
		all := 8 + 5 // what run.sh keeps for the end, and takes to unpack
		for _, limit := range regexp.MustCompile(`\d+( |$)`).FindAllString(parts, -1) {
			n, _ := strconv.Atoi(strings.TrimSpace(limit))
			all += n
		}
		if all > budget {
			t.Errorf("%s need %d s of %d", parts, all, budget)
		}
	}
}
