package vec

// dense reports whether tiles can be used: for rows that are all dense, and more than one
// output.
func dense(x []Row, k int) bool {
	if use[LoopGemm] == Plain || k < 2 || len(x) == 0 {
		return false
	}
	for i := range x {
		if x[i].Idx != nil {
			return false
		}
	}
	return true
}

// mul is Z += X W, of dense rows.
func (s *tiles) mul(x []Row, w []float32, k int, z []float32) {
	s.blocks(x, func(i0, i1, j0, j1 int, a grid) {
		s.product(i1-i0, k, j1-j0, 1, a, grid{w[j0*k:], k, 1}, z[i0*k:], k)
	})
}

// addOuter is W += a X'D, of dense rows.
func (s *tiles) addOuter(a float32, x []Row, d []float32, k int, w []float32) {
	s.blocks(x, func(i0, i1, j0, j1 int, g grid) {
		s.product(j1-j0, k, i1-i0, a, grid{g.v, g.col, g.row}, grid{d[i0*k:], k, 1}, w[j0*k:], k)
	})
}

// blocks gathers the rows x, of one length, block by block, and calls f for each.
func (s *tiles) blocks(x []Row, f func(i0, i1, j0, j1 int, a grid)) {
	d := len(x[0].Val)
	for i0 := 0; i0 < len(x); i0 += rowsAtOnce {
		i1 := min(len(x), i0+rowsAtOnce)
		for j0 := 0; j0 < d; j0 += columnsAtOnce {
			j1 := min(d, j0+columnsAtOnce)
			f(i0, i1, j0, j1, s.gather(x[i0:i1], j0, j1))
		}
	}
}
