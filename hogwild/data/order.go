package data

import (
	"fmt"
	"iter"
	"math/bits"
)

// Order is the order in which the rows First to First+N-1 are visited: for each
// epoch another permutation of them, a function of the seed and the epoch alone,
// computed where it is needed and stored nowhere.
//
// Blocks of 64 neighbouring rows are permuted, and the rows inside each block: near
// rows are near in memory, and Load has shuffled them once already. A last block of
// fewer rows stays last. With a Stretch above 1 that many neighbouring blocks stay together: stretches
// are permuted, and the blocks inside each; those behind the last whole stretch stay behind it.
type Order struct {
	Seed     uint64
	First, N int
	Stretch  int // blocks; 0 is 1
}

// BlockRows is how many rows a block has.
const BlockRows = 64

// Fill sets dst to the rows at the positions position, position+1, ... of the
// epoch's order. Each call shuffles whole blocks: ask for 64 or more at a time.
// It panics when the positions do not lie within 0 to N-1.
func (o Order) Fill(dst []int32, epoch, position int) {
	if position < 0 || len(dst) > o.N-position {
		panic(fmt.Sprintf("data: positions %d to %d of an order of %d rows", position, position+len(dst)-1, o.N))
	}
	key := mix(mix(o.Seed) + uint64(epoch))
	full := o.N / BlockRows
	var rows [BlockRows]int32
	for len(dst) > 0 {
		block, size := position/BlockRows, BlockRows
		if block < full {
			block = o.block(block, full, key)
			stir(&rows, o.First+block*BlockRows, key^mix(uint64(block)))
		} else {
			size = o.N % BlockRows
			shuffle(rows[:size], o.First+block*BlockRows, key^mix(uint64(block)))
		}
		n := copy(dst, rows[position%BlockRows:size])
		dst, position = dst[n:], position+n
	}
}

// block returns the block at the i-th place, among full whole ones.
func (o Order) block(i, full int, key uint64) int {
	first, n := o.stretch(i, full, key)
	if o.Stretch <= 1 {
		return first
	}
	return first + permute(i%o.Stretch, n, key^mix(uint64(first)+1<<32))
}

// stretch returns the first block of the stretch that has the i-th place, and how many there are.
func (o Order) stretch(i, full int, key uint64) (first, n int) {
	n = max(o.Stretch, 1)
	whole := full / n
	if i < whole*n {
		return permute(i/n, whole, key) * n, n
	}
	return whole * n, full - whole*n
}

// stretches yields the rows of the stretches that begin at one of n positions, from the one at position on,
// as far as the epoch has them: the first row, and how many.
func (o Order) stretches(epoch, position, n int) iter.Seq2[int, int] {
	return func(yield func(first, rows int) bool) {
		key := mix(mix(o.Seed) + uint64(epoch))
		full, step := o.N/BlockRows, max(o.Stretch, 1)
		end := min(position+n, o.N)
		for i := (position + step*BlockRows - 1) / (step * BlockRows) * step; i*BlockRows < end; i += step {
			first, blocks := o.stretch(i, full, key)
			last := min(first+blocks, full) * BlockRows
			if i+step > full {
				last = o.N
			}
			if !yield(o.First+first*BlockRows, last-first*BlockRows) {
				return
			}
		}
	}
}

// permute maps 0..n-1 onto itself. Four Feistel rounds permute the smallest domain
// of an even number of bits that holds n; a result outside 0..n-1 goes through
// again, until one lies inside ("cycle walking": it must come, since the cycle
// through i returns to i). The domain is below 4n, so four walks are the most to be
// expected.
func permute(i, n int, key uint64) int {
	half := (bits.Len(uint(n-1)) + 1) / 2
	mask := 1<<half - 1
	for {
		left, right := i>>half, i&mask
		for round := range uint64(4) {
			left, right = right, left^int(mix(key+round<<32+uint64(right)))&mask
		}
		if i = left<<half | right; i < n {
			return i
		}
	}
}

// Permuted returns the i-th of 0 to n-1 in an order drawn from the seed for the epoch.
func Permuted(i, n int, seed uint64, epoch int) int {
	return permute(i, n, mix(mix(seed)+uint64(epoch)))
}

// stir sets rows to first, first+1, ... in an order drawn from key. It is one of 2^22
// orders, i -> a'(a i + b) + b' modulo 64 with a and a' odd and a shift between the two, where
// shuffle draws from all: the rows of a block are neighbours by chance in any case,
// and shuffle takes a tenth of the time of a short step on an example.
func stir(rows *[BlockRows]int32, first int, key uint64) {
	key = mix(key)
	a, b, c, d := uint32(key)|1, uint32(key>>16), uint32(key>>32)|1, uint32(key>>48)
	for i := range rows {
		x := (a*uint32(i) + b) % BlockRows
		x ^= x >> 3
		rows[i] = int32(first) + int32((c*x+d)%BlockRows)
	}
}

// shuffle sets rows to first, first+1, ... in an order drawn from key (Fisher and
// Yates, inside out).
func shuffle(rows []int32, first int, key uint64) {
	for i := range rows {
		key += 0x9e3779b97f4a7c15
		j := int(mix(key) >> 32 * uint64(i+1) >> 32)
		rows[i] = rows[j]
		rows[j] = int32(first + i)
	}
}

// mix is the finalizer of splitmix64 (Steele, Lea and Flood 2014): a bijection in
// which every bit of the input changes half of the output.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uses of the seed: each draws its own numbers.
const (
	drawHoldOut = iota + 1
	drawRows
	drawValidation
	drawWindows
	drawNegatives
)
