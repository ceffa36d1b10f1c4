//go:build cuda

package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/cuda/start"
	"hogwild/internal/human"
)

// The driver has started when this package is initialized: gorgonia.org/cu, which it imports, has done it.
func init() { start.Done() }

// gpu is a GPU's primary context in this process. Its calls go to whatever
// thread the caller is on, after use has made it current there: cu's own Ctx sends
// each call to another thread, which costs microseconds.
type gpu struct {
	GPU
	device cu.Device
	ctx    cu.CUContext
	images []loaded // of its kernels
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
		known, err := describe(i)
		if err != nil {
			return nil, err
		}
		if uuid == "" || uuid == known.UUID {
			c := &gpu{GPU: known, device: cu.Device(i)}
			// Who waits for the GPU sleeps: a core may be another worker's. A driver that refuses
			// this makes it spin.
			_ = c.device.SetPrimaryCtxFlags(cu.SchedBlockingSync)
			start.Again()
			c.ctx, err = c.device.RetainPrimaryCtx()
			start.Done()
			return c, failed(err, "opening GPU %d (%s)", i, c.Name)
		}
	}
	if uuid != "" {
		return nil, fmt.Errorf("GPU %s, on which the coordinator keeps the weights, is not visible to this worker: "+
			"CUDA_VISIBLE_DEVICES must be the same", uuid)
	}
	return nil, fmt.Errorf("gpu %d: no such GPU: this machine has %s, counted from 0 (hogwild devices lists them)",
		index, human.Plural(n, "GPU"))
}

// withGPU opens a GPU as openContext does, for f alone.
func withGPU(index int, uuid string, f func(c *gpu) error) error {
	c, err := openContext(index, uuid)
	if err != nil {
		return err
	}
	err = c.within(func() error { return f(c) })
	return keep(err, c.close())
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

// blocks are allocations on a GPU that are freed together.
type blocks []cu.DevicePtr

// wanted is one that is to be made: its address goes to at.
type wanted struct {
	at    *cu.DevicePtr
	bytes int64
	what  string
}

// allocate makes more of them, of four bytes at the least.
func (b *blocks) allocate(c *gpu, all ...wanted) (err error) {
	for _, w := range all {
		if *w.at, err = c.allocate(max(w.bytes, 4), w.what); err != nil {
			return err
		}
		*b = append(*b, *w.at)
	}
	return nil
}

func (b *blocks) free() (err error) {
	for _, p := range *b {
		err = keep(err, failed(cu.MemFree(p), "freeing GPU memory"))
	}
	*b = nil
	return err
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// number is an element of an array that goes to a GPU and back.
type number interface {
	uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// raw is the memory of v.
func raw[T number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}

// numbers returns the numbers that lie in b.
func numbers[T number](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(*new(T))))
}

// upload copies v to device memory.
func upload[T number](p cu.DevicePtr, v []T) error {
	if len(v) == 0 {
		return nil
	}
	b := raw(v)
	return failed(cu.MemcpyHtoD(p, unsafe.Pointer(&b[0]), int64(len(b))), "copying %d bytes to the GPU", len(b))
}

// download fills v from device memory.
func download[T number](v []T, p cu.DevicePtr) error {
	if len(v) == 0 {
		return nil
	}
	b := raw(v)
	return failed(cu.MemcpyDtoH(unsafe.Pointer(&b[0]), p, int64(len(b))), "copying %d bytes from the GPU", len(b))
}

// copyAside copies from the GPU, or to it, on a stream that waits for no other: a copy from or to memory that is not
// pinned may wait for its stream before it returns.
func copyAside(b []byte, at cu.DevicePtr, to bool) error {
	host, bytes := unsafe.Pointer(unsafe.SliceData(b)), int64(len(b))
	s, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return failed(err, "making a stream")
	}
	if to {
		err = cu.MemcpyHtoDAsync(at, host, bytes, s)
	} else {
		err = cu.MemcpyDtoHAsync(host, at, bytes, s)
	}
	return keep(failed(err, "copying %d bytes of weights", bytes), failed(s.Synchronize(), "copying the weights"),
		failed(s.Destroy(), "ending a stream"))
}

// zero clears n 4-byte words.
func zero(p cu.DevicePtr, n int) error {
	if n == 0 {
		return nil
	}
	return failed(cu.MemsetD32(p, 0, int64(n)), "clearing %d words on the GPU", n)
}

// move copies n floats between any two places that the GPU reaches.
func move(to, from cu.DevicePtr, n int) error {
	if n == 0 {
		return nil
	}
	return failed(cu.Memcpy(to, from, 4*int64(n)), "copying %d floats on the GPU", n)
}

func ceilDiv[T int | int64](a, b T) T { return (a + b - 1) / b }

func roundUp[T int | int64](n, to T) T { return (n + to - 1) / to * to }

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

// describe asks the driver about a GPU, without a context.
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
