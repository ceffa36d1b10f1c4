package control

import (
	"encoding/json"
	"errors"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/shm"
)

// Header travels with the control block: what a worker needs to know beyond its rank.
type Header struct {
	Version string     `json:"version"`
	Job     tuning.Job `json:"job"`
	Rows    int        `json:"rows"`
	Weights uint64     `json:"weights"` // checksum of the layout of the weights' segment
	Data    string     `json:"data"`    // checksum of the data

	Blocks data.Blocks `json:"blocks,omitzero"` // mode blocks: where they begin

	Start Start `json:"start"`

	Device []byte `json:"device,omitempty"` // the handle of the weights, where they are not in host memory

	CPUProfile string `json:"cpu_profile"` // worker 0 writes them
	Trace      string `json:"trace"`
}

// The header is written twice, so that workers can read one while the coordinator writes the
// other: a generation of workers reads the one of its parity. A change needs a few more bytes.
const (
	headers     = 2
	headerSpare = 1024
)

// Create makes the control block of a run.
func Create(h Header) (*Block, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	ranks := h.Job.Asked.Ranks()
	var l shm.Layout
	l.Add("control", shm.U64, wordCount)
	l.Add("futexes", shm.U32, futexWords)
	l.Add("ranks", shm.U64, ranks, RankWords)
	l.Add("chunks", shm.U64, max(1, mostChunks(&h, ranks)), 2)
	l.AddBarrier("barrier", ranks)
	l.Add("header", shm.U8, headers, len(text)+headerSpare)
	seg, err := l.Create("control")
	if err != nil {
		return nil, err
	}
	w, err := find(seg)
	if err == nil {
		err = w.write(0, text)
	}
	if err == nil {
		_, err = w.Renew()
	}
	if err != nil {
		return nil, errors.Join(err, seg.Close())
	}
	return w, nil
}

// mostChunks returns how many chunks an epoch has at the most: whatever the number of workers becomes, and
// where a GPU continues an epoch that was begun on cores.
func mostChunks(h *Header, ranks int) (most int) {
	c := h.Job.Asked
	c.GPU = ""
	for c.Workers = range ranks + 1 {
		batch := h.Job.Used.Batch
		if c.GlobalBatch > 0 {
			batch = max(1, c.AskedBatch())
		}
		if c.Workers > 0 {
			p := plan.New(&c, batch, h.Rows).Blocks(h.Blocks)
			first := p.Of(1)
			most = max(most, p.Chunks(), first.Chunks())
		}
	}
	return most
}

// Open finds the control block in a mapped segment, and refuses another
// version of the program.
func Open(seg *shm.Segment) (*Block, Header, error) {
	w, err := find(seg)
	if err != nil {
		return nil, Header{}, err
	}
	h, err := w.Renew()
	return w, h, err
}

// find finds the arrays in a mapped segment.
func find(seg *shm.Segment) (*Block, error) {
	w := &Block{Seg: seg}
	var errs [6]error
	w.control, errs[0] = shm.View[uint64](seg, "control")
	w.Futexes, errs[1] = shm.View[uint32](seg, "futexes")
	w.ranks, errs[2] = shm.View[uint64](seg, "ranks")
	w.chunks, errs[3] = shm.View[uint64](seg, "chunks")
	w.parties, errs[4] = shm.OpenBarrier(seg, "barrier")
	w.header, errs[5] = shm.View[uint8](seg, "header")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if len(w.control) != wordCount || len(w.Futexes) != futexWords {
		return nil, errors.New("the control block has another layout than this program expects")
	}
	return w, nil
}

// Renew takes over how many workers there are now, and what follows from it.
func (w *Block) Renew() (Header, error) {
	for {
		g := w.Get(wordGeneration)
		h, err := w.read(g)
		if w.Get(wordGeneration) != g {
			continue // it was written meanwhile
		}
		if err == nil {
			w.generation = g
		}
		return h, err
	}
}

// read reads the header of a generation.
func (w *Block) read(generation uint64) (h Header, err error) {
	if err := json.Unmarshal(w.slot(generation), &h); err != nil {
		return h, fmt.Errorf("the control block's header: %w", err)
	}
	if h.Version != config.Version {
		return h, fmt.Errorf("the coordinator is hogwild %s, this worker is %s: start both from one binary", h.Version,
			config.Version)
	}
	w.whole = plan.New(&h.Job.Asked, h.Job.Used.Batch, h.Rows).Blocks(h.Blocks)
	w.start, w.cursor = h.Start, 0
	if len(w.ranks) < h.Job.Asked.Workers*RankWords || len(w.chunks) < 2*w.whole.Chunks() {
		return h, errors.New("the control block has another layout than this program expects")
	}
	w.Barrier = w.parties.First(h.Job.Asked.Workers)
	w.Cut(h.Start.Epoch)
	return h, nil
}

// Start returns where these workers began.
func (w *Block) Start() Start { return w.start }

// slot returns the header of a generation, with spaces behind it.
func (w *Block) slot(generation uint64) []uint8 {
	n := len(w.header) / headers
	at := int(generation%headers) * n
	return w.header[at : at+n]
}

func (w *Block) write(generation uint64, text []byte) error {
	slot := w.slot(generation)
	if len(text) > len(slot) {
		return fmt.Errorf("the control block's header: %d bytes, there is room for %d", len(text), len(slot))
	}
	for i := copy(slot, text); i < len(slot); i++ {
		slot[i] = ' '
	}
	return nil
}

// Announce tells all workers that the run continues as h says: they notice before their next
// chunk. In barrier mode no worker may be within a round; an epoch that is cut anew has all chunks
// free.
func (w *Block) Announce(h Header) error {
	text, err := json.Marshal(h)
	if err == nil {
		err = w.write(w.generation+1, text)
	}
	if err == nil {
		_, err = w.read(w.generation + 1)
	}
	if err != nil {
		return err
	}
	if h.Start.Base > 0 {
		w.Free(h.Start.Epoch)
	}
	w.generation++
	w.Set(wordHold, 0)
	w.Set(wordGeneration, w.generation)
	w.Tick()
	return nil
}
