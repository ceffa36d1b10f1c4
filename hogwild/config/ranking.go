package config

import (
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Ranking is the settings of models that rank.
type Ranking struct {
	Positive     float64      `yaml:"positive,omitempty" json:"positive,omitempty"` // the least value that is liked
	Sampling     Sampling     `yaml:"sampling" json:"sampling"`                     // auto, once, popularity, uniform
	RowOptimizer RowOptimizer `yaml:"row-optimizer" json:"row_optimizer"`           // auto, sgd, adagrad
	N3           float64      `yaml:"n3,omitempty" json:"n3,omitempty"`             // kge: see its regularizer; 0 = auto
	L2Parts      string       `yaml:"l2-parts,omitempty" json:"l2_parts,omitempty"` // user=X,item=X,negative=X,bias=X

	// The figures of a ranking.
	Top  int  `yaml:"top,omitempty" json:"top,omitempty"` // how many of the best they are about: see RanksAt
	Seen Seen `yaml:"seen" json:"seen"`                   // out, in
}

// defaultRanking returns the settings that a user gives none of.
func defaultRanking() Ranking { return Ranking{Sampling: Auto, RowOptimizer: Auto, Seen: SeenOut} }

// drawsUniformly reports whether all items are drawn alike: as in LightFM for warp, and not for bpr, as in implicit.
func (c *Config) drawsUniformly() bool {
	return c.Sampling == Uniform || c.Sampling == Auto && model.FamilyOf(c.Model).Alike
}

// drawsOnce reports whether there is no step where the item that was drawn is liked: of bpr without rates of rows, as
// in implicit. LightFM, whose rows have them, draws again.
func (c *Config) drawsOnce() bool {
	return c.Sampling == Once || c.Sampling == Auto && !model.FamilyOf(c.Model).Alike && !c.AdaptsRows()
}

// AdaptsRows reports whether each row has a rate of its own: for warp, as in LightFM, and kge, where steps can keep it.
func (c *Config) AdaptsRows() bool {
	return c.RowOptimizer == RowAdaGrad ||
		c.RowOptimizer == Auto && (model.FamilyOf(c.Model).OneRate > 0 || model.FamilyOf(c.Model).Chunks) &&
			c.stepsByRow()
}

// stepsByRow reports whether steps are the model's own, on one entry each: what they keep for each row is no gradient.
func (c *Config) stepsByRow() bool {
	gradients := c.Mode.Traits().Barrier && c.Average == Gradients
	return c.Mode.Traits().Fused && c.Optimizer == SGD && c.Batch <= 1 && c.GlobalBatch == 0 && !gradients &&
		c.GradientDelay == 0
}

// shrink returns l2 of each part.
func (c *Config) shrink() model.Shrink {
	s, _ := c.readL2Parts()
	return s
}

// readL2Parts reads L2Parts; what is not named there is L2.
func (c *Config) readL2Parts() (s model.Shrink, err error) {
	l2 := float32(c.L2)
	s = model.Shrink{User: l2, Item: l2, Negative: l2, Bias: l2}
	if c.L2Parts == "" {
		return s, nil
	}
	parts := map[string]*float32{"user": &s.User, "item": &s.Item, "negative": &s.Negative, "bias": &s.Bias}
	for text := range strings.SplitSeq(c.L2Parts, ",") {
		name, number, _ := strings.Cut(text, "=")
		v, bad := strconv.ParseFloat(number, 32)
		if parts[name] == nil || bad != nil || !(v >= 0) {
			return s, Usage("l2-parts %s: want numbers from 0 for user, item, negative and bias, such as "+
				"user=0.01,negative=0", c.L2Parts)
		}
		*parts[name] = float32(v)
	}
	return s, nil
}

// checkL2Parts refuses what readL2Parts cannot read.
func (c *Config) checkL2Parts() error {
	_, err := c.readL2Parts()
	return err
}

// defaultTop is how many of the best items figures are about.
const defaultTop = 10

// RanksAt returns how many of the best candidates the figures of a ranking are about; 0: none is asked for. Data that
// are ratings are ranked only if it is said.
func (c *Config) RanksAt(m *data.Meta) int {
	if c.Top == 0 && (m.Implicit || m.Facts()) {
		return defaultTop
	}
	return c.Top
}
