//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"os"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
)

const (
	oldestMajor = 7  // compute capability for which there is PTX
	unavailable = 46 // CUDA_ERROR_DEVICE_UNAVAILABLE: an exclusive GPU is another process's
)

// Devices lists the GPUs that this process may use, as the driver knows them and,
// where it is there, NVML. Free memory that NVML does not tell is asked for in a context
// of this process, which takes some itself.
func Devices() (Listing, error) {
	l, err := survey()
	for i := range l.GPUs {
		g := &l.GPUs[i]
		if g.Free == nil && g.Mode != Prohibited {
			// else it stays unknown: another process may have an exclusive GPU
			if free, err := freeMemory(i); err == nil {
				g.Free = &free
			}
		}
		for j := range l.GPUs {
			if j == i {
				continue
			}
			p, err := peer(i, j)
			if err != nil {
				return l, err
			}
			g.Peers = append(g.Peers, p)
		}
	}
	return l, err
}

// survey is what can be known without a context.
func survey() (Listing, error) {
	m := startNVML()
	defer m.stop()
	l := Listing{CUDA: versionText(cu.Version()), Driver: m.driver(), NVML: m.missing, GPUs: []GPU{}}
	n, err := cu.NumDevices()
	if err != nil {
		return l, failed(err, "counting GPUs")
	}
	for i := range n {
		g, err := describe(i)
		if err != nil {
			return l, err
		}
		m.fill(&g)
		l.GPUs = append(l.GPUs, g)
	}
	return l, nil
}

// describe is what the driver tells of a GPU without a context.
func describe(i int) (GPU, error) {
	g, d := GPU{Index: i}, cu.Device(i)
	id, err := d.UUID()
	if err != nil {
		return g, failed(err, "asking for the UUID of GPU %d", i)
	}
	g.UUID = "GPU-" + id.String()
	if g.Name, err = d.Name(); err != nil {
		return g, failed(err, "asking for the name of GPU %d", i)
	}
	if g.Total, err = d.TotalMem(); err != nil {
		return g, failed(err, "asking for the memory of GPU %d", i)
	}
	var mode, watchdog int
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		value     *int
	}{
		{cu.ComputeCapabilityMajor, &g.Major}, {cu.ComputeCapabilityMinor, &g.Minor},
		{cu.MultiprocessorCount, &g.SMs}, {cu.KernelExecTimeout, &watchdog}, {cu.ComputeMode, &mode},
	} {
		if *a.value, err = d.Attribute(a.attribute); err != nil {
			return g, failed(err, "asking for attribute %d of GPU %d", a.attribute, i)
		}
	}
	g.Display = watchdog != 0
	g.Mode = map[int]string{0: Shared, 2: Prohibited}[mode] // CU_COMPUTEMODE_DEFAULT, PROHIBITED
	if g.Mode == "" {
		g.Mode = Exclusive // CU_COMPUTEMODE_EXCLUSIVE_PROCESS, and the old one of a thread
	}
	g.MPS = underMPS(d)
	return g, nil
}

// peer is how GPU i reaches the memory of GPU j.
func peer(i, j int) (Peer, error) {
	p := Peer{Index: j}
	can, err := cu.Device(i).CanAccessPeer(cu.Device(j))
	if err != nil {
		return p, failed(err, "asking whether GPU %d reaches the memory of GPU %d", i, j)
	}
	if p.Access = can != 0; !p.Access {
		return p, nil
	}
	// Without native atomics an addition from one GPU to another's memory may lose others.
	atomics, err := cu.Device(i).P2PAttribute(cu.P2PNativeAomicSupported, cu.Device(j))
	if err != nil {
		return p, failed(err, "asking whether GPU %d adds atomically on GPU %d", i, j)
	}
	p.Atomics = atomics != 0
	return p, nil
}

// freeMemory is the memory of a GPU that nobody has taken, in bytes, in the eyes of a
// context that is opened for it.
func freeMemory(i int) (free int64, err error) {
	err = withGPU(i, "", func(*gpu) error {
		var err error
		free, _, err = cu.MemInfo()
		return failed(err, "asking for the free memory of GPU %d", i)
	})
	return free, err
}

// attached is an error if the run has asked for a Multi-Process Service and this
// process's context is known not to be its client.
func (c *gpu) attached(cfg *config.Config) error {
	if !cfg.MPS || c.mayShare() {
		return nil
	}
	return errors.New("mps: the service was started in " + os.Getenv("CUDA_MPS_PIPE_DIRECTORY") +
		", but this GPU's driver does not use it: it needs compute capability 7.0, no MIG, and no other service of " +
		"another user on the GPU (see its control.log, and hogwild doctor)")
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", mib(n))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
