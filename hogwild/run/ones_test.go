package run

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// ones is a model whose steps are exact in float32: at learning rate 1 each takes 1
// from some of its weights, so that after n steps they are -n, unless some were lost.
// The first 3,000 are a layer on an input of which three features occur; then its
// bias, and a dense part.
type ones struct {
	dense int
	d     []float32
	x     data.Row
	g     []float32
}

func (m *ones) Params() []model.Param {
	return []model.Param{{Name: "w", Shape: []int{2, 1500}, Transposed: true}, {Name: "b", Shape: []int{2}},
		{Name: "g", Shape: []int{m.dense}}}
}

func (m *ones) Init(w []float32, _ uint64) { clear(w) }

func (m *ones) Grad(_ []float32, b *data.Batch, g *model.Gradient) float64 {
	g.Parts = append(g.Parts[:0],
		model.Part{In: 1500, Out: 2, Bias: 3000, X: []data.Row{m.x}, D: m.d},
		model.Part{Offset: 3002, Bias: -1, G: m.g})
	return float64(len(b.Y))
}

func (m *ones) Eval(_ []float32, b *data.Batch) model.Score { return model.Score{N: len(b.Y)} }

func init() {
	for name, dense := range map[string]int{"ones": 100, "heavy": 1 << 21} {
		model.Register(name, func(data.Meta) (model.Model, error) {
			m := &ones{dense: dense, d: []float32{1, 1},
				x: data.Row{Idx: []uint32{0, 700, 1499}, Val: []float32{1, 1, 1}}}
			for range dense {
				m.g = append(m.g, 1)
			}
			return m, nil
		})
	}
}
