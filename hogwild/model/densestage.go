package model

import "hogwild/internal/vec"

// denseStage is a fully connected layer behind the convolutions: a filter on an image
// one row high, whose positions are the groups of the batch. Its inputs, outputs and
// their deltas have a row of lanes for each unit.
type denseStage struct {
	filter
	drop  float64   // of the outputs, behind their ReLU
	x     []float32 // [in][group][lane]
	dx    []float32 // as x: its deltas
	d     []float32 // [out][group][lane]: outputs, then deltas
	scale []float32 // as d: the dropout; nil without
}

// grow makes room for batches of n groups.
func (s *denseStage) grow(n int) {
	row := n * vec.Lanes
	s.lay(n, row, row)
	s.x, s.dx = make([]float32, padded(s.in)*row), make([]float32, padded(s.in)*row)
	s.d = make([]float32, padded(s.out)*row)
	if s.drop > 0 {
		s.scale = make([]float32, s.out*row)
	}
}

// gather takes group g of the inputs from an image of as many numbers.
func (s *denseStage) gather(image []float32, g int) {
	for i := range s.in {
		copy(s.x[i*s.ldx+g*vec.Lanes:][:vec.Lanes], image[i*vec.Lanes:])
	}
}

// deltas reverses gather, for the deltas.
func (s *denseStage) deltas(image []float32, g int) {
	for i := range s.in {
		copy(image[i*vec.Lanes:][:vec.Lanes], s.dx[i*s.ldx+g*vec.Lanes:])
	}
}

// outputs copies the outputs of n examples to z (n x out).
func (s *denseStage) outputs(z []float32, n int) {
	for i := range n {
		for c := range s.out {
			z[i*s.out+c] = s.d[c*s.ldd+i]
		}
	}
}

// scatter reverses outputs. The lanes without examples become zero.
func (s *denseStage) scatter(z []float32) {
	n := len(z) / s.out
	for c := range s.out {
		row := s.d[c*s.ldd : (c+1)*s.ldd]
		for i := range n {
			row[i] = z[i*s.out+c]
		}
		clear(row[n:])
	}
}

// activate applies ReLU and dropout: it sets x, the inputs of the next layer. NaN stays, to
// be noticed.
func (s *denseStage) activate(x []float32, groups int) {
	for o := range s.out {
		from, to := o*s.ldd, o*s.ldd+groups*vec.Lanes
		d, x := s.d[from:to], x[from:to]
		for i, v := range d {
			if v <= 0 {
				v = 0
			}
			x[i] = v
		}
		if s.scale != nil {
			for i, v := range s.scale[from:to] {
				x[i] *= v
			}
		}
	}
}

// passive goes back through activate: of the deltas dx of the next layer's
// inputs x, those pass whose unit was alive.
func (s *denseStage) passive(x, dx []float32, groups int) {
	for o := range s.out {
		from, to := o*s.ldd, o*s.ldd+groups*vec.Lanes
		d, x := s.d[from:to], x[from:to]
		copy(d, dx[from:to])
		if s.scale != nil {
			for i, v := range s.scale[from:to] {
				d[i] *= v
			}
		}
		for i, v := range x {
			if v <= 0 {
				d[i] = 0
			}
		}
	}
}

// backward adds to the sums what the deltas d come to, and sets dx.
func (s *denseStage) backward(groups int) {
	for o := range s.out {
		sum := s.sumsB[o*vec.Lanes : (o+1)*vec.Lanes]
		for g := range groups {
			vec.Axpy(1, s.d[o*s.ldd+g*vec.Lanes:][:vec.Lanes], sum)
		}
	}
	s.learn(s.x, s.d, 0, groups, 1)
	clear(s.dx)
	s.blame(s.dx, s.d, 0, groups, 1)
}
