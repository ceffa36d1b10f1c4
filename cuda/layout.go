//go:build cuda

package cuda

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"gorgonia.org/cu"

	"hogwild/hogwild"
)

// layout says where everything is in the two allocations of a run, in bytes. Every
// process computes it from the configuration; the checksum shows that they agree.
type layout struct {
	P      int      `json:"p"` // weights
	Slots  []int64  `json:"slots"`
	States []int64  `json:"states"`
	Size   int64    `json:"size"`
	Data   dataPart `json:"data"`
}

// dataPart is the second allocation: the training set.
type dataPart struct {
	X8, X, Y, Mul, Add int64 // -1: not there
	Scales             int   // entries of Mul and of Add: 1 or d
	Size               int64
}

const (
	block     = 2 << 20 // cuMemAlloc hands out blocks of 2 MiB, and IPC exposes a whole block
	alignment = 256     // of every array: for vector accesses, and no shared cache line
)

func newLayout(s *hogwild.Setup) layout {
	l := layout{P: len(s.Weights)}
	l.Size = 4 * int64(l.P)
	place := func(end *int64, bytes int) int64 {
		at := roundUp(*end, alignment)
		*end = at + int64(bytes)
		return at
	}
	for _, v := range s.Slots {
		l.Slots = append(l.Slots, place(&l.Size, 4*len(v)))
	}
	for _, v := range s.States {
		l.States = append(l.States, place(&l.Size, 4*len(v)))
	}
	l.Size = roundUp(l.Size, block)

	d := &l.Data
	*d = dataPart{X8: -1, X: -1, Mul: -1, Add: -1}
	if s.Set.X8 != nil {
		d.X8 = place(&d.Size, len(s.Set.X8))
		d.Scales = max(1, len(s.Set.Mul), len(s.Set.Add))
		d.Mul = place(&d.Size, 4*d.Scales)
		d.Add = place(&d.Size, 4*d.Scales)
	} else {
		d.X = place(&d.Size, 4*len(s.Set.X))
	}
	d.Y = place(&d.Size, 4*len(s.Set.Y))
	d.Size = roundUp(d.Size, block)
	return l
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// checksum is equal where layouts are.
func (l layout) checksum() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // of integers alone
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// ticketOfRun is what workers need to open a run's memory: the handle that travels
// in the world segment.
type ticketOfRun struct {
	UUID     string `json:"uuid"`
	Nonce    uint64 `json:"nonce"` // of the run: a handle of another run is refused
	Checksum string `json:"checksum"`
	Weights  handle `json:"weights"`
	Size     int64  `json:"size"`
	Data     handle `json:"data"`
	DataSize int64  `json:"data_size"`
}

// memory is a run's memory as this process sees it: made here, or opened here.
type memory struct {
	layout  layout
	weights cu.DevicePtr
	data    cu.DevicePtr
}

// slot is the address of a rank's replica or gradient.
func (m *memory) slot(rank int) cu.DevicePtr { return m.weights + cu.DevicePtr(m.layout.Slots[rank]) }

// state is the address of an optimizer's state.
func (m *memory) state(i int) cu.DevicePtr { return m.weights + cu.DevicePtr(m.layout.States[i]) }

// at is an address in the data allocation, 0 for what is not there.
func (m *memory) at(offset int64) uint64 {
	if offset < 0 {
		return 0
	}
	return uint64(m.data) + uint64(offset)
}
