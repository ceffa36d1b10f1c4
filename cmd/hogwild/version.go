package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/vec"
)

const versionHelp = `Usage: hogwild version [--json]
       hogwild --version

Prints the version, the commit and Go release of the build, the CPU loops that training uses on
this processor, and whether this build can train on GPUs.

FLAGS
Examples:
  hogwild version
  hogwild version --json
`

// version is what this program is made of.
type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // "" where Go did not record it
	Go      string `json:"go"`
	System  string `json:"system"` // linux/amd64
	CPU     string `json:"cpu"`    // the loops: avx512, avx2, neon or go
	CUDA    bool   `json:"cuda"`   // this is the build for GPUs, or there is one that this program starts
	GPU     string `json:"gpu"`    // which one, or why there is none
	driver  string
}

func versionCommand() *cli.Command {
	return listCommand("version", "print version, commit, CPU loops and CUDA support", versionHelp, "answer",
		func() (answer, error) { return thisVersion(), nil })
}

// hasCUDA reports whether Go has built the program with the tag cuda.
func hasCUDA(path string) bool {
	f, err := atomicfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := buildinfo.Read(f)
	return err == nil && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), "cuda")
	})
}

// thisVersion starts no other program and no driver: see hogwild doctor for these.
func thisVersion() version {
	v := version{Version: config.Version, Commit: rundir.Commit(), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, CPU: vec.InstructionSet(), driver: cudaVersion()}
	path, err := findCUDA()
	if err == nil && !hasCUDA(path) {
		err = fmt.Errorf("%s is not hogwild built with CUDA", path)
	}
	if v.CUDA = err == nil; v.CUDA {
		v.GPU = path
	} else {
		v.GPU, _, _ = strings.Cut(err.Error(), ": ") // without the advice for those who asked for one
		if !thisHost().nvidia() {
			v.GPU = noDevice + "; " + v.GPU
		}
	}
	return v
}

// WriteText writes a line for each fact. The first and the driver's are what tryCUDA reads.
func (v version) WriteText(w io.Writer) error {
	name, cuda := "hogwild "+v.Version, "no: "
	if v.Commit != "" {
		name += " (" + v.Commit + ")"
	}
	if v.CUDA {
		cuda = "yes: "
	}
	_, err := fmt.Fprintf(w, "%s\nGo    %s, %s\nloops %s\nCUDA  %s%s\n%s", name, v.Go, v.System, v.CPU, cuda,
		v.GPU, v.driver)
	return err
}
