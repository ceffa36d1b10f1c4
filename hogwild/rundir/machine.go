package rundir

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"hogwild/internal/machine"
)

// Machine is where a run was made, for reports.
type Machine struct {
	CPU    string   `json:"cpu"`
	Cores  int      `json:"cores"`  // that this program may use
	Memory int64    `json:"memory"` // bytes; 0: unknown
	Kernel string   `json:"kernel"`
	Go     string   `json:"go"`
	GPUs   []string `json:"gpus,omitempty"` // names of those that the run used
}

// ThisMachine describes the machine that this process runs on, as far as it tells.
func ThisMachine() Machine { return MachineAt(os.DirFS("/")) }

// MachineAt describes the machine whose files are below root: proc/cpuinfo and proc/meminfo. The rest is this
// process's.
func MachineAt(root fs.FS) Machine {
	m := Machine{CPU: machine.Field(root, "proc/cpuinfo", "model name"), Cores: machine.Cores(),
		Memory: machine.Memory(root, "MemTotal"), Kernel: kernel(), Go: runtime.Version()}
	if m.CPU == "" {
		m.CPU = runtime.GOARCH
	}
	return m
}

// kernel returns "Linux 6.18.1".
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// Commit returns the commit that this program was built from, as far as Go recorded it: "69e1f03d2a41", or
// "69e1f03d2a41, modified", or "".
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", modified"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}
