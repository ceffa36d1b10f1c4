//go:build cuda

package cuda

import (
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/internal/fault"
)

// pipeline is the launches of one kernel, one behind the other: while one runs, what the next
// one needs is put together, copied, and listed by a kernel of its own, where there is one.
// Two stages take turns, so two launches are queued.
//
//	host     fill 0   fill 1   wait 0, fill 0   wait 1, fill 1
//	copies            0        1                0 ...
//	work                       0                1 ...
//	results                                     0                1 ...
//
// Results are copied on a stream of their own, so that the next launch need not wait for that.
// A result is waited for when its stage is wanted again, or by drain. The streams are
// ordinary ones: what was begun on the default stream, as by upload, comes before.
type pipeline struct {
	*gpu
	kernel                kernel
	copies, work, results cu.Stream
	stages                [2]stage
	next                  int
	ended                 func(results []byte) // takes what a launch brought back, in the order of launches
}

// stage is a block of pinned host memory and one of GPU memory, laid out alike: what a
// launch needs, and behind it what it brings back. Beyond those the GPU has room for what
// only its kernels read and write.
type stage struct {
	host    []byte
	device  cu.DevicePtr
	size    int // of the block on the GPU
	end     int // of what is placed
	far     int // of what is placed beyond
	loaded  int // end of what goes to the GPU
	back    int // beginning of what comes back
	copied  cu.Event
	ran     cu.Event
	done    cu.Event
	pending bool // done has not been waited for
	ctas    int
}

// grid is a kernel, the address of its job, and its number of CTAs.
type grid struct {
	kernel kernel
	ctas   int
	job    uint64
}

