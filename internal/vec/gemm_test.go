package vec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sizes of products: around tiles, panels and their halves, and 0 and 1.
var sizes = [][3]int{ // b, d, k
	{0, 5, 4}, {1, 1, 1}, {4, 0, 4}, {4, 1, 4}, {5, 3, 7}, {6, 7, 8}, {13, 9, 10}, {14, 33, 15}, {15, 17, 16},
	{16, 14, 17}, {27, 31, 31}, {29, 16, 32}, {28, 255, 33}, {31, 257, 47}, {7, 515, 48}, {64, 40, 65}, {513, 6, 5},
	{5, 2049, 9}, {9, 11, 300}, {3, 12, 2}, {2, 40, 33}, {300, 30, 40}, {3, 40, 1},
	{1, 41, 33}, {2, 23, 10}, {1, 12, 512}, {8, 12, 512}, {9, 12, 512}, // few rows
}

// TestProducts compares the three products with float64, of rows that lie apart, and one behind the
// other without and with room behind the last.
func TestProducts(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		var s Workspace
		for _, size := range append(sizes, [3]int{1 + rand.IntN(40), 1 + rand.IntN(40), 1 + rand.IntN(70)}) {
			b, d, k := size[0], size[1], size[2]
			apart, full, roomy := make([]Row, b), make([]Row, b), make([]Row, b)
			one, more := fresh(t, b*d), fresh(t, b*d+spare)
			for i := range b {
				apart[i].Val, full[i].Val, roomy[i].Val = fresh(t, d), one[i*d:(i+1)*d], more[i*d:(i+1)*d]
			}
			for _, x := range [][]Row{apart, full, roomy} {
				w, z, dx, a := fresh(t, d*k), fresh(t, b*k), fresh(t, b*d), 2*rand.Float32()-1
				checkProducts(t, &s, a, x, w, z, dx, k)
			}
		}
	})
}

func checkProducts(t *testing.T, s *Workspace, a float32, x []Row, w, z, dx []float32, k int) {
	b, d := len(x), len(w)/k
	product, back, update := slices.Clone(z), make([]float64, b*d), make([]float64, d*k)
	forward := make([]float64, b*k)
	for i := range b {
		for c := range k {
			forward[i*k+c] += float64(z[i*k+c])
			for j := range d {
				forward[i*k+c] += float64(x[i].Val[j]) * float64(w[j*k+c])
				back[i*d+j] += float64(z[i*k+c]) * float64(w[j*k+c])
				update[j*k+c] += float64(a) * float64(x[i].Val[j]) * float64(z[i*k+c])
			}
		}
	}
	for i := range update {
		update[i] += float64(w[i])
	}
	what := fmt.Sprintf("%d x %d x %d", b, d, k)
	s.Mul(x, w, k, product)
	for i, want := range forward {
		near(t, "Mul "+what, d, product[i], want)
	}
	s.MulT(z, w, k, dx)
	for i, want := range back {
		near(t, "MulT "+what, k, dx[i], want)
	}
	s.AddOuter(a, x, z, k, w)
	for i, want := range update {
		near(t, "AddOuter "+what, b, w[i], want)
	}
}

// TestProductsOutside gives each product a slice that is one too short, with room behind
// it in the capacity.
func TestProductsOutside(t *testing.T) {
	const b, d, k = 9, 21, 11
	atLevels(t, func(t *testing.T) {
		x := make([]Row, b)
		for i := range x {
			x[i].Val = random(d)
		}
		short := slices.Clone(x)
		short[5].Val = short[5].Val[:d-1]
		w, z, dx := random(d*k), random(b*k), random(b*d)
		var s Workspace
		for name, f := range map[string]func(){
			"Mul, x":      func() { s.Mul(short, w, k, z) },
			"Mul, w":      func() { s.Mul(x, w[:d*k-1], k, z) },
			"Mul, z":      func() { s.Mul(x, w, k, z[:b*k-1]) },
			"MulT, dx":    func() { s.MulT(z, w, k, dx[:b*d-1]) },
			"AddOuter, x": func() { s.AddOuter(1, short, z, k, w) },
			"AddOuter, d": func() { s.AddOuter(1, x, z[:b*k-1], k, w) },
			"AddOuter, w": func() { s.AddOuter(1, x, z, k, w[:d*k-1]) },
		} {
			if use[LoopGemm] == Plain && strings.HasSuffix(name, " x") {
				continue // row by row, a row may be shorter
			}
			t.Run(name, func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				f()
			})
		}
	})
}

// TestProductsAllocateNothing once the scratch is there.
func TestProductsAllocateNothing(t *testing.T) {
	var s Workspace
	x, w, z := make([]Row, 20), random(40*10), random(20*10)
	for i := range x {
		x[i].Val = random(40)
	}
	dx := make([]float32, 20*40)
	f := func() {
		s.Mul(x, w, 10, z)
		s.MulT(z, w, 10, dx)
		s.AddOuter(1e-9, x, z, 10, w)
	}
	f()
	if n := testing.AllocsPerRun(10, f); n != 0 {
		t.Errorf("%v allocations in three products, want none", n)
	}
}

// BenchmarkProducts has the layers of perceptrons on MNIST.
func BenchmarkProducts(b *testing.B) {
	for _, size := range [][3]int{{256, 784, 256}, {256, 256, 128}, {256, 128, 10}, {64, 784, 128}, {64, 128, 10},
		{64, 784, 10}, {8, 784, 128}, {4, 784, 128}} {
		n, d, k := size[0], size[1], size[2]
		x := make([]Row, n)
		for i := range x {
			x[i].Val = random(d)
		}
		w, z, dx := random(d*k), random(n*k), make([]float32, n*d)
		var s Workspace
		for name, f := range map[string]func(){
			"Mul":      func() { s.Mul(x, w, k, z) },
			"MulT":     func() { s.MulT(z, w, k, dx) },
			"AddOuter": func() { s.AddOuter(1e-9, x, z, k, w) },
		} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", n, d, k, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(2e-9*float64(n*d*k*b.N)/b.Elapsed().Seconds(), "GFLOP/s")
			})
		}
	}
}
