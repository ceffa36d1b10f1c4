package model

import "hogwild/hogwild/data"

// Dropout takes its random numbers from a counter, not from a state: which units of an
// example are left out is a function of the run's seed, the epoch and the example. So a
// run can be repeated, a resumed one goes on as it would have, and no two workers, who
// never have the same example in the same epoch, leave out the same.

// dropKey names the masks of example i of the batch.
func dropKey(seed uint64, b *data.Batch, i int) uint64 {
	id := uint64(i)
	if b.ID != nil {
		id = uint64(b.ID[i])
	}
	return mix(mix(mix(seed)+uint64(b.Epoch)) + id)
}

// drop fills a mask: scale[u*stride] is 0 with the probability rate, else 1/(1-rate),
// for each unit u of n. Layers are numbered, so that they differ. A number of the
// counter is good for four units, of 16 bits each; no branch could foretell
// them, so there is none.
func drop(scale []float32, n, stride int, rate float64, key uint64, layer int) {
	values := [2]float32{float32(1 / (1 - rate)), 0}
	threshold := uint64(rate * (1 << 16))
	counter, bits := mix(key+uint64(layer)), uint64(0)
	for u := range n {
		if u%4 == 0 {
			counter += 0x9e3779b97f4a7c15
			bits = mix(counter)
		}
		scale[u*stride] = values[(bits&0xffff-threshold)>>63]
		bits >>= 16
	}
}

// mix is the output function of SplitMix64, whose state is such a counter (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, OOPSLA 2014; the constants are
// Stafford's variant 13).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
