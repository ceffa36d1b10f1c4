package cpu

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
	"hogwild/internal/fault"
	"hogwild/internal/vec"
)

// localCopy is a worker's own copy of weights that every other example changes. Were they
// written where the others write them, their cache lines would travel between the cores
// at every step, and two workers be slower than one. So a worker takes its steps on its copy,
// and merges it once in a number of local steps: adds what it has learnt to the weights of all, and
// takes over what the others have. An update is late by that many.
//
// No worker waits for another: a merge loads, adds and stores, and where two merge at the same
// moment an update may be lost, as in place.
//
// The copy is merged before a chunk is reported as done, so that the weights hold what
// the table of chunks says.
type localCopy struct {
	shared     shared
	mine, base []float32 // base: mine as it was after the last merge
	every      int       // local steps between two merges
	made       int       // since the last
	center     *centeredCopy

	// Of a copy that is merged in parts; what became of chunks is held back until their updates are in the weights.
	frequent []model.Range // the weights that each merge is of
	rare     int           // one merge in this many is of all; 0: each
	since    int           // merges of the frequent ones since the last of all
	held     int           // steps of chunks held back
	spread   float64       // what was learnt is counted this many times; 0: once

	hot *hotCopy // the copy is this one, and has neither mine nor base; nil: it is of all weights
}

// centeredCopy is what a copy of centred weights has besides. Shared memory, and base, hold
// their merged form, and mine the local one: see model.Centered.
type centeredCopy struct {
	model.Centered
	mean            []float32
	learned, merged []float32 // W mu: of the copy's W, and of the W that a merge leaves
}

// newLocalCopy makes the copy of a worker of a run that merges all weights; else nil.
func (d *cpu) newLocalCopy(ps []model.Param) *localCopy {
	every := d.cfg.Used.MergeEvery
	if every <= 1 || d.cfg.Used.HotRows > 0 {
		return nil
	}
	n := d.own.len()
	l := &localCopy{shared: d.weights, mine: make([]float32, n), base: make([]float32, n), every: every,
		spread: d.cfg.Used.Spread}
	if c, ok := model.CenteredOf(ps); ok {
		l.center = &centeredCopy{c, d.set.Mean, make([]float32, c.Width), make([]float32, c.Width)}
	}
	l.renew()
	if t := &d.cfg.Used; t.RareMerge > 1 {
		l.rare, l.frequent = t.RareMerge, frequentRanges(d.set, t.Lambda, n)
	}
	d.own = newShared(l.mine, false)
	return l
}

// frequentRanges returns the weights of n that each merge is of.
func frequentRanges(set *data.Set, lambda float64, n int) (all []model.Range) {
	lines, _ := tuning.Frequent(set, lambda)
	for _, from := range lines {
		to := min(from+tuning.LineWeights, n)
		if k := len(all) - 1; k >= 0 && all[k].To == from {
			all[k].To = to
		} else {
			all = append(all, model.Range{From: from, To: to})
		}
	}
	return all
}

// newBiasCopy makes the copy of the bias of a linear model that is too large to be copied
// whole; else nil.
func (d *cpu) newBiasCopy() *localCopy {
	every := d.cfg.Used.BiasMergeEvery
	if every <= 1 {
		return nil
	}
	l := &localCopy{shared: d.weights.last(), mine: make([]float32, 1), base: make([]float32, 1), every: every}
	l.renew()
	return l
}

// renew takes over the weights as they are. What was learnt since the last merge is gone.
func (l *localCopy) renew() {
	l.made = 0
	copy(l.mine, l.shared.view())
	copy(l.base, l.mine)
	if c := l.center; c != nil {
		c.ToLocal(l.mine, c.mean)
	}
}

// close gives back a mapping that the copy has.
func (l *localCopy) close() {
	if l != nil && l.hot != nil {
		_ = l.hot.Close()
	}
}

// room returns how many of n steps may be taken before the next merge.
func (l *localCopy) room(n int) int {
	if l == nil {
		return n
	}
	return min(n, l.every-l.made)
}

// stepped reports whether it is time to merge, n local steps later.
func (l *localCopy) stepped(n int) bool {
	if l == nil {
		return false
	}
	l.made += n
	return l.made >= l.every
}

// room returns how many of n steps may be taken before a merge is due.
func (d *cpu) room(n int) int { return d.biasCopy.room(d.local.room(n)) }

// stepped says that n steps were taken, and merges when it is time to.
func (d *cpu) stepped(n int) {
	if d.biasCopy.stepped(n) {
		d.biasCopy.merge()
	}
	if d.delay != nil { // none is late
		for range n {
			d.sample.record.Stale(0)
		}
	}
	switch {
	case d.local == nil:
		d.sample.wrote(n)
	case d.local.stepped(n):
		d.merge(d.local.since+1 >= d.local.rare)
	}
}

// deferMerge reports whether what became of the chunks of the last n steps is to be held back.
func (l *localCopy) deferMerge(n int) bool {
	if l == nil || l.rare <= 1 {
		return false
	}
	l.held += n
	return 0 < l.held && l.held < l.rare*l.every
}

// merge merges what has not been merged: all, or of frequent features.
func (d *cpu) merge(all bool) {
	if d.biasCopy != nil {
		d.biasCopy.merge()
	}
	l := d.local
	if l == nil || l.made+l.since == 0 {
		return
	}
	made := l.made
	d.sample.look(&d.sampled)
	if all {
		l.merge()
	} else {
		l.mergeFrequent()
	}
	d.sample.wrote(made)
}

// mergeFrequent merges the frequent features, or the hottest rows, alone.
func (l *localCopy) mergeFrequent() {
	_ = fault.Point("merge.begin")
	l.made = 0
	l.since++
	if l.hot != nil {
		l.hot.merge(&l.shared, l.hot.first)
	}
	for _, r := range l.frequent {
		l.shared.merge(r.From, l.mine[r.From:r.To], l.base[r.From:])
	}
	_ = fault.Point("merge.end")
}

// merge adds to the shared weights what was learnt since the last merge, and takes over
// what they have become.
func (l *localCopy) merge() {
	_ = fault.Point("merge.begin")
	l.made, l.since = 0, 0
	switch {
	case l.hot != nil:
		l.hot.merge(&l.shared, l.hot.Own)
	case l.center == nil:
		if part := float32(1 / max(1, l.spread)); part != 1 {
			for i, was := range l.base {
				l.mine[i] = was + part*(l.mine[i]-was)
			}
		}
		l.shared.merge(0, l.mine, l.base)
	default:
		l.mergeCentered()
	}
	_ = fault.Point("merge.end")
}

// mergeCentered forms W and c of the copy, merges them, and goes on from V = W, s = 0 and
// k = c - W mu.
func (l *localCopy) mergeCentered() {
	c := l.center
	clear(c.learned)
	clear(c.merged)
	s := l.mine[c.S : c.S+c.Width]
	l.shared.mergeCentered(c.Bias, l.mine, l.base, c.mean, s, c.learned, c.merged)
	clear(s)
	vec.Axpy(1, c.learned, l.mine[c.Bias:c.S])
	_ = fault.Point("merge.half")
	for _, at := range [][2]int{{c.Bias, c.S}, {c.S + c.Width, len(l.mine)}} {
		l.shared.merge(at[0], l.mine[at[0]:at[1]], l.base[at[0]:])
	}
	vec.Axpy(-1, c.merged, l.mine[c.Bias:c.S])
}
