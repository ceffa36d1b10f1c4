package data

import (
	"fmt"
	"os"
	"path/filepath"

	"hogwild/hogwild/data/format"
)

// loadFacts makes the sets of a knowledge graph: a sixth is the test set unless there is a file of it.
func (o Options) loadFacts(src *source, readTest func() (*source, error), test string) (s Sets, err error) {
	defer s.closeOn(&err)
	var others []string
	_, share, err := ValidationShare(o.Validation)
	for _, path := range []string{o.Validation, test} {
		if path != "" && path != None && (path != o.Validation || !share) && !isCache(path) {
			others = append(others, path)
		}
	}
	if err != nil {
		return s, err
	}
	f, err := readFacts(src, o.Path, others)
	if err != nil {
		return s, err
	}
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
	like := &s.Train.Meta
	switch {
	case k > 0:
		s.Validation, err = apart.store(false, 0)
		s.noteApart(o, all)
	case o.Validation != "":
		s.Validation, err = o.loadValidation(like)
	}
	switch {
	case err != nil:
	case readTest != nil:
		err = s.loadTest(readTest, o)
	case held != nil:
		s.Test, err = held.store(false, 0)
	}
	return s, err
}

// ValidationOf returns what the settings say of the validation set. Of a knowledge graph of which nothing is said it is
// the folder's file of validation facts, or what a cache has of them, if there are any: rankings leave them out.
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

// validationIn returns of which validation set a cache was made. A damaged cache is refused when it is loaded.
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
