// Package clock is asynchronous SGD without weights: virtual workers whose gradients take virtual time, and what is
// done with those that come late. It decides; package cpu computes gradients and writes them.
//
//	clock.go      Clock
//	late.go       by what a late gradient is scaled
//	durations.go  how long gradients take
package clock

import (
	"math"
	"math/rand/v2"
	"slices"

	"hogwild/hogwild/config"
)

// Clock plays workers. Each begins a gradient when it is idle; when no worker is, the clock goes on to the moment at
// which the next gradient is complete (ties by rank), and the rule says what becomes of it. All of that depends on the
// seed and on the speeds, and not on weights: played again, the same epochs give the same clock.
type Clock struct {
	rule      config.Rule
	scale     *scaler
	durations *durations

	epoch    int
	begun    int // gradients since nothing was in flight
	idle     []int
	flight   []gradient // the earliest begun first
	held     []gradient // complete, and to be part of a step with others
	deadline float64    // of quorum with a grace: when the step is taken; NaN: there is none
	slots    []int      // free
	most     int        // slots so far

	Counts
}

// Counts are what became of gradients since the run's first epoch.
type Counts struct {
	Time     float64 // virtual
	Computed int     // those in flight are not yet
	Applied  int     // each in a step by itself, or in a mean
	Dropped  int     // also those that a stopped worker left unfinished
	Landed   int     // steps: the version k of the weights
}

// gradient is one that a worker computes.
type gradient struct {
	rank, slot, examples int
	at                   int     // the version that it was begun on
	done                 float64 // when it is complete
	steps                int     // local ones
	full                 bool    // all workers were at work when it was begun
}

// Landing is a step that is taken with gradients: the sum of each times its scale.
type Landing struct {
	Slots  []int
	Scales []float64
}

// Holder has the gradients, by slots.
type Holder interface {
	Land(Landing)
	// Arrived tells that the gradient of a slot was stale by tau; full: all workers were at work when it was begun.
	Arrived(slot, tau int, full bool)
	// Again computes the gradient of a slot again, of the weights as they are now.
	Again(slot int)
}

// New returns the clock of a run.
func New(c *config.Config) (*Clock, error) {
	d, err := newDurations(c)
	if err != nil {
		return nil, err
	}
	k := &Clock{rule: c.Rule, scale: &scaler{rule: c.Rule, workers: d.N}, durations: d, deadline: math.NaN()}
	k.gather()
	return k, nil
}

// Workers returns how many workers the clock plays.
func (c *Clock) Workers() int { return c.durations.N }

// gather has all workers idle, in the order of ranks.
func (c *Clock) gather() {
	c.idle = c.idle[:0]
	for rank := range c.durations.N {
		c.idle = append(c.idle, rank)
	}
	c.begun = 0
}

// Begin has the next idle worker begin a gradient of this many examples and local steps. It returns where it is to be
// kept: a slot that is free, or the one behind all others.
func (c *Clock) Begin(epoch, examples, steps int) (slot int) {
	c.epoch = epoch
	if len(c.slots) == 0 {
		c.slots = append(c.slots, c.most)
		c.most++
	}
	last := len(c.slots) - 1
	g := gradient{rank: c.idle[0], slot: c.slots[last], examples: examples, steps: steps,
		full: c.begun >= c.durations.N-1}
	c.idle, c.slots = c.idle[:copy(c.idle, c.idle[1:])], c.slots[:last]
	c.start(g)
	return g.slot
}

// start has a worker begin on the weights as they are.
func (c *Clock) start(g gradient) {
	g.at, g.done = c.Landed, c.Time
	for i := range g.steps {
		g.done += c.durations.next(g.rank, c.epoch, c.begun, i)
	}
	c.begun++
	c.flight = append(c.flight, g)
}

// Busy reports whether the next gradient to be complete has to be waited for, since no worker is idle. Of means, all
// gradients that are complete at the same moment arrive before any worker begins again.
func (c *Clock) Busy() bool {
	means := c.rule.Kind == config.Rennala || c.rule.Kind == config.Quorum
	return len(c.idle) == 0 ||
		means && slices.ContainsFunc(c.flight, func(g gradient) bool { return g.done <= c.Time })
}

// Next goes on to the next moment at which something happens.
func (c *Clock) Next(h Holder) {
	i := c.earliest()
	if c.flight[i].done > c.deadline {
		c.Time = c.deadline
		c.step(h)
		return
	}
	g := c.flight[i]
	c.flight = slices.Delete(c.flight, i, i+1)
	c.arrive(g, h)
}

