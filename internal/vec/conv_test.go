package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// someOffsets are k distances below d.
func someOffsets(k, d int) []int32 {
	at := make([]int32, k)
	for i := range at {
		at[i] = rand.Int32N(int32(d))
	}
	return at
}

func TestConvRow(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, k := range []int{1, 2, 3, 9, 25, 250} {
			for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 11} {
				checkConvRow(t, k, n)
			}
		}
	})
}

func checkConvRow(t *testing.T, k, n int) {
	ldc, off := n*Lanes+rand.IntN(9), someOffsets(k, 300)
	at := NewOffsets(off)
	c, a, start := fresh(t, (Tile-1)*ldc+n*Lanes), fresh(t, k*Tile), fresh(t, Tile)
	b := fresh(t, at.largest+n*Lanes)
	for _, start := range [][]float32{start, nil} {
		want := make([]float64, len(c)) // between the channels c stays as it is
		for i, v := range c {
			want[i] = float64(v)
		}
		for m := range Tile {
			for i := range n * Lanes {
				sum := want[m*ldc+i]
				if start != nil {
					sum = float64(start[m])
				}
				for j, from := range off {
					sum += float64(a[j*Tile+m]) * float64(b[int(from)+i])
				}
				want[m*ldc+i] = sum
			}
		}
		ConvRow(c, ldc, a, start, b, at, n)
		for i, v := range c {
			near(t, fmt.Sprintf("ConvRow of %d positions, start %v,", n, start != nil), 8*k, v, want[i])
		}
	}
}

func TestConvGrad(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 3, 8, 24} {
			for _, rows := range []int{0, 1, 2, 5} {
				checkConvGrad(t, n, rows)
			}
		}
	})
}

func checkConvGrad(t *testing.T, n, rows int) {
	dRow, bRow := n*Lanes+rand.IntN(9), n*Lanes+rand.IntN(9)
	ldd := rows*dRow + rand.IntN(9)
	off := someOffsets(3*Tile, 300)
	at, first := NewOffsets(off), rand.IntN(2*Tile)
	reach := max(0, rows-1)
	d, b := fresh(t, (Tile-1)*ldd+reach*dRow+n*Lanes), fresh(t, at.largest+reach*bRow+n*Lanes)
	g := fresh(t, Tile*Tile)
	before := slices.Clone(g)
	ConvGrad(g, d, ldd, b, at, first, n, rows, dRow, bRow)
	for i := range g {
		k, m, want := i/Tile, i%Tile, float64(before[i])
		for r := range rows {
			for j := range n * Lanes {
				want += float64(d[m*ldd+r*dRow+j]) * float64(b[int(off[first+k])+r*bRow+j])
			}
		}
		near(t, fmt.Sprintf("ConvGrad of %d rows", rows), 2*n*rows*Lanes, g[i], want)
	}
}

// TestPool counts, with windows of each size: the output is what a search of the window finds, and
// the way back leads to where it was found.
func TestPool(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, p := range []int{1, 2, 3, 4} {
			for _, n := range []int{0, 1, 2, 7, 12} {
				checkPool(t, n, p)
			}
		}
	})
}

func checkPool(t *testing.T, n, p int) {
	row := n*p*Lanes + rand.IntN(9)
	z, scale := fresh(t, (p-1)*row+n*p*Lanes), fresh(t, Lanes)
	for i := range scale {
		scale[i] = []float32{0, 1, 2}[rand.IntN(3)]
	}
	out, win := fresh(t, n*Lanes), fresh(t, n*Lanes)
	Pool(out, win, z, scale, n, p, row)
	d, dz, sum := fresh(t, n*Lanes), fresh(t, len(z)), fresh(t, Lanes)
	want, wantSum := slices.Clone(dz), make([]float64, Lanes)
	for l := range sum {
		wantSum[l] = float64(sum[l])
	}
	for i := range out {
		lane, best, from := i%Lanes, math.Inf(-1), 0
		for y := range p {
			for x := range p {
				at := y*row + (i/Lanes*p+x)*Lanes + lane
				want[at] = 0
				if v := float64(z[at]); v > best {
					best, from = v, at
				}
			}
		}
		best = max(0, best*float64(scale[lane]))
		if float64(out[i]) != best {
			t.Fatalf("p %d: out[%d] is %v, want %v", p, i, out[i], best)
		}
		if best > 0 {
			want[from] = scale[lane] * d[i]
			wantSum[lane] += float64(scale[lane] * d[i])
		}
	}
	Unpool(dz, d, win, scale, sum, n, p, row)
	if !slices.Equal(dz, want) {
		t.Errorf("p %d, n %d: Unpool is %v, want %v", p, n, dz, want)
	}
	for l, v := range sum {
		near(t, "the sum of Unpool", 2*n*n, v, wantSum[l]) // n additions to sums of up to 2n
	}
}

// TestPoolNaN: ReLU lets NaN through, so that it reaches the loss and is noticed.
func TestPoolNaN(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		z, out, win, scale := make([]float32, 4*Lanes), make([]float32, Lanes), make([]float32, Lanes),
			make([]float32, Lanes)
		for i := range Lanes {
			scale[i] = 1
			z[(i%4)*Lanes+i] = float32(math.NaN())
			z[3*Lanes+i] = float32(math.NaN())
		}
		Pool(out, win, z, scale, 1, 2, 2*Lanes)
		for i, v := range out {
			if v == v {
				t.Errorf("lane %d: %v, want NaN", i, v)
			}
		}
	})
}

// BenchmarkConv has the shapes of the two convolutions of PyTorch's MNIST network.
func BenchmarkConv(b *testing.B) {
	for _, c := range []struct{ in, w, k, n int }{{1, 28, 5, 24}, {10, 12, 5, 8}} {
		var off []int32
		for i := range c.in {
			for y := range c.k {
				for x := range c.k {
					off = append(off, int32(((i*c.w+y)*c.w+x)*Lanes))
				}
			}
		}
		at := NewOffsets(off)
		x, z := random(c.in*c.w*c.w*Lanes), random(Tile*c.n*c.n*Lanes)
		a, start := random(len(off)*Tile), random(Tile)
		work := float64(len(off) * Tile * Lanes * c.n * 2 * c.n)
		b.Run(fmt.Sprintf("Row/%d", c.in), func(b *testing.B) {
			for b.Loop() {
				for y := range c.n {
					ConvRow(z[y*c.n*Lanes:], c.n*c.n*Lanes, a, start, x[y*c.w*Lanes:], at, c.n)
				}
			}
			b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
		b.Run(fmt.Sprintf("Grad/%d", c.in), func(b *testing.B) {
			g := make([]float32, Tile*Tile)
			for b.Loop() {
				for k := 0; k < len(off); k += Tile {
					ConvGrad(g, z, c.n*c.n*Lanes, x, at, k, c.n, c.n, c.n*Lanes, c.w*Lanes)
				}
			}
			b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
