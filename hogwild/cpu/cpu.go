package cpu

import (
	"cmp"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/internal/vec"
)

// cpu is the Device whose weights lie in host memory that all workers map.
// Weights that others write meanwhile are written in racy.go alone.
type cpu struct {
	// shared with other processes
	weights shared       // what the run is about
	own     shared       // what this worker trains: the weights, its replica or its copy of them
	slots   [][]float32  // barrier mode: every rank's replica, or gradient
	opts    []*optimizer // one a rank, or one for all
	opt     *optimizer   // the one that this worker uses

	// this worker's own
	cfg      *tuning.Job
	rank     int
	plan     plan.Plan
	rate     plan.Schedule
	model    model.Model
	step     model.Stepper     // the model, when it takes the steps of this run by itself; else nil
	halves   model.HalfStepper // the same, when it takes them in two halves
	fused    bool              // nothing stands between the halves of its steps
	length   model.Step        // of those steps, without their rate
	coef     []float32         // of the step at hand
	spin     spin              // between a gradient and its write
	local    *localCopy        // the copy of the weights that this worker trains; nil: it has none
	biasCopy *localCopy        // that of the bias alone, where the weights have no copy; nil: neither
	set      *data.Set
	reader   *data.Reader
	work     vec.Workspace
	freq     []float32 // share of rows in which a feature occurs
	decay    []span    // the weights that l1 and l2 act on
	buffers  []span    // those that take no gradient
	orders   []data.Order
	rows     []int32
	lead     int         // rows.go: how many positions before their turn rows are fetched from a file; 0: never
	span     []int32     // rows.go: a stretch of the order
	queued   []int32     // rows.go: the rows of the chunks in hand
	queue    []int32     // rows whose steps are still to be taken
	lr       float64     // the rate of the step at hand
	block    int64       // its examples begin here
	product  float64     // loop.go: minus its logarithm is missing in the loss of the chunk
	batch    *data.Batch // of the step at hand, where its gradient is computed
	x        []data.Row  // the inputs of the step's batch
	g        model.Gradient
	sums     []float32 // of a batch: the gradient of the bias, and of what centring keeps
	lazy     *lazyRows // nil: each step of an optimizer with state is of all weights
	dense    []float32 // a whole gradient, where one is needed; barrier mode: this rank's slot
	mean     []float32 // barrier mode: this rank's slice of the average
	steps    int64
	point    []float32 // simplex.go: a point on its way to the simplex

	// what the mode needs: see guard.go
	sample  *sampler
	sampled shared        // own, but for a copy: where samples look
	layer   layerCopy     // of atomic mode
	guard   *vec.Guard    // of steps that a model takes by itself
	locks   *blockLocks   // nil in other modes
	touched []model.Range // by a step, for the locks
	turns   *control.Tickets
	delay   virtual // workers that this one plays
	blocks  *blocks

	results []plan.ChunkResult
}

// virtual is what mode clock puts in the place of the write: see delay.go.
type virtual interface {
	isZeroDelay() bool                // each update lands before the next gradient is begun
	needsFullGradient() bool          // the rule looks at whole gradients
	startEpoch(epoch int) error       // the next steps are of this one
	enqueue(rows []int32, lr float64) // takes what a step has read
	drain()                           // lands all that is in flight
}

// span is a range of weights.
type span struct{ from, to int }

// onto lets the device train w instead of the weights that all workers share. No other worker writes it: there is
// nothing to merge, and nothing to sample.
func (d *cpu) onto(w []float32) *cpu {
	d.local.close()
	d.own = newShared(w, false)
	d.weights, d.sampled, d.local, d.biasCopy, d.length.Bias = d.own, d.own, nil, nil, nil
	d.sample.left, d.lazy = math.MaxInt, nil
	return d
}

// addGradient writes the step down the gradient in d.g to the weights.
func (d *cpu) addGradient(lr float64) {
	if d.opt.kind != config.SGD {
		d.stepWithState(lr, d.opt.begin())
		d.weightDecay(0, lr*d.cfg.Asked.L1)
		return
	}
	d.weightDecay(lr*d.cfg.Asked.L2, 0)
	for i := range d.g.Parts {
		d.addPart(&d.g.Parts[i], float32(-lr))
	}
	d.weightDecay(0, lr*d.cfg.Asked.L1)
}

// stepWithState takes step t of an optimizer with state, down the gradient in d.dense.
func (d *cpu) stepWithState(lr float64, t uint64) {
	if d.lazy != nil && len(d.g.Parts) > 0 && d.isData(&d.g.Parts[0]) {
		p := &d.g.Parts[0]
		from, to := p.Offset, p.Offset+p.In*p.Out
		d.lazy.step(&d.own, p, d.dense[from:to], lr, t)
		d.own.optimize(d.opt, d.dense[:from], 0, lr, t)
		d.own.optimize(d.opt, d.dense[to:], to, lr, t)
		return
	}
	d.own.optimize(d.opt, d.dense, 0, lr, t)
}

// isData reports whether a part's inputs are the rows of the batch, sparse ones.
func (d *cpu) isData(p *model.Part) bool {
	return len(p.X) > 0 && p.X[0].Idx != nil && len(d.x) > 0 && &p.X[0] == &d.x[0]
}

