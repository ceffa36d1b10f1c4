package cpu

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// pending is what a step that has not landed has read: coefficients, or a gradient, copied.
type pending struct {
	batch []int32   // its rows
	coef  []float32 // of a model that takes its steps by itself
	lr    float64
	norm  float64   // of the gradient, where it is clipped
	from  []float32 // the weights that it is of, where it is compensated for their change
	parts []model.Part
	x     []data.Row // the batch's rows
	dense []float32  // a whole gradient, of an optimizer with state; or what local steps have subtracted
	idx   []uint32   // what the parts' slices are views of
	val   []float32
	rows  []data.Row
	mid   []model.Center
}

// copyGradient copies the gradient in d.g, and that in d.dense, to u.
func (d *cpu) copyGradient(u *pending) {
	u.dense = append(u.dense[:0], d.dense...)
	u.parts, u.x, u.mid = u.parts[:0], nil, u.mid[:0]
	u.idx, u.val, u.rows = u.idx[:0], u.val[:0], u.rows[:0] // a view of one that has grown since keeps its numbers
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

// emptied returns s without elements, with room for n.
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
