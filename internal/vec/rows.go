package vec

// Row is one vector of length d. With Idx nil it is dense: Val holds all of it.
// Otherwise Val[i] is element Idx[i], the indices are strictly increasing, and every
// element left out is zero.
type Row struct {
	Idx []uint32
	Val []float32
}

// Workspace is the scratch memory of the products of a batch of rows and a matrix.
// It serves one goroutine, and grows to the largest product it has met.
//
// X is b rows; fastest when all are dense, or all sparse. Matrices are row-major.
type Workspace struct {
	dense  tiles
	lists  lists
	passed []int    // sparse rows: of each, how many nonzeros have met their band
	all    []uint32 // 0, 1, 2 ...
	few    []Row    // dense rows that list all columns
}

// Tiles copy all of W, and of D, to meet a few rows of X. Up to this many dense rows are multiplied
// faster by the loops of sparse rows, as rows that list all of their columns.
const (
	fewToMul = 2
	fewToAdd = 1
	// fewPages: where rows of W are multiples of 2 KiB apart, those under a tile meet in a
	// few sets of the cache, and lists by feature are two to five times as fast.
	fewPages  = 8
	pageWidth = 512
)

// toAdd is how many dense rows AddOuter takes as sparse ones.
func toAdd(k int) int {
	if k%pageWidth == 0 {
		return fewPages
	}
	return fewToAdd
}

// listed are dense rows as sparse ones.
func (s *Workspace) listed(x []Row) []Row {
	s.few = s.few[:0]
	for _, r := range x {
		for j := len(s.all); j < len(r.Val); j++ {
			s.all = append(s.all, uint32(j))
		}
		s.few = append(s.few, Row{Idx: s.all[:len(r.Val)], Val: r.Val})
	}
	return s.few
}

// Mul is Z += X W: X is b x d, W d x k, Z b x k.
func (s *Workspace) Mul(x []Row, w []float32, k int, z []float32) {
	if k == 1 && wholeRows(x, len(w)) {
		mulOne(x, w, z)
		return
	}
	if dense(x, k) {
		if len(x) > fewToMul {
			s.dense.mul(x, w, k, z)
			return
		}
		x = s.listed(x)
	}
	if sparse(x) {
		s.mulSparse(x, w, k, z)
		return
	}
	for i, r := range x {
		if zi := z[i*k : (i+1)*k : len(z)]; r.Idx == nil {
			Gemv(r.Val, w, zi)
		} else {
			SparseGemv(r.Idx, r.Val, w, zi)
		}
	}
}

// MulT is dX = D W': D is b x k, W d x k, dX b x d.
func (s *Workspace) MulT(d, w []float32, k int, dx []float32) {
	n := len(w) / k
	if use[LoopGemm] != Plain && len(d) > k {
		clear(dx)
		s.dense.product(len(d)/k, n, k, 1, grid{d, k, 1}, grid{w, 1, k}, dx, n)
		return
	}
	for i := range len(d) / k {
		di, dxi := d[i*k:(i+1)*k], dx[i*n:(i+1)*n:len(dx)]
		for j := range dxi {
			dxi[j] = Dot(di, w[j*k:])
		}
	}
}

// AddOuter is W += a X'D: X is b x d, D b x k, W d x k.
func (s *Workspace) AddOuter(a float32, x []Row, d []float32, k int, w []float32) {
	if k == 1 && wholeRows(x, len(w)) {
		addOuterOne(a, x, d, w)
		return
	}
	if dense(x, k) {
		if len(x) > toAdd(k) {
			s.dense.addOuter(a, x, d, k, w)
			return
		}
		x = s.listed(x)
	}
	if sparse(x) {
		s.addOuterSparse(a, x, d, k, w)
		return
	}
	for i, r := range x {
		di := d[i*k : (i+1)*k : len(d)]
		switch {
		case k == 1 && di[0] == 0: // a hinge that is satisfied
		case r.Idx == nil:
			Ger(a, r.Val, di, w)
		default:
			SparseGer(a, r.Idx, r.Val, di, w)
		}
	}
}
