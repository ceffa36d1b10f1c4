package vec

import "encoding/binary"

// Spare is how much longer than its bytes the slices of Nonzeros are.
const Spare = 64

// Nonzeros is, for each x[j] that is not zero, in order, idx[n] = j, val[n] = mul*x[j]
// and n++. It returns n. idx and val have room for Spare numbers more than x; what is
// in them from n on has no meaning.
func Nonzeros(x []uint8, mul float32, idx []uint32, val []float32) int {
	idx, val = idx[:len(x)+Spare:len(idx)], val[:len(x)+Spare:len(val)]
	if use[LoopNonzeros] != Plain && len(x) > 0 {
		return nonzerosFast(x, mul, idx, val)
	}
	return nonzerosGo(x, mul, idx, val)
}

// nonzerosGo skips words of eight zeros, which are most of an image. Of any other word it writes
// all eight bytes, and moves on behind those that are not zero: no branch depends on a single byte,
// whose zeros no processor can foretell. (Finding the non-zero bytes by TrailingZeros64 takes 1.6
// times as long on MNIST.)
func nonzerosGo(x []uint8, mul float32, idx []uint32, val []float32) int {
	n, j := 0, 0
	for ; j+8 <= len(x); j += 8 {
		word := binary.LittleEndian.Uint64(x[j:])
		if word == 0 {
			continue
		}
		for i := range uint32(8) {
			v := uint8(word)
			word >>= 8
			idx[n], val[n] = uint32(j)+i, mul*float32(v)
			n += int((uint32(v) + 255) >> 8)
		}
	}
	for ; j < len(x); j++ {
		if x[j] != 0 {
			idx[n], val[n] = uint32(j), mul*float32(x[j])
			n++
		}
	}
	return n
}

// Widen is y[j] = x[j]*mul[j] + add[j], each rounded by itself. mul, add and y have at
// least the length of x.
func Widen(x []uint8, mul, add, y []float32) {
	mul, add, y = mul[:len(x):len(mul)], add[:len(x):len(add)], y[:len(x):len(y)]
	n := 0
	if use[LoopWiden] != Plain {
		n = widenFast(x, mul, add, y)
	}
	for j := n; j < len(x); j++ {
		y[j] = float32(float32(x[j])*mul[j]) + add[j]
	}
}

// Prefetch asks for x to be brought into the cache, where the processor can be asked,
// and does not wait.
func Prefetch(x []uint8) {
	if use[LoopFetch] != Plain && len(x) > 0 {
		prefetch(x)
	}
}

// PrefetchFloats is Prefetch of numbers.
func PrefetchFloats(x []float32) {
	if use[LoopFetch] != Plain && len(x) > 0 {
		fetch(x)
	}
}
