package data

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// Options say what Load reads, and how.
type Options struct {
	Path string // digits, digits:N, synth:NAME, a file, or a folder of IDX or .npy files
	Test string // the same; "" = the set's own test split, else a sixth is held out
	// Validation is a share of the training rows, such as "0.1", or a path; "" = no validation set.
	Validation string
	HoldOut    bool   // without Validation: a tenth of the training rows, where there are enough of them
	Format     string // auto, idx, libsvm, csv, npy, ratings; "" = auto
	Target     string // CSV and .npy: the column to predict, by name or 1-based number; "" = by the file
	Scale      string // auto, none, unit, standard or "MEAN,STD"; "" = auto
	Ignore     string // CSV: columns to leave out, by name or 1-based number, between commas
	Missing    string // CSV, of missing values: format.Fill (or ""), format.Drop or format.Refuse
	Limit      int    // the first rows of the training set; 0 = all
	Task       string // "classes", "values" (regression), "triples" (a matrix), "edges" (a graph), "" = decided by the file
	Seed       uint64 // of the digits, of the rows held out, of the shuffling

	MaxMemory int64 // bytes that reading and the sets may take; 0 = DefaultMemory

	Memory, TestMemory *Memory // the training and the test set, instead of files

	Unjudged bool // the test set is not used to judge a model: it may be the training set

	room    *format.Budget
	files   *format.Space // of a conversion
	lenient bool          // a file is only described: what is wrong is told in the notes
}

// Load is LoadSets of a training and a test set.
func Load(o Options) (train, test *Set, err error) {
	o.Validation, o.HoldOut = "", false
	s, err := LoadSets(o)
	return s.Train, s.Test, err
}

// LoadSets reads a training set, its validation set if there is to be one, and its test set
// into sealed segments. Scaling and classes come from the training rows. The training rows lie
// in an order drawn from the seed, the others in that of the file. What was decided on the
// way is in the Notes of each.
func LoadSets(o Options) (Sets, error) {
	rule, err := parseScale(o.Scale)
	if err != nil {
		return Sets{}, err
	}
	if !slices.Contains([]string{"", format.Fill, format.Drop, format.Refuse}, o.Missing) {
		return Sets{}, fmt.Errorf("data: missing %q: want fill, drop or error", o.Missing)
	}
	if o.Limit < 0 {
		return Sets{}, fmt.Errorf("data: a limit of %d rows: want 0 for all, or more", o.Limit)
	}
	o.room = format.NewBudget(o.MaxMemory)
	if o.room.Trains = true; o.files != nil {
		o.room = &format.Budget{Files: o.files}
	}
	path, readTest, err := o.locate()
	if err != nil {
		return Sets{}, err
	}
	s, err := o.loadSets(path, rule, readTest)
	if err == nil {
		if err = s.disjoint(o); err != nil {
			s.Close()
		}
	}
	return s, err
}

func (o Options) loadSets(path string, rule scaleRule, readTest func() (*source, error)) (s Sets, err error) {
	if o.Memory == nil && isSynth(path) {
		return o.loadSynth()
	}
	if o.Memory == nil && isCache(path) {
		return o.loadCache()
	}
	var src *source
	if o.Memory != nil {
		src = o.Memory.source(o.room)
	} else if src, err = read(path, o.room); err != nil {
		return Sets{}, err
	}
	if o.isPairs(src) {
		return o.loadPairs(src, readTest)
	}
	return o.loadRows(src, rule, readTest)
}

// loadRows makes the sets of a file of rows with labels.
func (o Options) loadRows(src *source, rule scaleRule, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	t, y, err := o.decodeTraining(src)
	if err != nil {
		return s, err
	}
	rows, held := allRows(t.Rows), []int32(nil)
	if readTest == nil {
		if rows, held, err = t.holdOut(o.Seed); err != nil {
			return s, err
		}
	}
	if o.Limit > 0 {
		rows = rows[:min(o.Limit, len(rows))]
	}
	all, apart := len(rows), []int32(nil)
	k, err := o.apart(all, false)
	if err != nil {
		return s, err
	}
	if k > 0 {
		rows, apart = t.setApart(rows, y, k, o.Seed)
	}
	t.fillHoles(rows)
	if err = t.fit(rule, rows); err != nil {
		return s, err
	}
	if readTest == nil {
		t.noteTwins(rows, held, y)
	}
	if s.Train, err = t.store(shuffled(rows, o.Seed, drawRows), y); err != nil {
		return s, err
	}
	t.Notes = nil // train has them
	if k > 0 {
		s.Validation, err = t.store(apart, y)
		s.noteApart(o, all)
	} else if o.Validation != "" {
		s.Validation, err = loadValidation(o, &s.Train.Meta)
	}
	if err != nil {
		return s, err
	}
	if readTest == nil {
		s.Test, err = t.store(held, y)
	} else if s.Test, err = loadTest(readTest, o, &s.Train.Meta); err == nil {
		s.Train.noteSingle("test", s.Test.Rows)
	}
	return s, err
}

// decodeTraining is all rows of the training file, and their targets.
func (o Options) decodeTraining(src *source) (*table, []float32, error) {
	t, err := decode(src, o, nil)
	if err != nil {
		return nil, nil, err
	}
	t.Name = o.Path
	if err := t.findClasses(o.Task); err != nil {
		return nil, nil, err
	}
	if len(t.Classes) == 1 {
		return nil, nil, fmt.Errorf("data: %s: every label is %s, so there is nothing to learn; name another column with --target, or another file", o.Path, human.Quote(t.Classes[0]))
	}
	if t.Classes == nil && len(t.label) > 1 && slices.Min(t.label) == slices.Max(t.label) {
		return nil, nil, fmt.Errorf("data: %s: every value of %s is %g: there is nothing to learn", o.Path, t.target, t.label[0])
	}
	y, err := t.targets(t.Classes)
	return t, y, err
}

