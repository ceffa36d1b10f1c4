package fault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// visits is set in a process that reaches worker.join three times.
const visits = "HOGWILD_TEST_VISITS"

func TestMain(m *testing.M) {
	if os.Getenv(visits) == "" {
		os.Exit(m.Run())
	}
	if err := Wrong(); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	for i := range 3 {
		err := Point("worker.join")
		fmt.Println(i+1, err, errors.Is(err, syscall.ENOSPC))
	}
}

// visit runs a process with faults.
func visit(t *testing.T, faults string) (string, *os.ProcessState) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), visits+"=1", Variable+"="+faults)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState
}

func TestActions(t *testing.T) {
	const none = "1 <nil> false\n2 <nil> false\n3 <nil> false\n"
	for _, c := range []struct{ faults, out, how string }{
		{"", none, "exit status 0"},
		{"worker.joined:crash", none, "exit status 0"},
		{"worker.join:crash/0", none, "exit status 0"},
		{"worker.join:delay=1ms@every", none, "exit status 0"},
		{"worker.join:crash", "", "signal: killed"},
		{"worker.join:crash@3", "1 <nil> false\n2 <nil> false\n", "signal: killed"},
		{"worker.join:signal=SIGTERM@every", "", "signal: terminated"},
		{"worker.join:panic@2", "1 <nil> false\n", "exit status 2"},
		{"worker.join:error@2", "1 <nil> false\n2 fault worker.join false\n3 <nil> false\n", "exit status 0"},
		{"worker.join:error=ENOSPC@every",
			"1 fault worker.join: no space left on device true\n2 fault worker.join: no space left on device true\n3 " +
				"fault worker.join: no space left on device true\n", "exit status 0"},
		{"worker.joined:crash,worker.join:error@3", "1 <nil> false\n2 <nil> false\n3 fault worker.join false\n",
			"exit status 0"},
	} {
		out, state := visit(t, c.faults)
		if c.out == "" && strings.Contains(c.how, "terminated") {
			out = "" // a signal to the process may come to it a moment later
		}
		if out != c.out || !strings.HasPrefix(state.String(), c.how) {
			t.Errorf("%s=%s: %v, want %s; it wrote\n%swant\n%s", Variable, c.faults, state, c.how, out, c.out)
		}
	}
}

// TestStop: a process that stops itself continues after SIGCONT.
func TestStop(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), visits+"=1", Variable+"=worker.join:stop@2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, status %#x: want a stopped process", err, status)
	}
	_ = cmd.Process.Signal(syscall.SIGCONT)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestOffAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(1000, func() { _ = Point("worker.join") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWrongFaults(t *testing.T) {
	for faults, says := range map[string]string{
		"worker.jion:crash":       "did you mean worker.join?",
		"worker.join":             "no action",
		"worker.join:explode":     `action "explode"; want crash`,
		"worker.join:crash=9":     `action "crash=9"; want crash`,
		"worker.join:delay=long":  `action "delay=long"`,
		"worker.join:signal=SIGX": `action "signal=SIGX"`,
		"worker.join:error=EFULL": `action "error=EFULL"`,
		"worker.join:crash@0":     "@0; want a number from 1, or every",
		"worker.join:crash/first": `rank "first"`,
		"epoch.open:error":        "epoch.open returns no errors",
		"worker.join:stop,":       `"": no fault point`,
	} {
		out, state := visit(t, faults)
		if state.ExitCode() != 2 || !strings.Contains(out, says) || !strings.Contains(out, Variable) {
			t.Errorf("%s=%s: %v: %swant %q", Variable, faults, state, out, says)
		}
	}
}

// TestForWorker: a worker gets the faults of its rank, a restarted one the faults of every life.
func TestForWorker(t *testing.T) {
	const list = "worker.join:crash/1,chunk.taken:error@every,chunk.report:delay=1ms@every/0,barrier.meet:stop@4"
	t.Setenv(Variable, list)
	var err error
	if faults, err = parse(list); err != nil {
		t.Fatal(err)
	}
	on = true
	defer func() { on, faults = false, nil }()
	for _, c := range []struct {
		rank      int
		restarted bool
		want      string
	}{
		{0, false, "chunk.taken:error@every,chunk.report:delay=1ms@every,barrier.meet:stop@4"},
		{1, false, "worker.join:crash,chunk.taken:error@every,barrier.meet:stop@4"},
		{0, true, "chunk.taken:error@every,chunk.report:delay=1ms@every"},
		{1, true, "chunk.taken:error@every"},
	} {
		if got := ForWorker(c.rank, c.restarted); got != c.want {
			t.Errorf("rank %d, restarted %v: %q, want %q", c.rank, c.restarted, got, c.want)
		}
	}
	if faults[2].delay != time.Millisecond {
		t.Errorf("a delay of %v", faults[2].delay)
	}
}
