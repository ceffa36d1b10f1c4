//go:build cuda

package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/internal/human"
)

// gpu is a GPU's primary context in this process. Its calls go to whatever
// thread the caller is on, after use has made it current there: cu's own Ctx sends
// each call to another thread, which costs microseconds.
type gpu struct {
	device  cu.Device
	ctx     cu.CUContext
	name    string
	uuid    string
	major   int // compute capability
	minor   int
	sms     int
	timeout bool // a watchdog ends kernels that run for long
}

// openContext makes the primary context of the GPU with an index, or with a UUID
// when that is not "": indices differ between processes with another
// CUDA_VISIBLE_DEVICES.
func openContext(index int, uuid string) (*gpu, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, failed(err, "counting GPUs")
	}
	for i := range n {
		if uuid == "" && i != index {
			continue
		}
		c := &gpu{device: cu.Device(i)}
		id, err := c.device.UUID()
		if err != nil {
			return nil, failed(err, "asking for the UUID of GPU %d", i)
		}
		if c.uuid = "GPU-" + id.String(); uuid == "" || uuid == c.uuid {
			return c, c.open()
		}
	}
	if uuid != "" {
		return nil, fmt.Errorf("GPU %s, on which the coordinator keeps the weights, is not visible to this worker: CUDA_VISIBLE_DEVICES must be the same", uuid)
	}
	return nil, fmt.Errorf("gpu %d: there is no such GPU: this machine has %s, counted from 0 (hogwild devices lists them)", index, human.Plural(n, "GPU"))
}

func (c *gpu) open() (err error) {
	if c.name, err = c.device.Name(); err != nil {
		return failed(err, "asking for the name of GPU %d", c.device)
	}
	timeout := 0
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		value     *int
	}{
		{cu.ComputeCapabilityMajor, &c.major}, {cu.ComputeCapabilityMinor, &c.minor},
		{cu.MultiprocessorCount, &c.sms}, {cu.KernelExecTimeout, &timeout},
	} {
		if *a.value, err = c.device.Attribute(a.attribute); err != nil {
			return failed(err, "asking for attribute %d of GPU %d", a.attribute, c.device)
		}
	}
	c.timeout = timeout != 0
	if c.ctx, err = c.device.RetainPrimaryCtx(); err != nil {
		return failed(err, "opening GPU %d (%s)", c.device, c.name)
	}
	return nil
}

// use makes the context current on this goroutine's thread, and keeps the goroutine
// there until the function that it returns is called.
func (c *gpu) use() (release func(), err error) {
	runtime.LockOSThread()
	if err := cu.SetCurrentContext(c.ctx); err != nil {
		runtime.UnlockOSThread()
		return nil, failed(err, "using GPU %d", c.device)
	}
	return runtime.UnlockOSThread, nil
}

// within runs f with the context current.
func (c *gpu) within(f func() error) error {
	release, err := c.use()
	if err != nil {
		return err
	}
	defer release()
	return f()
}

func (c *gpu) close() error {
	return failed(c.device.ReleasePrimaryCtx(), "closing GPU %d", c.device)
}

// allocate is cuMemAlloc, with the numbers that a user needs when it fails.
func (c *gpu) allocate(bytes int64, what string) (cu.DevicePtr, error) {
	p, err := cu.MemAlloc(bytes)
	if err == nil {
		return p, nil
	}
	free, total, _ := cu.MemInfo() // best effort: the error below is what counts
	return 0, failed(err, "allocating %s for %s on GPU %d (%s of %s are free)",
		size(bytes), what, c.device, size(free), size(total))
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// number is an element of an array that goes to a GPU and back.
type number interface {
	uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// upload copies v to device memory.
func upload[T number](p cu.DevicePtr, v []T) error {
	if len(v) == 0 {
		return nil
	}
	bytes := int64(len(v)) * int64(unsafe.Sizeof(v[0]))
	return failed(cu.MemcpyHtoD(p, unsafe.Pointer(&v[0]), bytes), "copying %d bytes to the GPU", bytes)
}

// download fills v from device memory.
func download[T number](v []T, p cu.DevicePtr) error {
	if len(v) == 0 {
		return nil
	}
	bytes := int64(len(v)) * int64(unsafe.Sizeof(v[0]))
	return failed(cu.MemcpyDtoH(unsafe.Pointer(&v[0]), p, bytes), "copying %d bytes from the GPU", bytes)
}

// zero clears n 4-byte words.
func zero(p cu.DevicePtr, n int) error {
	if n == 0 {
		return nil
	}
	return failed(cu.MemsetD32(p, 0, int64(n)), "clearing %d words on the GPU", n)
}

// move copies n floats within the GPU.
func move(to, from cu.DevicePtr, n int) error {
	if n == 0 {
		return nil
	}
	return failed(cu.MemcpyDtoD(to, from, 4*int64(n)), "copying %d floats on the GPU", n)
}
