//go:build cuda

package cuda

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"gorgonia.org/cu"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
)

// layout says where everything is in the two allocations of a run, in bytes. Every
// process computes it from the configuration; the checksum shows that they agree.
type layout struct {
	P      int      `json:"p"` // weights
	Slots  []int64  `json:"slots"`
	States []int64  `json:"states"` // one or two of the optimizer's vectors each, one behind the other
	Steps  int64    `json:"steps"`  // taken with each state: u64, countLine bytes apart
	Counts int64    `json:"counts"` // updates written by each rank: u64, countLine bytes apart
	Size   int64    `json:"size"`
	Data   dataPart `json:"data"`
}

// dataPart is the second allocation: the training set.
type dataPart struct {
	X8, X, Ptr, Idx, Val, Y, M, Freq, Mul, Add int64 // -1: not there
	Hot                                        int64 // the columns that sparse.go marks in Idx; -1: none
	Scales                                     int   // entries of Mul and of Add: 1 or d
	Size                                       int64
}

const (
	block     = 2 << 20 // cuMemAlloc hands out blocks of 2 MiB, and IPC exposes a whole block
	alignment = 256     // of every array: for vector accesses, and no shared cache line
	countLine = 256     // from one rank's counter to the next: COUNT_STRIDE words
)

func newLayout(s *device.Setup) layout {
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
	l.Steps = place(&l.Size, countLine*max(1, len(s.States)))
	l.Counts = place(&l.Size, countLine*s.Job.Workers)
	l.Size = roundUp(l.Size, block)
	l.Data = newDataPart(s.Set, false, hotCount(s))
	return l
}

// words say what there is beside the weights.
func (l *layout) words(s *device.Setup) string {
	text := fmt.Sprintf("%d weights", l.P)
	if n := len(s.Slots); n > 0 {
		text += fmt.Sprintf(", %d replicas", n)
	}
	if n := len(s.States); n > 0 && len(s.States[0]) > 0 {
		text += fmt.Sprintf(", %d states of %s", n, s.Job.Optimizer)
	}
	return text
}

// newDataPart lays out a set: the arrays that it has, and as many hot columns; of one that streams those alone
// that have an entry a column.
func newDataPart(set *data.Set, streams bool, hot int) (d dataPart) {
	place := func(bytes int) int64 {
		if bytes == 0 {
			return -1
		}
		at := roundUp(d.Size, alignment)
		d.Size = at + int64(bytes)
		return at
	}
	d.Mul, d.Add = -1, -1
	if set.X8 != nil {
		d.Scales = max(1, len(set.Mul), len(set.Add))
		d.Mul, d.Add = place(4*d.Scales), place(4*d.Scales)
	}
	d.Freq = place(4 * len(set.Freq))
	if streams {
		set, hot = &data.Set{}, 0
	}
	d.X8, d.X, d.Ptr, d.Idx, d.Val = place(len(set.X8)), place(4*len(set.X)), place(8*len(set.Ptr)), place(4*len(set.Idx)), place(4*len(set.Val))
	d.Y, d.M = place(4*len(set.Y)), place(4*len(set.M))
	d.Hot = place(8 * hot)
	d.Size = roundUp(d.Size, block)
	return d
}

func roundUp[T int | int64](n, to T) T { return (n + to - 1) / to * to }

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
	Nonce    uint64        `json:"nonce"` // of the run: a handle of another run is refused
	Checksum string        `json:"checksum"`
	Weights  handle        `json:"weights"`
	Size     int64         `json:"size"`
	DataSize int64         `json:"data_size"`
	GPUs     []ticketOfGPU `json:"gpus"` // home first
}

// ticketOfGPU is what a worker on one of the run's GPUs needs.
type ticketOfGPU struct {
	UUID  string `json:"uuid"`
	Way   way    `json:"way"` // to the weights
	Data  handle `json:"data"`
	Piece int64  `json:"piece,omitempty"` // the training set streams, in pieces of so many bytes
}

// memory is a run's memory as this process sees it: made here, or opened here.
type memory struct {
	layout  layout
	weights cu.DevicePtr
	data    cu.DevicePtr
	piece   int64 // of a training set that streams, in bytes; 0: it is in data
}

// newMemory lays it out; the training set streams if piece is not 0.
func newMemory(s *device.Setup, piece int64) *memory {
	m := &memory{layout: newLayout(s)}
	if piece > 0 {
		m.stream(s.Set, piece)
	}
	return m
}

// stream leaves out of the layout what comes with the launches.
func (m *memory) stream(set *data.Set, piece int64) {
	m.piece = piece
	m.layout.Data = newDataPart(set, true, 0)
}

// slot is the address of a rank's replica or gradient.
func (m *memory) slot(rank int) cu.DevicePtr { return m.weights + cu.DevicePtr(m.layout.Slots[rank]) }

// state is the address of an optimizer's state.
func (m *memory) state(i int) cu.DevicePtr { return m.weights + cu.DevicePtr(m.layout.States[i]) }

// steps is the address of the count of steps that a state has been used for.
func (m *memory) steps(i int) cu.DevicePtr {
	return m.weights + cu.DevicePtr(m.layout.Steps+int64(i)*countLine)
}

// point lets a job see the set.
func (m *memory) point(j *job) {
	d := m.layout.Data
	at := func(offset int64) uint64 {
		if offset < 0 {
			return 0
		}
		return uint64(m.data) + uint64(offset)
	}
	j.X8, j.X, j.Ptr, j.Idx, j.Val = at(d.X8), at(d.X), at(d.Ptr), at(d.Idx), at(d.Val)
	j.Y, j.M, j.Freq, j.Mul, j.Add = at(d.Y), at(d.M), at(d.Freq), at(d.Mul), at(d.Add)
	if d.Scales > 1 {
		j.ScaleWide = 1
	}
}
