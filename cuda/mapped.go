//go:build cuda

package cuda

import (
	"sync"

	"gorgonia.org/cu"

	"hogwild/hogwild/workers"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// mapped is a run's memory in mapped host memory, which kernels of all its GPUs read and write: for runs with a GPU
// that does not reach the memory of the first one, or in async mode does not add to it. It is laid out as on a GPU. In
// async mode there is more behind that: for each rank a vector of what its replica has learnt in all. PCI Express has
// no atomic additions that could be relied on, and with this every number has one writer: the rank, and of the base,
// which lies where weights are laid out, the owner. The weights are the sum of them.
type mapped struct {
	segment *shm.Segment
	base    []float32
	learnt  [][]float32  // by rank; none in barrier mode
	stride  int64        // bytes from one rank's vector to the next
	at      cu.DevicePtr // as kernels have it; 0: not registered
	mu      sync.Mutex   // what of the owner writes the base, or adds up the weights
}

// inherited is which of a worker's files the memory is.
const inherited = 3

// newMapped makes it, for some weights and what is laid out with them, and for ranks with replicas; join: or opens
// what this worker has inherited.
func newMapped(weights int, laidOut, stride int64, ranks int, join bool) (m *mapped, err error) {
	m = &mapped{stride: stride}
	if join {
		m.segment, err = shm.Map(workers.Inherited(inherited, "replicas"), true)
	} else {
		m.segment, err = shm.Create("replicas", int(laidOut+int64(ranks)*m.stride))
	}
	if err != nil {
		return nil, err
	}
	m.base = numbers[float32](m.segment.Bytes())[:weights]
	for rank := range ranks {
		m.learnt = append(m.learnt, numbers[float32](m.segment.Bytes()[laidOut+int64(rank)*m.stride:])[:weights])
	}
	return m, nil
}

// register lets kernels of the current context reach it, for which it has another address.
func (m *mapped) register() (_ cu.DevicePtr, err error) {
	if m.at == 0 {
		m.at, err = mapHost(m.segment.Bytes())
	}
	return m.at, err
}

func (m *mapped) close() (err error) {
	if m.at != 0 {
		err = unmapHost(m.segment.Bytes())
	}
	return keep(err, m.segment.Close())
}

// sum fills w with the weights, added up in the order in which kernels do it. Workers may train.
func (m *mapped) sum(w []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	copy(w, m.base)
	for _, learnt := range m.learnt {
		vec.Axpy(1, learnt, w)
	}
}

// set makes w the weights. No worker trains.
func (m *mapped) set(w []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	copy(m.base, w)
	for _, learnt := range m.learnt {
		clear(learnt)
	}
}

// add adds to the weights. Workers may train.
func (m *mapped) add(delta []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	vec.Axpy(1, delta, m.base)
}

// The owner keeps a copy on its GPU, to evaluate it and to compare it with other copies.

// fill copies from there what a run begins with: all that is laid out before end.
func (m *mapped) fill(from cu.DevicePtr, end int64) error {
	if m == nil {
		return nil
	}
	m.set(nil)
	return download(m.segment.Bytes()[:end], from)
}

// settle makes the weights the base, and copies them there with all that is laid out before end. No worker trains.
func (m *mapped) settle(to cu.DevicePtr, end int64) error {
	if m == nil {
		return nil
	}
	if m.learnt != nil {
		w := make([]float32, len(m.base))
		m.sum(w)
		m.set(w)
	}
	return upload(to, m.segment.Bytes()[:end])
}
