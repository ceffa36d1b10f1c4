package vec

// Convolutions of many images at once. The images lie side by side, Lanes of them: a
// number of an image is Lanes numbers here, one of each image, and called a position.
// An image of c channels, h x w, is c x h x w positions. So a step to the right is the
// next position, whatever the width; no loop has a rest; and the vectors of a
// convolution are the inputs as they lie, while its weights are the same for all of
// them.
//
// A convolution is then a sum over offsets: of a channel before, a row below, a
// position further. Output channels are computed Tile at a time.

const (
	Lanes = 16 // images side by side
	Tile  = 5  // channels computed at once
)

// Offsets are distances in an image, in numbers.
type Offsets struct {
	at      []int32
	largest int
}

// NewOffsets are the given distances, none of them negative.
func NewOffsets(at []int32) Offsets {
	o := Offsets{at: at}
	for _, v := range at {
		if v < 0 {
			panic("vec: a negative offset")
		}
		o.largest = max(o.largest, int(v))
	}
	return o
}

// Len is how many there are.
func (o Offsets) Len() int { return len(o.at) }

// ConvRow is c[m*ldc+i] = start[m] + sum_k a[k*Tile+m]*b[off[k]+i], for Tile channels m
// and the numbers i of n positions. With start nil the sum is added to c. off has at
// least one offset.
func ConvRow(c []float32, ldc int, a, start, b []float32, off Offsets, n int) {
	k := len(off.at)
	if n == 0 {
		return
	}
	c = c[: (Tile-1)*ldc+n*Lanes : len(c)]
	a = a[: k*Tile : len(a)]
	b = b[: off.largest+n*Lanes : len(b)]
	if start != nil {
		start = start[:Tile:len(start)]
	}
	if use[LoopConvRow] == Plain {
		convRowGo(c, ldc, a, start, b, off.at, n)
	} else {
		convRowFast(c, ldc, a, start, b, off.at, n)
	}
}

func convRowGo(c []float32, ldc int, a, start, b []float32, off []int32, n int) {
	for m := range Tile {
		cm := c[m*ldc : m*ldc+n*Lanes]
		if start != nil {
			for i := range cm {
				cm[i] = start[m]
			}
		}
		for k, from := range off {
			Axpy(a[k*Tile+m], b[from:int(from)+len(cm)], cm)
		}
	}
}

// ConvGrad is g[k*Tile+m] += sum_r sum_i d[m*ldd+r*dRow+i]*b[off[k]+r*bRow+i], for Tile
// channels m, the Tile offsets from the first on, rows r and the numbers i of n
// positions.
func ConvGrad(g, d []float32, ldd int, b []float32, off Offsets, first, n, rows, dRow, bRow int) {
	if n == 0 || rows == 0 {
		return
	}
	g = g[: Tile*Tile : len(g)]
	d = d[: (Tile-1)*ldd+(rows-1)*dRow+n*Lanes : len(d)]
	b = b[: off.largest+(rows-1)*bRow+n*Lanes : len(b)]
	at := off.at[first : first+Tile]
	if use[LoopConvGrad] == Plain {
		convGradGo(g, d, ldd, b, at, n, rows, dRow, bRow)
	} else {
		convGradFast(g, d, ldd, b, at, n, rows, dRow, bRow)
	}
}

func convGradGo(g, d []float32, ldd int, b []float32, off []int32, n, rows, dRow, bRow int) {
	for k, from := range off {
		for m := range Tile {
			for r := range rows {
				dr := d[m*ldd+r*dRow:]
				g[k*Tile+m] += Dot(dr[:n*Lanes], b[int(from)+r*bRow:])
			}
		}
	}
}
