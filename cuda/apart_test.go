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
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
)

// A run apart is one in a process of its own: its coordinator can be killed, and the
// stand-in driver reads its switches anew.

const apartVariable = "HOGWILD_TEST_APART"

// runApart is the main of such a process. It prints the result.
func runApart(text string) int {
	var c config.Config
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		var r rundir.Result
		if r, err = run.Run(context.Background(), c, run.Options{}); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
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

// result is what the run came to; an error is one that it ended with.
func (p *process) result(t *testing.T) (r rundir.Result, err error) {
	t.Helper()
	if err := p.Wait(); err != nil {
		return r, fmt.Errorf("%w: %s", err, strings.TrimSpace(p.err.String()))
	}
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, p.out.String())
	}
	return r, nil
}
