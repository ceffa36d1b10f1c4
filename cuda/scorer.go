//go:build cuda

package cuda

import (
	"errors"
	"math"

	"gorgonia.org/cu"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// scorer evaluates the copy of the weights on a set that is kept on the GPU, or streams.
type scorer struct {
	pipeline pipeline
	memory   memory // of the set
	rows     source
	from, to int // of the rows, this node's share
	job      job
	ctas     int
	each     int // rows of a launch
	list     []int32
	sum      model.Score
	buffers  blocks
}

const sumsEach = 8 // of a CTA: n, loss, correct, squared error, sum of y, sum of y^2, and two that are free

// fitter is owner.fits.
type fitter func(what string, bytes int64) (piece int64, err error)

// newScorer brings a set to the GPU of the copy of the weights. The kernels are the run's.
func newScorer(run *device.Setup, set *data.Set, c *gpu, of *kept, ks kernels, fits fitter) (*scorer, error) {
	setup := *run
	setup.Set = set
	s := &scorer{memory: memory{layout: newLayout(&setup)}}
	err := s.load(c, set, fits)
	if err == nil {
		err = s.open(&setup, c, of, ks)
	}
	if err != nil {
		return nil, errors.Join(err, s.free())
	}
	return s, nil
}

func (s *scorer) open(setup *device.Setup, c *gpu, of *kept, ks kernels) (err error) {
	set := setup.Set
	var f *family
	if s.job, f, err = newJob(setup, &s.memory); err != nil {
		return err
	}
	if f.plans {
		s.buffers = append(s.buffers, cu.DevicePtr(s.job.Plan))
	}
	s.job.Center = -1 // it scores plain weights
	s.pipeline = pipeline{gpu: c, kernel: ks[f.evaluate], ended: s.complete}
	s.rows = source{set, s.memory.piece > 0, &s.memory.layout.Scatter}
	s.from, s.to = setup.ShareOf(set)
	s.each = min(set.Rows, mostRows)
	if s.rows.streams {
		s.each = min(s.each, max(scoreBlock, int(s.memory.piece)/s.rows.mean()))
	}
	s.ctas = max(1, min(s.pipeline.kernel.most, ceilDiv(s.each, scoreBlock)))
	s.job.MaxBatch, s.job.Steps = scoreBlock, 1
	s.job.ScratchStride = f.scratch(&s.job)
	var scratch cu.DevicePtr
	if err = s.buffers.allocate(c,
		wanted{&scratch, 4 * s.job.ScratchStride * int64(s.ctas), "activations"}); err != nil {
		return err
	}
	s.job.W, s.job.Scratch = of.job.To, uint64(scratch)
	return s.pipeline.open(s.stageSize(), 0)
}

// load brings the set to the GPU, or what belongs to its columns if it streams.
func (s *scorer) load(c *gpu, set *data.Set, fits fitter) error {
	m := &s.memory
	piece, err := fits("test", m.layout.Data.Size)
	if err != nil {
		return err
	}
	if piece > 0 {
		m.stream(set, piece)
	}
	if err := s.buffers.allocate(c, wanted{&m.data, m.layout.Data.Size, "the test set"}); err != nil {
		return err
	}
	return m.upload(set, nil)
}

// stageSize returns the bytes that a launch needs in a stage, without its rows.
func (s *scorer) stageSize() int {
	return stageBytes(5, jobBytes+ticketBytes+8+8*sumsEach*s.ctas)
}

// score adds up the sums of all launches and their CTAs, in order.
func (s *scorer) score() (_ model.Score, err error) {
	s.sum = model.Score{}
	for first := s.from; err == nil && first < s.to; first += s.each {
		s.list = s.list[:0]
		for i := first; i < min(first+s.each, s.to); i++ {
			s.list = append(s.list, int32(i))
		}
		err = s.launch()
	}
	err = keep(err, s.pipeline.drain())
	return s.sum, err
}

// launch queues the evaluation of the rows listed.
func (s *scorer) launch() error {
	at, err := s.pipeline.begin(s.stageSize()+s.rows.stageSize(s.list), 0)
	if err != nil {
		return err
	}
	j := s.job
	text, address := stageJob(at, &j)
	j.Start = stageArray(at, []int32{0, int32(len(s.list))})
	s.rows.put(at, &j, s.list)
	at.loads()
	at.comesBack()
	_, j.Sums = reserve[float64](at, sumsEach*s.ctas)
	copy(text, encode(j))
	return s.pipeline.launch(at, grid{}, grid{s.pipeline.kernel, s.ctas, address})
}

// complete adds the sums of a launch.
func (s *scorer) complete(back []byte) {
	for v := numbers[float64](back); len(v) > 0; v = v[sumsEach:] {
		s.sum.N += int(math.Round(v[0]))
		s.sum.Loss += v[1]
		s.sum.Correct += int(math.Round(v[2]))
		s.sum.SqErr += v[3]
		s.sum.Y += v[4]
		s.sum.Y2 += v[5]
	}
}

// free gives back all that it has made.
func (s *scorer) free() error { return keep(s.pipeline.close(), s.buffers.free()) }
