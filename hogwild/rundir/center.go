package rundir

import (
	"strings"

	"hogwild/hogwild/model"
)

// Centring: SGD on inputs less their means, while zeros stay zeros (model.Center).
// All that leaves the run is plain weights and bias, on inputs as they are: the
// weights are folded first. Only a snapshot has, beside those, what the run goes on
// with.

// isCenter tells s from the other tensors of a model that centres.
func isCenter(p model.Param) bool { return strings.HasSuffix(p.Name, ".center") }

// fold makes of the weights of a model that centres, whose tensors are ps, those of
// the plain one: V - s mu', the bias k, and no s.
func fold(ps []model.Param, w, mean []float32) []float32 {
	plain := make([]float32, 0, len(w))
	for i, at := range model.Offsets(ps) {
		if !isCenter(ps[i]) {
			plain = append(plain, w[at:at+ps[i].Len()]...)
			continue
		}
		s := w[at : at+ps[i].Len()]
		for j, mu := range mean { // the first layer's weights lie first, in x out
			for k, sk := range s {
				plain[j*len(s)+k] -= mu * sk
			}
		}
	}
	return plain
}

// unfold is a model that centres as it begins from plain weights: s is zero.
func unfold(ps []model.Param, plain []float32) []float32 {
	var w []float32
	for _, p := range ps {
		if isCenter(p) {
			w = append(w, make([]float32, p.Len())...)
			continue
		}
		w, plain = append(w, plain[:p.Len()]...), plain[p.Len():]
	}
	return w
}
