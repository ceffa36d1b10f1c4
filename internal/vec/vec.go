// Package vec is the arithmetic of the trainer: loops over float32 slices. It
// does not know where the numbers come from, nor that other processes may be writing
// some of them.
//
// In each comment the first line is the loop, and the function whose name ends in Go is the loop in
// plain Go. One whose name ends in Fast is the way to the assembly, and runs where use names a set
// of instructions for the loop. Sums run in a fixed order, so that equal inputs give equal bits;
// the order is not the plain loop's, so results differ from it by rounding. A slice that is too
// short, or an index outside w, panics before anything beyond it is touched.
//
// The files, from batches down to single vectors, and then what runs them:
//
//	linear.go factor.go     steps of SGD on single examples; half.go: in two halves,
//	guard.go                  with a guard in between
//	words.go                  on rows of two tables
//	rows.go four.go         products of a batch of rows and a matrix, by
//	dense.go gemm.go          tiles, of dense rows
//	sparserows.go             bands of the matrix, and
//	sparseouter.go            lists by features, of sparse rows
//	conv.go pool.go         convolutions and max-pooling of images side by side
//	matrix.go sparse.go     products of one vector and a matrix
//	optimizer.go            steps of optimizers with a state
//	columns.go              what there is in the columns of dense rows, and their scaling
//	merge.go                private copies of weights to shared ones, and back
//	relu.go softmax.go      activations
//	bytes.go                bytes to numbers; fetching ahead
//	vec.go                  Dot, Axpy, Scale; the same of sparse vectors
//	isa.go loops.go         the sets of instructions, and which loop takes which
//	loops_amd64.go          the way to the assembly; gen writes that from Go here,
//	loopswords_amd64.go       for words,
//	loopssteps_amd64.go       for optimizers, columns and pairs,
//	loops_arm64.go            and here from C, as some loops of the others
//	check.go                each loop against plain Go, on the user's machine
package vec

// Dot is sum x[i]*y[i]. y has at least the length of x.
func Dot(x, y []float32) float32 {
	n := len(x)
	y = y[:n:len(y)]
	if use[LoopDot] == Plain || n == 0 {
		return dotGo(x, y)
	}
	return dotFast(x, y)
}

// An addition takes four cycles and two can start in each, so one running sum
// would wait for itself: there are four.
func dotGo(x, y []float32) float32 {
	y = y[:len(x)]
	var a, b, c, d float32
	i := 0
	for ; i <= len(x)-4; i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		d += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return (a + b) + (c + d)
}

// Axpy is y[i] += a*x[i]. y has at least the length of x.
func Axpy(a float32, x, y []float32) {
	n := len(x)
	y = y[:n:len(y)]
	if use[LoopAxpy] == Plain || n == 0 {
		axpyGo(a, x, y)
	} else {
		axpyFast(a, x, y)
	}
}

func axpyGo(a float32, x, y []float32) {
	y = y[:len(x)]
	i := 0
	for ; i <= len(x)-4; i += 4 {
		y[i] += a * x[i]
		y[i+1] += a * x[i+1]
		y[i+2] += a * x[i+2]
		y[i+3] += a * x[i+3]
	}
	for ; i < len(x); i++ {
		y[i] += a * x[i]
	}
}

// Scale is x[i] *= a.
func Scale(a float32, x []float32) {
	if use[LoopScale] == Plain || len(x) == 0 {
		scaleGo(a, x)
	} else {
		scaleFast(a, x)
	}
}

func scaleGo(a float32, x []float32) {
	for i := range x {
		x[i] *= a
	}
}

// SparseDot is sum val[i]*w[idx[i]]. val has at least the length of idx.
func SparseDot(idx []uint32, val, w []float32) float32 {
	val = val[:len(idx):len(val)]
	var a, b, c, d float32
	i := 0
	for ; i <= len(idx)-4; i += 4 {
		a += val[i] * w[idx[i]]
		b += val[i+1] * w[idx[i+1]]
		c += val[i+2] * w[idx[i+2]]
		d += val[i+3] * w[idx[i+3]]
	}
	for ; i < len(idx); i++ {
		a += val[i] * w[idx[i]]
	}
	return (a + b) + (c + d)
}

// SparseAxpy is w[idx[i]] += a*val[i]. val has at least the length of idx.
func SparseAxpy(a float32, idx []uint32, val, w []float32) {
	val = val[:len(idx):len(val)]
	for i, j := range idx {
		w[j] += a * val[i]
	}
}
