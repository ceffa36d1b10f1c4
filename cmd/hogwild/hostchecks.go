package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"hogwild/cuda"
	"hogwild/cuda/start"
	"hogwild/internal/human"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
)

// hostChecks are what the doctor looks at on any machine, a function each.
var hostChecks = []func(host) cuda.Finding{host.procCheck, host.coresCheck, host.quotaCheck, host.memoryCheck,
	host.memfdCheck, host.loopsCheck}

func (h host) procCheck() cuda.Finding {
	if !h.there("proc/self") {
		return cuda.Found("proc", cuda.Advice, "/proc is not mounted: hogwild cannot see limits on memory and cores, "+
			"nor GPUs; as root: mount -t proc proc /proc")
	}
	return cuda.Found("proc", cuda.Fine, "/proc is mounted")
}

func (h host) coresCheck() cuda.Finding {
	may, online := h.cores(), h.online()
	if may < online {
		return cuda.Found("cores", cuda.Advice, "this process may use %d of %d: taskset or a container's cpuset sets "+
			"the limit", may, online)
	}
	return cuda.Found("cores", cuda.Fine, "%d, all that the machine has", may)
}

func (h host) quotaCheck() cuda.Finding {
	if !h.there("proc/self/cgroup") {
		return cuda.Found("cpu quota", cuda.Fine, "unknown: /proc does not say")
	}
	quota, cores := machine.Quota(h.root), h.cores()
	if quota < float64(cores) {
		return cuda.Found("cpu quota", cuda.Advice,
			"a control group limits %d cores to the time of %.3g: runs start %s",
			cores, quota, human.Plural(machine.WithinQuota(h.root, cores), "worker"))
	}
	if math.IsInf(quota, 1) {
		return cuda.Found("cpu quota", cuda.Fine, "none")
	}
	return cuda.Found("cpu quota", cuda.Fine, "the time of %.3g cores, enough for all", quota)
}

// comfort is the memory, in bytes, below which a run of any size is at risk: the data
// set is decoded into shared memory.
const comfort = 1 << 30

func (h host) memoryCheck() cuda.Finding {
	room, known := machine.Room(h.root)
	if !known {
		return cuda.Found("memory", cuda.Fine, "unknown: /proc does not say")
	}
	if room < comfort {
		return cuda.Found("memory", cuda.Advice, "%s available within control group limits: large data will not fit; "+
			"--limit trains on part of it", gib(room))
	}
	return cuda.Found("memory", cuda.Fine, "%s available", gib(room))
}

func (h host) memfdCheck() cuda.Finding {
	if err := h.memfd(); err != nil {
		return cuda.Found("shared memory", cuda.Fails, "%v", err)
	}
	return cuda.Found("shared memory", cuda.Fine, "creating and sealing a segment works")
}

// loopsCheck runs each loop in assembly and compares it with plain Go.
func (h host) loopsCheck() cuda.Finding {
	by := ""
	if name := h.getenv(vec.CPUVariable); name != "" {
		by = fmt.Sprintf(" (%s=%s)", vec.CPUVariable, name)
	}
	if vec.BestSet() == vec.Plain {
		return cuda.Found("loops", cuda.Fine, "plain Go%s: there is no assembly to check", by)
	}
	right := 0
	var wrong, names, off []string
	for _, l := range vec.Loops() {
		switch err := h.loop(l); {
		case slices.Contains(vec.Off(), l.String()):
			off = append(off, l.String())
		case err != nil:
			wrong, names = append(wrong, fmt.Sprintf("%v (%v)", l, err)), append(names, l.String())
		default:
			right++
		}
	}
	text := fmt.Sprintf("%d of %d agree with plain Go, on %v%s", right, len(vec.Loops()), vec.BestSet(), by)
	if off != nil {
		text += fmt.Sprintf("; in plain Go by %s: %s", vec.OffVariable, strings.Join(off, ", "))
	}
	if wrong != nil {
		return cuda.Found("loops", cuda.Advice, "wrong on this processor: %s; %s; set %s=%s to have plain Go replace "+
			"them, slower, and please report it with the processor's name", strings.Join(wrong, ", "), text,
			vec.OffVariable, strings.Join(append(off, names...), ","))
	}
	return cuda.Found("loops", cuda.Fine, "%s", text)
}

// mpsCheck looks at the Multi-Process Service that processes of this environment
// would be clients of.
func (h host) mpsCheck() cuda.Finding {
	folder := cmp.Or(h.getenv(start.Pipes), start.UsualPipes)
	if !h.there(path.Join(folder, "control")) {
		if h.getenv(start.Pipes) != "" {
			return cuda.Found("mps service", cuda.Advice,
				"%s is %s, but no service listens there: start one (nvidia-cuda-mps-control -d), or unset it",
				start.Pipes, folder)
		}
		return cuda.Found("mps service", cuda.Fine, "not running")
	}
	pid := h.text(path.Join(folder, "nvidia-cuda-mps-control.pid"))
	if pid == "" {
		return cuda.Found("mps service", cuda.Fine, "a service listens in %s", folder)
	}
	owner := strings.Fields(machine.Field(h.root, path.Join("proc", pid, "status"), "Uid"))
	switch {
	case !h.there(path.Join("proc", pid)):
		return cuda.Found("mps service", cuda.Advice,
			"%s is left from process %s, which has exited: remove the folder, or the driver may wait for the service",
			folder, pid)
	case len(owner) > 0 && owner[0] != strconv.Itoa(h.uid):
		return cuda.Found("mps service", cuda.Advice,
			"process %s in %s belongs to user %s, you are user %d: the service serves one user at a time, so a run "+
				"waits until their programs exit; or set %s to another folder",
			pid, folder, owner[0], h.uid, start.Pipes)
	}
	return cuda.Found("mps service", cuda.Fine, "process %s listens in %s", pid, folder)
}

// withoutGPU returns the one finding on GPUs where none can be used, given why there are none. It is an obstacle where
// there is a GPU to be used, or a driver that does not start.
func (h host) withoutGPU(why error) cuda.Finding {
	if errors.Is(why, errAbsent) && !h.nvidia() {
		return cuda.Found("gpu", cuda.Advice, "%s, so runs use the CPU", noDevice)
	}
	return cuda.Found("gpu", cuda.Fails, "%v", why)
}

// noDevice is the first thing to know where there is no GPU: nothing that could be installed would help.
const noDevice = "no NVIDIA device found"

// nvidia reports whether the machine has a GPU of NVIDIA's, with a driver or without.
func (h host) nvidia() bool {
	if h.there("dev/nvidiactl") || h.there("dev/dxg") { // the latter is WSL's
		return true
	}
	vendors, _ := fs.Glob(h.root, "sys/bus/pci/devices/*/vendor") // the pattern is right
	for _, vendor := range vendors {
		class := h.text(path.Join(path.Dir(vendor), "class"))
		if h.text(vendor) == "0x10de" && strings.HasPrefix(class, "0x03") { // PCI's numbers of NVIDIA and of displays
			return true
		}
	}
	return false
}
