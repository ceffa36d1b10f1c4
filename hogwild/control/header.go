package control

import (
	"encoding/json"
	"errors"
	"fmt"

	"hogwild/hogwild/config"
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

	Device []byte `json:"device,omitempty"` // the handle of the weights, where they are not in host memory

	CPUProfile string `json:"cpu_profile"` // worker 0 writes them
	Trace      string `json:"trace"`
}

// Create makes the control block of a run.
func Create(h Header) (*Block, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	p := plan.New(&h.Job.Config, h.Job.Tuning.Batch, h.Rows)
	var l shm.Layout
	l.Add("control", shm.U64, wordCount)
	l.Add("futexes", shm.U32, futexWords)
	l.Add("ranks", shm.U64, h.Job.Workers, RankWords)
	l.Add("chunks", shm.U64, p.Chunks(), 2)
	l.AddBarrier("barrier", h.Job.Workers)
	l.Add("header", shm.U8, len(text))
	seg, err := l.Create("control")
	if err != nil {
		return nil, err
	}
	header, err := shm.View[uint8](seg, "header")
	if err != nil {
		return nil, errors.Join(err, seg.Close())
	}
	copy(header, text)
	w, _, err := Open(seg)
	if err != nil {
		return nil, errors.Join(err, seg.Close())
	}
	return w, nil
}

// Open finds the control block in a mapped segment, and refuses another
// version of the program.
func Open(seg *shm.Segment) (*Block, Header, error) {
	var h Header
	text, err := shm.View[uint8](seg, "header")
	if err != nil {
		return nil, h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, h, fmt.Errorf("the control block's header: %w", err)
	}
	if h.Version != config.Version {
		return nil, h, fmt.Errorf("the coordinator is hogwild %s, this worker is %s: start both from one binary", h.Version, config.Version)
	}
	w := &Block{Seg: seg, Plan: plan.New(&h.Job.Config, h.Job.Tuning.Batch, h.Rows)}
	var errs [5]error
	w.control, errs[0] = shm.View[uint64](seg, "control")
	w.Futexes, errs[1] = shm.View[uint32](seg, "futexes")
	w.ranks, errs[2] = shm.View[uint64](seg, "ranks")
	w.Chunks, errs[3] = shm.View[uint64](seg, "chunks")
	w.Barrier, errs[4] = shm.OpenBarrier(seg, "barrier")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, h, err
	}
	if len(w.control) != wordCount || len(w.Futexes) != futexWords ||
		len(w.ranks) != h.Job.Workers*RankWords || len(w.Chunks) != 2*w.Plan.Chunks() {
		return nil, h, errors.New("the control block has another layout than this program expects")
	}
	return w, h, nil
}
