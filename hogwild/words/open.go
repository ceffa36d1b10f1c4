package words

import (
	"math"
	"os"
	"path/filepath"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/rundir"
	"hogwild/internal/vec"
)

// Open reads the vectors of a run, a folder or its file of weights, next to words.txt; or a .vec or .bin file
// of word2vec, which may be packed. Errors match config.ErrUsage.
func Open(path string) (*Vectors, error) {
	v, err := open(path)
	if err != nil {
		return nil, err
	}
	v.Path, v.units = path, make([]float32, len(v.W))
	for i := range v.Words {
		row, to := v.W[i*v.K:(i+1)*v.K], v.units[i*v.K:(i+1)*v.K]
		if n := math.Sqrt(float64(vec.Dot(row, row))); n > 0 {
			vec.Axpy(float32(1/n), row, to)
		}
	}
	return v, nil
}

func open(path string) (*Vectors, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, config.Usage("%w", err)
	case !info.IsDir() && filepath.Ext(path) != ".safetensors":
		return read(path, format.NewBudget(0))
	}
	f, err := rundir.ReadWeights(path, 0)
	if err != nil {
		return nil, err
	}
	var names []string
	of := "in.weight"
	switch {
	case f.Saved != nil && f.Saved.Meta.Facts():
		names, of = entities(&f.Saved.Meta), "entity.weight"
	case f.Saved == nil || f.Saved.Meta.Text == nil:
		return nil, config.Usage("%s has no vectors of words: only the models word2vec, text and kge have them", f.Path)
	case f.Saved.Meta.Text.Vocabulary == nil:
		return nil, config.Usage("%s: its words are missing: keep %s of the run beside it", f.Path, rundir.WordsFile)
	default:
		names = f.Saved.Meta.Text.Vocabulary.Words
	}
	for _, t := range f.Tensors() {
		if t.Name != of || len(t.Shape) != 2 || t.Shape[0] < len(names) {
			continue
		}
		w, err := t.Floats()
		if err != nil {
			return nil, config.Usage("%s: %w", f.Path, err)
		}
		k := t.Shape[1] // behind the words, the model text has sequences of words
		return &Vectors{Words: names, K: k, W: w[:len(names)*k]}, nil
	}
	return nil, config.Usage("%s has no tensor %s with a row for each of %d words", f.Path, of, len(names))
}

// entities returns the names of the entities of a knowledge graph, a word each.
func entities(m *data.Meta) []string {
	names := make([]string, m.Shape[0])
	for i, name := range m.Columns[:m.Shape[0]] {
		names[i] = strings.Join(strings.Fields(name), "_")
	}
	return names
}
