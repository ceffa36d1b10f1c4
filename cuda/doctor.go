//go:build cuda

package cuda

import (
	"fmt"
	"os/exec"
	"strings"

	"hogwild/cuda/start"
)

// checkup is what the checks of the GPUs look at.
type checkup struct {
	Listing
	child  func() *exec.Cmd     // a second process of this program, that calls Echo
	locked func() (int64, bool) // the limit of locked memory in bytes; false: none
}

// Examine looks at driver and GPUs, and at what a run will ask of them. It opens a
// context on each GPU and starts child, which must call Echo.
func Examine(child func() *exec.Cmd) ([]Finding, error) {
	l, err := Devices()
	if err != nil {
		return nil, err
	}
	c := checkup{Listing: l, child: child, locked: lockedMemory}
	return c.findings(), nil
}

// findings runs the checks of the machine once, and the others for each GPU.
func (c *checkup) findings() []Finding {
	all := []Finding{c.driver(), c.nvml()}
	for i := range c.GPUs {
		g := &c.GPUs[i]
		for _, check := range []func(*GPU) Finding{
			c.capability, c.instances, c.mode, c.kernels, c.service, c.watchdog, c.memory, c.sharing, c.pinned,
		} {
			f := check(g)
			f.Check = fmt.Sprintf("gpu %d %s", g.Index, f.Check)
			all = append(all, f)
		}
	}
	return append(all, c.peers())
}

func (c *checkup) driver() Finding {
	return Found("driver", Fine, "%s", strings.TrimSpace(c.Driver+" for CUDA "+c.CUDA))
}

func (c *checkup) nvml() Finding {
	if c.NVML != "" {
		return Found("nvml", Advice, "%s: other processes and MIG are not seen; in a container add the capability "+
			"utility (NVIDIA_DRIVER_CAPABILITIES=compute,utility)", c.NVML)
	}
	return Found("nvml", Fine, "NVIDIA's management library answers")
}

func (c *checkup) capability(g *GPU) Finding {
	if g.Major < oldestMajor {
		return Found("compute", Fails, "%s has compute capability %d.%d: the kernels need %d.0 or higher", g.Name,
			g.Major, g.Minor, oldestMajor)
	}
	return Found("compute", Fine, "%s, compute capability %d.%d, %d SMs", g.Name, g.Major, g.Minor, g.SMs)
}

func (c *checkup) instances(g *GPU) Finding {
	switch {
	case g.MIG == nil:
		return Found("mig", Fine, "unknown without NVML")
	case *g.MIG:
		return Found("mig", Advice, "MIG is on: a run uses one instance, the first that CUDA_VISIBLE_DEVICES shows; "+
			"memory is not shared from one to another")
	}
	return Found("mig", Fine, "off")
}

func (c *checkup) mode(g *GPU) Finding {
	switch {
	case g.Mode == Prohibited:
		return Found("compute mode", Fails, "prohibited: no process may use it; as root: nvidia-smi -i %s -c DEFAULT",
			g.UUID)
	case g.alone():
		return Found("compute mode", Fails, "exclusive: one process may use it, and a run has several; as root: "+
			"nvidia-smi -i %s -c DEFAULT, or start a Multi-Process Service: %s", g.UUID, start.Service)
	}
	return Found("compute mode", Fine, "%s", g.Mode)
}

// kernels loads the microbenchmark's kernels, which ship in every form: machine code, PTX for
// Hopper, and PTX for all.
func (c *checkup) kernels(g *GPU) Finding {
	var found loaded
	err := withGPU(g.Index, g.UUID, func(on *gpu) error {
		_, err := loadKernels(on, "micro")
		if err == nil {
			found = on.images[0]
		}
		return err
	})
	switch {
	case err != nil:
		return Found("kernels", Fails, "%v", err)
	case found.refused != nil:
		return Found("kernels", Advice, "%v: runs work, but start more slowly; a newer driver may accept the machine "+
			"code", found)
	}
	return Found("kernels", Fine, "%v", found)
}

