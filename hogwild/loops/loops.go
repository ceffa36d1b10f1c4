// Package loops knows which loops in assembly do not work on this processor, and has plain Go replace them.
//
//	check.go  the check, in a child process
//	loops.go  what an earlier check has found, kept in the user's cache folder
package loops

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/self"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// Ready comes before anything that computes. It returns what would keep every run on
// this machine from starting, and has the loops as this processor needs them.
func Ready() error {
	if err := errors.Join(model.RegisterError(), vec.EnvironmentError()); err != nil {
		return config.Usage("%w", err)
	}
	if err := shm.Check(); err != nil {
		return config.Usage("%w", err)
	}
	if _, err := self.Path(); err != nil {
		return config.Usage("%w", err)
	}
	Known()
	return nil
}

// Known returns what an earlier check has found wrong with this build's loops on this processor, by their names. When
// it is first called it has plain Go replace these, so it is called before anything that computes.
var Known = sync.OnceValue(Read)

// Read is Known that looks into the cache folder each time.
func Read() map[string]string {
	var faulty map[string]string
	text, err := os.ReadFile(file())
	if err != nil || json.Unmarshal(text, &faulty) != nil {
		return nil
	}
	Replace(faulty)
	return faulty
}

// Replace has plain Go replace these loops too.
func Replace(faulty map[string]string) {
	_ = vec.SwitchOff(slices.AppendSeq(vec.Off(), maps.Keys(faulty))...) // all are loops: the file is of this build
}

// file is where faults are kept; "" when there is no cache folder. Archives give all their builds one time.
func file() string {
	dir, err := os.UserCacheDir()
	path, err2 := self.Path()
	info, err3 := os.Stat(path)
	if errors.Join(err, err2, err3) != nil {
		return ""
	}
	build := fmt.Sprint(rundir.ThisMachine().CPU, vec.BestSet(), config.Version, rundir.Commit(),
		info.ModTime().UnixNano(), info.Size())
	return filepath.Join(dir, "hogwild", fmt.Sprintf("loops-%x.json", sha256.Sum256([]byte(build))))
}

// Keep keeps the faults for later runs, as far as that is possible.
func Keep(faulty map[string]string) {
	file := file()
	if len(faulty) == 0 {
		_ = os.Remove(file) // there is none, as a rule
		return
	}
	text, err := json.MarshalIndent(faulty, "", "  ")
	if err != nil {
		panic(err) // strings can be written
	}
	if os.MkdirAll(filepath.Dir(file), 0o755) == nil {
		_ = atomicfile.Write(file, append(text, '\n'))
	}
}

// Notes says to people which loops are wrong, in a line; nothing when none is.
func Notes(faulty map[string]string) []string {
	var all []string
	for _, l := range vec.Loops() {
		if what, ok := faulty[l.String()]; ok {
			all = append(all, fmt.Sprintf("%v (%s)", l, what))
		}
	}
	if all == nil {
		return nil
	}
	return []string{"these assembly loops do not work on this processor; plain Go replaces them, slower: " +
		strings.Join(all, ", ")}
}
