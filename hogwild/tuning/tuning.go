// Package tuning decides what a run decides for itself: the learning rate that its steps in
// flight allow, centred inputs, the step of the bias, how often copies of the weights are
// merged, and what a GPU is given. Measure looks at the data; Choose at what it found.
//
//	tuning.go     Choose
//	rehearse.go   the beginning of a run, for the curvature that a network comes to
//	auto.go       what the user leaves to the program: learning rate and epochs
//	recount.go    how many steps were measured to be in flight
//	explain.go    what is said of it
//	inflight.go   how many steps are in flight, and of how many examples
//	averagerate.go  the learning rate of replicas that are averaged
//	limit.go      how many steps may be in flight, and where the learning rate is capped
//	merge.go      how many local steps there are between two merges
//	measure.go    Measure
//	center.go     whether inputs are centred, and the step of the bias
//	gaussnewton.go  its curvature in the weights of a network
//	curvature.go  the curvature of the loss
//	frequent.go   the features that each merge is of
//	spectrum.go   the largest eigenvalue of the inputs
//	facts.go      Facts, Machine
//	job.go        Tuning, Job
package tuning

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
)

// Choose returns the Tuning for a run's settings. It looks at nothing else, and each step only at the ones before it.
// Spec has model and loss.
func Choose(c *config.Config, spec model.Spec, f Facts, m Machine) (Tuning, error) {
	t := Tuning{LR: c.LR, Momentum: c.Momentum, Raw: f.RawLambda, Lambda: f.RawLambda, Curvature: f.Curvature}
	t.BiasStep = biasStep(c, f)
	if err := mayCenter(c, spec, f.Kind); err != nil && c.Center == config.On {
		return t, err
	}
	if t.Center = centers(c, f); t.Center {
		t.Lambda = f.CenteredLambda
	}
	t.Batch, t.Sharers = stepBatch(c, spec, f), sharers(c, m.GPUs)
	t.InFlight = inFlight(c, spec, f, m, t)
	limit := limitsOf(c, spec, f, ofOneStep(c, t))
	if scalesRate(c, limit) {
		t.LR, t.Replicas = averageRate(c, limit, t.InFlight), replicas(c)
		at := *c
		at.LR = t.LR // what follows depends on the rate that is used
		c = &at
	}
	t.MaxInFlight, t.Cap, t.MaxLR = limit.inFlight(c.LR), limit.cap(c.LR), limit.maxLR
	if tooLarge(spec, f) {
		t.MaxInFlight, t.Cap = 0, 0
	}
	if t.MaxInFlight > 0 && (c.Workers > 2 || c.Workers == 2 && t.Sharers == 0) {
		t.MaxLocalSteps = max(1, int(limit.localSteps(c.LR)/perLocalStep(c.Workers)))
	}
	t.MergeEvery, t.BiasMergeEvery = Merging(c, spec, f, t)
	switch {
	case c.Ascends():
		t.MergeEvery, t.Spread = dualMerging(c, f)
		t.MaxInFlight, t.Cap, t.MaxLR = 0, 0, 0 // of a rate that it does not have
		if t.BiasMergeEvery = 1; t.MergeEvery > 1 && t.Spread == 1 && c.MergeEvery == config.Auto {
			t.RareMerge = f.Rare
		}
	case t.MergeEvery > 1 && f.HotRowsFirst:
		t.HotRows, t.RareMerge = hotRows(c, spec, f, t.MergeEvery)
	case t.MergeEvery > 1 && c.MergeEvery == config.Auto && !t.Center:
		t.RareMerge = f.Rare
	}
	if err := mergesInVain(c, f, t); err != nil {
		return t, err
	}
	t.Slower, t.FewSteps = slower(c, f, t), fewSteps(c, f, t)
	if c.LRCap != config.Off && t.InFlight > 1 {
		if lr := limit.rate(c.LR, float64(t.InFlight)); lr > 0 && lr < c.LR {
			t.LR, t.Capped = lr, true
		}
	}
	if t.Sharers > 0 {
		t.MaxBiasHeld = limit.biasHeld(t.LR, t.BiasStep)
	}
	return t, nil
}
