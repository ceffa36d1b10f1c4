package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// Synthetic data has the shape, the sparsity and the skew of the sets that sets are compared
// by, at any size, and a planted truth under noise. Each row is a function of the seed
// and of its number alone, and is made where the set wants it, by all cores. It is the same
// on every processor: see pen.
//
//	synth:rcv1      781,265 x 47,236, 74 non-zero values a row, two classes; test 23,149
//	synth:netflix   17,770 x 480,189, 100,198,805 ratings from 1 to 5
//	synth:jumbo     10,000,000 x 10,000,000, rank 10, 2,000,000,000 entries
//	synth:dblife    18,167 entities and 180,110 mentions of them, to be cut into 10
//	synth:abdomen   512 x 512 x 551 voxels, 6 neighbours each, capacities up to 10, to be cut in two
//
// The sizes are from Niu, Recht, Re, Wright: Hogwild!, 2011 (arXiv 1106.5730, section 7). (There a
// mention has a simplex with a corner for each entity; here entities are of ten kinds,
// the first ten of them the terminals, which takes 8 MB and not 13 GB.) A fraction
// behind the name, synth:rcv1:0.1, makes fewer rows; rows and columns of matrices, and
// voxels, become fewer as well.
//
//	synth:sparse:ROWSxCOLSxNNZ                  as rcv1, with columns numbered in any order, as hashed ones are
//	synth:ranked:ROWSxCOLSxNNZ                  the same with columns numbered by how frequent they are, as rcv1's
//	synth:dense:ROWSxCOLS                       two classes
//	synth:linear:ROWSxCOLS                      a value, linear in the columns, under noise
//	synth:lowrank:ROWSxCOLSxENTRIESxRANK        as jumbo

// maker makes one kind of data: it says what the training rows will be, without
// making them, and makes rows for one use: forRows, forValidation or forTest.
type maker interface {
	meta() Meta // Rows, Features, Nonzeros, Kind, Shape, Classes
	tests() int // rows for testing; 0: the training rows are tested on
	make(budget *format.Budget, m Meta, use, seed uint64) (*Set, error)
}

var errSynth = errors.New("want synth:rcv1, netflix, jumbo, dblife or abdomen, optionally with a fraction " +
	"(synth:rcv1:0.1), " +
	"or synth:sparse:ROWSxCOLSxNNZ, synth:ranked:ROWSxCOLSxNNZ, synth:dense:ROWSxCOLS, synth:linear:ROWSxCOLS, " +
	"synth:lowrank:ROWSxCOLSxENTRIESxRANK")

// parseSynth reads the name of synthetic data.
func parseSynth(path string) (maker, error) {
	kind, size, sized := strings.Cut(strings.TrimPrefix(path, synthPrefix), ":")
	if slices.Contains([]string{"sparse", "ranked", "dense", "linear", "lowrank"}, kind) {
		return parseShape(path, kind, size)
	}
	f := 1.0
	if sized {
		var err error
		if f, err = strconv.ParseFloat(size, 64); err != nil || !(f > 0 && f <= 1) {
			return nil, fmt.Errorf("data: %q: the fraction must be a number above 0, at most 1", path)
		}
	}
	// of, along each of d dimensions of a set of n
	of := func(n, d float64) int { return max(2, int(math.Round(n*math.Pow(f, 1/d)))) }
	switch kind {
	case "rcv1":
		return sparseMaker{rows: of(781265, 1), columns: 47236, nonzeros: 74, test: of(23149, 1), ranked: true}, nil
	case "netflix":
		return matrixMaker{rows: of(17770, 2), columns: of(480189, 2), entries: of(100198805, 1), rank: 10,
			ratings: true}, nil
	case "jumbo":
		return matrixMaker{rows: of(1e7, 1), columns: of(1e7, 1), entries: of(2e9, 1), rank: 10}, nil
	case "dblife":
		return mentionMaker{entities: max(20, of(18167, 1)), mentions: of(180110, 1)}, nil
	case "abdomen":
		return gridMaker{of(512, 3), of(512, 3), of(551, 3)}, nil
	}
	return nil, fmt.Errorf("data: %q: %w", path, errSynth)
}

