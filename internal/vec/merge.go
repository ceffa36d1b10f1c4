package vec

// Merge is d = mine[i]-base[i]; shared[i] += d; mine[i] = base[i] = shared[i]: what a
// private copy has learnt since the last Merge goes to the weights, and what others
// have learnt comes back. base is the copy as it was then. mine and base have at least
// the length of shared.
//
// Each weight is read once and written once, so that its cache line crosses between
// the cores once.
func Merge(shared, mine, base []float32) {
	n := len(shared)
	mine, base = mine[:n:len(mine)], base[:n:len(base)]
	switch {
	case n == 0:
	case use[LoopMerge] == Plain:
		mergeGo(shared, mine, base)
	default:
		mergeFast(shared, mine, base)
	}
}

func mergeGo(shared, mine, base []float32) {
	mine, base = mine[:len(shared)], base[:len(shared)]
	for i, s := range shared {
		s += mine[i] - base[i]
		shared[i], mine[i], base[i] = s, s, s
	}
}
