package saved

import (
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Top is how many of the labels of lines are among the K most probable classes, as fasttext test counts.
type Top struct {
	K         int     `json:"k"`         // at most as many as there are classes
	Lines     int     `json:"lines"`     // of text; elsewhere rows
	Labels    int     `json:"labels"`    // a line may have several
	Precision float64 `json:"precision"` // labels that are among them / (K x lines)
	Recall    float64 `json:"recall"`    // labels that are among them / labels
}

// top finds the labels of a set among the k most probable classes.
func (s *Saved) top(set *data.Set, k int) (*Top, error) {
	switch {
	case k < 1:
		return nil, config.Usage("top %d: want 1 or more classes", k)
	case len(set.Classes) == 0:
		return nil, config.Usage("top %d: the model %s predicts values, not classes", k, s.name)
	}
	if err := s.CheckPredict(true); err != nil {
		return nil, err
	}
	t := &Top{K: min(k, len(set.Classes)), Lines: linesOf(set), Labels: set.Rows}
	within, err := cpu.Within([]model.Model{s.model}, s.w, set, t.K)
	if err != nil {
		return nil, err
	}
	hits := 0.0
	for _, is := range within {
		if is {
			hits++
		}
	}
	t.Precision, t.Recall = hits/float64(t.K*t.Lines), hits/float64(t.Labels)
	return t, nil
}

// linesOf counts lines of text: rows behind one another with equal inputs are the labels of a line, until one of them
// comes again. Other rows are lines.
func linesOf(set *data.Set) (n int) {
	if set.Text == nil || len(set.Ptr) == 0 {
		return set.Rows
	}
	var labels []float32
	for i, y := range set.Y {
		same := i > 0 && slices.Equal(set.Idx[set.Ptr[i-1]:set.Ptr[i]], set.Idx[set.Ptr[i]:set.Ptr[i+1]])
		if !same || slices.Contains(labels, y) {
			n, labels = n+1, labels[:0]
		}
		labels = append(labels, y)
	}
	return n
}

func (t *Top) text() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("top %-8dprecision %.4f, recall %.4f; %d lines, %d labels\n", t.K, t.Precision, t.Recall,
		t.Lines, t.Labels)
}
