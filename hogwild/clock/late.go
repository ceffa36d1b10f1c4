package clock

import "hogwild/hogwild/config"

// scaler tells by what a gradient that is tau updates late is scaled, where that depends on tau alone. It serves one
// goroutine.
type scaler struct {
	rule    config.Rule
	workers int

	// of tail: the delays seen, each counted in the element of its number; longer ones in the last.
	seen  []uint32
	total float64
}

// longest delay that is told apart from longer ones.
const longest = 1 << 16

// of returns the scale of the next gradient: 0 is to drop it.
//
//	inverse         1/(1 + tau)
//	adaptive        min(1, n/tau)
//	tail            1 + A (1 - 2 F(tau)) with F = P[T < tau] + P[T = tau]/2 over the delays so far, this one with
//	                them: of delays that are drawn alike its mean is 1
//	tail-published  F = P[T < tau]: its mean is 1 + A sum P[T = t]^2, and of a constant delay 1 + A
//	drop            1 where tau < R
func (s *scaler) of(tau int) float64 {
	switch s.rule.Kind {
	case config.Inverse:
		return 1 / (1 + float64(tau))
	case config.Adaptive:
		return min(1, float64(s.workers)/float64(max(1, tau)))
	case config.Drop:
		if tau >= s.rule.N {
			return 0
		}
	case config.Tail, config.TailPublished:
		return 1 + s.rule.X*(1-2*s.rank(tau))
	}
	return 1
}

// rank counts a delay, and is the share of the delays so far that are shorter, with half of the equal ones but as
// published.
func (s *scaler) rank(tau int) float64 {
	tau = min(tau, longest)
	if n := tau + 1 - len(s.seen); n > 0 {
		s.seen = append(s.seen, make([]uint32, n)...)
	}
	s.seen[tau]++
	s.total++
	below := 0.0
	for _, n := range s.seen[:tau] {
		below += float64(n)
	}
	if s.rule.Kind == config.Tail {
		below += float64(s.seen[tau]) / 2
	}
	return below / s.total
}
