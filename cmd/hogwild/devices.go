package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/cuda"
)

const devicesHelp = `Usage: hogwild devices [--json]
Lists the CPU cores and GPUs of this machine: memory, processes on each GPU, and how GPUs access
each other's memory. GPU numbers are those that --gpu takes; they count the GPUs that
CUDA_VISIBLE_DEVICES shows.

FLAGS
Unknown values are left out, e.g. processes when NVIDIA's management library is missing.
Access between GPUs: atomics, a GPU can add to the other's memory; access, it can read and write
it; none, data goes through host memory.
Utilization is the share of time in which a kernel ran, over the last second or less, as NVML has it.

Examples:
  hogwild devices
  hogwild devices --json
`

// devices is what the command lists.
type devices struct {
	CPU           processor `json:"cpu"`
	*cuda.Listing           // nil where there is none
	NoGPU         string    `json:"no_gpu,omitempty"` // why
}

func devicesCommand() *cli.Command {
	return listCommand("devices", "list CPU cores and GPUs", devicesHelp, "list", func() (answer, error) {
		d := devices{CPU: thisHost().processor()}
		if err := handOver(); err != nil {
			if d.NoGPU = err.Error(); errors.Is(err, errAbsent) && !thisHost().nvidia() {
				d.NoGPU = noDevice
			}
		} else if d.Listing, err = listGPUs(); err != nil {
			return nil, err
		}
		return d, nil
	})
}

// listCommand returns a command without arguments. It reports what look finds, whatever error comes with it; usage
// says in a line what it does, what is its name in the help of --json.
func listCommand(name, usage, help, what string, look func() (answer, error)) *cli.Command {
	var asJSON bool
	l := flagList{category: "Flags"}
	l.add(&asJSON, "json", "print the "+what+" as one JSON object")
	return verb(cli.Command{Name: name, Usage: usage, Description: help, Flags: l.flags},
		func(c *cli.Context, _ *settings, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q; %s takes flags only", args[0], name)
			}
			found, err := look()
			if found == nil {
				return err
			}
			return errors.Join(report(c.App.Writer, found, asJSON), err)
		})
}

// WriteText writes a block for the CPU, and one for each GPU.
func (d devices) WriteText(out io.Writer) error {
	var rows facts
	cores := fmt.Sprintf("%d cores", d.CPU.Cores)
	if d.CPU.Cores != d.CPU.Online {
		cores = fmt.Sprintf("%d of %d cores", d.CPU.Cores, d.CPU.Online)
	}
	rows.add("cpu", "%s, %s, %s", d.CPU.Name, cores, d.CPU.SIMD)
	rows.add("memory", "%s, %s free", gib(d.CPU.Total), gib(d.CPU.Free))
	if d.Listing == nil {
		rows.add("gpu", "none: %s", d.NoGPU)
	} else {
		rows.addGPUs(d.Listing)
	}
	return rows.write(out)
}

func (f *facts) addGPUs(l *cuda.Listing) {
	driver := "CUDA " + l.CUDA
	if l.Driver != "" {
		driver = l.Driver + ", " + driver
	}
	f.add("driver", "%s", driver)
	if l.NVML != "" {
		f.add("", "%s: utilization, processes and MIG are unknown", l.NVML)
	}
	for _, g := range l.GPUs {
		f.add(fmt.Sprintf("gpu %d", g.Index), "%s, compute capability %d.%d, %d SMs", g.Name, g.Major, g.Minor, g.SMs)
		f.add("", "%s", g.UUID)
		memory := gib(g.Total)
		if g.Free != nil {
			memory += ", " + gib(*g.Free) + " free"
		}
		f.add("", "%s", memory)
		f.add("", "%s", strings.Join(state(g), ", "))
		for _, p := range g.Processes {
			f.add("", "process %d %s", p.PID, used(p))
		}
	}
	if len(l.GPUs) > 1 {
		f.addPeers(l.GPUs)
	}
}

// state says how a GPU may be used.
func state(g cuda.GPU) []string {
	all := []string{"compute mode " + g.Mode, "no MPS: workers take turns (see hogwild doctor)"}
	switch {
	case g.MPS == nil:
		all[1] = "MPS unknown"
	case *g.MPS:
		all[1] = "MPS: workers run side by side"
	}
	if g.MIG != nil && *g.MIG {
		all = append(all, "MIG")
	}
	if g.Display {
		all = append(all, "drives a display")
	}
	return append(all, g.Used()...)
}

// used returns the name of a process and its memory, as far as they are known.
func used(p cuda.Process) string {
	if p.Memory < 0 {
		return p.Name
	}
	return strings.TrimSpace(p.Name + " " + gib(p.Memory))
}

// addPeers adds the matrix of who reaches whose memory.
func (f *facts) addPeers(all []cuda.GPU) {
	head := []string{"peers"}
	for _, g := range all {
		head = append(head, fmt.Sprintf("to %d", g.Index))
	}
	*f = append(*f, head)
	for i, g := range all {
		row := []string{fmt.Sprintf("from %d", g.Index)}
		for j := range all {
			reach := "-"
			if j != i {
				reach = reaches(g, all[j].Index)
			}
			row = append(row, reach)
		}
		*f = append(*f, row)
	}
}

func reaches(g cuda.GPU, to int) string {
	for _, p := range g.Peers {
		switch {
		case p.Index != to:
		case p.Atomics:
			return "atomics"
		case p.Access:
			return "access"
		}
	}
	return "none"
}
