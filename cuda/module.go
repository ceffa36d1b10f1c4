//go:build cuda

package cuda

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"unsafe"

	"gorgonia.org/cu"
)

// ptx holds the kernels as PTX, a file a source: linear.sm_70.ptx is for all GPUs from
// Volta on. Sources that use wider reds from Hopper on have a second one, such as
// factor.sm_90.ptx. The driver compiles them for the GPU at hand when they are loaded,
// and keeps the result.
//
//go:embed ptx/*.ptx
var ptx embed.FS

// kernels are the functions of the loaded modules, by name.
type kernels map[string]kernel

// threads a CTA: THREADS of kernels/dev.h, for which all kernels are written. With more they
// would write past the ends of their arrays in shared memory.
const threads = 256

// kernel is a function and the shape of its launches.
type kernel struct {
	name string
	fn   cu.Function
	most int // CTAs that run at the same time on this GPU
}

// loadKernels loads the modules of the given names for the GPU of the current context.
func loadKernels(c *gpu, names ...string) (kernels, error) {
	if c.Major < oldestMajor {
		return nil, fmt.Errorf("GPU %d (%s) has compute capability %d.%d: 7.0 or later is needed", c.device, c.Name, c.Major, c.Minor)
	}
	all := kernels{}
	for _, name := range names {
		file := ptxFile(name, c.Major)
		text, err := ptx.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("no PTX is built in for kernel %s (make ptx): %w", name, err)
		}
		module, err := cu.LoadData(string(text))
		if err != nil {
			return nil, failed(err, "loading %s on GPU %d (%s)", file, c.device, c.Name)
		}
		if err := all.add(c, module, string(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ptxFile is the file of the kernels of a name for GPUs of a major compute capability.
func ptxFile(name string, major int) string {
	if file := "ptx/" + name + ".sm_90.ptx"; major >= 9 {
		if _, err := fs.Stat(ptx, file); err == nil {
			return file
		}
	}
	return "ptx/" + name + ".sm_70.ptx"
}

// add finds the entries of a module: PTX names them in lines of their own.
func (ks kernels) add(c *gpu, module cu.Module, text string) error {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), ".visible .entry ")
		if !ok {
			continue
		}
		name := strings.TrimRight(strings.TrimSpace(rest), "(")
		k := kernel{name: name}
		var err error
		if k.fn, err = module.Function(name); err != nil {
			return failed(err, "finding kernel %s", name)
		}
		allowed, err := k.fn.Attribute(cu.FnMaxThreadsPerBlock)
		if err != nil {
			return failed(err, "asking for the size of kernel %s", name)
		}
		if allowed < threads {
			return fmt.Errorf("kernel %s needs CTAs of %d threads: GPU %d (%s) and its driver allow it %d", name, threads, c.device, c.Name, allowed)
		}
		each, err := k.fn.MaxActiveBlocksPerMultiProcessor(threads, 0)
		if err != nil {
			return failed(err, "asking how many CTAs of %s fit", name)
		}
		k.most = each * c.SMs
		ks[name] = k
	}
	return nil
}

// launch queues a kernel on its one parameter, the address of a job.
func (k kernel) launch(ctas int, job cu.DevicePtr, in cu.Stream) error {
	parameter := uint64(job)
	err := k.fn.Launch(ctas, 1, 1, threads, 1, 1, 0, in, []unsafe.Pointer{unsafe.Pointer(&parameter)})
	return failed(err, "launching %s with %d CTAs of %d threads", k.name, ctas, threads)
}

// run launches and waits.
func (k kernel) run(ctas int, job cu.DevicePtr) error {
	if err := k.launch(ctas, job, cu.NoStream); err != nil {
		return err
	}
	return failed(cu.Synchronize(), "running %s with %d CTAs of %d threads", k.name, ctas, threads)
}
