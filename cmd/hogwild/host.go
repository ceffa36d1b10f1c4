package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"

	"hogwild/hogwild/rundir"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// host is the machine but for its GPUs, as this process sees it. What it looks at can
// be replaced by a test.
type host struct {
	root   fs.FS                // "proc/cpuinfo", "sys/..."
	cores  func() int           // that this process may use
	memfd  func() error         // makes a segment of shared memory
	loop   func(vec.Loop) error // what is wrong with a loop in assembly
	getenv func(string) string
	uid    int
}

func thisHost() host {
	return host{os.DirFS("/"), runtime.NumCPU, shm.Check, vec.Loop.Check, os.Getenv, os.Getuid()}
}

// processor is what `hogwild devices` says of the CPU.
type processor struct {
	Name   string `json:"name"`
	Cores  int    `json:"cores"`        // that this process may use
	Online int    `json:"cores_online"` // that the machine has
	SIMD   string `json:"simd"`         // the instructions that hogwild uses: avx512, avx2, neon or go
	Total  int64  `json:"memory_total"` // bytes; 0: unknown
	Free   int64  `json:"memory_free"`  // bytes that a new program can have
}

func (h host) processor() processor {
	m := rundir.MachineAt(h.root)
	return processor{
		Name: m.CPU, Cores: h.cores(), Online: h.online(), SIMD: vec.InstructionSet(),
		Total: m.Memory, Free: machine.Memory(h.root, "MemAvailable"),
	}
}

// text returns the content of a file, without the white space around it; "" when it cannot be read.
func (h host) text(name string) string { return machine.Text(h.root, name) }

func (h host) there(name string) bool {
	_, err := fs.Stat(h.root, strings.TrimPrefix(name, "/"))
	return err == nil
}

// online returns the number of the machine's cores, which the kernel tells as 0-3,8.
func (h host) online() int {
	n := 0
	for part := range strings.SplitSeq(h.text("sys/devices/system/cpu/online"), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil {
			return h.cores()
		}
		n += to - from + 1
	}
	return n
}

// errAbsent matches the reason why no GPU can be looked at when there is no driver for
// one, or no hogwild-cuda.
var errAbsent = errors.New("this build of hogwild has no CUDA")

func gib(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
