//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
)

// A run apart is one in a process of its own: its coordinator can be killed, and the
// stand-in driver reads its switches anew.

const apartVariable = "HOGWILD_TEST_APART"

// runApart is the main of such a process. It prints the result, also when the run fails.
func runApart(text string) int {
	var c config.Config
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		if os.Getenv(poisonVariable) != "" {
			device.RegisterBackend("cuda", poisoned{})
		}
		var r rundir.Result
		r, err = run.Run(context.Background(), c, run.Options{})
		err = keep(err, json.NewEncoder(os.Stdout).Encode(printed{r, r.Events}))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// printed is a result with the events, which a result in JSON lacks.
type printed struct {
	Result rundir.Result
	Events []string
}

// process is a run apart.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
}

func apart(t *testing.T, c config.Config, switches ...string) *process {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command("/proc/self/exe")}
	p.Args[0] = os.Args[0]
	p.Env = append(append(os.Environ(), switches...), apartVariable+"="+string(text))
	p.Stdout, p.Stderr = &p.out, &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill() // it may just have ended
			_ = p.Wait()
		}
	})
	return p
}

// result waits for the run and returns its result, and the error that it ended with.
func (p *process) result(t *testing.T) (_ rundir.Result, err error) {
	t.Helper()
	ended := p.Wait()
	var all printed
	if err := json.Unmarshal(p.out.Bytes(), &all); err != nil && ended == nil {
		t.Fatalf("%v in %s", err, p.out.String())
	}
	if ended != nil {
		err = fmt.Errorf("%w: %s", ended, strings.TrimSpace(p.err.String()))
	}
	all.Result.Events = all.Events
	return all.Result, err
}
