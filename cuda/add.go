//go:build cuda

package cuda

import (
	"errors"

	"hogwild/internal/fault"
)

// partBytes is how much of a round's change goes to the GPU at a time: a second copy of all the
// weights may not fit there.
const partBytes = 8 << 20

// adder adds to the weights what a round with other nodes changes, part by part: while one is
// added, the next is copied.
type adder struct {
	pipeline pipeline
	weights  uint64
	most     int // numbers in a part
}

// newAdder returns an adder that adds in parts of up to most numbers.
func newAdder(c *gpu, m *memory, most int) (*adder, error) {
	ks, err := loadKernels(c, "reduce")
	if err != nil {
		return nil, err
	}
	a := &adder{pipeline: pipeline{gpu: c, kernel: ks["reduce_add"], ended: func([]byte) {}},
		weights: uint64(m.weights), most: min(most, m.layout.P)}
	if err := a.pipeline.open(a.stageSize(), 0); err != nil {
		return nil, errors.Join(err, a.free())
	}
	return a, nil
}

// stageSize returns the bytes that a part needs in a stage.
func (a *adder) stageSize() int { return stageBytes(4, jobBytes+ticketBytes+4*a.most) }

func (a *adder) add(delta []float32) (err error) {
	for at := 0; at < len(delta) && err == nil; at += a.most {
		if err = fault.Point("gpu.add"); err == nil {
			err = a.launch(at, delta[at:min(at+a.most, len(delta))])
		}
	}
	return keep(err, a.pipeline.drain())
}

// launch queues the addition of a part that begins at a weight.
func (a *adder) launch(at int, part []float32) error {
	s, err := a.pipeline.begin(a.stageSize(), 0)
	if err != nil {
		return err
	}
	j := job{Out: a.weights + 4*uint64(at), Weights: int64(len(part))}
	text, address := stageJob(s, &j)
	j.W = stageArray(s, part)
	copy(text, encode(j))
	s.loads()
	s.comesBack()
	reserve[byte](s, 0) // nothing
	k := a.pipeline.kernel
	return a.pipeline.launch(s, grid{}, grid{k, min(k.most, ceilDiv(len(part), k.threads)), address})
}

func (a *adder) free() error { return a.pipeline.close() }
