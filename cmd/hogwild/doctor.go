package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/cuda"
	"hogwild/hogwild/config"
	"hogwild/internal/self"
)

const doctorHelp = `Usage: hogwild doctor [--json]
Checks for problems that would break or slow down a run: shared memory, cores and memory that this
process may use, and the results of each assembly loop on this processor; on GPUs also the driver,
memory shared between processes, compute modes and MPS. Each line is fine, advice, or FAILS with a
remedy.

FLAGS
Exit status: 0 if all checks are fine or advice, 1 if one fails.

Examples:
  hogwild doctor
  hogwild doctor --json
`

// examination is what the doctor found.
type examination struct {
	Version  string         `json:"version"`
	Healthy  bool           `json:"healthy"` // nothing will fail
	Findings []cuda.Finding `json:"findings"`
}

// errUnhealthy ends the program with status 1; the findings have said why.
var errUnhealthy = errors.New("some checks failed: see the lines that begin with FAILS")

func doctorCommand() *cli.Command {
	return listCommand("doctor", "check this machine for problems", doctorHelp, "findings", func() (answer, error) {
		e := examine()
		if !e.Healthy {
			return e, errUnhealthy
		}
		return e, nil
	})
}

// echoTime is how long the second processes of all GPUs may take; one takes as long as the
// driver to start.
const echoTime = time.Minute

// examine looks at the machine; at its GPUs hogwild-cuda looks, which takes this
// program's place if it can.
func examine() examination {
	h := thisHost()
	none := handOver()
	e := examination{Version: config.Version, Healthy: true}
	for _, look := range hostChecks {
		e.Findings = append(e.Findings, look(h))
	}
	if none != nil {
		e.Findings = append(e.Findings, h.withoutGPU(none))
	} else {
		e.Findings = append(append(e.Findings, h.mpsCheck()), gpuFindings()...)
	}
	for _, f := range e.Findings {
		e.Healthy = e.Healthy && f.Level != cuda.Fails
	}
	return e
}

func gpuFindings() []cuda.Finding {
	ctx, cancel := context.WithTimeout(context.Background(), echoTime)
	defer cancel()
	found, err := examineGPUs(func() *exec.Cmd {
		return self.Command(ctx, "doctor-echo")
	})
	if err != nil {
		found = append(found, cuda.Found("gpu", cuda.Fails, "%v", err))
	}
	return found
}

// echoCommand returns the command of examineGPUs' second process.
func echoCommand() *cli.Command {
	return &cli.Command{Name: "doctor-echo", Hidden: true, Action: func(*cli.Context) error {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<16))
		if err != nil {
			return err
		}
		return answerGPUs(text)
	}}
}

// WriteText writes a line a finding.
func (e examination) WriteText(w io.Writer) error {
	for _, f := range e.Findings {
		level := string(f.Level)
		if f.Level == cuda.Fails {
			level = "FAILS"
		}
		if _, err := fmt.Fprintf(w, "%-7s %s: %s\n", level, f.Check, f.Text); err != nil {
			return err
		}
	}
	return nil
}
