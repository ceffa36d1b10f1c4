package vec

// The matrices here are row-major, and the length of the short vector, z or d, is
// the width k of a row: row j is w[j*k : (j+1)*k]. With k = 1 they are the loops of
// vec.go, and call them.

// Gemv is z[c] += x[j]*w[j*k+c], the product of a row vector and a matrix. Rows
// whose x[j] is zero need not be read.
//
// Four rows at a time: z is then loaded and stored once for four products.
func Gemv(x, w, z []float32) {
	k := len(z)
	if k == 1 {
		z[0] += Dot(x, w)
		return
	}
	j := 0
	for ; j <= len(x)-4; j += 4 {
		x0, x1, x2, x3 := x[j], x[j+1], x[j+2], x[j+3]
		if x0 == 0 && x1 == 0 && x2 == 0 && x3 == 0 {
			continue // zeros come in runs: the border of an image
		}
		w0, w1, w2, w3 := row(w, j, k), row(w, j+1, k), row(w, j+2, k), row(w, j+3, k)
		w0, w1, w2, w3 = w0[:len(z)], w1[:len(z)], w2[:len(z)], w3[:len(z)]
		for c := range z {
			z[c] += (x0*w0[c] + x1*w1[c]) + (x2*w2[c] + x3*w3[c])
		}
	}
	for ; j < len(x); j++ {
		Axpy(x[j], row(w, j, k), z)
	}
}

// Ger is w[j*k+c] += a*x[j]*d[c], the rank-one update. Rows whose x[j] is zero need
// not be read or written.
func Ger(a float32, x, d, w []float32) {
	if len(d) == 1 {
		Axpy(a*d[0], x, w)
		return
	}
	for j, v := range x {
		if v == 0 {
			continue
		}
		v *= a
		r := row(w, j, len(d))[:len(d)]
		for c := range d {
			r[c] += v * d[c]
		}
	}
}

// row is row j of a matrix of width k.
func row(w []float32, j, k int) []float32 { return w[j*k : (j+1)*k : len(w)] }
