package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/cuda/start"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
	"hogwild/internal/human"
	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// variables are those that are not flags: of the program, then of its tests.
var variables = []string{
	vec.CPUVariable, vec.OffVariable, device.SampleVariable, device.ScatterVariable, self.Emulator, fault.Variable,
	start.Variable, rundir.Python, data.KeptVariable, "HOGWILD_RANK", "HOGWILD_SOCKET",
	testData, "HOGWILD_BIN", "HOGWILD_BINARY", nodes.HelperVariable,
}

// madeUp are the beginnings of names that tests make up.
var madeUp = []string{"HOGWILD_FAKE_", "HOGWILD_TEST_"}

// unknownVariable refuses a HOGWILD_ variable that no command reads, for it would have no effect, and faults that there
// are not. The variable of another command's flag is fine.
func unknownVariable(commands []*cli.Command) error {
	known, flags := slices.Clone(variables), []string{}
	for _, c := range typed(commands, "") {
		for _, f := range c.Flags {
			flags = append(flags, f.Names()[0])
			known = append(known, variable(f.Names()[0]))
		}
	}
	_, late := start.Limit()
	if err := cmp.Or(fault.Wrong(), late); err != nil {
		return usagef("environment variable %v", err)
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		made := func(beginning string) bool { return strings.HasPrefix(name, beginning) }
		if !made(prefix) || value == "" || slices.Contains(known, name) || slices.ContainsFunc(madeUp, made) {
			continue
		}
		like := human.Suggest("", variable(ourName(strings.ToLower(strings.TrimPrefix(name, prefix)), flags)), known)
		return usagef("environment variable %s is not a setting of any command%s (unset it, or give the flag)", name,
			like)
	}
	return nil
}

// faultPointsCommand lists what HOGWILD_FAULT can name, for those who test this program.
func faultPointsCommand() *cli.Command {
	return &cli.Command{Name: "fault-points", Hidden: true, Action: func(c *cli.Context) error {
		for _, p := range fault.Points {
			if _, err := fmt.Fprintf(c.App.Writer, "%-18s %s\n", p.Name, p.What); err != nil {
				return err
			}
		}
		return nil
	}}
}
