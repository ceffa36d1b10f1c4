package data

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var smallSynth = []string{"synth:rcv1:0.001", "synth:netflix:0.0005", "synth:jumbo:1e-5", "synth:dblife:0.01",
	"synth:abdomen:1e-5",
	"synth:sparse:1000x300x7", "synth:ranked:1000x300x7", "synth:dense:500x9", "synth:linear:500x9",
	"synth:lowrank:60x70x3000x4"}

// TestSynthRepeats: the same seed makes the same set, on one core and on several, and
// another seed another one; the test rows are others than the training rows.
func TestSynthRepeats(t *testing.T) {
	for _, path := range smallSynth {
		train, test := mustLoad(t, Options{Path: path, Seed: 1})
		was := runtime.GOMAXPROCS(3)
		again, test2 := mustLoad(t, Options{Path: path, Seed: 1})
		runtime.GOMAXPROCS(was)
		same := func(a, b *Set) bool {
			return slices.Equal(a.Idx, b.Idx) && slices.Equal(a.Val, b.Val) && slices.Equal(a.X, b.X) &&
				slices.Equal(a.Y, b.Y)
		}
		if !same(train, again) || !same(test, test2) || train.Checksum != again.Checksum {
			t.Errorf("%s: the same seed made another set", path)
		}
		other, _ := mustLoad(t, Options{Path: path, Seed: 2})
		if same(train, other) || train.Checksum == other.Checksum {
			t.Errorf("%s: another seed made the same set", path)
		}
		if graph := train.Kind == Pairs && train.Shape == nil; same(train, test) != graph {
			t.Errorf("%s: is the test set the training set? %v", path, !graph)
		}
		k, m, err := describeSynth(path, 1)
		if err != nil || m.Rows != train.Rows || m.Features != train.Features || m.Kind != train.Kind ||
			k.tests() != 0 && k.tests() != test.Rows {
			t.Errorf("%s: described as %d x %d, made as %d x %d, %v", path, m.Rows, m.Features, train.Rows,
				train.Features, err)
		}
		like, err := LoadLike(path, "auto", "", train.Meta)
		if err != nil || !same(like, test) {
			t.Errorf("%s: to be evaluated it is another set, %v", path, err)
		} else {
			like.Close()
		}
	}
}

// TestRanked: columns of synth:ranked are numbered by how frequent they are; of synth:sparse they are as frequent, but
// the most frequent ones are no neighbours, and others with another seed.
func TestRanked(t *testing.T) {
	const columns, line = 3000, 32
	counts := func(path string, seed uint64) (n []int, busiest float64) {
		s, _ := mustLoad(t, Options{Path: path, Seed: seed})
		n = make([]int, columns)
		lines := make([]int, columns/line+1)
		for _, j := range s.Idx {
			n[j]++
			lines[j/line]++
		}
		return n, float64(slices.Max(lines)) / float64(slices.Max(n))
	}
	ranked, near := counts("synth:ranked:2000x3000x20", 1)
	sparse, far := counts("synth:sparse:2000x3000x20", 1)
	if !slices.IsSortedFunc(ranked[:3], func(a, b int) int { return b - a }) || slices.Equal(ranked, sparse) {
		t.Errorf("columns by rank begin with %v, others with %v", ranked[:3], sparse[:3])
	}
	most := func(n []int) int { return slices.Index(n, slices.Max(n)) }
	if other, _ := counts("synth:sparse:2000x3000x20", 2); most(other) == most(sparse) {
		t.Error("the most frequent column is the same with another seed")
	}
	slices.Sort(ranked)
	slices.Sort(sparse)
	if !slices.Equal(ranked, sparse) {
		t.Errorf("columns are otherwise frequent: the most %d, by rank %d", sparse[columns-1], ranked[columns-1])
	}
	if near < 10 || far > 2 {
		t.Errorf("the busiest line has %.1f times the entries of a column by rank, else %.1f", near, far)
	}
}

