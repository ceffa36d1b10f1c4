//go:build cuda

package cuda

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"gorgonia.org/cu"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
)

// layout says where everything is in the two allocations of a run, in bytes. Every
// process computes it from the configuration; the checksum shows that they agree.
type layout struct {
	P       int      `json:"p"`       // weights
	Halves  int      `json:"halves"`  // how many of them, the first ones, are of half precision: half.go
	Scatter scatter  `json:"scatter"` // of their columns, if they are a sparse model's
	Slots   []int64  `json:"slots"`
	States  []int64  `json:"states"` // one or two of the optimizer's vectors each, one behind the other
	Steps   int64    `json:"steps"`  // taken with each state: u64, countLine bytes apart
	Counts  int64    `json:"counts"` // updates written by each rank: u64, countLine bytes apart
	Size    int64    `json:"size"`
	Data    dataPart `json:"data"`
}

// dataPart is the second allocation: the training set.
type dataPart struct {
	At     [arrays]int64 // of each of its arrays; -1: it is not there
	Local  int64         // the columns that are marked in Idx; -1: none
	Scales int           // entries of Mul and of Add: 1 or d; 0: of bytes alone there are any
	Size   int64
}

// arrays is how many a set has: from perColumn on they are of columns, the others of rows.
const (
	arrays    = 10
	idxArray  = 3
	freqArray = 7
	perColumn = freqArray
)

// arraysOf returns a set's arrays as bytes, empty where it has none, in the order of the job's
// addresses.
func arraysOf(set *data.Set) [arrays][]byte {
	n := scalesOf(set)
	return [...][]byte{set.X8, raw(set.X), raw(set.Ptr), raw(set.Idx), raw(set.Val), raw(set.Labels(nil)), raw(set.M),
		raw(set.Freq), raw(spread(set.Mul, 1, n)), raw(spread(set.Add, 0, n))}
}

func scalesOf(set *data.Set) int {
	if set.X8 == nil {
		return 0
	}
	return max(1, len(set.Mul), len(set.Add))
}

// spread is v, or its one entry n times, or missing n times.
func spread(v []float32, missing float32, n int) []float32 {
	if len(v) == n {
		return v
	}
	if len(v) == 1 {
		missing = v[0]
	}
	return slices.Repeat([]float32{missing}, n)
}

const (
	block     = 2 << 20 // cuMemAlloc hands out blocks of 2 MiB, and IPC exposes a whole block
	alignment = 256     // of every array: for vector accesses, and no shared cache line
	countLine = 256     // from one rank's counter to the next: COUNT_STRIDE words
)

// place makes room for an array behind end, and is where it begins.
func place(end *int64, bytes int) int64 {
	at := roundUp(*end, alignment)
	*end = at + int64(bytes)
	return at
}

func newLayout(s *device.Setup) layout {
	l := layout{P: len(s.Weights), Halves: halves(s), Scatter: newScatter(s)}
	l.Size = l.stored()
	for _, v := range s.Slots {
		l.Slots = append(l.Slots, place(&l.Size, 4*len(v)))
	}
	for _, v := range s.States {
		l.States = append(l.States, place(&l.Size, 4*len(v)))
	}
	if s.Job.Asked.Layout == nil { // else the data are the program's business
		l.Data = newDataPart(s.Set, false, localCount(s))
	}
	return l.withCounts(s)
}

// replica is the layout of one: the weights, and of slots and states its own. A replica that
// is averaged is itself what goes to the rank's slot.
func (l layout) replica(s *device.Setup) layout {
	a := layout{P: l.P, Size: 4 * int64(l.P), Data: l.Data, Scatter: l.Scatter}
	slot, state := int64(0), int64(0)
	if s.Job.Asked.AveragesGradients() {
		slot = place(&a.Size, 4*l.P)
	}
	if len(s.States) > 0 {
		state = place(&a.Size, 4*len(s.States[0]))
	}
	a.Slots = slices.Repeat([]int64{slot}, len(l.Slots))
	a.States = slices.Repeat([]int64{state}, len(l.States))
	return a.withCounts(s)
}

// withCounts has the counts behind everything else.
func (l layout) withCounts(s *device.Setup) layout {
	l.Steps = place(&l.Size, countLine*max(1, len(s.States)))
	l.Counts = place(&l.Size, countLine*s.Mem.Ranks) // more workers may join
	l.Size = roundUp(l.Size, block)
	return l
}

