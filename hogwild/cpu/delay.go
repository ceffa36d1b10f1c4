package cpu

import (
	"math/rand/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

func newDelay(c *tuning.Job) *delay {
	k := c.Asked.Mode.Speeds.N - 1
	d := &delay{steps: k, random: c.Asked.Mode.Speeds.Kind == config.AnyLands, seed: c.Asked.Seed,
		updates: make([]pending, k+1)}
	for i := range d.updates {
		d.free = append(d.free, k-i)
	}
	return d
}

// enqueue takes what a step has read, and lands the update whose time has come.
func (d *cpu) enqueue(rows []int32, lr float64) {
	l := d.delay
	i := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	u := &l.updates[i]
	u.lr, u.at, u.full = lr, l.landed, l.begun >= l.steps
	if d.step != nil {
		u.row[0], u.coef = rows[0], append(u.coef[:0], d.coef...)
	} else {
		d.copyGradient(u)
	}
	l.inFlight = append(l.inFlight, i)
	l.begun++
	if len(l.inFlight) <= l.steps {
		return
	}
	next := 0
	if l.random {
		r := rand.NewPCG(l.seed, uint64(l.epoch)<<32|uint64(l.begun))
		next = int(r.Uint64() % uint64(len(l.inFlight)))
	}
	d.apply(next)
}

// apply writes an update in flight.
func (d *cpu) apply(next int) {
	l := d.delay
	i := l.inFlight[next]
	l.inFlight = append(l.inFlight[:next], l.inFlight[next+1:]...)
	l.free = append(l.free, i)
	u := &l.updates[i]
	parts, x, dense, coef := d.g.Parts, d.x, d.dense, d.coef
	d.g.Parts, d.x, d.coef = u.parts, u.x, u.coef
	if d.opt.kind != config.SGD {
		d.dense = u.dense
	}
	d.writeStep(u.row[:], u.lr)
	d.g.Parts, d.x, d.dense, d.coef = parts, x, dense, coef
	if u.full {
		d.sample.record.Stale(l.landed - u.at)
	}
	l.landed++
	d.sample.wrote(1)
}

// Drain lands all that is in flight. It is called before this worker waits: in ordered mode those that
// stepped aside for it come back.
func (d *cpu) Drain() {
	if d.turns != nil {
		d.turns.WakeYielded()
	}
	if d.delay == nil {
		return
	}
	for len(d.delay.inFlight) > 0 {
		d.apply(0)
	}
	d.delay.begun = 0
}

// copyGradient copies the gradient in d.g, and that in d.dense, to u.
func (d *cpu) copyGradient(u *pending) {
	u.dense = append(u.dense[:0], d.dense...)
	u.room(d.g.Parts)
	for i := range d.g.Parts {
		p := d.g.Parts[i]
		data := len(p.X) > 0 && len(d.x) > 0 && &p.X[0] == &d.x[0]
		p.G, p.D = u.floats(p.G), u.floats(p.D)
		from := len(u.rows)
		for _, x := range p.X {
			x.Val = u.floats(x.Val)
			if x.Idx != nil {
				at := len(u.idx)
				u.idx = append(u.idx, x.Idx...)
				x.Idx = u.idx[at:len(u.idx):len(u.idx)]
			}
			u.rows = append(u.rows, x)
		}
		if p.X != nil {
			p.X = u.rows[from:len(u.rows):len(u.rows)]
		}
		if data {
			u.x = p.X
		}
		if p.Center != nil {
			u.mid = append(u.mid, *p.Center)
			p.Center = &u.mid[len(u.mid)-1]
			p.Center.M = u.floats(p.Center.M)
		}
		u.parts = append(u.parts, p)
	}
}

// room empties u and makes room for a copy of the parts: the copies are views, which
// must not move.
func (u *pending) room(parts []model.Part) {
	idx, val, rows := 0, 0, 0
	for i := range parts {
		p := &parts[i]
		val += len(p.G) + len(p.D)
		rows += len(p.X)
		for _, x := range p.X {
			idx += len(x.Idx)
			val += len(x.Val)
		}
		if p.Center != nil {
			val += len(p.Center.M)
		}
	}
	u.parts, u.x, u.mid = u.parts[:0], nil, u.mid[:0]
	if cap(u.mid) == 0 {
		u.mid = make([]model.Center, 0, len(parts))
	}
	u.idx, u.val, u.rows = emptied(u.idx, idx), emptied(u.val, val), emptied(u.rows, rows)
}

// emptied is s without elements, with room for n.
func emptied[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, 0, n+n/2)
	}
	return s[:0]
}

// floats copies v. Nil stays nil: a part without rows has none.
func (u *pending) floats(v []float32) []float32 {
	if v == nil {
		return nil
	}
	at := len(u.val)
	u.val = append(u.val, v...)
	return u.val[at:len(u.val):len(u.val)]
}