// TestSynthIsTheSameEverywhere: the numbers are those that amd64 makes, on every processor.
func TestSynthIsTheSameEverywhere(t *testing.T) {
	for path, want := range map[string]string{
		"synth:ranked:20000x300x7": "c9bac7bebca1ff49", "synth:sparse:20000x300x7": "c85724b4a1a9753f",
		"synth:dense:20000x9":         "b716e3aabee2a9d9",
		"synth:linear:20000x9":        "eb56180618d03048",
		"synth:lowrank:60x70x50000x4": "20bee75bda5f5b4c", "synth:netflix:0.0005": "44a6fb4349d2332a",
		"synth:dblife:0.1": "1e895f32d426fb9b", "synth:abdomen:1e-4": "4e72a4c13cf2916d",
	} {
		train, _ := mustLoad(t, Options{Path: path, Seed: 1})
		sum := sha256.New()
		for _, numbers := range [][]float32{train.Val, train.X, train.Y} {
			if err := binary.Write(sum, binary.LittleEndian, numbers); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != want {
			t.Errorf("the checksum of %s is %s, want %s", path, got, want)
		}
	}
}

// TestSynthShapes holds the full sizes against the table of the Hogwild! paper.
func TestSynthShapes(t *testing.T) {
	for path, want := range map[string][2]int{
		"synth:rcv1": {781265, 47236}, "synth:netflix": {100198805, 17770 + 480189}, "synth:jumbo": {2e9, 2e7},
		"synth:dblife":          {2 * (18167 + 180110 - 10), 18167 + 180110},
		"synth:abdomen":         {512*512*551*4 - 512*512 - 2*512*551, 512*512*551 + 2},
		"synth:sparse:100x50x5": {100, 50}, "synth:lowrank:1e3x2e3x5e4x7": {50000, 3000},
		"synth:rcv1:0.1": {78127, 47236},
	} {
		m, err := Describe(Options{Path: path})
		if err != nil || m.Rows != want[0] || m.Features != want[1] {
			t.Errorf("%s: %d x %d, %v, want %v", path, m.Rows, m.Features, err, want)
		}
	}
}

// TestSynthLinear: what is left of a value without the planted function is the noise.
func TestSynthLinear(t *testing.T) {
	const rows, columns = 20000, 20
	s, _ := mustLoad(t, Options{Path: "synth:linear:20000x20", Seed: 1})
	truth, sum, squares := planted(1, columns), 0.0, 0.0
	for i := range rows {
		rest := float64(s.Y[i])
		for j, w := range truth {
			rest -= float64(s.X[i*columns+j]) * float64(w) / math.Sqrt(columns)
		}
		sum += rest
		squares += rest * rest
	}
	mean, deviation := sum/rows, math.Sqrt(squares/rows)
	if math.Abs(mean) > 5*noise/math.Sqrt(rows) || math.Abs(deviation/noise-1) > 0.03 {
		t.Errorf("the noise has mean %v and deviation %v, want 0 and %v", mean, deviation, noise)
	}
}

// TestSynthSparse: different columns in rising order, rows of length 1, as many ones as
// zeros, and columns whose frequencies fall as Zipf's law says.
func TestSynthSparse(t *testing.T) {
	s, _ := mustLoad(t, Options{Path: "synth:rcv1:0.01", Seed: 1})
	ones := 0
	for i := range s.Rows {
		idx, squares := s.Idx[s.Ptr[i]:s.Ptr[i+1]], 0.0
		if len(idx) != 74 || idx[73] >= 47236 {
			t.Fatalf("row %d has %d columns, up to %d", i, len(idx), idx[len(idx)-1])
		}
		for k, v := range s.Val[s.Ptr[i]:s.Ptr[i+1]] {
			squares += float64(v) * float64(v)
			if k > 0 && idx[k] <= idx[k-1] || v <= 0 {
				t.Fatalf("row %d: column %d after %d, value %v", i, idx[k], idx[max(k-1, 0)], v)
			}
		}
		if math.Abs(squares-1) > 1e-5 {
			t.Fatalf("row %d has the length %v", i, math.Sqrt(squares))
		}
		ones += int(s.Y[i])
	}
	if share := float64(ones) / float64(s.Rows); share < 0.4 || share > 0.6 {
		t.Errorf("%v of the labels are 1", share)
	}
	// With b = 47.236 the share of draws at column j is close to 1/((b+j) ln 1001).
	for _, j := range []int{0, 100, 1000} {
		want := 1 - math.Exp(-74/((47.736+float64(j))*math.Log(1001)))
		if got := float64(s.Freq[j]); math.Abs(got-want) > 0.1*want+0.003 {
			t.Errorf("column %d occurs in %v of the rows, want %v", j, got, want)
		}
	}
}

// TestSynthMatrices: ratings have the stars, the mean and the skew that they should; the
// entries of a low rank have deviation 1, and lie everywhere.
func TestSynthMatrices(t *testing.T) {
	s, _ := mustLoad(t, Options{Path: "synth:netflix:0.01", Seed: 1})
	if g := s.Targets; g.Min != 1 || g.Max != 5 || math.Abs(float64(g.Mean)-3.6) > 0.1 ||
		math.Abs(float64(g.Deviation)-1.08) > 0.1 {
		t.Errorf("stars %+v", g)
	}
	for _, y := range s.Y {
		if y != float32(int(y)) {
			t.Fatalf("a rating of %v stars", y)
		}
	}
	films := slices.Max(s.Freq[:s.Shape[0]]) * float32(s.Shape[0])
	if films < 30 || films > 60 { // 0.23% of 17,770 films is 41 times the mean
		t.Errorf("the most rated film has %v times the ratings of the mean", films)
	}
	s, _ = mustLoad(t, Options{Path: "synth:lowrank:300x200x60000x3", Seed: 1})
	if g := s.Targets; math.Abs(float64(g.Mean)) > 0.1 || math.Abs(float64(g.Deviation)-1) > 0.15 {
		t.Errorf("entries %+v, want a deviation of 1", g)
	}
	if f := slices.Min(s.Freq); f < 100.0/60000 {
		t.Errorf("a row or column has only %v of the entries", f)
	}
}

// TestSynthErrors: one clear error for each wrong shape, and for a model that does not
// suit.
func TestSynthErrors(t *testing.T) {
	for _, c := range []struct{ path, task, want string }{
		{"synth:", "", "want synth:rcv1"}, {"synth:rvc1", "", "want synth:rcv1"}, {"synth:rcv1:0", "", "fraction"},
		{"synth:rcv1:1.5", "", "fraction"}, {"synth:rcv1:x", "", "fraction"}, {"synth:sparse", "", "whole number"},
		{"synth:sparse:10x10", "", "ROWSxCOLSxNNZ"}, {"synth:sparse:10x10x9", "", "half"},
		{"synth:dense:10x10x9", "", "ROWSxCOLS"},
		{"synth:dense:0x10", "", "whole number"}, {"synth:dense:1e99x10", "", "whole number"},
		{"synth:lowrank:5x5x5", "", "RANK"},
		{"synth:dense:2e9x2e9", "", "PiB"}, {"synth:rcv1:0.001", "triples", "matrix"},
		{"synth:netflix:0.001", "classes", "factor"},
		{"synth:dblife:0.1", "triples", "cut"}, {"synth:netflix:0.001", "edges", "factor"},
		{"synth:linear:10x3", "classes", "linear or l1"}, {"synth:linear:10x3", "triples", "labels"},
		{"synth:linear:10", "", "ROWSxCOLS"},
	} {
		_, _, err := Load(Options{Path: c.path, Task: c.task, Seed: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %q: error %v, want one with %q", c.path, c.task, err, c.want)
		}
	}
}

// TestWriteFile: what is written loads back to equal values.
func TestWriteFile(t *testing.T) {
	for _, c := range []struct{ path, ending, task, target string }{
		{"synth:sparse:200x50x7", ".libsvm", "", ""}, {"synth:dense:100x9", ".csv", "classes", ""},
		{"synth:dense:100x9", ".npy", "classes", "10"},
		{"synth:dense:100x9", ".svm", "", ""}, {"synth:linear:100x9", ".csv", "values", ""},
		{"synth:lowrank:20x30x500x3", ".csv", "triples", ""},
		{"synth:lowrank:20x30x500x3", ".npy", "triples", ""}, {"synth:dblife:0.001", ".csv", "edges", ""},
		{"synth:abdomen:1e-6", ".npy", "edges", ""},
	} {
		s, _ := mustLoad(t, Options{Path: c.path, Seed: 1})
		file := filepath.Join(t.TempDir(), "x"+c.ending)
		if err := WriteFile(t.Context(), file, s); err != nil {
			t.Errorf("%s to %s: %v", c.path, c.ending, err)
			continue
		}
		_, back := mustLoad(t, Options{Path: file, Test: file, Unjudged: true, Task: c.task, Target: c.target,
			Scale: "none", Seed: 1})
		equal := slices.Equal(s.Idx, back.Idx) && slices.Equal(s.Val, back.Val) && slices.Equal(s.X, back.X) &&
			slices.Equal(s.Y, back.Y)
		if s.Kind == Pairs {
			equal = slices.Equal(triplesOf(s), triplesOf(back))
		}
		if !equal || s.Rows != back.Rows || !slices.Equal(s.Classes, back.Classes) {
			t.Errorf("%s to %s: it loads to another set", c.path, c.ending)
		}
		if err := WriteFile(t.Context(), file+".xyz", s); err == nil {
			t.Errorf("%s to .xyz: no error", c.path)
		}
	}
}
