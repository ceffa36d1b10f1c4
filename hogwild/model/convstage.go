package model

import "hogwild/internal/vec"

// convStage is a convolution with dropout of channels, max-pooling and ReLU. Channels
// are padded to whole tiles everywhere.
type convStage struct {
	filter
	pool          int
	drop          float64
	height        int // of the inputs
	rows, columns int // of the outputs, pooled
	band          int // how many of those rows are taken back at a time

	z      []float32 // [channel][pool][x][lane]: what the pooling of one row is over
	dz     []float32 // [band*pool][channel][x][lane]: its deltas, for a band of rows
	d      []float32 // [channel][row][column][lane]: deltas of the outputs, of one group
	pooled []float32 // [group][channel][row][column][lane]
	win    []float32 // as out: which position the pooling took (see vec.Pool)
	scale  []float32 // [group][channel][lane]: the dropout
}

// bandRoom is how many numbers a band of deltas should have in a tile of channels: few
// enough that a core's nearest cache keeps them and their inputs.
const bandRoom = 8 << 10

// fix sets the sizes for inputs of the given width, and returns the outputs' sizes.
func (s *convStage) fix(width int) (rows, columns int) {
	s.rows = (s.height - s.kernel + 1) / s.pool
	s.columns = (width - s.kernel + 1) / s.pool
	s.band = max(1, min(s.rows, bandRoom/(vec.Tile*s.pool*s.wide())))
	s.width = width
	return s.rows, s.columns
}

// wide returns how many numbers a row before the pooling has, without columns that no window
// takes.
func (s *convStage) wide() int { return s.columns * s.pool * vec.Lanes }

// apart returns how many numbers lie from one row of dz to the next: all channels of it, each an odd
// number of cache lines from the next, so that they do not meet in a few sets of the cache.
func (s *convStage) apart() int { return padded(s.out) * s.ldd }

func (s *convStage) grow(groups int) {
	s.lay(s.width, s.height*s.width*vec.Lanes, s.wide()|vec.Lanes)
	size := s.rows * s.columns * vec.Lanes
	s.z = make([]float32, padded(s.out)*s.pool*s.wide())
	s.dz = make([]float32, s.band*s.pool*s.apart())
	s.d = make([]float32, padded(s.out)*size)
	s.pooled = make([]float32, groups*len(s.d))
	s.win = make([]float32, groups*len(s.d))
	s.scale = make([]float32, groups*s.out*vec.Lanes)
	for i := range s.scale {
		s.scale[i] = 1
	}
}

// output returns what forward made of group g.
func (s *convStage) output(g int) []float32 { return s.pooled[g*len(s.d) : (g+1)*len(s.d)] }

// masks returns the scales of group g.
func (s *convStage) masks(g int) []float32 {
	n := s.out * vec.Lanes
	return s.scale[g*n : (g+1)*n]
}

// forward computes the outputs for the inputs x of group g, one pooled row after the
// other.
func (s *convStage) forward(x []float32, g int) []float32 {
	out, win, scale := s.output(g), s.win[g*len(s.d):], s.masks(g)
	wide, row := s.wide(), s.columns*vec.Lanes
	for r := range s.rows {
		for y := range s.pool {
			s.row(s.z[y*wide:], s.pool*wide, x[(r*s.pool+y)*s.width*vec.Lanes:], s.columns*s.pool)
		}
		for c := range s.out {
			to := (c*s.rows + r) * row
			vec.Pool(out[to:], win[to:], s.z[c*s.pool*wide:], scale[c*vec.Lanes:], s.columns, s.pool, wide)
		}
	}
	return out
}

// backward adds to the sums what the deltas s.d of group g come to, whose inputs were x,
// and sets dx to the deltas of those; dx may be nil.
func (s *convStage) backward(x, dx []float32, g int) {
	clear(dx)
	n, below := s.columns*s.pool, s.width*vec.Lanes
	for r := 0; r < s.rows; r += s.band {
		band := min(s.band, s.rows-r)
		s.unpool(r, band, g)
		x, rows := x[r*s.pool*below:], band*s.pool
		s.learn(x, s.dz, s.apart(), n, rows)
		if dx != nil {
			s.blame(dx[r*s.pool*below:], s.dz, s.apart(), n, rows)
		}
	}
}

// unpool sets dz to the deltas of a band of rows, the first of them r.
func (s *convStage) unpool(r, band, g int) {
	win, scale := s.win[g*len(s.d):], s.masks(g)
	apart, row := s.apart(), s.columns*vec.Lanes
	for c := range s.out {
		for y := range band {
			from := (c*s.rows + r + y) * row
			vec.Unpool(s.dz[y*s.pool*apart+c*s.ldd:], s.d[from:], win[from:], scale[c*vec.Lanes:],
				s.sumsB[c*vec.Lanes:], s.columns, s.pool, apart)
		}
	}
}
