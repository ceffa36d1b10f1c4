package model

// touched gathers the gradient of a batch of pairs: a row of k numbers, and perhaps
// one for a bias, for each node that the batch touches. All others have none, which
// is what makes these models sparse.
type touched struct {
	k     int
	place map[uint32]int // of a node's row in g
	nodes []uint32
	g     []float32
	bias  []float32
	parts []Part
}

func newTouched(k int) touched { return touched{k: k, place: map[uint32]int{}} }

// begin forgets the batch before, and makes room for one of n pairs.
func (t *touched) begin(n int) {
	if 2*n > cap(t.nodes) {
		t.nodes = make([]uint32, 0, 2*n)
		t.g, t.bias = make([]float32, 2*n*t.k), make([]float32, 2*n)
		t.parts = make([]Part, 0, 4*n)
	}
	clear(t.place)
	t.nodes, t.parts = t.nodes[:0], t.parts[:0]
}

// at returns the place of a node's gradient, at first zero.
func (t *touched) at(node uint32) int {
	i, ok := t.place[node]
	if !ok {
		i = len(t.nodes)
		t.nodes = append(t.nodes, node)
		t.place[node] = i
		clear(t.row(i))
		t.bias[i] = 0
	}
	return i
}

// row returns the i-th node's gradient.
func (t *touched) row(i int) []float32 { return t.g[i*t.k : (i+1)*t.k : (i+1)*t.k] }

// gradient returns one part for each node that was touched, of a table of all nodes that begins with the weights.
func (t *touched) gradient() []Part {
	for i, node := range t.nodes {
		t.parts = append(t.parts, Part{Offset: int(node) * t.k, Bias: -1, G: t.row(i)})
	}
	return t.parts
}
