package model

import (
	"math"

	"hogwild/internal/vec"
)

// filter is a convolution with square kernels, in the layout of vec.ConvRow: lanes of
// vec.Lanes examples side by side. With kernels of 1 x 1 it is a fully connected layer,
// whose units are channels of an image one row high: its positions are then all lanes
// of the batch.
type filter struct {
	in, out, kernel int
	weight, bias    int // where they begin in w; bias is -1 without one

	width    int         // of a row of inputs, in positions
	ldx, ldd int         // from one channel to the next, of inputs and of deltas
	taps     vec.Offsets // of each weight of a channel, in the inputs
	tapTiles vec.Offsets // the same, filled up to tiles
	units    vec.Offsets // of each channel, in the deltas

	// The weights, as the products want them: packed by pack.
	forth []float32 // [tile of out][tap][Tile]
	back  []float32 // [place in the kernel][tile of in][out][Tile]
	start []float32 // the biases

	// The gradients, added up over a batch.
	sums  []float32 // [tile of out][tile of taps][Tile x Tile]
	sumsB []float32 // [out][lane]
}

// tiles returns how many tiles n channels take.
func tiles(n int) int { return (n + vec.Tile - 1) / vec.Tile }

// padded returns n, filled up to tiles: channels that are computed, but mean nothing.
func padded(n int) int { return tiles(n) * vec.Tile }

// taken returns how many weights and biases the filter has.
func (f *filter) taken() int {
	n := f.out * f.in * f.kernel * f.kernel
	if f.bias >= 0 {
		n += f.out
	}
	return n
}

// lay fixes where inputs and deltas are: rows of width positions, channels ldx and ldd
// numbers apart.
func (f *filter) lay(width, ldx, ldd int) {
	f.width, f.ldx, f.ldd = width, ldx, ldd
	var taps, units []int32
	for i := range f.in {
		for y := range f.kernel {
			for x := range f.kernel {
				taps = append(taps, int32(i*ldx+(y*width+x)*vec.Lanes))
			}
		}
	}
	f.taps = vec.NewOffsets(taps)
	for len(taps)%vec.Tile > 0 {
		taps = append(taps, 0)
	}
	for o := range f.out {
		units = append(units, int32(o*ldd))
	}
	f.tapTiles, f.units = vec.NewOffsets(taps), vec.NewOffsets(units)

	place := f.kernel * f.kernel
	f.forth = make([]float32, padded(f.out)*f.in*place)
	f.back = make([]float32, place*padded(f.in)*f.out)
	f.start = make([]float32, padded(f.out))
	f.sums = make([]float32, padded(f.out)*len(taps))
	f.sumsB = make([]float32, f.out*vec.Lanes)
}

// init draws weights and biases from U(-1/sqrt(n), 1/sqrt(n)) with n the inputs of a
// unit, as PyTorch's nn.Conv2d and nn.Linear do.
func (f *filter) init(w []float32, s *source) {
	s.uniform(w[f.weight:][:f.taken()], float32(1/math.Sqrt(float64(f.in*f.kernel*f.kernel))))
}

// pack copies the weights for a batch; back too if the inputs' gradient is wanted.
func (f *filter) pack(w []float32, back bool) {
	n := f.taps.Len()
	weights := w[f.weight : f.weight+f.out*n]
	for t := range tiles(f.out) {
		interleave(f.forth[t*n*vec.Tile:], weights[t*vec.Tile*n:], n)
	}
	if f.bias >= 0 {
		copy(f.start[:f.out], w[f.bias:])
	}
	switch {
	case !back:
	case f.kernel == 1:
		f.packUnits(weights)
	default:
		f.packPlaces(weights)
	}
}

