package model

import "fmt"

// Len returns how many weights p has.
func (p Param) Len() int {
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	return n
}

// Size returns how many weights ps have together: the length of w.
func Size(ps []Param) int {
	n := 0
	for _, p := range ps {
		n += p.Len()
	}
	return n
}

// Offsets says where in w each of ps begins.
func Offsets(ps []Param) []int {
	at := make([]int, len(ps))
	for i := 1; i < len(ps); i++ {
		at[i] = at[i-1] + ps[i-1].Len()
	}
	return at
}

// Common returns the weights of ps that all blocks of a graph write, one stretch. Mode blocks trains copies of them.
func Common(ps []Param) (r Range) {
	for i, from := range Offsets(ps) {
		if ps[i].Common && r.To == 0 {
			r.From = from
		}
		if ps[i].Common {
			r.To = from + ps[i].Len()
		}
	}
	return r
}

// Export copies the weights w, or anything else that has one number for each, into
// one tensor for each of ps, in the order of elements that files have: PyTorch's.
func Export(ps []Param, w []float32) [][]float32 {
	tensors := make([][]float32, len(ps))
	for i, at := range Offsets(ps) {
		p := ps[i]
		tensors[i] = make([]float32, p.Len())
		p.each(func(file, memory int) { tensors[i][file] = w[at+memory] })
	}
	return tensors
}

// Import reverses Export. An error says which tensor has the wrong length;
// w is then as it was.
func Import(ps []Param, tensors [][]float32, w []float32) error {
	if len(tensors) != len(ps) || len(w) != Size(ps) {
		return fmt.Errorf("model: %d tensors for %d weights: the model has %d tensors, %d weights", len(tensors),
			len(w), len(ps), Size(ps))
	}
	for i, p := range ps {
		if len(tensors[i]) != p.Len() {
			return fmt.Errorf("model: tensor %s has %d elements: the model's shape is %v, %d elements", p.Name,
				len(tensors[i]), p.Shape, p.Len())
		}
	}
	for i, at := range Offsets(ps) {
		ps[i].each(func(file, memory int) { w[at+memory] = tensors[i][file] })
	}
	return nil
}

// each calls f with the two places of every element: in a file, and in memory from
// where p begins.
func (p Param) each(f func(file, memory int)) {
	rows, columns := p.Len(), 1
	if p.Transposed && len(p.Shape) > 1 {
		rows = p.Shape[0]
		columns = p.Len() / max(1, rows)
	}
	for r := range rows {
		for c := range columns {
			f(r*columns+c, c*rows+r)
		}
	}
}
