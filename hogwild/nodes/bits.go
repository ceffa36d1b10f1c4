package nodes

// bitsEach is how many bits a float32 adds without an error: it has every whole number below 2^24.
const bitsEach = 24

// BitWords returns how many numbers PackBits needs for n bits.
func BitWords(n int) int { return (n + bitsEach - 1) / bitsEach }

// PackBits writes bits to the first BitWords numbers of to. If no bit is set on two nodes, the sum of all nodes'
// numbers is their union, to the bit: so the chunks that are done travel with the weights, in the same SumWeights.
func PackBits(to []float32, bits []bool) {
	for i := range BitWords(len(bits)) {
		word := 0
		for j, set := range bits[i*bitsEach : min((i+1)*bitsEach, len(bits))] {
			if set {
				word |= 1 << j
			}
		}
		to[i] = float32(word)
	}
}

// UnpackBits reads what PackBits wrote, or a sum of it.
func UnpackBits(bits []bool, from []float32) {
	for i := range bits {
		bits[i] = int(from[i/bitsEach])>>(i%bitsEach)&1 == 1
	}
}
