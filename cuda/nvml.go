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

// find is NVML's GPU of a UUID, or false.
func (m manager) find(uuid string) (nvml.Device, bool) {
	if m.missing != "" {
		return nil, false
	}
	d, r := m.DeviceGetHandleByUUID(uuid)
	return d, r == nvml.SUCCESS
}

// instances tells whether a GPU is cut into instances (MIG); nil when that is unknown.
func (m manager) instances(uuid string) *bool {
	d, ok := m.find(uuid)
	if !ok {
		return nil
	}
	mode, _, r := d.GetMigMode()
	if r != nvml.SUCCESS && r != nvml.ERROR_NOT_SUPPORTED {
		return nil
	}
	cut := r == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
	return &cut
}

// free is the memory of a GPU that nobody has taken, in bytes; or false. Of a GPU that is
// cut, CUDA shows an instance, whose memory is not what NVML counts.
func (m manager) free(uuid string) (int64, bool) {
	cut := m.instances(uuid)
	if cut == nil || *cut {
		return 0, false
	}
	d, _ := m.find(uuid) // as just now
	memory, r := d.GetMemoryInfo()
	return int64(memory.Free), r == nvml.SUCCESS
}

// fill adds to a GPU what NVML knows of it.
func (m manager) fill(g *GPU) {
	if free, ok := m.free(g.UUID); ok {
		g.Free = &free
	}
	g.MIG = m.instances(g.UUID)
	d, ok := m.find(g.UUID)
	if !ok {
		return
	}
	running, r := d.GetComputeRunningProcesses()
	if r != nvml.SUCCESS {
		return
	}
	g.Processes = []Process{}
	for _, p := range running {
		g.Processes = append(g.Processes, m.process(p))
	}
}

// process is one that runs on a GPU. Within a container others have no name.
func (m manager) process(p nvml.ProcessInfo) Process {
	one := Process{PID: int(p.Pid), Memory: int64(p.UsedGpuMemory)} // its word for unknown is -1
	if name, r := m.SystemGetProcessName(one.PID); r == nvml.SUCCESS {
		one.Name = name
	}
	return one
}
