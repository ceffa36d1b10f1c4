package config

// Graphs are the settings of models whose rows are few a step: of knowledge graphs.
type Graphs struct {
	N3 float64 `yaml:"n3" json:"n3"`
}
