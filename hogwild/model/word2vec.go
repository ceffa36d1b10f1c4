package model

import (
	"fmt"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
	"hogwild/internal/vec"
)

// word2vec is skip-gram, or CBOW, with negative sampling (Mikolov et al. 2013, "Distributed representations of words
// and phrases and their compositionality", section 2.2), as word2vec.c has it. A word has two vectors of k numbers: in,
// by which it predicts, and out, by which it is predicted. The loss of a word is the sum over the pairs of its window
//
//	-log s(in . out) - sum over negatives of log s(-in . out_n)
//
// with the vectors in of the words around it, one after the other (skip-gram), or their mean (CBOW). It is 0 for words
// that are left out. An example is a word of the text.
type word2vec struct {
	words, k int
	cbow     bool
	groups   bool // each input has negatives of its own
	group    int  // targets of a group
	reach    int  // of a window, at most
	touched
	table   vec.Words
	h, e    []float32
	windows *data.Windows
	of      *data.Set
	epoch   int
}

// Words is the family of word2vec:K. Its defaults are word2vec.c's.
var Words = &Family{
	Reads: text.Words, Rate: 0.025, Epochs: 5, Schedule: "linear", forms: []string{"word2vec:K (word2vec:100)"},
	task: func(name, loss string) (string, error) {
		_, err := parseWidth(name, loss)
		return "words", err
	},
	resolve: func(o Options, m data.Meta) (Spec, error) {
		k, err := parseWidth(o.Name, o.Loss)
		if err != nil {
			return Spec{}, err
		}
		if !m.Words() {
			return Spec{}, fmt.Errorf("model: %s needs text, and %s is none", o.Name, m.Name)
		}
		return Spec{Options: o, Name: fmt.Sprintf("word2vec:%d", k), Loss: Logistic, Widths: []int{k},
			Features: m.Features, Outputs: 1, Text: m.Text}, nil
	},
	build: func(s Spec) Model {
		k := s.Widths[0]
		return &word2vec{words: s.Features, k: k, cbow: s.Options.CBOW, groups: !s.Text.OneGroup,
			group: 1 + s.Text.Negatives, reach: s.Text.Window,
			touched: newTouched(k), h: make([]float32, k), e: make([]float32, k)}
	},
}

// parseWidth reads the length of the vectors.
func parseWidth(name, loss string) (int, error) {
	_, text, given := strings.Cut(name, ":")
	k, err := strconv.Atoi(text)
	switch {
	case !given:
		k = 100
	case err != nil || k < 1 || k > maxVector:
		return 0, fmt.Errorf("model: %q: the length of a vector must be a number from 1 to %d (write word2vec:100)",
			name, maxVector)
	}
	if loss != "" && Loss(loss) != Logistic {
		return 0, fmt.Errorf("model: word2vec has the logistic loss with negative samples, not %q: leave --loss out",
			loss)
	}
	return k, nil
}

const maxVector = 1 << 10

func (m *word2vec) Params() []Param {
	return []Param{{Name: "in.weight", Shape: []int{m.words, m.k}}, {Name: "out.weight", Shape: []int{m.words, m.k}}}
}

// Init draws the vectors in from U(-1/2, 1/2)/k; the vectors out are zero, as in word2vec.c.
func (m *word2vec) Init(w []float32, seed uint64) {
	n := m.words * m.k
	newSource(seed).uniform(w[:n], 0.5/float32(m.k))
	clear(w[n:])
}

// on returns the tables in w.
func (m *word2vec) on(w []float32) *vec.Words {
	if t := &m.table; t.K == 0 || &t.In[0] != &w[0] {
		n := m.words * m.k
		m.table = vec.Words{K: m.k, In: w[:n], Out: w[n : 2*n]}
	}
	return &m.table
}

// draws returns the windows of a set.
func (m *word2vec) draws(set *data.Set) *data.Windows {
	if m.of != set {
		m.windows, m.of = data.NewWindows(set), set
	}
	return m.windows
}

// Suits returns true for texts. The tables are too large for each worker to have a copy.
func (m *word2vec) Suits(set *data.Set) (steps, copied bool) { return set.Words(), false }