// addPart adds a times a part of the gradient to the weights: the rank-b update
// W += a X'D of a layer, straight from its factors.
func (d *cpu) addPart(p *model.Part, a float32) {
	if p.X == nil && p.Simplex > 0 {
		d.project(p, a)
		return
	}
	if p.X == nil {
		d.own.add(p.Offset, a, p.G)
		return
	}
	d.own.addOuter(p, a, &d.work, &d.layer)
	if p.Bias >= 0 {
		d.addBias(p, a)
	}
}

// addBias adds a times the gradient of the bias, and of what centring keeps. All workers
// write these few numbers at every step. So the batch is summed first: an update is then
// overtaken as a whole, in a moment, and not summand by summand. With centring the
// summands are many times the sum, and a run that lost some of each batch would diverge.
func (d *cpu) addBias(p *model.Part, a float32) {
	if len(d.sums) < 2*p.Out {
		d.sums = make([]float32, 2*p.Out)
	}
	bias, center := d.sums[:p.Out], d.sums[p.Out:2*p.Out]
	clear(d.sums[:2*p.Out])
	step := cmp.Or(p.BiasStep, 1)
	if p.Out == 1 && p.Center == nil {
		for _, delta := range p.D[:len(p.X)] {
			bias[0] += step * delta
		}
		d.own.add(p.Bias, a, bias)
		return
	}
	for i := range p.X {
		delta := p.D[i*p.Out : (i+1)*p.Out]
		if c := p.Center; c != nil {
			vec.Axpy(1, delta, center)
			vec.Axpy(step+c.Norm2-c.M[i], delta, bias)
			continue
		}
		vec.Axpy(step, delta, bias)
	}
	if p.Center != nil {
		d.own.add(p.Center.S, a, center)
	}
	d.own.add(p.Bias, a, bias)
}

// weightDecay applies the regularizers of one step: w -= l2 w, and then l1 towards zero
// (the proximal step, so that weights become exactly zero). Of the weights of sparse
// inputs only those that occur are touched, each by 1/frequency more, which is the
// same in expectation (Hogwild!, section 2: the sparse SVM). The frequencies come from the data: a hidden layer, whose
// inputs are sparse too, has none.
func (d *cpu) weightDecay(l2, l1 float64) {
	if l2 == 0 && l1 == 0 {
		return
	}
	for i := range d.g.Parts {
		p := &d.g.Parts[i]
		if len(p.X) == 0 || p.X[0].Idx == nil || &p.X[0] != &d.x[0] {
			d.shrinkRange(p.Offset, p.Offset+max(len(p.G), p.In*p.Out), l2, l1)
			continue
		}
		for _, x := range p.X {
			for _, j := range x.Idx {
				often := 1 / (float64(d.freq[j]) * float64(len(p.X)))
				from := p.Offset + int(j)*p.Out
				d.shrinkRange(from, from+p.Out, min(1, l2*often), l1*often)
			}
		}
	}
}

// shrinkRange regularizes the weights from:to, biases left out.
func (d *cpu) shrinkRange(from, to int, l2, l1 float64) {
	for _, s := range d.decay {
		if lo, hi := max(s.from, from), min(s.to, to); lo < hi {
			d.own.softThreshold(lo, hi, float32(l2), float32(l1))
		}
	}
}

// flattens reports whether a step needs the gradient of the whole weights.
func (d *cpu) flattens() bool {
	return d.opt.kind != config.SGD || d.cfg.Asked.AveragesGradients() || d.delay != nil && d.delay.needsFullGradient()
}

// flatten writes the gradient of the whole weights, with l2's, to d.dense.
func (d *cpu) flatten() {
	g := d.dense
	if d.delay != nil || d.cfg.Asked.AveragesGradients() { // else the step down it has left zeros
		clear(g)
	}
	for i := range d.g.Parts {
		p := &d.g.Parts[i]
		if p.X == nil {
			copy(g[p.Offset:], p.G)
			continue
		}
		d.work.AddOuter(1, p.X, p.D, p.Out, g[p.Offset:p.Offset+p.In*p.Out])
		for i := range p.X {
			if p.Bias >= 0 {
				vec.Axpy(1, p.D[i*p.Out:(i+1)*p.Out], g[p.Bias:p.Bias+p.Out])
			}
		}
	}
	if d.cfg.Asked.L2 != 0 {
		for _, s := range d.decay {
			vec.Axpy(float32(d.cfg.Asked.L2), d.own.view()[s.from:s.to], g[s.from:s.to])
		}
	}
}

// Close gives back the copy of hot rows: the other mappings are the worker's.
func (d *cpu) Close() error {
	d.local.close()
	return nil
}

// writeStep writes the step at hand to the weights: when it may, guard.go knows.
func (d *cpu) writeStep(rows []int32, lr float64) {
	if d.step == nil {
		d.addGradient(lr)
		return
	}
	d.length.LR = float32(lr)
	d.own.write(d.halves, d.set, rows[0], d.length, d.coef)
}

// Strides reports whether the model takes the steps by itself.
func (d *cpu) Strides() bool { return d.step != nil }

// PreferredChunks returns one chunk: a core gains nothing from more. But a worker that trains
// a copy merges it at the end, and a chunk of such short steps is short.
func (d *cpu) PreferredChunks() int {
	switch {
	case d.step == nil || d.plan.Grid > 0 || d.cfg.Asked.GradientDelay > 0:
		return 1
	case d.halves == nil: // steps on words take microseconds
		return 2
	}
	return chunksAhead
}

// chunksAhead is how many chunks a worker of a model that takes its steps by itself takes
// at once, as long as enough are left for the others: a few milliseconds of work.
const chunksAhead = 64
