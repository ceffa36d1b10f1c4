package nodes

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"
	"slices"

	"hogwild/internal/machine"
)

// What an Outer does with the mean of the nodes' differences.
const (
	Mean     = "mean"     // adds it
	Nesterov = "nesterov" // takes it as the gradient of SGD with Nesterov momentum
)

// Outer is the anchor A, the weights that all nodes agreed on in the last round, and how a round moves it:
//
//	every node   d_i = n_i (S_i - A)          Difference, from a copy S_i of its weights and its n_i examples
//	together     sum d_i, sum n_i             Engine.SumWeights, Engine.Sum
//	every node   m = sum d_i / sum n_i        Step
//	             A' = A + m                   mean
//	             v' = mu v + m                nesterov
//	             A' = A + lr (m + mu v')
//	every node   A' - S_i                     Correction, added to the weights, which were trained meanwhile
//
// Mean is local SGD (Stich 2019). Nesterov is the outer step of DiLoCo (Douillard et al. 2023, arXiv 2311.08105,
// algorithm 1), as torch.optim.SGD(nesterov=True) takes it with the gradient -m.
//
// Nodes compare no weights between rounds: equal anchors stay equal because each node computes the same bits, on any
// processor and any number of cores. So the loops are plain Go, and every product is rounded before it is added: the
// explicit conversions keep the compiler from fusing the two, which it does on arm64.
type Outer struct {
	Anchor   []float32
	Velocity []float32 // nil unless nesterov

	lr, momentum float32
	unit         float64
}

// NewOuter makes an Outer whose anchor is a copy of the weights. Kind is Mean or Nesterov; only the latter uses lr and
// momentum. Differences are weighted by examples/unit instead of examples, so that a sum stays in the range of the
// differences themselves: 1e9 examples would leave a float32 only 1e29 for them. Any number near the examples of a
// round or an epoch will do, if all nodes have the same.
func NewOuter(kind string, lr, momentum float64, weights []float32, unit float64) *Outer {
	if unit <= 0 || kind != Mean && kind != Nesterov {
		panic(fmt.Sprintf("nodes: an outer step %q with unit %g", kind, unit))
	}
	o := &Outer{Anchor: append([]float32(nil), weights...), lr: 1, unit: unit}
	if kind == Nesterov {
		o.Velocity = make([]float32, len(weights))
		o.lr, o.momentum = float32(lr), float32(momentum)
	}
	return o
}

// Difference sets to to what this node contributes to a round: how far its weights s are from the anchor,
// weighted by the examples it has trained since the last round. With none it is exactly 0, even if s is not finite.
func (o *Outer) Difference(to, s []float32, examples float64) {
	if examples == 0 {
		clear(to)
		return
	}
	share := float32(examples / o.unit)
	machine.Parts(len(o.Anchor), func(from, end int) {
		to, s := to[from:end], s[from:end]
		for i, a := range o.Anchor[from:end] {
			to[i] = float32(share * (s[i] - a))
		}
	})
}

// Step moves the anchor by a round: sum is the sum of all nodes' differences, examples the sum of their examples. With
// no examples the anchor stays where it is.
func (o *Outer) Step(sum []float32, examples float64) {
	if examples == 0 {
		return
	}
	all := float32(examples / o.unit)
	machine.Parts(len(o.Anchor), func(from, to int) { o.step(sum[from:to], all, from, to) })
}

// step does as Step, for a range of the weights.
func (o *Outer) step(sum []float32, all float32, from, to int) {
	anchor := o.Anchor[from:to]
	if o.Velocity == nil {
		for i, d := range sum {
			anchor[i] += float32(d / all)
		}
		return
	}
	lr, mu, velocity := o.lr, o.momentum, o.Velocity[from:to]
	for i, d := range sum {
		mean := float32(d / all)
		v := float32(mu*velocity[i]) + mean
		velocity[i] = v
		anchor[i] += float32(lr * (mean + float32(mu*v)))
	}
}

// Correction sets to, which may be s itself, to what turns the weights s that were contributed into the anchor. Weights
// that were trained meanwhile keep what they learned.
func (o *Outer) Correction(to, s []float32) {
	machine.Parts(len(o.Anchor), func(from, end int) {
		to, s := to[from:end], s[from:end]
		for i, a := range o.Anchor[from:end] {
			to[i] = a - s[i]
		}
	})
}

// Checksum returns a sum that is equal on two nodes if all bits of anchor and velocity are.
func (o *Outer) Checksum() uint64 {
	const block = 1 << 18 // numbers; the sum depends on it
	sums := binary.LittleEndian.AppendUint64(nil, uint64(len(o.Velocity)))
	for _, part := range [][]float32{o.Anchor, o.Velocity} {
		blocks := slices.Collect(slices.Chunk(part, block))
		start := len(sums)
		sums = append(sums, make([]byte, 8*len(blocks))...)
		machine.Each(len(blocks), func(i int) { binary.LittleEndian.PutUint64(sums[start+8*i:], checksum(blocks[i])) })
	}
	return crc64.Checksum(sums, crcTable)
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// checksum returns the CRC-64 of the bits of numbers, the same in any byte order.
func checksum(numbers []float32) (sum uint64) {
	var b [4096]byte
	for len(numbers) > 0 {
		n := min(len(numbers), len(b)/4)
		for i, v := range numbers[:n] {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
		}
		sum = crc64.Update(sum, crcTable, b[:4*n])
		numbers = numbers[n:]
	}
	return sum
}
