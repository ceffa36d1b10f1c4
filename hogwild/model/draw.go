package model

import (
	"math/bits"
	"math/rand/v2"

	"hogwild/internal/machine"
)

// source draws first weights: the numbers that rand.New(rand.NewPCG(seed, 0)) gives one after the other. That generator
// takes its state x to a x + c, so it can begin anywhere in its sequence: all cores draw, and the numbers are the same
// whatever their number.
type source struct{ state u128 }

func newSource(seed uint64) *source { return &source{u128{hi: seed}} }

// uniform sets w to numbers from U(-bound, bound).
func (s *source) uniform(w []float32, bound float32) {
	machine.Parts(len(w), func(from, to int) {
		x := s.state.after(from)
		p := rand.NewPCG(x.hi, x.lo)
		for j := range w[from:to] {
			// rand.Rand's Float32, without a call of an interface
			unit := float32(uint32(p.Uint64()>>32)<<8>>8) / (1 << 24)
			w[from+j] = (2*unit - 1) * bound
		}
	})
	s.state = s.state.after(len(w))
}

// u128 is a number modulo 2^128, as the state of rand.PCG is.
type u128 struct{ hi, lo uint64 }

// pcgMul and pcgInc are a and c of rand.PCG.
var (
	pcgMul = u128{2549297995355413924, 4865540595714422341}
	pcgInc = u128{6364136223846793005, 1442695040888963407}
)

// after returns the state that n steps lead to from x: two steps of x -> a x + c are one of x -> a a x + (a c + c), and
// so on.
func (x u128) after(n int) u128 {
	for a, c := pcgMul, pcgInc; n > 0; n >>= 1 {
		if n&1 == 1 {
			x = x.timesPlus(a, c)
		}
		a, c = a.timesPlus(a, u128{}), c.timesPlus(a, c)
	}
	return x
}

// timesPlus returns x a + c.
func (x u128) timesPlus(a, c u128) u128 {
	hi, lo := bits.Mul64(x.lo, a.lo)
	lo, carry := bits.Add64(lo, c.lo, 0)
	return u128{hi + x.hi*a.lo + x.lo*a.hi + c.hi + carry, lo}
}