func (c *checkup) service(g *GPU) Finding {
	switch {
	case g.MPS == nil:
		return Found("mps", Fine, "a Multi-Process Service listens, but this driver does not say whether it is in "+
			"use here; drivers for CUDA 12.4 and later do")
	case *g.MPS:
		return Found("mps", Fine, "a Multi-Process Service is in use: workers run side by side")
	}
	return Found("mps", Fine, "off: workers on this GPU take turns: more of them gain nothing; to run them side by "+
		"side start a service: %s", start.Service)
}

func (c *checkup) watchdog(g *GPU) Finding {
	if g.Display {
		return Found("display", Advice, "it drives a display, so a watchdog ends kernels that run for seconds: "+
			"hogwild's take milliseconds, but another GPU is better")
	}
	return Found("display", Fine, "no watchdog")
}

// roomy is free memory, in bytes, with which a run has a chance: contexts alone take
// some hundred MiB a process.
const roomy = 1 << 30

func (c *checkup) memory(g *GPU) Finding {
	switch {
	case g.Free == nil:
		return Found("memory", Advice, "%s, how much is free is unknown: the GPU does not open", gib(g.Total))
	case *g.Free < roomy:
		return Found("memory", Advice, "%s of %s are free%s: little, as each process takes some hundred MiB; wait, "+
			"or use --gpu auto", gib(*g.Free), gib(g.Total), by(g.Processes))
	}
	return Found("memory", Fine, "%s of %s are free%s", gib(*g.Free), gib(g.Total), by(g.Processes))
}

// by says whose the rest of the memory is.
func by(all []Process) string {
	var names []string
	for _, p := range all {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s", p.PID, p.Name)))
	}
	if names == nil {
		return ""
	}
	return ", beside " + strings.Join(names, ", ")
}

// sharing does what a run does: this process makes and exports an allocation, another
// one opens it, reads what is there and writes something else.
func (c *checkup) sharing(g *GPU) Finding {
	if g.Mode == Prohibited || g.alone() {
		return Found("ipc", Fails, "not tested: a second process may not use the GPU")
	}
	if err := share(g, c.child()); err != nil {
		return Found("ipc", Fails, "a second process cannot share memory: %v; only --workers 1 trains, in a single "+
			"process", err)
	}
	return Found("ipc", Fine, "a second process reads and writes this one's memory")
}

func (c *checkup) pinned(g *GPU) Finding {
	limit := "no limit"
	if n, ok := c.locked(); ok {
		limit = fmt.Sprintf("a limit of %.0f MiB", mib(n))
	}
	if err := tryPinned(g); err != nil {
		return Found("pinned memory", Advice, "%.0f MiB of host memory cannot be pinned, with %s on locked memory: "+
			"data larger than the GPU will not stream (%v); try ulimit -l unlimited, in a container "+
			"--ulimit memlock=-1",
			mib(pinning), limit, err)
	}
	return Found("pinned memory", Fine, "%.0f MiB of host memory can be pinned, with %s on locked memory",
		mib(pinning), limit)
}

// peers says how the GPUs reach each other, the least able pair of them all.
func (c *checkup) peers() Finding {
	if len(c.GPUs) < 2 {
		return Found("p2p", Fine, "one GPU")
	}
	var apart, slow []string
	for _, g := range c.GPUs {
		for _, p := range g.Peers {
			pair := fmt.Sprintf("%d to %d", g.Index, p.Index)
			switch {
			case !p.Access:
				apart = append(apart, pair)
			case !p.Atomics:
				slow = append(slow, pair)
			}
		}
	}
	switch {
	case apart != nil:
		return Found("p2p", Advice, "no access from GPU %s: in runs on both, workers train replicas that meet in "+
			"host memory; choose GPUs that nvidia-smi topo -p2p r shows as connected", strings.Join(apart, ", "))
	case slow != nil:
		return Found("p2p", Advice, "no native atomics from GPU %s: in async runs on both, workers train replicas "+
			"that meet in host memory; GPUs with NVLink have them", strings.Join(slow, ", "))
	}
	return Found("p2p", Fine, "all %d GPUs add to each other's memory", len(c.GPUs))
}
