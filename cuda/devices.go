//go:build cuda

package cuda

import (
	"gorgonia.org/cu"
)

// unavailable is CUDA_ERROR_DEVICE_UNAVAILABLE: an exclusive GPU is another process's.
const unavailable = 46

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

// survey lists what can be known of the GPUs without a context.
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

// freeMemory returns the free memory of a GPU in bytes, as a context that is opened for it sees it.
func freeMemory(i int) (free int64, err error) {
	err = withGPU(i, "", func(*gpu) error {
		var err error
		free, _, err = cu.MemInfo()
		return failed(err, "asking for the free memory of GPU %d", i)
	})
	return free, err
}
