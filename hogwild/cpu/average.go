package cpu

import (
	"hogwild/hogwild/plan"
	"hogwild/internal/vec"
)

// Barrier mode. In a round each rank trains on its own, all meet, each rank
// averages its slice of the weights over the ranks in rank order, all meet again.
// Nothing depends on who is faster, so a run is repeatable bit for bit.
//
// What is averaged is the replicas of the weights (local steps, as in federated
// averaging, McMahan et al. 2017, with each replica weighted by its examples), or
// the gradients at common weights (as PyTorch's DistributedDataParallel). With
// plain SGD and one step a round the two are the same.

// Pull starts a round: the replica becomes a copy of the weights.
func (d *cpu) Pull() error {
	if !d.cfg.Asked.AveragesGradients() {
		d.own.replace(0, d.weights.view())
	}
	return nil
}

// Average replaces this rank's slice of the weights.
func (d *cpu) Average(r plan.Round) error {
	share := r.Shares()
	if share == nil {
		return nil
	}
	from, to := plan.SliceOf(d.weights.len(), d.rank, d.cfg.Asked.Workers)
	if d.mean == nil {
		d.mean = make([]float32, to-from)
	}
	mean(d.mean, d.slots, share, from)
	if d.cfg.Asked.AveragesGradients() {
		d.stepTogether(r, from)
		return nil
	}
	d.weights.replace(from, d.mean)
	return nil
}

// stepTogether takes the round's one step on this rank's slice, with the mean
// gradient. The optimizer's state is one for all, and each rank owns a slice of it.
func (d *cpu) stepTogether(r plan.Round, from int) {
	lr := d.rate.At(d.rate.Block(r.Seen))
	for _, s := range d.buffers { // the ranks have sent their values
		if lo, hi := max(s.from, from), min(s.to, from+len(d.mean)); lo < hi {
			d.weights.replace(lo, d.mean[lo-from:hi-from])
			clear(d.mean[lo-from : hi-from])
		}
	}
	d.weights.optimize(d.opt, d.mean, from, lr, uint64(r.Number))
	for _, s := range d.decay {
		if lo, hi := max(s.from, from), min(s.to, from+len(d.mean)); lo < hi && d.cfg.Asked.L1 != 0 {
			d.weights.softThreshold(lo, hi, 0, float32(lr*d.cfg.Asked.L1))
		}
	}
}

// mean sets m = sum over ranks of share[r] x[r][from:], added in rank order.
func mean(m []float32, x [][]float32, share []float32, from int) {
	clear(m)
	for r, s := range share {
		if s != 0 { // a rank that trained nothing may hold anything
			vec.Axpy(s, x[r][from:from+len(m)], m)
		}
	}
}
