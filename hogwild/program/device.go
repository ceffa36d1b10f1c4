package program

import (
	"fmt"
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// worker is a device whose steps a program takes. All else is done by the device that holds the weights.
type worker struct {
	device.Device
	p     *Process
	setup *device.Setup
	rank  int
	order data.Order
	batch int
	take  device.Take
	noted bool // staleness counts

	steps   int64 // taken
	rows    []int32
	rates   []float64
	results []plan.ChunkResult
}

// Join makes a rank's device of a program that has said hello, and of the device that holds the weights. The
// program is the device's from then on, also when Join fails.
func Join(s *device.Setup, rank int, inner device.Device, p *Process) (device.Device, error) {
	w := &worker{Device: inner, p: p, setup: s, rank: rank, order: s.Order(rank), batch: s.Job.Used.Batch}
	err := Compare(s.Job.Asked.Layout, &p.Layout)
	if err == nil {
		err = w.welcome()
	}
	if err != nil {
		p.finish(err)
		return nil, err
	}
	return w, nil
}

// welcome tells the program where everything is.
func (w *worker) welcome() error {
	job := w.setup.Job
	var a arrays
	hi := welcome{Welcome: protocol, Role: "worker", Rank: w.rank, Workers: job.Asked.Workers, Seed: job.Asked.Seed,
		Batch: w.batch, L2: job.Asked.L2,
		Steps: (w.setup.Plan.N*job.Asked.Epochs + w.batch*job.Asked.Workers - 1) / (w.batch * job.Asked.Workers)}
	w.noted = w.setup.Samples()
	err := a.of(&hi, w.setup.Mem, job, w.rank, w.noted)
	if err != nil {
		return err
	}
	w.take = w.chunk
	if d, ok := w.Device.(device.OnGPU); ok {
		g := d.GPUMemory()
		hi.onGPU(g)
		w.noted = w.noted && !g.Replica // the program sees less than what a replica is behind
		w.take = func(c plan.Chunk) (plan.ChunkResult, error) { return d.Steps(c, w.chunk) }
	}
	if hi.Data, err = a.sets(map[string]*data.Set{"train": w.setup.Set}); err != nil {
		return err
	}
	_, err = w.p.welcome(hi, a.files)
	return err
}

// Train implements device.Device: a message and its answer for each chunk.
func (w *worker) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	w.results = w.results[:0]
	for _, c := range cs {
		y, err := w.take(c)
		if err != nil {
			return nil, err
		}
		w.results = append(w.results, y)
	}
	return w.results, nil
}

func (w *worker) chunk(c plan.Chunk) (y plan.ChunkResult, err error) {
	if c.Count == 0 {
		return y, nil
	}
	steps := w.lineUp(c)
	whole := float64(w.setup.Plan.N) * float64(w.setup.Job.Asked.Epochs)
	r, err := w.p.ask(request{Train: &train{Epoch: c.Epoch + 1, Rows: w.rows, LR: w.rates,
		Progress: [2]float64{float64(c.Seen) / whole, float64(c.Batch*c.Weight) / whole}}})
	switch t := r.Trained; {
	case err != nil:
		return y, err
	case r.NotFinite != nil:
		n := r.NotFinite
		if n.Step < 1 || n.Step > steps {
			return y, w.p.protocolError("step %d of %d had a loss that is not finite", n.Step, steps)
		}
		return y, device.NotFinite(w.steps+int64(n.Step), float64(n.Loss), w.rates[n.Step-1])
	case t == nil:
		return y, w.p.protocolError("its answer to train is not trained")
	case t.Examples != c.Count || t.Steps != steps:
		return y, w.p.protocolError("it trained %d examples in %d steps, and was to train %d in %d", t.Examples,
			t.Steps, c.Count, steps)
	case math.IsNaN(float64(t.Loss)) || math.IsInf(float64(t.Loss), 0):
		return y, device.NotFinite(w.steps+int64(steps), float64(t.Loss), w.rates[steps-1])
	}
	w.steps += int64(steps)
	for _, n := range r.Trained.Staleness {
		if !w.noted {
			break
		}
		w.setup.Mem.Records[w.rank].Stale(n)
	}
	if err := w.measured(r.Trained); err != nil {
		return y, err
	}
	return plan.ChunkResult{Examples: c.Count, Steps: steps, Loss: float64(r.Trained.Loss)}, nil
}

// measured keeps what the program has reported besides the loss.
func (w *worker) measured(t *trained) error {
	m := w.setup.Mem.Measures[w.rank]
	m.SetOwnRate(t.OwnRate)
	for name, v := range t.Metrics {
		if !m.Add(name, float64(v[0]), uint64(v[1])) {
			return w.p.protocolError("metric %q: there may be %d in training, with names of 1 to %d bytes", name,
				control.MostMeasures, control.MeasureName)
		}
	}
	return nil
}

// lineUp finds the rows of a chunk and the rates of its steps, and returns their number.
func (w *worker) lineUp(c plan.Chunk) (steps int) {
	if cap(w.rows) < c.Count {
		w.rows = make([]int32, c.Count)
	}
	w.rows, w.rates = w.rows[:c.Count], w.rates[:0]
	if c.Stride == c.Batch {
		w.order.Fill(w.rows, c.Epoch, c.First)
	}
	for at := 0; at < c.Count; at += c.Batch {
		if c.Stride != c.Batch {
			w.order.Fill(w.rows[at:min(at+c.Batch, c.Count)], c.Epoch, c.First+steps*c.Stride)
		}
		w.rates = append(w.rates, w.setup.Rate(c.Seen+int64(at*c.Weight)))
		steps++
	}
	if set := w.setup.Set; set.OfProgram() {
		for i, row := range w.rows {
			w.rows[i] = int32(set.Idx[row])
		}
	}
	return steps
}

// PreferredChunks implements device.Device: a chunk costs the program a message.
func (w *worker) PreferredChunks() int { return 1 }

// AfterLoop begins the error of Close where the program failed after it was told to leave.
const AfterLoop = "after its loop: "

// Close implements device.Device.
func (w *worker) Close() error {
	err := w.p.Close()
	if err != nil {
		err = fmt.Errorf(AfterLoop+"%w", err)
	}
	if e := w.Device.Close(); err == nil {
		err = e
	}
	return err
}
