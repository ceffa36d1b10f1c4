package data

import "math"

// draws is a sequence of random numbers: splitmix64, from a key of one's own for each
// row, so that rows can be made in any order.
type draws uint64

// What numbers are drawn for.
const (
	forRows = iota + 1
	forTest
	forTruth
	forPlaces
	forValidation
)

// drawsOf returns the sequence for row i.
func drawsOf(seed, use uint64, i int) draws { return draws(mix(mix(mix(seed)+use) + uint64(i))) }

func (d *draws) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// below returns a uniform number in 0 to n-1.
func (d *draws) below(n int) int { return int(d.next() >> 32 * uint64(n) >> 32) }

// uniform returns a number in [0, 1).
func (d *draws) uniform() float64 { return float64(d.next()>>11) / (1 << 53) }

// normal returns nearly a normal variable of mean 0 and deviation 1: the sum of four
// uniform ones, between -3.5 and 3.5.
func (d *draws) normal() float32 {
	x := d.next()
	sum := x&0xffff + x>>16&0xffff + x>>32&0xffff + x>>48
	return float32((float32(sum) - 2*0xffff) * (math.Sqrt2 * 1.2247449 / 0xffff))
}

// zipf draws from 0..n-1 with probabilities that fall as 1/(b+j): the frequencies of
// words, films and links (Zipf 1949; Mandelbrot's b flattens the top).
type zipf struct {
	b, log float64
	n      int
}

func newZipf(n int, b float64) zipf { return zipf{b, math.Log((float64(n) + b) / b), n} }

func (z zipf) draw(d *draws) int {
	return min(z.n-1, int(z.b*(math.Exp(d.uniform()*z.log)-1)))
}

// chance returns the probability of j.
func (z zipf) chance(j int) float64 {
	return math.Log1p(1/(z.b+float64(j))) / z.log
}

// sixth returns how many rows are made for testing, where nothing else is said: a sixth,
// but not more than a million.
func sixth(n int) int { return min(max(1, n/6), 1<<20) }
