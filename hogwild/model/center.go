package model

import (
	"strings"

	"hogwild/hogwild/data"
)

// Centered says where in the weights lies what a first layer keeps that learns on inputs less
// their means mu: of d inputs and k outputs, d x k numbers V from 0 on, then the bias, then s
// (see Center). There are two forms, which are one function:
//
//	local    V, s and the bias k: what SGD steps on
//	merged   W = V - s mu', s = 0 and the bias c = k + W mu of the centred model: what
//	         several workers merge into
//
// The numbers of the first form belong together: when a share e of V's updates is lost but
// none of k's, the bias of the centred model is left with 1 - e (1 + |mu|^2) of its steps,
// less than nothing on images. The second form's are the parameters of SGD on x - mu, in
// which a lost update is a shorter step.
type Centered struct {
	Rows, Width int // d, k
	Bias, S     int // where the bias begins, and where s does
}

// CenteredOf finds it among the tensors of a model; false if the model does not centre.
func CenteredOf(ps []Param) (Centered, bool) {
	for i, at := range Offsets(ps) {
		if IsCenter(ps[i]) {
			k := ps[i].Len()
			return Centered{Rows: (at - k) / k, Width: k, Bias: at - k, S: at}, true
		}
	}
	return Centered{}, false
}

// IsCenter tells s from the other tensors of a model that centres.
func IsCenter(p Param) bool { return strings.HasSuffix(p.Name, ".center") }

// ToPlain turns weights w, whose tensors are ps, into the plain model's: of one that centres V - s mu', the
// bias k, and no s; of one that learns standardised values a last layer with the values as outputs. For other
// models they are w itself.
func ToPlain(ps []Param, w, mean []float32, merged bool, t data.Standard) []float32 {
	c, ok := CenteredOf(ps)
	if !ok && t.IsZero() {
		return w
	}
	w = append([]float32(nil), w...)
	FromStandard(t, ps, w)
	switch {
	case !ok:
		return w
	case merged:
		c.ToLocal(w, mean)
	default:
		c.ToPlain(w, mean)
	}
	return append(w[:c.S], w[c.S+c.Width:]...)
}

// ToMerged changes the weights w from the local to the merged form.
func (c Centered) ToMerged(w, mean []float32) {
	c.ToPlain(w, mean)
	c.shift(w, mean, 1)
}

// ToLocal changes the weights w from the merged to the local form: V = W, s = 0.
func (c Centered) ToLocal(w, mean []float32) { c.shift(w, mean, -1) }

// ToPlain makes s zero in the local form, with V = W: then V and k are the weights of the plain
// model.
func (c Centered) ToPlain(w, mean []float32) {
	s := w[c.S : c.S+c.Width]
	for j, mu := range mean {
		for k, sk := range s {
			w[j*c.Width+k] -= mu * sk
		}
	}
	clear(s)
}

// shift adds sign times W mu to the bias. The sum is taken in float64: it is of many numbers.
func (c Centered) shift(w, mean []float32, sign float64) {
	for k := range c.Width {
		sum := 0.0
		for j, mu := range mean {
			sum += float64(mu) * float64(w[j*c.Width+k])
		}
		w[c.Bias+k] = float32(float64(w[c.Bias+k]) + sign*sum)
	}
}
