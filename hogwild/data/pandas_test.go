package data

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/text"
	"hogwild/internal/check"
)

// counts are what is counted in a file: a number, and of a column the mean or the share of a text, and the holes.
type counts map[string][2]float64

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// counted returns what the package counts in a file.
func (f madeFile) counted(t *testing.T) counts {
	t.Helper()
	of := func(n int) [2]float64 { return [2]float64{float64(n)} }
	moments := func(values []float32) (mean, square [2]float64) {
		for _, v := range values {
			mean[0] += float64(v) / float64(len(values))
			square[0] += float64(v) * float64(v) / float64(len(values))
		}
		return mean, square
	}
	switch f.Kind {
	case "words":
		m, err := Describe(Options{Path: f.Path, Task: text.Words, Text: words(1)})
		must(t, err)
		return counts{"rows": of(m.Rows), "words": of(m.Features)}
	case "labels", "labelled":
		m, err := Describe(Options{Path: f.Path, Task: text.Labels, Text: byLabels(1), Target: f.Target})
		must(t, err)
		return counts{"rows": of(m.Rows), "labels": of(len(m.Classes)), "words": of(m.Features)}
	case "ratings":
		train, test := mustLoad(t, Options{Path: f.Path, Task: "triples", Seed: 1})
		mean, square := moments(append(slices.Clone(train.Y), test.Y...))
		pairs := map[string]bool{}
		for _, line := range entriesOf(train, test) {
			pairs[line[:strings.LastIndexByte(line, ' ')]] = true
		}
		return counts{"rows": of(train.Rows + test.Rows), "users": of(train.Shape[0]), "items": of(train.Shape[1]),
			"pairs": of(len(pairs)), "mean": mean, "square": square}
	case "edges":
		graph, _ := mustLoad(t, Options{Path: f.Path, Task: "edges", Seed: 1})
		mean, _ := moments(graph.Y)
		return counts{"rows": of(graph.Rows), "nodes": of(graph.Features), "mean": mean}
	}
	tab, err := open(f.Path, Options{Format: "csv", Target: f.Target}, nil)
	must(t, err)
	all := counts{"rows": of(tab.Rows)}
	for j, name := range tab.Columns {
		sum, holes := 0., 0
		for i := range tab.Rows {
			if v := float64(tab.x[i*tab.Features+j]); v != v {
				holes++
			} else {
				sum += v
			}
		}
		all[name] = [2]float64{sum / float64(tab.Rows-holes), float64(holes)}
	}
	for _, name := range tab.text {
		key := f.Target + "=" + name
		all[key] = [2]float64{all[key][0] + 1/float64(tab.Rows)}
	}
	for _, v := range tab.label {
		all[f.Target] = [2]float64{all[f.Target][0] + v/float64(tab.Rows)}
	}
	return all
}

// TestCountsAgainstPandas: rows, ids, words, holes and means of files of each kind are those that pandas and plain
// Python find.
func TestCountsAgainstPandas(t *testing.T) {
	check.Interpreter(t, "pandas")
	m := &writer{Rand: rand.New(rand.NewPCG(20, 26)), t: t, dir: t.TempDir()}
	for range 24 {
		m.table()
		m.table()
		m.table()
		m.triples("ratings")
		m.triples("ratings")
		m.triples("edges")
		m.words()
		m.labels()
		m.labelled()
	}
	list, err := json.Marshal(m.files)
	must(t, err)
	script, err := os.ReadFile("testdata/counts.py")
	must(t, err)
	var want []counts
	must(t, json.Unmarshal(check.Python(t, "pandas", string(script), file(t, m.dir, "list", string(list))), &want))
	for i, f := range m.files {
		t.Run(filepath.Base(f.Path), func(t *testing.T) {
			got := f.counted(t)
			var wrong []string
			for key := range maps.Keys(want[i]) {
				a, ok := got[key]
				if b := want[i][key]; !ok || a[1] != b[1] || !(math.Abs(a[0]-b[0]) <= 1e-6*max(1, math.Abs(b[0]))) {
					wrong = append(wrong, fmt.Sprintf("%s: %g, want %g", key, a, b))
				}
				delete(got, key)
			}
			for key := range got {
				wrong = append(wrong, key+" is not in pandas")
			}
			if slices.Sort(wrong); len(wrong) > 0 {
				text, _ := os.ReadFile(f.Path)
				t.Errorf("%s of %.300q by %v", strings.Join(wrong[:min(len(wrong), 4)], "; "), text, f.Args)
			}
		})
	}
}
