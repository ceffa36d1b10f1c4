package vec

import (
	"math"
	"sync/atomic"
)

// A step of SGD on one example is two halves: it reads weights, from which it computes
// coefficients, and it writes weights with these. Linear and Factors take both halves in one
// loop, in Steps, or one at a time, in Read and Write: then others may write weights in
// between, or wait for each other. Steps leaves the same bits as Read and Write in turns. Guarded
// takes both in one loop that keeps the others away by itself, where it need not wait for them.

// half is the part of a step that a loop takes; gen/linear.go numbers them too.
type half int

const (
	both   half = iota
	reads       // stores the coefficients, and writes nothing
	writes      // takes the coefficients, and reads nothing but what it writes
	locked      // both, each step under a guard: see Guard
	ordered
	atomically
)

// fma32 is a*b + c, rounded once, as the assembly has it. In double precision the product
// is exact, and the sum is rounded a second time. That differs only where the first
// rounding ends halfway between two float32, and was inexact: there the last bit goes
// towards the exact sum. (Weights below 2^-126 may be off by one in the last place.)
func fma32(a, b, c float32) float32 {
	const halfway, below = 1 << 28, 1<<29 - 1 // the bits that a float32 has not
	product, add := float64(a)*float64(b), float64(c)
	sum := product + add
	if math.Float64bits(sum)&below != halfway {
		return float32(sum)
	}
	return rounded(product, add, sum)
}

// rounded is product + add, rounded once; sum is rounded to a float64, and lies halfway.
func rounded(product, add, sum float64) float32 {
	bits := math.Float64bits(sum)
	if sum-product == add && sum-add == product || math.IsNaN(sum) {
		return float32(sum)
	}
	rest := add - (sum - product) // exact, as the larger of the two comes first
	if math.Abs(add) > math.Abs(product) {
		rest = product - (sum - add)
	}
	if (rest > 0) == (sum > 0) {
		bits++
	} else {
		bits--
	}
	return float32(math.Float64frombits(bits))
}

// madd is a*b + c: fused, or in two roundings as plain Go has it.
func madd(fused bool, a, b, c float32) float32 {
	if fused {
		return fma32(a, b, c)
	}
	return c + a*b
}

// AxpyAtomic is Axpy on the bits of y, each number by compare-and-swap. Without other writers it
// leaves the bits of Axpy.
func AxpyAtomic(a float32, x []float32, y []uint32) {
	y = y[:len(x)]
	fused := fusedAxpy(len(x))
	for i, v := range x {
		if v == 0 {
			continue
		}
		for {
			was := atomic.LoadUint32(&y[i])
			sum := madd(i < fused, a, v, math.Float32frombits(was))
			if atomic.CompareAndSwapUint32(&y[i], was, math.Float32bits(sum)) {
				break
			}
		}
	}
}

// load is a copy of y, each number read whole.
func load(x []float32, y []uint32) {
	y = y[:len(x)]
	for i := range x {
		x[i] = math.Float32frombits(atomic.LoadUint32(&y[i]))
	}
}

// ReplaceAtomic puts to in the place of was, whose bits y had, each number by compare-and-swap; where another number
// stands by now, the difference is added to that. Without other writers y becomes to, and with them no update is lost.
func ReplaceAtomic(y []uint32, was, to []float32) {
	y, was = y[:len(to)], was[:len(to)]
	for i, x := range to {
		old, x := math.Float32bits(was[i]), math.Float32bits(x)
		if old == x || atomic.CompareAndSwapUint32(&y[i], old, x) {
			continue
		}
		for done := false; !done; {
			now := atomic.LoadUint32(&y[i])
			sum := math.Float32frombits(now) + (to[i] - was[i])
			done = atomic.CompareAndSwapUint32(&y[i], now, math.Float32bits(sum))
		}
	}
}

// fusedAxpy is how many of n numbers Axpy takes with one rounding each.
func fusedAxpy(n int) int {
	switch use[LoopAxpy] {
	case Plain:
		return 0
	case AVX2:
		return n &^ 7
	}
	return n
}