// words counts the weights, and the replicas and states if there are any.
func (l *layout) words(s *device.Setup) string {
	text := fmt.Sprintf("%d weights", l.P)
	if l.Halves > 0 {
		text += fmt.Sprintf(", %d of half precision", l.Halves)
	}
	if n := len(s.Slots); n > 0 {
		text += fmt.Sprintf(", %d replicas", n)
	}
	if n := len(s.States); n > 0 && len(s.States[0]) > 0 {
		text += fmt.Sprintf(", %d states of %s", n, s.Job.Asked.Optimizer)
	}
	return text
}

// newDataPart lays out a set: the arrays that it has, and as many local columns; of one that streams those alone
// that have an entry a column.
func newDataPart(set *data.Set, streams bool, locals int) (d dataPart) {
	d.Scales = scalesOf(set)
	some := func(bytes int) int64 {
		if bytes == 0 || streams {
			return -1
		}
		return place(&d.Size, bytes)
	}
	for i, b := range arraysOf(set) {
		if i == perColumn { // from here on they are there in any case
			d.Local = some(8 * locals)
			streams = false
		}
		d.At[i] = some(len(b))
	}
	d.Size = roundUp(d.Size, block)
	return d
}

// checksum is equal where layouts are.
func (l layout) checksum() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // of integers alone
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// memory is a run's memory as this process sees it: made here, or opened here.
type memory struct {
	layout  layout
	weights cu.DevicePtr
	data    cu.DevicePtr
	piece   int64    // of a training set that streams, in bytes; 0: it is in data
	private *private // the optimizer's state, if it is not in weights
	apart   bool     // the weights are elsewhere, and a worker on this GPU trains a replica
	mapped  *mapped  // where they are in host memory
}

// close lets go of the coordinator's part.
func (m *memory) close() error {
	err := closeMemory(m.data)
	if m.mapped != nil {
		return keep(m.mapped.close(), err)
	}
	return keep(closeMemory(m.weights), err)
}

// openMapped makes the run's part in host memory, or join: opens the coordinator's.
func (m *memory) openMapped(s *device.Setup, join bool) (err error) {
	ranks := s.Job.Asked.Workers
	if s.Job.Asked.Mode.Traits().Barrier {
		ranks = 0
	}
	m.mapped, err = newMapped(m.layout.P, m.layout.Size, roundUp(4*int64(m.layout.P), alignment), ranks, join)
	return err
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
func (m *memory) state(i int) cu.DevicePtr {
	if m.private != nil {
		return m.private.state
	}
	return m.weights + cu.DevicePtr(m.layout.States[i])
}

// steps is the address of the count of steps that a state has been used for.
func (m *memory) steps(i int) cu.DevicePtr {
	if m.private != nil {
		return m.private.steps
	}
	return m.weights + cu.DevicePtr(m.layout.Steps+int64(i)*countLine)
}

// there returns vectors as long as the weights as this memory has them, download fills them from there.
func (m *memory) there(v []float32) []float32 { return m.layout.Scatter.there(v, m.layout.P) }

func (m *memory) download(v []float32, p cu.DevicePtr) error {
	return m.layout.Scatter.back(v, m.layout.P, func(w []float32) error { return download(w, p) })
}

// upload copies a set to where it is laid out. Local columns have slots.
func (m *memory) upload(set *data.Set, slot map[uint32]uint32) (err error) {
	d, c := &m.layout.Data, &m.layout.Scatter
	for i, b := range arraysOf(set) {
		at := m.data + cu.DevicePtr(d.At[i])
		switch {
		case d.At[i] < 0:
		case i == idxArray && (c.Columns > 0 || slot != nil):
			piece := make([]uint32, 1<<20)
			for from := 0; from < len(set.Idx) && err == nil; from += len(piece) {
				n := min(len(piece), len(set.Idx)-from)
				c.renumber(piece[:n], set.Idx[from:from+n], slot)
				err = upload(at+cu.DevicePtr(4*from), piece[:n])
			}
		case i == freqArray && c.Columns > 0:
			one := scatterOf(c.Columns, 1)
			err = keep(err, upload(at, one.there(set.Freq, c.Columns)))
		default:
			err = keep(err, upload(at, b))
		}
	}
	return err
}
