package model

// Flops returns the floating-point operations of the products of a step on one example,
// forward and backward: two for each multiply-add. A row lists this many values:
// a linear model or a perceptron takes no others; a convolution takes all. Additions of
// biases, activations and losses are left out, and units that are found dead are not: how
// many there are is not known before. It is 0 for models whose cost is not products:
// factor, cut, and what the program registered itself.
func Flops(m Model, values float64) float64 {
	if c, ok := m.(interface{ flops(values float64) float64 }); ok {
		return c.flops(values)
	}
	return 0
}

// A layer multiplies its weights three times: for the outputs, for the gradient of the
// weights, and for the inputs' gradient, which the first layer's do not have.
const (
	firstProducts = 2
	products      = 3
)

func (m *mlp) flops(values float64) float64 {
	first := &m.stages[0]
	sum := firstProducts * values * float64(first.out)
	for _, s := range m.stages[1:] {
		sum += products * float64(s.in) * float64(s.out)
	}
	return 2 * sum
}

// flops counts a convolution at the places that a window of the pooling takes: no others
// are computed.
func (m *convNet) flops(float64) float64 {
	sum, times := 0.0, float64(firstProducts)
	for i := range m.convs {
		s := &m.convs[i]
		places := s.rows * s.pool * s.columns * s.pool
		sum += times * float64(s.in*s.out*s.kernel*s.kernel) * float64(places)
		times = products
	}
	for i := range m.dense {
		sum += products * float64(m.dense[i].in) * float64(m.dense[i].out)
	}
	return 2 * sum
}
