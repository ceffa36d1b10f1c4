package data

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/human"
)

// Load loads a training and a test set: see LoadSets.
func Load(o Options) (train, test *Set, err error) {
	o.Validation, o.HoldOut = "", false
	s, err := LoadSets(o)
	return s.Train, s.Test, err
}

// LoadSets reads a training set, its validation set if there is to be one, and its test set
// into sealed segments. Scaling and classes come from the training rows. The training rows lie
// in an order drawn from the seed, the others in the file's. What was decided on the
// way is in the Notes of each.
func LoadSets(o Options) (Sets, error) {
	rule, err := parseScale(o.Scale)
	if err != nil {
		return Sets{}, err
	}
	if !slices.Contains([]string{"", format.Fill, format.Drop, format.Refuse}, o.Missing) {
		return Sets{}, fmt.Errorf("data: missing %q: want fill, drop or error", o.Missing)
	}
	if o.Task == text.Words || o.Task == text.Labels {
		if o.Text == nil || o.Memory != nil {
			return Sets{}, errors.New("data: text is read from files, and as Options.Text says")
		}
		if o.Scale != "" && o.Scale != "auto" && o.Scale != "none" {
			return Sets{}, fmt.Errorf("data: scale %s: text has no numbers to be scaled: leave scale out", o.Scale)
		}
	}
	if o.Format == "lists" && o.Task == "" {
		o.Task = likesTask
	}
	if o.Limit < 0 {
		return Sets{}, fmt.Errorf("data: a limit of %d rows: want 0 for all, or more", o.Limit)
	}
	o.budget = format.NewBudget(o.MaxMemory)
	if o.budget.Trains = true; o.files != nil {
		o.budget = &format.Budget{Files: o.files}
	}
	defer o.budget.LetGo()
	path, test, err := o.locate()
	if err != nil {
		return Sets{}, err
	}
	s, err := o.loadSets(path, rule, test)
	if err == nil {
		defer s.closeOn(&err)
		if s.Train, err = gridded(s.Train, gridOf(s.Train, &o), o.budget); err != nil {
			return s, err
		}
		if o.Test == None && o.TestMemory == nil {
			err = s.testOnTraining("test none")
		} else {
			err = s.disjoint(o)
		}
	}
	return s, err
}

func (o Options) loadSets(path string, rule scaleRule, test string) (s Sets, err error) {
	switch {
	case o.Memory == nil && isSynth(path):
		return o.loadSynth()
	case o.Memory == nil && isCache(path):
		return o.loadCache()
	case o.Task == text.Words:
		return o.loadWords(path, test)
	}
	var src *source
	readTest := o.reading(test)
	if o.Memory != nil {
		src = o.Memory.source(o.budget)
	} else if src, err = read(path, o.budget); err != nil {
		return Sets{}, err
	}
	if o.Task == text.Labels {
		return o.loadLabelled(src, readTest)
	}
	if o.Task == factsTask && src.Text != nil {
		return o.loadFacts(src, readTest)
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
	readTest = o.tested(readTest, &t.Meta)
	rows, held, apart, err := o.divide(t, y, readTest != nil || o.Test == None)
	if err != nil {
		return s, err
	}
	t.fillHoles(rows)
	if err = t.fit(rule, func() []spread { return t.spreads(rows) }); err != nil {
		return s, err
	}
	if held != nil {
		t.noteTwins(rows, held, y)
	}
	if s.Train, err = t.store(shuffled(rows, o.Seed, drawRows), y); err != nil {
		return s, err
	}
	t.Notes, t.weight = nil, nil // train has them
	if apart != nil {
		s.Validation, err = t.store(apart, y)
		s.noteApart(o, len(rows)+len(apart))
	} else if o.Validation != "" {
		s.Validation, err = o.loadValidation(&s.Train.Meta)
	}
	if err != nil {
		return s, err
	}
	if held != nil {
		s.Test, err = t.store(held, y)
	} else if readTest != nil {
		err = s.loadTest(readTest, o)
	}
	return s, err
}

// decodeTraining returns all rows of the training file, and their targets.
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
		return nil, nil, fmt.Errorf("data: %s: every label is %s, so there is nothing to learn; name another column "+
			"with --target, or another file", o.Path, human.Quote(t.Classes[0]))
	}
	if t.Classes == nil && len(t.label) > 1 && slices.Min(t.label) == slices.Max(t.label) {
		return nil, nil, fmt.Errorf("data: %s: every value of %s is %g: there is nothing to learn", o.Path,
			t.target, t.label[0])
	}
	y, err := t.targets(t.Classes)
	return t, y, err
}

// locate finds the two files; test is "" if there is none.
func (o Options) locate() (train, test string, err error) {
	if o.TestMemory != nil {
		return o.Path, "", nil
	}
	if train = o.Path; o.Memory == nil {
		train, test, err = locate(o.Path)
	}
	if err != nil {
		return "", "", err
	}
	if train == "" {
		return "", "", fmt.Errorf("data: %s has a test set but no training set", o.Path)
	}
	if o.Test == format.StdinName && o.Path == format.StdinName {
		return "", "", fmt.Errorf("data: training and test data both come from standard input (-): name a file for " +
			"one of them")
	}
	if _, share, err := ValidationShare(o.Validation); !share && o.Validation != "" && err == nil {
		if _, err = evaluationPath(o.Validation); err != nil { // before anything is read
			return "", "", err
		}
	}
	switch o.Test {
	case "":
	case None:
		test = ""
	default:
		test, err = evaluationPath(o.Test)
	}
	return train, test, err
}