// interleave sets to[j*Tile+m] to element j of row m of w, for the rows of length n that
// w has, at most Tile.
func interleave(to, w []float32, n int) {
	if len(w) < vec.Tile*n {
		for m := range len(w) / n {
			for j, v := range w[m*n : (m+1)*n] {
				to[j*vec.Tile+m] = v
			}
		}
		return
	}
	a, b, c, d, e := w[:n], w[n:][:n], w[2*n:][:n], w[3*n:][:n], w[4*n:][:n]
	for j := range a {
		row := (*[vec.Tile]float32)(to[j*vec.Tile:])
		row[0], row[1], row[2], row[3], row[4] = a[j], b[j], c[j], d[j], e[j]
	}
}

// packUnits fills back for kernels of 1 x 1, where it has pieces of the rows of w.
func (f *filter) packUnits(w []float32) {
	for o := range f.out {
		row := w[o*f.in : (o+1)*f.in]
		i := 0
		for ; i+vec.Tile <= f.in; i += vec.Tile {
			*(*[vec.Tile]float32)(f.back[i*f.out+o*vec.Tile:]) = [vec.Tile]float32(row[i:])
		}
		if i < f.in {
			copy(f.back[i*f.out+o*vec.Tile:], row[i:])
		}
	}
}

// packPlaces fills back for any kernels.
func (f *filter) packPlaces(w []float32) {
	place := f.kernel * f.kernel
	apart := padded(f.in) * f.out
	for o := range f.out {
		for i := range f.in {
			at := (o*f.in + i) * place
			to := f.back[(i/vec.Tile*f.out+o)*vec.Tile+i%vec.Tile:]
			for p, v := range w[at : at+place] {
				to[p*apart] = v
			}
		}
	}
}

// row computes a row of n outputs of all channels, ldz numbers apart, from the kernel's
// rows of inputs that begin at x.
func (f *filter) row(z []float32, ldz int, x []float32, n int) {
	size := f.taps.Len() * vec.Tile
	for t := range tiles(f.out) {
		vec.ConvRow(z[t*vec.Tile*ldz:], ldz, f.forth[t*size:], f.start[t*vec.Tile:], x, f.taps, n)
	}
}

// learn adds to the gradient of the weights what rows of n deltas and the inputs that
// begin at x come to. Rows of deltas are dRow numbers apart.
func (f *filter) learn(x, d []float32, dRow, n, rows int) {
	across := f.tapTiles.Len() / vec.Tile
	for t := range tiles(f.out) {
		for k := range across {
			sums := f.sums[(t*across+k)*vec.Tile*vec.Tile:]
			vec.ConvGrad(sums, d[t*vec.Tile*f.ldd:], f.ldd, x, f.tapTiles, k*vec.Tile, n, rows, dRow, f.width*vec.Lanes)
		}
	}
}

// blame adds to the deltas of the inputs, from dx on, what rows of n deltas of the
// outputs come to.
func (f *filter) blame(dx, d []float32, dRow, n, rows int) {
	across, size := tiles(f.in), f.out*vec.Tile
	for y := range rows {
		for p := range f.kernel * f.kernel {
			to := dx[((y+p/f.kernel)*f.width+p%f.kernel)*vec.Lanes:]
			for t := range across {
				vec.ConvRow(to[t*vec.Tile*f.ldx:], f.ldx, f.back[(p*across+t)*size:], nil, d[y*dRow:], f.units, n)
			}
		}
	}
}

// forget starts a new gradient.
func (f *filter) forget() {
	clear(f.sums)
	clear(f.sumsB)
}

// gradient writes the weights' and the biases' to g, as long as all weights.
func (f *filter) gradient(g []float32) {
	n, across := f.taps.Len(), f.tapTiles.Len()/vec.Tile
	for o := range f.out {
		from := f.sums[o/vec.Tile*across*vec.Tile*vec.Tile+o%vec.Tile:]
		to := g[f.weight+o*n : f.weight+(o+1)*n]
		for j := range to {
			to[j] = from[j*vec.Tile]
		}
	}
	if f.bias < 0 {
		return
	}
	for o := range f.out {
		g[f.bias+o] = 0
		for _, v := range f.sumsB[o*vec.Lanes : (o+1)*vec.Lanes] {
			g[f.bias+o] += v
		}
	}
}