// locate finds the two files and starts to read the test file at once: unpacking it
// takes as long as all the rest. A nil reading means that there is none.
func (o Options) locate() (train string, test func() (*source, error), err error) {
	if o.TestMemory != nil {
		return o.Path, func() (*source, error) { return o.TestMemory.source(o.room), nil }, nil
	}
	train, beside := o.Path, ""
	if o.Memory == nil {
		train, beside, err = locate(o.Path)
	}
	if err != nil {
		return "", nil, err
	}
	if train == "" {
		return "", nil, fmt.Errorf("data: %s has a test set but no training set", o.Path)
	}
	if o.Test == format.StdinName && o.Path == format.StdinName {
		return "", nil, fmt.Errorf("data: training and test data both come from standard input (-): name a file for one of them")
	}
	if _, share, err := ValidationShare(o.Validation); !share && o.Validation != "" && err == nil {
		if _, err = evaluationPath(o.Validation); err != nil { // before anything is read
			return "", nil, err
		}
	}
	if o.Test != "" {
		if beside, err = evaluationPath(o.Test); err != nil {
			return "", nil, err
		}
	}
	if beside == "" {
		return train, nil, nil
	}
	test = sync.OnceValues(func() (*source, error) { return read(beside, o.room) })
	if o.files == nil {
		go test()
	}
	return train, test, nil
}

// evaluationPath is the file that is meant by a path of rows to evaluate: of a folder the
// test part, if there is one. A file is what it is, whatever lies beside it.
func evaluationPath(path string) (string, error) {
	first, second, err := locate(path)
	if first == path {
		second = first
	}
	return cmp.Or(second, first), err
}

func loadTest(read func() (*source, error), o Options, like *Meta) (*Set, error) {
	src, err := read()
	if err != nil {
		return nil, err
	}
	s, err := loadLike(src, o, like)
	if err != nil && o.Test == "" && o.TestMemory == nil {
		err = fmt.Errorf("%w (taken as the test set of %s; name another with --test)", err, o.Path)
	}
	return s, err
}

// LoadLike reads other data exactly as like was read: the same features, classes
// and scaling. Of a folder and of the digits it reads the test part, if there is
// one. Digits are those of seed 1 unless the path says another: digits:60000:7.
func LoadLike(path, format, target string, like Meta) (*Set, error) {
	return Options{Format: format, Target: target}.likewise(path, &like)
}

// likewise is LoadLike of a path, in the format, and with the target, of o.
func (o Options) likewise(path string, like *Meta) (*Set, error) {
	if isSynth(path) {
		return makeTest(o.room, path, like)
	}
	part, err := evaluationPath(path)
	if err != nil {
		return nil, err
	}
	if o.room == nil {
		o.room = format.NewBudget(0)
	}
	src, err := read(part, o.room)
	if err != nil {
		return nil, err
	}
	o.Seed = cmp.Or(like.Seed, 1)
	return loadLike(src, o, like)
}

func loadLike(src *source, o Options, like *Meta) (*Set, error) {
	if src.cached {
		return cachedLike(src.Path, like)
	}
	if like.Kind == Pairs {
		return loadPairsLike(src, like)
	}
	t, err := decode(src, o, like)
	if err != nil {
		return nil, err
	}
	if t.Features != like.Features {
		return nil, otherFeatures(src.Source, t.Features, like)
	}
	y, err := t.targets(like.Classes)
	if err != nil {
		return nil, err
	}
	t.Classes, t.Scale, t.Mul, t.Add = like.Classes, like.Scale, like.Mul, like.Add
	return t.store(allRows(t.Rows), y)
}

func otherFeatures(src *format.Source, n int, like *Meta) error {
	return src.Errorf("%s per row; the model was trained on %s", human.Plural(n, "feature"), count(like.Features))
}

// Describe says what a file holds, without making a set of it: inputs are counted
// as the file has them, not scaled. What makes it useless for training is a problem among its notes. It uses
// Format, Target, Ignore and Missing.
func Describe(o Options) (Meta, error) {
	path := o.Path
	if isSynth(path) {
		_, m, err := describeSynth(path, 1)
		return m, err
	}
	train, test, err := locate(path)
	if err != nil {
		return Meta{}, err
	}
	if isCache(path) {
		return describeCache(path)
	}
	o.Seed, o.lenient = 1, true
	src, err := read(cmp.Or(train, test), format.NewBudget(0))
	if err != nil {
		return Meta{}, err
	}
	if o.isPairs(src) {
		return describePairs(src, false)
	}
	t, err := decode(src, o, nil)
	if err != nil {
		return Meta{}, err
	}
	if err := t.findClasses(""); err != nil {
		t.notef("problem: %s", strings.TrimPrefix(err.Error(), "data: "))
	}
	t.fillHoles(allRows(t.Rows))
	t.Name, t.Scale = path, "auto"
	t.each(allRows(t.Rows), func(_ int, v float64) {
		if v != 0 {
			t.Nonzeros++
		}
	})
	if test != "" && test != train {
		t.notef("test set: %s", test)
	}
	return t.Meta, nil
}