// open makes the streams, and stages with room for some bytes, and for some beyond.
func (l *pipeline) open(bytes, beyond int) (err error) {
	for _, s := range []*cu.Stream{&l.copies, &l.work, &l.results} {
		if *s, err = cu.MakeStream(cu.DefaultStream); err != nil {
			return failed(err, "making a stream")
		}
	}
	for i := range l.stages {
		s := &l.stages[i]
		for _, e := range []*cu.Event{&s.copied, &s.ran, &s.done} {
			// Who waits for it sleeps: a core may be another worker's.
			if *e, err = cu.MakeEvent(cu.BlockingSyncEvent | cu.DisableTiming); err != nil {
				return failed(err, "making an event")
			}
		}
		if err := l.grow(s, bytes, beyond); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the stage of the next launch, empty, with room for some bytes, and for some beyond.
func (l *pipeline) begin(bytes, beyond int) (*stage, error) {
	s := &l.stages[l.next]
	l.next = (l.next + 1) % len(l.stages)
	if err := l.wait(s); err != nil {
		return nil, err
	}
	if room := s.size - len(s.host); bytes > len(s.host) || beyond > room {
		if err := l.grow(s, max(len(s.host), bytes+bytes/4), max(room, beyond+beyond/4)); err != nil {
			return nil, err
		}
	}
	s.end, s.far = 0, len(s.host)
	return s, nil
}

// grow gives a stage other blocks.
func (l *pipeline) grow(s *stage, bytes, beyond int) (err error) {
	if err = s.free(); err != nil {
		return err
	}
	bytes = roundUp(bytes, alignment)
	if s.host, err = pin(bytes); err != nil {
		return err
	}
	s.size = bytes + beyond
	s.device, err = l.allocate(int64(s.size), "what a launch needs")
	return err
}

func (s *stage) free() (err error) {
	if s.device != 0 {
		err = failed(cu.MemFree(s.device), "freeing what a launch needs")
	}
	if s.host != nil {
		err = keep(err, unpin(s.host))
	}
	s.device, s.host, s.size = 0, nil, 0
	return err
}

// reserve makes room for n numbers in a stage: as the host fills it, and its address on the
// GPU. They are not zero.
func reserve[T number](s *stage, n int) (v []T, address uint64) {
	at := roundUp(s.end, alignment)
	s.end = at + n*int(unsafe.Sizeof(*new(T)))
	if s.end > len(s.host) {
		panic("cuda: a stage is too small: mistaken in stageSize")
	}
	if n > 0 {
		v = unsafe.Slice((*T)(unsafe.Pointer(&s.host[at])), n)
	}
	return v, uint64(s.device) + uint64(at)
}

// reserveOnGPU makes room for n numbers that only kernels read and write.
func reserveOnGPU[T number](s *stage, n int) (address uint64) {
	at := roundUp(s.far, alignment)
	if s.far = at + n*int(unsafe.Sizeof(*new(T))); s.far > s.size {
		panic("cuda: a stage is too small: mistaken in deviceSize")
	}
	return uint64(s.device) + uint64(at)
}

// stageArray places v.
func stageArray[T number](s *stage, v []T) (address uint64) {
	to, address := reserve[T](s, len(v))
	copy(to, v)
	return address
}

const (
	ticketBytes = 256 // two lines: the ticket, and kernels/guard.h
	jobBytes    = int(unsafe.Sizeof(job{}))
)

// stageJob places a job's bytes, which are written when it is complete, and its ticket.
func stageJob(s *stage, j *job) (text []byte, address uint64) {
	text, address = reserve[byte](s, jobBytes)
	ticket, at := reserve[byte](s, ticketBytes)
	clear(ticket)
	j.Ticket = at
	return text, address
}

// comesBack and loads say that what is placed from here on comes back from the GPU, and
// that what was placed until here goes to it.
func (s *stage) comesBack() { s.back = roundUp(s.end, alignment) }
func (s *stage) loads()     { s.loaded = s.end }

// stageBytes returns a size that holds some arrays with this many bytes in all.
func stageBytes(arrays, bytes int) int { return roundUp(bytes, alignment) + arrays*alignment }

// launch queues the copies and the kernels: first behind the copy to the GPU, while the launch
// before runs, and the others behind that.
func (l *pipeline) launch(s *stage, first grid, others ...grid) error {
	if err := fault.Point("gpu.launch"); err != nil {
		return err
	}
	s.ctas = others[0].ctas
	err := failed(cu.MemcpyHtoDAsync(s.device, unsafe.Pointer(&s.host[0]), int64(s.loaded), l.copies),
		"copying %d bytes to the GPU", s.loaded)
	if first.ctas > 0 {
		err = keep(err, first.kernel.launch(first.ctas, cu.DevicePtr(first.job), l.copies))
	}
	err = keep(err, failed(s.copied.Record(l.copies), "marking the end of a copy"))
	if err = keep(err, failed(l.work.Wait(s.copied, 0), "waiting for a copy")); err != nil {
		return err
	}
	for _, g := range others {
		if err := g.kernel.launch(g.ctas, cu.DevicePtr(g.job), l.work); err != nil {
			return err
		}
	}
	err = keep(failed(s.ran.Record(l.work), "marking the end of %s", l.kernel.name),
		failed(l.results.Wait(s.ran, 0), "waiting for %s", l.kernel.name))
	if n := s.end - s.back; n > 0 {
		err = keep(err,
			failed(cu.MemcpyDtoHAsync(unsafe.Pointer(&s.host[s.back]), s.device+cu.DevicePtr(s.back), int64(n),
				l.results), "copying %d bytes from the GPU", n))
	}
	err = keep(err, failed(s.done.Record(l.results), "marking the end of %s", l.kernel.name))
	s.pending = err == nil // else done is of an earlier launch
	return err
}

// wait is until a stage's launch has ended, if it has one.
func (l *pipeline) wait(s *stage) error {
	if !s.pending {
		return nil
	}
	s.pending = false
	if err := fault.Point("gpu.wait"); err != nil {
		return err
	}
	if err := failed(s.done.Synchronize(), "running %s with %d CTAs of %d threads", l.kernel.name, s.ctas,
		l.kernel.threads); err != nil {
		return err
	}
	l.ended(s.host[s.back:s.end])
	return nil
}

// drain waits for all launches.
func (l *pipeline) drain() (err error) {
	for range l.stages {
		err = keep(err, l.wait(&l.stages[l.next]))
		l.next = (l.next + 1) % len(l.stages)
	}
	return err
}

// close gives everything back, after what is still queued has ended.
func (l *pipeline) close() (err error) {
	none := cu.Stream{}
	for _, s := range []*cu.Stream{&l.copies, &l.work, &l.results} {
		if *s != none {
			err = keep(err, failed(s.Synchronize(), "waiting for the last launches"),
				failed(s.Destroy(), "ending a stream"))
		}
	}
	for i := range l.stages {
		s := &l.stages[i]
		for _, e := range []*cu.Event{&s.copied, &s.ran, &s.done} {
			if *e != (cu.Event{}) {
				err = keep(err, failed(cu.DestroyEvent(e), "ending an event"))
			}
		}
		err = keep(err, s.free())
	}
	return err
}
