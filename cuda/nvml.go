//go:build cuda

package cuda

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// NVML, the NVIDIA Management Library, knows what the CUDA driver does not tell a
// process: memory without opening a context, other processes, the driver's number. It
// is a library of its own, libnvidia-ml.so.1, found when the program runs; where it is
// missing, as in many containers, that much stays unknown. Its indices are not CUDA's,
// so a GPU is looked up by its UUID.

// newNVML is the library; tests put one of their own here.
var newNVML = func() nvml.Interface { return nvml.New() }

// manager is NVML, started; or why it is not there.
type manager struct {
	nvml.Interface
	missing string
}

func startNVML() manager {
	m := manager{Interface: newNVML()}
	switch r := m.Init(); r {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		m.missing = "libnvidia-ml.so.1 is not found"
	default:
		m.missing = "NVML does not start: " + r.Error()
	}
	return m
}

func (m manager) stop() {
	if m.missing == "" {
		m.Shutdown() // nothing follows that could fail
	}
}

// driver is the driver's number, "" when it is unknown.
func (m manager) driver() string {
	if m.missing != "" {
		return ""
	}
	v, r := m.SystemGetDriverVersion()
	if r != nvml.SUCCESS {
		return ""
	}
	return v
}

// fill adds to a GPU what NVML knows of it.
func (m manager) fill(g *GPU) {
	if m.missing != "" {
		return
	}
	d, r := m.DeviceGetHandleByUUID(g.UUID)
	if r != nvml.SUCCESS {
		return
	}
	mode, _, r := d.GetMigMode()
	if r == nvml.SUCCESS || r == nvml.ERROR_NOT_SUPPORTED {
		g.MIG = new(r == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE)
	}
	// Of a GPU that is cut, CUDA shows an instance, whose memory is not what NVML counts.
	if memory, r := d.GetMemoryInfo(); r == nvml.SUCCESS && g.MIG != nil && !*g.MIG {
		g.Free = new(int64(memory.Free))
	}
	if u, r := d.GetUtilizationRates(); r == nvml.SUCCESS { // a GPU that is cut, a virtual one or WSL may have none
		g.Utilization = new(int(u.Gpu))
	}
	running, r := d.GetComputeRunningProcesses()
	if r != nvml.SUCCESS {
		return
	}
	g.Processes = []Process{}
	for _, p := range running {
		one := Process{PID: int(p.Pid), Memory: int64(p.UsedGpuMemory)} // its word for unknown is -1
		if name, r := m.SystemGetProcessName(one.PID); r == nvml.SUCCESS {
			one.Name = name // within a container others have none
		}
		g.Processes = append(g.Processes, one)
	}
}

// nvmlFree is the free memory of a GPU in bytes, which needs no context; nil when NVML does not tell.
func nvmlFree(uuid string) *int64 {
	m := startNVML()
	defer m.stop()
	g := GPU{UUID: uuid}
	m.fill(&g)
	return g.Free
}