// earliest returns the index of the gradient in flight that is complete first; of equal ones the lowest rank's.
func (c *Clock) earliest() (first int) {
	switch d := c.durations; d.Kind {
	case config.Equal:
		return 0
	case config.RandomOrder:
		r := rand.NewPCG(d.seed, uint64(c.epoch)<<32|uint64(c.begun))
		return int(r.Uint64() % uint64(len(c.flight)))
	}
	for i, g := range c.flight {
		if f := c.flight[first]; g.done < f.done || g.done == f.done && g.rank < f.rank {
			first = i
		}
	}
	return first
}

// Drain has all that is in flight arrive, as at the end of an epoch: no worker begins a gradient meanwhile.
func (c *Clock) Drain(h Holder) {
	for len(c.flight) > 0 {
		if c.durations.Kind == config.RandomOrder { // as delayed:geometric:K always did
			g := c.flight[0]
			c.flight = slices.Delete(c.flight, 0, 1)
			c.arrive(g, h)
			continue
		}
		c.Next(h)
	}
	if len(c.held) > 0 {
		c.step(h)
	}
	c.gather()
}

// arrive does with a complete gradient what the rule says.
func (c *Clock) arrive(g gradient, h Holder) {
	tau := c.Landed - g.at
	if c.Time = max(c.Time, g.done); c.durations.Kind == config.RandomOrder { // one of n workers is done each time
		c.Time = float64(c.Computed+1) / float64(c.durations.N)
	}
	c.Computed++
	h.Arrived(g.slot, tau, g.full)
	if c.rule.Kind != config.Minibatch {
		c.idle = append(c.idle, g.rank)
	}
	switch c.rule.Kind {
	case config.Rennala:
		if tau > 0 {
			c.drop(g)
		} else if c.held = append(c.held, g); len(c.held) == c.rule.N {
			c.step(h)
		}
	case config.Minibatch:
		if c.held = append(c.held, g); len(c.held) == c.durations.N {
			c.step(h)
			c.gather()
		}
	case config.Quorum:
		c.held = append(c.held, g)
		if len(c.held) == c.rule.N {
			c.deadline = c.Time + c.rule.X
		}
		if c.rule.X == 0 && len(c.held) == c.rule.N {
			c.step(h)
		}
	default:
		s := c.scale.of(tau)
		if s == 0 {
			c.drop(g)
			return
		}
		c.land(h, []gradient{g}, []float64{s})
	}
}

// drop throws a gradient away.
func (c *Clock) drop(g gradient) {
	c.slots = append(c.slots, g.slot)
	c.Dropped++
}

// step takes one step by the mean of the gradients held, weighted by their examples.
func (c *Clock) step(h Holder) {
	total := 0
	for _, g := range c.held {
		total += g.examples
	}
	scales := make([]float64, len(c.held))
	for i, g := range c.held {
		scales[i] = float64(g.examples) / float64(total)
	}
	c.land(h, c.held, scales)
	c.held, c.deadline = c.held[:0], math.NaN()
}

// land takes a step with gradients, and has those workers begin again who are now too late.
func (c *Clock) land(h Holder, gs []gradient, scales []float64) {
	var l Landing
	for _, g := range gs {
		l.Slots = append(l.Slots, g.slot)
	}
	l.Scales = scales
	h.Land(l)
	c.slots = append(c.slots, l.Slots...)
	c.Applied += len(gs)
	c.Landed++
	if !c.rule.Stop {
		return
	}
	late := slices.Clone(c.flight)
	c.flight = c.flight[:0]
	for _, g := range late {
		if c.Landed-g.at < c.rule.N {
			c.flight = append(c.flight, g)
			continue
		}
		c.Dropped++
		c.Computed++
		h.Again(g.slot)
		c.start(g)
	}
}

// Replay plays an epoch of this many batches, each but the last with the same examples, without anything being
// computed: a run that is resumed finds the clock where it was.
func (c *Clock) Replay(epoch, batches, local int) {
	for left := batches; left > 0; left -= local {
		c.Begin(epoch, 1, min(local, left))
		for c.Busy() {
			c.Next(nobody{})
		}
	}
	c.Drain(nobody{})
}

// nobody holds no gradients.
type nobody struct{}

func (nobody) Land(Landing)           {}
func (nobody) Arrived(int, int, bool) {}
func (nobody) Again(int)              {}
