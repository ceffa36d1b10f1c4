package rundir

import (
	"slices"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Centring: SGD on inputs less their means, while zeros stay zeros (model.Centered). All that leaves the run is plain
// weights and bias, on inputs as they are. Only a snapshot has, along with those, what the run goes on with, and says
// in which form.

// The forms of the weights of a model that centres, as a snapshot names them. One that names
// none has the local form.
const (
	formLocal  = "V, s, k"
	formMerged = "W, 0, c"
)

func formOf(merged bool) string {
	if merged {
		return formMerged
	}
	return formLocal
}

// changeForm changes weights w of the tensors ps from one form to another.
func changeForm(ps []model.Param, w, mean []float32, from, to bool) {
	c, ok := model.CenteredOf(ps)
	switch {
	case !ok || from == to:
	case to:
		c.ToMerged(w, mean)
	default:
		c.ToLocal(w, mean)
	}
}

// fromPlain returns the weights with which a model begins from plain ones, which it may write over; where the model
// centres, s is zero.
func fromPlain(ps []model.Param, w, mean []float32, merged bool, t data.Standard) []float32 {
	if c, ok := model.CenteredOf(ps); ok {
		w = slices.Insert(w, c.S, make([]float32, c.Width)...)
		if merged {
			c.ToMerged(w, mean)
		}
	}
	model.ToStandard(t, ps, w)
	return w
}