// Steps takes the steps of word2vec.c: within a word's window each pair finds what those before it have changed. With
// one group of negatives for a window, all of it is read first: see vec.Words.
func (m *word2vec) Steps(w []float32, set *data.Set, rows []int32, s Step) (loss float64) {
	if len(rows) == 0 {
		return 0
	}
	t, draws := m.on(w), m.draws(set)
	m.epoch = s.Epoch
	x, next := data.Window{}, draws.At(rows[0], s.Epoch)
	for i := range rows {
		if x = next; i+1 < len(rows) {
			next = draws.At(rows[i+1], s.Epoch)
			t.Fetch(next.Inputs, next.Targets)
		}
		switch {
		case len(x.Inputs) == 0:
		case m.cbow:
			loss += t.Bag(x.Inputs, x.Targets, s.LR)
		case m.groups:
			loss += t.Window(x.Inputs, x.Targets, s.LR)
		default:
			loss += t.Block(x.Inputs, x.Targets, s.LR)
		}
	}
	return loss
}

// EvalRows does what Eval does, on rows with the windows of data.Evaluation.
func (m *word2vec) EvalRows(w []float32, set *data.Set, from, to int) (Score, bool) {
	t, draws, s := m.on(w), m.draws(set), Score{N: to - from}
	for r := from; r < to; r++ {
		if x := draws.At(int32(r), data.Evaluation); len(x.Inputs) > 0 {
			s.Loss += t.Loss(x.Inputs, x.Targets, m.group, m.cbow)
		}
	}
	return s, true
}

// Eval returns the summed loss of the batch's windows.
func (m *word2vec) Eval(w []float32, b *data.Batch) Score {
	t, s := m.on(w), Score{N: len(b.Windows)}
	for _, x := range b.Windows {
		if len(x.Inputs) > 0 {
			s.Loss += t.Loss(x.Inputs, x.Targets, m.group, m.cbow)
		}
	}
	return s
}

// Grad sets g to the gradient of the mean loss of the batch's windows. For the mean of a CBOW window it goes to each
// input whole, and not as its share, as in word2vec.c.
func (m *word2vec) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	t, mean, rows := m.on(w), 1/float32(len(b.Windows)), 0
	for _, x := range b.Windows {
		rows += len(x.Inputs) + len(x.Targets)
	}
	m.begin((rows + 1) / 2)
	for _, x := range b.Windows {
		if len(x.Inputs) == 0 {
			continue
		}
		if m.cbow {
			vec.GatherRows(t.In, m.k, x.Inputs, 1/float32(len(x.Inputs)), m.h)
			loss += m.gather(m.h, x.Targets, mean)
			for _, in := range x.Inputs {
				vec.Axpy(1, m.e, m.row(m.at(in)))
			}
			continue
		}
		for i, in := range x.Inputs {
			targets := x.Targets
			if m.groups {
				targets = targets[i*m.group : (i+1)*m.group]
			}
			loss += m.gather(t.In[int(in)*m.k:][:m.k], targets, mean)
			vec.Axpy(1, m.e, m.row(m.at(in)))
		}
	}
	g.Parts = m.gradient()
	return loss
}

// gather adds the gradient of the targets' vectors, and sets e to h's.
func (m *word2vec) gather(h []float32, targets []uint32, mean float32) (loss float64) {
	clear(m.e)
	for i, target := range targets {
		if target == data.NoTarget {
			continue
		}
		out := m.table.Out[int(target)*m.k:][:m.k]
		d, l := vec.LogisticPair(vec.Dot(h, out), i == 0)
		loss += l
		vec.Axpy(-d*mean, out, m.e)
		vec.Axpy(-d*mean, h, m.row(m.at(uint32(m.words)+target)))
	}
	return loss
}

// Touched appends the vectors of a row's window in the epoch of the last step.
func (m *word2vec) Touched(set *data.Set, row int32, ranges []Range) []Range {
	x := m.draws(set).At(row, m.epoch)
	add := func(node int) { ranges = append(ranges, Range{node * m.k, (node + 1) * m.k}) }
	for _, in := range x.Inputs {
		add(int(in))
	}
	for _, t := range x.Targets {
		if t != data.NoTarget {
			add(m.words + int(t))
		}
	}
	return ranges
}

// flops counts the products of a window of mean reach: each target takes three with a vector, and a CBOW window has
// one.
func (m *word2vec) flops(float64) float64 {
	n := products * float64(m.group) * float64(m.k)
	if !m.cbow {
		n *= float64(m.reach + 1)
	}
	return 2 * n
}
