//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// scorer evaluates weights on a set that is kept on the GPU.
type scorer struct {
	kernel  kernel
	job     job
	ctas    int
	weights cu.DevicePtr
	buffer  cu.DevicePtr // of the job
	ticket  cu.DevicePtr
	sums    []float64
}

const sumsEach = 8 // n, loss, correct, squared error, sum of y, sum of y^2, and two that are free

func newScorer(o *owner, set *data.Set) (*scorer, error) {
	setup := *o.setup
	setup.Set = set
	m := memory{layout: newLayout(&setup)}
	var err error
	if m.data, err = o.allocate(m.layout.Data.Size, "the test set"); err != nil {
		return nil, err
	}
	if err := uploadSet(&m, set); err != nil {
		return nil, err
	}
	s := &scorer{kernel: o.idle.kernels["evaluate"]}
	if s.job, err = newJob(&setup, &m); err != nil {
		return nil, err
	}
	s.ctas = max(1, min(s.kernel.most, ceilDiv(set.Rows, evalRows)))
	s.job.MaxBatch, s.job.Steps = evalRows, 1
	s.job.ScratchStride = scratchFloats(&s.job)
	s.sums = make([]float64, sumsEach*s.ctas)
	rows := make([]int32, set.Rows)
	for i := range rows {
		rows[i] = int32(i)
	}
	for _, a := range []struct {
		address *uint64
		bytes   int
		what    string
	}{
		{&s.job.W, 4 * m.layout.P, "a copy of the weights"}, {&s.job.Rows, 4 * len(rows), "the test rows"}, {&s.job.Start, 8, "the test rows"},
		{&s.job.Scratch, 4 * int(s.job.ScratchStride) * s.ctas, "activations"}, {&s.job.Sums, 8 * len(s.sums), "sums"},
		{&s.job.Ticket, 8, "a ticket"},
	} {
		p, err := o.allocate(int64(max(a.bytes, 8)), a.what)
		if err != nil {
			return nil, err
		}
		*a.address = uint64(p)
	}
	s.weights, s.ticket = cu.DevicePtr(s.job.W), cu.DevicePtr(s.job.Ticket)
	if s.buffer, err = o.allocate(int64(len(encode(s.job))), "a job"); err != nil {
		return nil, err
	}
	err = upload(cu.DevicePtr(s.job.Rows), rows)
	err = keep(err, upload(cu.DevicePtr(s.job.Start), []int32{0, int32(set.Rows)}))
	return s, keep(err, upload(s.buffer, encode(s.job)))
}

// evalRows is how many rows a CTA evaluates at once.
const evalRows = 64

// score adds up the CTAs' sums in their order.
func (s *scorer) score(w []float32) (sum model.Score, err error) {
	err = upload(s.weights, w)
	err = keep(err, zero(s.ticket, 2))
	err = keep(err, zero(cu.DevicePtr(s.job.Sums), 2*len(s.sums)))
	if err == nil {
		err = s.kernel.run(s.ctas, s.buffer)
	}
	if err = keep(err, download(s.sums, cu.DevicePtr(s.job.Sums))); err != nil {
		return sum, err
	}
	for i := 0; i < len(s.sums); i += sumsEach {
		v := s.sums[i:]
		sum.N += int(v[0])
		sum.Loss += v[1]
		sum.Correct += int(v[2])
		sum.SqErr += v[3]
		sum.Y += v[4]
		sum.Y2 += v[5]
	}
	return sum, nil
}
