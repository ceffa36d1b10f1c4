package data

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hogwild/hogwild/data/format"
)

// KeptVariable names a folder in the environment: see LoadKept. Who sets it removes the folder.
const KeptVariable = "HOGWILD_KEPT"

// LoadKept loads sets as LoadSets does. The first process that reads them leaves a cache of them in the folder, which
// those with equal Options map. They get what reading gives, to the bit; where that is not certain the data are read.
// A folder that is "" holds nothing.
func LoadKept(o Options, folder string) (Sets, error) {
	piped := slices.Contains([]string{o.Path, o.Test, o.Validation}, format.StdinName)
	if folder == "" || o.Memory != nil || o.TestMemory != nil || o.HoldOut || piped || isSynth(o.Path) ||
		isCache(o.Path) {
		return LoadSets(o)
	}
	made := o
	made.Grid, made.Apart, made.MaxMemory, made.Unjudged = 0, 0, 0, false // of what is made of the rows afterwards
	text, err := json.Marshal(made)
	if err != nil {
		return LoadSets(o)
	}
	mapped := o
	mapped.own, mapped.Path = true, filepath.Join(folder, fmt.Sprintf("%x.hog", sha256.Sum256(text)))
	if _, err := os.Stat(mapped.Path); err != nil {
		made.own = true
		_, err := Convert(context.Background(), made, mapped.Path, func(*Meta) error { return nil },
			func(string, int, int) {})
		if err != nil { // there is no room, or another process is at it; a fault of the data is said by who reads them
			return LoadSets(o)
		}
	}
	s, err := LoadSets(mapped)
	if err != nil {
		return LoadSets(o)
	}
	size := 0
	for _, set := range []*Set{s.Train, s.Validation, s.Test} {
		if set != nil {
			size += set.size()
		}
	}
	// Reading may find no room, or none to sort entries; large sets of a file are not sorted.
	if s.Train.Streams() || format.NewBudget(o.MaxMemory).Take(o.Path, 4*int64(size), "") != nil {
		s.Close()
		return LoadSets(o)
	}
	s.Train.Name = o.Path
	return s, nil
}
