//go:build cuda

package cuda

import (
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// kept is a copy of the weights, as a plain model has them, on the GPU that has the weights. Its kernels are in
// kernels/survey.cu.
type kept struct {
	pipeline pipeline
	kernels  kernels
	job      copyJob
	first    []int64       // of each tensor its first weight; behind them how many there are
	last     []model.Param // of its last layer
	standard data.Standard
	filled   bool
	buffers  blocks
}

// copyJob is struct Copy of kernels/survey.cu.
type copyJob struct {
	From, To, Mean, First, Changed, Found, Counts uint64
	Tensors, Each, Center, Width, Halves          int64
}

const (
	copyJobBytes = int(unsafe.Sizeof(copyJob{}))
	foundEach    = 7                                   // numbers of struct Found
	bucketsEach  = device.Buckets - device.LeastBucket // of a sign, those that kernels count in
	leastOfCTA   = 4 * threads                         // weights, if there are enough
)

// open makes room for the copy, and loads the kernels.
func (k *kept) open(c *gpu, s *device.Setup, weights cu.DevicePtr) (err error) {
	k.job.From, k.job.Halves = uint64(weights), int64(halves(s))
	params := s.Plain.Params()
	for _, at := range model.Offsets(params) {
		k.first = append(k.first, int64(at))
	}
	if k.standard = s.Job.Asked.Standard; k.standard.Deviation != 0 {
		k.last = params[model.LastLayer(params):]
	}
	k.first, k.job.Tensors = append(k.first, plainSize(s)), int64(len(params))
	var to, mean cu.DevicePtr
	if err = k.buffers.allocate(c, wanted{&to, 4 * k.weights(), "a copy of the weights"}); err != nil {
		return err
	}
	if form, ok := model.CenteredOf(s.Params); ok { // in the local form: only copies on cores are merged
		k.job.Center, k.job.Width = int64(form.S), int64(form.Width)
		if err = k.buffers.allocate(c, wanted{&mean, 4 * int64(form.Rows), "the means of the inputs"}); err == nil {
			err = upload(mean, s.Set.Mean)
		}
	}
	k.job.To, k.job.Mean = uint64(to), uint64(mean)
	if err == nil {
		k.kernels, err = loadKernels(c, "survey")
	}
	k.pipeline = pipeline{gpu: c, ended: func([]byte) {}}
	return keep(err, k.pipeline.open(k.stageSize(0), 0))
}

// plainSize is how many weights a plain model has.
func plainSize(s *device.Setup) int64 { return int64(model.Size(s.Plain.Params())) }

func (k *kept) weights() int64 { return k.first[len(k.first)-1] }

// stageSize returns the bytes that a launch needs in a stage, back of them to bring back.
func (k *kept) stageSize(back int) int { return stageBytes(5, copyJobBytes+8*len(k.first)+back) }

// looked is what a kernel has found. Its arrays are good until the next launch.
type looked struct {
	changed []uint32  // of each tensor
	buckets []uint64  // the same, of both signs
	found   []float64 // of each part, as kernels/survey.cu has them
	each    int64     // weights of a CTA
}

// run has a kernel look at the weights or their copy.
func (k *kept) run(name string, compare, counts bool) (l looked, err error) {
	tensors, fn := len(k.first)-1, k.kernels[name]
	ctas := max(1, min(fn.most, ceilDiv(int(k.weights()), leastOfCTA)))
	l.each = int64(roundUp(ceilDiv(int(k.weights()), ctas), 32)) // whole lines of memory
	var flags, buckets, found int
	if compare {
		flags = tensors
	}
	if counts {
		buckets = 2 * bucketsEach * tensors
	}
	if name == "survey_count" {
		found = foundEach * (ctas + tensors)
	}
	s, err := k.pipeline.begin(k.stageSize(4*flags+8*(buckets+found)), 0)
	if err != nil {
		return l, err
	}
	j := k.job
	j.Each = l.each
	text, address := reserve[byte](s, copyJobBytes)
	j.First = stageArray(s, k.first)
	s.comesBack()
	if compare {
		l.changed, j.Changed = reserve[uint32](s, flags)
		clear(l.changed)
	}
	if counts {
		l.buckets, j.Counts = reserve[uint64](s, buckets)
		clear(l.buckets)
	}
	s.loads()
	l.found, j.Found = reserve[float64](s, found)
	copy(text, encode(j))
	k.pipeline.kernel = fn
	err = k.pipeline.launch(s, grid{}, grid{fn, ctas, address})
	return l, keep(err, k.pipeline.drain())
}

// convert changes the copy's last layer from or to standardised values. Kernels know nothing of these.
func (k *kept) convert(f func(data.Standard, []model.Param, []float32)) error {
	if k.standard.IsZero() {
		return nil
	}
	w := make([]float32, model.Size(k.last))
	at := cu.DevicePtr(k.job.To) + cu.DevicePtr(4*(int(k.weights())-len(w)))
	err := download(w, at)
	f(k.standard, k.last, w)
	return keep(err, upload(at, w))
}

// add adds up the parts of each tensor, in order.
func (k *kept) add(l *looked) device.Survey {
	s := device.Survey{NotFinite: -1}
	for t, from := range k.first[:len(k.first)-1] {
		c := *device.NewCounts()
		for cta := from / l.each; from < k.first[t+1] && cta*l.each < k.first[t+1]; cta++ {
			f := l.found[foundEach*(int(cta)+t):]
			c.N, c.Sum, c.Sum2 = c.N+f[0], c.Sum+f[1], c.Sum2+f[2]
			c.Low, c.High = min(c.Low, float32(f[3])), max(c.High, float32(f[4]))
			if bad := int(f[5]); bad > 0 && s.NotFinite < 0 {
				s.NotFinite, s.Value = bad-1, float32(f[6])
			}
		}
		if l.buckets != nil {
			c.Buckets = bucketsOf(l.buckets[2*bucketsEach*t:], uint64(c.N))
			s.Counts = append(s.Counts, c)
		}
	}
	return s
}

// bucketsOf returns the buckets of device.Counts. Kernels leave out the numbers that count as zero: what remains of all
// n.
func bucketsOf(of []uint64, n uint64) (b [2][device.Buckets]uint64) {
	for sign := range b {
		for i, m := range of[sign*bucketsEach : (sign+1)*bucketsEach] {
			b[sign][device.LeastBucket+i] = m
			n -= m
		}
	}
	b[0][device.LeastBucket-1] = n
	return b
}

// with calls f while the weights w, if there are any, take the place of the copy. That comes back by way of host
// memory, as the GPU may have no room for one more. It is rare.
func (k *kept) with(w []float32, f func() error) (err error) {
	to := cu.DevicePtr(k.job.To)
	var own []float32
	if w != nil && k.filled {
		own = make([]float32, len(w))
		err = download(own, to)
	}
	if err = keep(err, upload(to, w)); err == nil {
		err = f()
	}
	return keep(err, upload(to, own))
}

func (k *kept) free() error { return keep(k.pipeline.close(), k.buffers.free()) }
