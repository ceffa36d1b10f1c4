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

// MergeCentered is Merge of the first layer of a model that learns on inputs less their
// means mu, of d rows and k = len(s) columns. mine holds V, shared and base hold W = V - s mu'
// (of base: as it was after the last merge):
//
//	w = mine[j][c] - mu[j] s[c]
//	shared[j][c] += w - base[j][c]
//	mine[j][c] = base[j][c] = shared[j][c]
//
// so that afterwards mine is W, which is V with s = 0. Added to learned are the products
// of mu with the w, and to merged those with what W has become: the bias of the centred model
// is k + W mu.
func MergeCentered(shared, mine, base, mu, s, learned, merged []float32) {
	n, k := len(shared), len(s)
	mine, base, learned, merged = mine[:n:len(mine)], base[:n:len(base)], learned[:k:len(learned)],
		merged[:k:len(merged)]
	if n != len(mu)*k {
		panic("vec: MergeCentered: the weights are not a row for each mean")
	}
	switch {
	case n == 0:
	case use[LoopMergeCentered] == Plain:
		mergeCenteredGo(shared, mine, base, mu, s, learned, merged)
	default:
		mergeCenteredFast(shared, mine, base, mu, s, learned, merged)
	}
}

func mergeCenteredGo(shared, mine, base, mu, s, learned, merged []float32) {
	k := len(s)
	learned, merged = learned[:k], merged[:k]
	for j, mean := range mu {
		sh, m, b := shared[j*k:][:k], mine[j*k:][:k], base[j*k:][:k]
		for c := range s {
			w := m[c] - mean*s[c]
			learned[c] += mean * w
			w = sh[c] + (w - b[c])
			merged[c] += mean * w
			sh[c], m[c], b[c] = w, w, w
		}
	}
}
