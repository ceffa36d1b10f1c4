package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/data"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// patience is how long a run that was asked to stop may take to do so.
const patience = 20 * time.Second

// outcome is how a run ended: well if failed is empty.
type outcome struct {
	failed   string // why, in a line
	diverged bool
}

// train runs the program on a case until it ends. The error is one that concerns all
// cases: the program is not there, the user made a mistake, ctx is done.
func (r *Runner) train(ctx context.Context, c Case, seed uint64, folder, kept string) (outcome, error) {
	cmd, err := r.command(ctx, c, append(c.flags(seed), "--run="+folder, "--save-every=0", "--quiet"))
	if err != nil {
		return outcome{}, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = environment(os.Environ())
	if kept != "" {
		cmd.Env = append(cmd.Env, data.KeptVariable+"="+kept)
	}
	// Ctrl-C goes to this process alone, which asks the run to stop, once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		return outcome{}, fmt.Errorf("starting %s: %w", cmd.Args[0], err)
	}
	err = cmd.Wait()
	if ctx.Err() != nil { // however the run took it
		return outcome{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, fmt.Errorf("case %s: %w", c.Name, err)
	}
	return outcomeOf(c, cmd.ProcessState.Sys().(syscall.WaitStatus), said.String())
}

// command is the program with the flags of a case, or its launcher with that.
func (r *Runner) command(ctx context.Context, c Case, args []string) (*exec.Cmd, error) {
	program := r.Program
	switch {
	case c.Launcher != "" && len(program) == 0:
		path, err := os.Executable() // the launcher's processes have another /proc/self
		if err != nil {
			return nil, err
		}
		program = []string{path, "train"}
	case len(program) == 0:
		return self.Command(ctx, append([]string{"train"}, args...)...), nil
	}
	if c.Launcher != "" {
		launch := strings.ReplaceAll(c.Launcher, NodesWord, c.Value("nodes"))
		program = append([]string{"/bin/sh", "-c", "exec " + launch + ` "$@"`, "launcher"}, program...)
	}
	return exec.CommandContext(ctx, program[0], slices.Concat(program[1:], args)...), nil
}

// outcomeOf returns from how the program ended, and from what it said, what that means. A
// crash of a Go program has the status of a usage error, but not its words.
func outcomeOf(c Case, status syscall.WaitStatus, said string) (outcome, error) {
	line, own := lastWords(said)
	switch {
	case status.Signaled():
		return outcome{failed: "killed by " + unix.SignalName(status.Signal())}, nil
	case status.ExitStatus() == 0:
		return outcome{}, nil
	case c.Launcher != "" && (status.ExitStatus() == 126 || status.ExitStatus() == 127) && !own: // of the shell
		return outcome{}, usage("launcher %s: %s", c.Launcher, strings.TrimPrefix(line, "launcher: "))
	case status.ExitStatus() == 2 && own:
		return outcome{}, usage("%s (case %s)", line, cmp.Or(c.Of, c.Name))
	case line == "":
		line = fmt.Sprintf("exit status %d", status.ExitStatus())
	}
	return outcome{failed: line, diverged: status.ExitStatus() == 3 && own}, nil
}

// lastWords returns the line that says why a program ended, and whether it is the program's own,
// not a crash's.
func lastWords(said string) (line string, own bool) {
	for l := range strings.Lines(said) {
		l = strings.TrimSpace(l)
		if text, ok := strings.CutPrefix(l, "hogwild: "); ok {
			line, own = text, true
		} else if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			return l, false
		} else if l != "" && !own {
			line = l
		}
	}
	return line, own
}

// environment returns what a run may know of this process's: not the flags that it would take from
// there, since a case is what its settings say.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		keep := slices.Contains([]string{"HOGWILD_DATA", "HOGWILD_BIN", "HOGWILD_SAMPLES", vec.CPUVariable,
			vec.OffVariable, self.Emulator, nodes.HelperVariable, rundir.Python}, name)
		return strings.HasPrefix(name, "HOGWILD_") && !keep && !strings.HasPrefix(name, "HOGWILD_FAKE_")
	})
}
