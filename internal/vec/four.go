package vec

// The products of dense rows and one vector, which is all that a batch of a linear model with one output has: four
// rows at a time, so that the vector is loaded and stored once for four multiply-adds.

// RowsAhead is how many rows before its turn memory is asked for a row. The first ones of a batch have been asked for
// by then.
const RowsAhead = 16

// nearRow is how many numbers of a row memory is asked for: the processor sees by itself where these lead.
const nearRow = 128

// wholeRows reports whether all of x are dense rows of d numbers.
func wholeRows(x []Row, d int) bool {
	for i := range x {
		if x[i].Idx != nil || len(x[i].Val) != d {
			return false
		}
	}
	return d > 0
}

// mulOne is z[i] += x[i].w, of dense rows as long as w. The last rows are taken by fours too: a row has the same
// product whichever others it is among.
func mulOne(x []Row, w, z []float32) {
	z = z[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		if ahead := i + RowsAhead; ahead+4 <= len(x) {
			for _, r := range x[ahead : ahead+4] {
				PrefetchFloats(r.Val[:min(len(w), nearRow)])
			}
		}
		z0, z1, z2, z3 := dot4(x[i:i+4], w)
		z[i], z[i+1], z[i+2], z[i+3] = z[i]+z0, z[i+1]+z1, z[i+2]+z2, z[i+3]+z3
	}
	if rest := x[i:]; len(rest) > 0 {
		four := [4]Row{rest[0], rest[0], rest[0], rest[0]}
		copy(four[:], rest)
		var p [4]float32
		p[0], p[1], p[2], p[3] = dot4(four[:], w)
		for j := range rest {
			z[i+j] += p[j]
		}
	}
}

// addOuterOne is w += a * sum d[i]*x[i], of dense rows as long as w. A row whose d[i] is zero need not be read: a hinge
// that is satisfied.
func addOuterOne(a float32, x []Row, d, w []float32) {
	d = d[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		if a0, a1, a2, a3 := a*d[i], a*d[i+1], a*d[i+2], a*d[i+3]; a0 != 0 || a1 != 0 || a2 != 0 || a3 != 0 {
			axpy4(a0, a1, a2, a3, x[i:i+4], w)
		}
	}
	for ; i < len(x); i++ {
		if d[i] != 0 {
			Axpy(a*d[i], x[i].Val, w)
		}
	}
}

// dot4 is Dot of each of four rows, which have at least the length of w, and w.
func dot4(x []Row, w []float32) (z0, z1, z2, z3 float32) {
	n := len(w)
	x0, x1, x2, x3 := x[0].Val[:n], x[1].Val[:n], x[2].Val[:n], x[3].Val[:n]
	if use[LoopDot] == Plain || n == 0 {
		return dotGo(x0, w), dotGo(x1, w), dotGo(x2, w), dotGo(x3, w)
	}
	return dot4Fast(x0, x1, x2, x3, w)
}

// axpy4 is w += a0 x[0] + a1 x[1] + a2 x[2] + a3 x[3], of rows that have at least the length of w.
func axpy4(a0, a1, a2, a3 float32, x []Row, w []float32) {
	n := len(w)
	x0, x1, x2, x3 := x[0].Val[:n], x[1].Val[:n], x[2].Val[:n], x[3].Val[:n]
	if use[LoopAxpy] == Plain || n == 0 {
		axpy4Go(a0, a1, a2, a3, x0, x1, x2, x3, w)
	} else {
		axpy4Fast(a0, a1, a2, a3, x0, x1, x2, x3, w)
	}
}

func axpy4Go(a0, a1, a2, a3 float32, x0, x1, x2, x3, w []float32) {
	axpyGo(a0, x0, w)
	axpyGo(a1, x1, w)
	axpyGo(a2, x2, w)
	axpyGo(a3, x3, w)
}
