//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/cu"
)

// kernels are the functions of the loaded modules, by name.
type kernels map[string]kernel

// threads is how many a CTA has in kernels whose steps are a warp's or less, and warpsOfCTA how many warps.
const (
	threads    = 256
	warpsOfCTA = 8
)

// oldestMajor is the compute capability for which there is PTX.
const oldestMajor = 7

// kernel is a function and the shape of its launches.
type kernel struct {
	entry
	fn   cu.Function
	most int // CTAs that run at the same time on this GPU
}

// loadKernels loads the given sources of kernels for the GPU of the current context.
func loadKernels(c *gpu, sources ...string) (kernels, error) {
	if c.Major < oldestMajor {
		return nil, fmt.Errorf("GPU %d (%s) has compute capability %d.%d: 7.0 or later is needed", c.device, c.Name,
			c.Major, c.Minor)
	}
	all := kernels{}
	for _, source := range slices.Compact(slices.Sorted(slices.Values(sources))) {
		if err := all.load(c, imagesOf(source, c.Major, c.Minor)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unfit are results of a driver that does not take an image, and may take another one:
// machine code of another GPU or damaged (200, 209), PTX that is too new for it or refused
// (218, 222, 300), no compiler for PTX (221, 223), or one that does not start (302, 303).
var unfit = []int{200, 209, 218, 221, 222, 223, 300, 302, 303}

// load loads the first of the images that the driver takes.
func (ks kernels) load(c *gpu, list []image) error {
	var refused []string
	for n, i := range list {
		err := ks.try(c, i, refused)
		if err == nil {
			c.images = append(c.images, loaded{i, refused})
			return nil
		}
		var driver *Error
		switch last := n == len(list)-1; {
		case !last && errors.Is(err, errStale):
			refused = append(refused, fmt.Sprintf("%v: %v", i, errStale))
		case !last && errors.As(err, &driver) && slices.Contains(unfit, driver.Code):
			refused = append(refused, fmt.Sprintf("%v: error %d", i, driver.Code))
		default:
			return err
		}
	}
	return errors.New("the kernels are not built in (make ptx)")
}

// try loads an image and finds its kernels: a driver that loads lazily looks at the image
// only then. The images that were refused before it are for the message.
func (ks kernels) try(c *gpu, i image, refused []string) error {
	doing := fmt.Sprintf("loading kernels (%v of %s%s) on GPU %d (%s), driver for CUDA %s",
		i, i.source, after(refused), c.device, c.Name, versionText(cu.Version()))
	code, err := i.read()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	module, err := cu.LoadData(code)
	if err != nil {
		return failed(err, "%s", doing)
	}
	if err = ks.add(c, module, i); err != nil {
		_ = module.Unload() // the error that counts is the first
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// add finds the kernels of an image in its module.
func (ks kernels) add(c *gpu, module cu.Module, i image) error {
	entries, err := i.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		k := kernel{entry: e}
		if k.fn, err = module.Function(k.name); err != nil {
			return failed(err, "finding kernel %s", k.name)
		}
		allowed, err := k.fn.Attribute(cu.FnMaxThreadsPerBlock)
		if err != nil {
			return failed(err, "asking for the size of kernel %s", k.name)
		}
		if allowed < k.threads {
			return fmt.Errorf("kernel %s needs CTAs of %d threads: GPU %d (%s) and its driver allow it %d", k.name,
				k.threads, c.device, c.Name, allowed)
		}
		each, err := k.fn.MaxActiveBlocksPerMultiProcessor(k.threads, 0)
		if err != nil {
			return failed(err, "asking how many CTAs of %s fit", k.name)
		}
		k.most = each * c.SMs
		ks[k.name] = k
	}
	return nil
}

// launch queues a kernel on its one parameter, the address of a job.
func (k kernel) launch(ctas int, job cu.DevicePtr, in cu.Stream) error {
	parameter := uint64(job)
	err := k.fn.Launch(ctas, 1, 1, k.threads, 1, 1, 0, in, []unsafe.Pointer{unsafe.Pointer(&parameter)})
	return failed(err, "launching %s with %d CTAs of %d threads", k.name, ctas, k.threads)
}

// run launches and waits.
func (k kernel) run(ctas int, job cu.DevicePtr) error {
	if err := k.launch(ctas, job, cu.NoStream); err != nil {
		return err
	}
	return failed(cu.Synchronize(), "running %s with %d CTAs of %d threads", k.name, ctas, k.threads)
}
