package data

import (
	"fmt"
	"os"
	"path/filepath"

	"hogwild/hogwild/data/format"
)

// loadFacts makes the sets of a knowledge graph: a sixth is the test set unless there is a file of it.
func (o Options) loadFacts(src *source, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	g := newGraph()
	f, err := g.read(src, true)
	if err != nil {
		return s, err
	}
	_, share, err := ValidationShare(o.Validation)
	other := func(read func() (*source, error)) (src *source, facts *facts, err error) {
		if src, err = read(); err == nil && !src.cached {
			facts, err = g.read(src, false)
		}
		return src, facts, err
	}
	var given, tested *source // files of validation and of test facts
	var validation, test *facts
	if err == nil && o.Validation != "" && !share {
		given, validation, err = other(func() (*source, error) { return readValidation(&o) })
	}
	if err == nil && readTest != nil {
		tested, test, err = other(readTest)
	}
	if err != nil {
		return s, err
	}
	g.finish(o.Path, f, validation, test)
	var held, apart *facts
	if readTest == nil && o.Test != None {
		held = f.moveOut(o.Seed, drawHoldOut, func(x uint64) bool { return x%6 == 0 })
		f.meta.notef("held out %s of %s facts (a sixth) as the test set", count(held.meta.Rows),
			count(f.meta.Rows+held.meta.Rows))
	}
	if f.meta.Rows == 0 {
		return s, fmt.Errorf("data: %s has one fact: too few to hold out a test set; name one with --test", o.Path)
	}
	if o.Limit > 0 {
		f.meta.Rows = min(o.Limit, f.meta.Rows)
		f.idx = f.idx[:3*f.meta.Rows]
	}
	all := f.meta.Rows
	k, err := o.apart(all, false)
	if err != nil {
		return s, err
	}
	if k > 0 {
		share := float64(k) / float64(all)
		apart = f.moveOut(o.Seed, drawValidation, func(x uint64) bool { return float64(x>>11)/(1<<53) < share })
	}
	if s.Train, err = f.store(true, o.Seed); err != nil {
		return s, err
	}
	switch like := &s.Train.Meta; {
	case k > 0:
		s.Validation, err = apart.store(false, 0)
		s.noteApart(o, all)
	case validation != nil:
		s.Validation, err = validation.like(like, g)
	case given != nil:
		s.Validation, err = loadSource(given, o, like)
	}
	switch like := &s.Train.Meta; {
	case err != nil:
	case test != nil:
		s.Test, err = test.like(like, g)
		err = s.noteTest(err, o)
	case tested != nil:
		s.Test, err = loadSource(tested, o, like)
		err = s.noteTest(err, o)
	case held != nil:
		s.Test, err = held.store(false, 0)
	}
	return s, err
}

// ValidationOf returns what the settings say of the validation set. Of a knowledge graph about which nothing is said it
// is the folder's file of validation facts, or what a cache has of them, if there are any: rankings leave them out.
func ValidationOf(task, asked, path string) string {
	switch {
	case task != factsTask || asked != "":
		return asked
	case isCache(path):
		return validationIn(path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return ""
	}
	return format.Existing(filepath.Join(path, "valid.txt"), filepath.Join(path, "valid2id.txt"))
}

// validationIn returns the validation set that a cache was made with. A damaged cache is refused when it is loaded.
func validationIn(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	c, err := readCache(f)
	if err != nil || c.find(validationPart) == nil {
		return ""
	}
	return c.Made.Validation
}
