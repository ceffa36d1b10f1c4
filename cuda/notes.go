//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/internal/human"
)

// Notes say how many steps are in flight, how workers on other GPUs reach the
// weights, and that processes take turns.
func (o *owner) Notes() []string {
	o.mu.Lock() // an evaluation may be adding one
	notes := slices.Clone(o.notes)
	o.mu.Unlock()
	c := o.setup.Job
	on := c.Asked.Workers
	if o.idle != nil {
		notes = append(notes, o.stepNotes(on)...)
	}
	for i, a := range o.peers {
		notes = append(notes, a.notes...)
		if way := o.handle.GPUs[i+1].Way; c.Asked.Layout != nil {
			notes = append(notes, o.replicaNote(a, way))
		} else if way == throughHost || !o.handle.throughHost() {
			notes = append(notes, way.note(a.device, o.device, &c.Asked, a.idle.mergePeriod()))
		}
	}
	if gpus := 1 + len(o.peers); on > gpus && !o.mayShare() {
		notes = append(notes, fmt.Sprintf("without MPS, processes on one GPU take turns: %d workers are about as fast "+
			"as %d (hogwild doctor says how to run them at the same time)", on, gpus))
	}
	return notes
}

// merges reports whether workers train replicas that they merge.
func (o *owner) merges() bool {
	return o.handle.throughHost() ||
		slices.ContainsFunc(o.handle.GPUs, func(g gpuHandle) bool { return g.Way == byMerges })
}

// stepNotes says what the workers on the GPU have in flight.
func (o *owner) stepNotes(on int) []string {
	c, ctas, teams, n := o.setup.Job, o.idle.ctas, int(o.idle.job.Teams), o.Traits().InFlight
	each := human.Plural(ctas, "CTA")
	if teams > 1 {
		each += fmt.Sprintf(" of %d teams", teams)
	}
	who := "one worker"
	if on > 1 {
		who = fmt.Sprintf("each of %d workers", on)
	}
	notes := []string{fmt.Sprintf("%s of %s in flight: %s in %s",
		human.Plural(n, "step"), human.Plural(c.Used.Batch, "example"), each, who)}
	if c.Asked.InFlight > n {
		notes = append(notes, fmt.Sprintf("--in-flight %d was lowered: this GPU runs %d CTAs of %s at a time",
			c.Asked.InFlight, ctas, o.idle.step.name))
	}
	if onTensorCores(o.idle.step.name) {
		notes = append(notes, "products are computed in tf32, on tensor cores, and weights are fp32 "+
			"(--precision fp32: so are products)")
	}
	j := &o.idle.job
	if why := noLocalCopy(o.setup, j); why != "" && !o.merges() {
		notes = append(notes, why)
	}
	switch {
	case j.Locals > 0 && j.Plan != 0:
		notes = append(notes, fmt.Sprintf("each CTA has a local copy of the %d most frequent weights, merged every "+
			"%d of its steps", j.Locals, j.MergeEvery))
	case j.Locals > 0:
		notes = append(notes, fmt.Sprintf("each CTA adds its changes of the bias every %d of its steps", j.MergeEvery))
	}
	return notes
}

// noLocalCopy says why there is none, if somebody asked for one in vain; else it is empty.
func noLocalCopy(s *device.Setup, j *job) string {
	n := config.Whole(s.Job.Asked.MergeEvery)
	switch {
	case n <= 1 || j.Plan != 0:
		return ""
	case mergeEvery(s) > 1:
		return fmt.Sprintf("--merge-every %d has no effect: local copies need the whole training set in GPU memory, "+
			"and this one streams", n)
	}
	return fmt.Sprintf("--merge-every %d has no effect: on a GPU, workers have local copies only in mode async, with "+
		"plain sgd, on sparse rows and a linear model with one output", n)
}

// replicaNote says how the replicas of programs on another GPU reach the weights.
func (o *owner) replicaNote(a *owner, w way) string {
	text := fmt.Sprintf("gpu %d: each program trains a replica, which is merged on gpu %d", a.device, o.device)
	if o.setup.Job.Asked.Mode.Traits().Barrier {
		text = fmt.Sprintf("gpu %d: each program trains a replica, which is averaged on gpu %d", a.device, o.device)
	}
	if w == throughHost {
		text += ", through host memory: no peer access"
	}
	return text
}