// reading starts to read the test file at once: unpacking it takes as long as all the rest. A nil reading means that
// there is none.
func (o Options) reading(path string) func() (*source, error) {
	switch {
	case o.TestMemory != nil:
		return func() (*source, error) { return o.TestMemory.source(o.budget), nil }
	case path == "":
		return nil
	}
	test := sync.OnceValues(func() (*source, error) { return read(path, o.budget) })
	if o.files == nil {
		go test()
	}
	return test
}

// Describe says what a file holds, without making a set of it: inputs are counted
// as the file has them, not scaled. What makes it useless for training is a problem among its notes. It uses
// Format, Target, Ignore, Missing, Columns, Positive and Task.
func Describe(o Options) (m Meta, err error) {
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
	o.Task = looksLike(&o, src)
	if o.Task == factsTask && src.Text != nil {
		m, err = describeFacts(o.Path, src, test)
	} else if kind := o.kindOfText(src); kind != "" {
		m, err = o.describeText(src, cmp.Or(train, test), kind)
	} else if o.isPairs(src) {
		m, err = o.describePairs(src)
	} else {
		m, err = o.describeRows(src)
	}
	if err == nil && test != "" && test != train {
		beside := func() (*source, error) { return read(test, format.NewBudget(0)) }
		if o.tested(beside, &m) != nil {
			m.notef("test set: %s", test)
		}
	}
	return m, err
}

// describeRows says what a file of rows with labels holds.
func (o Options) describeRows(src *source) (Meta, error) {
	t, err := decode(src, o, nil)
	if err != nil {
		return Meta{}, err
	}
	if err := t.findClasses(o.Task); err != nil {
		t.notef("problem: %s", strings.TrimPrefix(err.Error(), "data: "))
	}
	t.fillHoles(allRows(t.Rows))
	t.Name, t.Scale = o.Path, "auto"
	t.each(allRows(t.Rows), func(_ int, v float64) {
		if v != 0 {
			t.Nonzeros++
		}
	})
	return t.Meta, nil
}

// loadCache opens the sets of a cache, and reads others in their place that were asked for.
func (o Options) loadCache() (s Sets, err error) {
	defer s.closeOn(&err)
	check := (*cache).trust
	if o.own {
		check = func(*cache) error { return nil }
	}
	c, done, err := openCache(o.Path, check)
	if err != nil {
		return s, err
	}
	defer done()
	if err = c.refuse(&o); err != nil {
		return s, err
	}
	if s.Train, err = c.part(trainPart); err != nil {
		return s, err
	}
	if err = checkTask(s.Train, o.Task, o.Path); err != nil {
		return s, err
	}
	s.Train.Name = o.Path
	o.train = s.Train
	if s.Train.Text != nil {
		s.Train.Text.Vocabulary = s.Train.Vocabulary()
	}
	apart := c.find(validationPart)
	if _, share, _ := ValidationShare(c.Made.Validation); share && apart != nil && o.HoldOut && o.Validation == "" {
		o.Validation = c.Made.Validation
	}
	switch {
	case o.Validation == "" && apart != nil:
		s.Train.notef("the validation rows of %s are not used; --validation %s uses them", o.Path, c.Made.Validation)
	case o.Validation != "" && o.Validation == c.Made.Validation:
		if s.Validation, err = c.part(validationPart); err != nil {
			return s, err
		}
		if _, share, _ := ValidationShare(o.Validation); share {
			s.noteApart(o, s.Train.Rows+s.Validation.Rows)
		}
	case o.Validation != "":
		s.Validation, err = o.loadValidation(&s.Train.Meta)
	}
	if err != nil {
		return s, err
	}
	switch o.Test {
	case None:
	case "", c.Made.Test:
		s.Test, err = c.part(testPart)
	default:
		s.Test, err = o.loadPath(o.Test, &s.Train.Meta)
	}
	if err == nil {
		err = s.applyTextOptions(o)
	}
	return s, err
}

// loadSynth makes the training rows, those for validation, and the test rows.
func (o Options) loadSynth() (s Sets, err error) {
	defer s.closeOn(&err)
	k, m, err := describeSynth(o.Path, o.Seed)
	if err != nil {
		return s, err
	}
	if err := o.suits(m); err != nil {
		return s, err
	}
	if o.Task == "values" {
		m.Classes = nil
	}
	rows := m.Rows
	if o.Limit > 0 {
		rows = min(rows, o.Limit)
	}
	if err := takeSynth(o.budget, k, m, rows+k.tests()); err != nil {
		return s, err
	}
	apart, err := o.apart(rows, m.Graph())
	if err != nil {
		return s, err
	}
	m.Rows = rows - apart
	if s.Train, err = k.make(o.budget.Uncounted(), m, forRows, o.Seed); err != nil {
		return s, err
	}
	if apart > 0 {
		m.Rows = apart
		s.Validation, err = k.make(o.budget.Uncounted(), m, forValidation, o.Seed)
		s.noteApart(o, rows)
	} else if o.Validation != "" {
		s.Validation, err = o.loadPath(o.Validation, &s.Train.Meta)
	}
	if err != nil {
		return s, err
	}
	switch {
	case o.Test == None:
	case o.Test != "":
		s.Test, err = o.loadPath(o.Test, &s.Train.Meta)
	case k.tests() == 0:
		s.Test, err = s.Train.again()
	default:
		m.Rows = k.tests()
		s.Test, err = k.make(o.budget.Uncounted(), m, forTest, o.Seed)
	}
	return s, err
}
