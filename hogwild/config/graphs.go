package config

// Graphs are the settings of models whose rows are few a step: of knowledge graphs.
type Graphs struct {
	N3           float64      `yaml:"n3" json:"n3"`
	RowOptimizer RowOptimizer `yaml:"row-optimizer" json:"row_optimizer"` // auto, sgd, adagrad
}

// RowOptimizer is how the steps of a row are scaled.
type RowOptimizer string

// The words of a RowOptimizer, beside Auto.
const (
	RowSGD     RowOptimizer = "sgd"
	RowAdaGrad RowOptimizer = "adagrad" // by the root of the sum of its mean squared gradients
)

func defaultGraphs() Graphs { return Graphs{RowOptimizer: Auto, N3: 0} }