// parseShape reads ROWSxCOLS and what follows.
func parseShape(path, kind, size string) (maker, error) {
	var n []int
	for _, text := range strings.Split(size, "x") {
		v, err := strconv.ParseFloat(text, 64) // 5e7 is a number too
		if err != nil || v < 1 || v > math.MaxInt32 || v != math.Trunc(v) {
			return nil, fmt.Errorf("data: %q: %q is not a whole number from 1 to 2,147,483,647; %w", path,
				text, errSynth)
		}
		n = append(n, int(v))
	}
	switch {
	case (kind == "sparse" || kind == "ranked") && len(n) == 3:
		if n[2] > (n[1]+1)/2 || n[1] > format.MaxIndex {
			return nil, fmt.Errorf("data: %q: at most half of the columns of a row can be non-zero, and at most %s "+
				"columns", path, count(format.MaxIndex))
		}
		return sparseMaker{n[0], n[1], n[2], sixth(n[0]), kind == "ranked"}, nil
	case kind == "dense" && len(n) == 2:
		return denseMaker{rows: n[0], columns: n[1]}, nil
	case kind == "linear" && len(n) == 2:
		return denseMaker{rows: n[0], columns: n[1], values: true}, nil
	case kind == "lowrank" && len(n) == 4:
		return matrixMaker{rows: n[0], columns: n[1], entries: n[2], rank: n[3]}, nil
	}
	return nil, fmt.Errorf("data: %q: %w", path, errSynth)
}

// describeSynth returns the Meta of synthetic data, which need not be made for it.
func describeSynth(path string, seed uint64) (maker, Meta, error) {
	k, err := parseSynth(path)
	if err != nil {
		return nil, Meta{}, err
	}
	m := k.meta()
	if err := format.Countable(path, m.Rows, m.Features); err != nil {
		return nil, Meta{}, err
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s %+v %d", path, k, seed)))
	m.Name, m.Format, m.Scale, m.Seed, m.Checksum = path, "synth", "none", seed, hex.EncodeToString(sum[:])
	return k, m, nil
}

// suits refuses what synthetic data are not.
func (o Options) suits(m Meta) error {
	is, want := m.task(), map[string]string{"triples": "a matrix", "edges": "a graph"}[o.Task]
	switch {
	case o.Scale != "" && o.Scale != "auto" && o.Scale != "none":
		return fmt.Errorf("data: scale %s: %s is generated at its final scale; leave --scale out", o.Scale, o.Path)
	case o.Task == "" || o.Task == is || want == "" && is == "classes":
		return nil
	case is == "values" && want == "":
		return fmt.Errorf("data: %s has numbers to predict, not classes: use --model linear or l1", o.Path)
	case is == "classes" || is == "values":
		return fmt.Errorf("data: %s has rows with labels, and the model takes %s: synth:netflix is a matrix, "+
			"synth:dblife a graph", o.Path, want)
	case is == "edges":
		return fmt.Errorf("data: %s is a graph: use --model cut", o.Path)
	}
	return fmt.Errorf("data: %s is a sparse matrix: use --model factor:32", o.Path)
}

// takeSynth counts the memory of rows of synthetic data, and of what they are made from.
func takeSynth(b *format.Budget, k maker, m Meta, rows int) error {
	perRow := 8.0 // y and m
	switch m.Kind {
	case Pairs:
		perRow = 12
	case Floats:
		perRow += 4 * float64(m.Features)
	case Sparse:
		perRow += 8 + 8*float64(m.Nonzeros)/float64(m.Rows)
	}
	perFeature := 28.0 // frequency and mean; to count; the truth and the rarity
	if matrix, ok := k.(matrixMaker); ok {
		perFeature += 4 * float64(matrix.rank+2)
	}
	need := float64(m.Features) * perFeature
	if b.Space() != nil { // rows go to files; what they are made from does not
		if limit := format.DefaultMemory(); need > float64(limit) {
			return fmt.Errorf("data: %s: what its rows are made from needs %s, and the limit is %s (three quarters "+
				"of the free memory): choose fewer rows and columns",
				m.Name, human.Bytes(int64(min(need, math.MaxInt64/2))), human.Bytes(limit))
		}
		return nil
	}
	need += float64(rows) * perRow
	return b.Take(m.Name, int64(min(need, math.MaxInt64/2)),
		fmt.Sprintf("%s rows (a fraction of it needs less)", count(rows)))
}

// makeTest makes the test rows of synthetic data, as the seed of like has them.
func makeTest(budget *format.Budget, path string, like *Meta) (*Set, error) {
	seed := max(like.Seed, 1)
	k, m, err := describeSynth(path, seed)
	if err != nil {
		return nil, err
	}
	if m.Kind != like.Kind || m.Features != like.Features {
		return nil, fmt.Errorf("data: %s has %s features (%s), the training data %s (%s)", path, count(m.Features),
			m.Kind, count(like.Features), like.Kind)
	}
	m.Classes = like.Classes
	if k.tests() > 0 {
		m.Rows = k.tests()
	}
	if budget == nil {
		budget = format.NewBudget(0)
	}
	if err := takeSynth(budget, k, m, m.Rows); err != nil {
		return nil, err
	}
	return k.make(budget.Uncounted(), m, forTest, seed)
}
