package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
	"hogwild/internal/atomicfile"
	"hogwild/internal/self"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// The program checks its loops in assembly against their references in plain Go when the doctor asks for it, and when a
// worker died in one: starting a run takes no check. It runs in a child process, since a loop with an instruction that the
// processor lacks ends the process that runs it; the child names each loop before it runs it. Only a trap or a wrong
// number is held against a loop. What is wrong is kept in the user's cache folder, in a file for each build and kind of
// processor, and all later runs obey it.

// checkLoop is vec's; a test replaces it.
var checkLoop = vec.Loop.Check

// checkTime is how long a check may take. It takes milliseconds, but the machine may be busy.
var checkTime = 30 * time.Second

// KnownFaults is what an earlier check has found wrong with this build's loops on this processor, by their names. When it is first
// asked it has plain Go replace these, so it is asked before anything that computes.
func KnownFaults() map[string]string { return knownFaults() }

var knownFaults = sync.OnceValue(readFaults)

func readFaults() map[string]string {
	var faulty map[string]string
	text, err := os.ReadFile(faultsFile())
	if err != nil || json.Unmarshal(text, &faulty) != nil {
		return nil
	}
	replaceLoops(faulty)
	return faulty
}

// replaceLoops has plain Go replace these loops too.
func replaceLoops(faulty map[string]string) {
	_ = vec.SwitchOff(slices.AppendSeq(vec.Off(), maps.Keys(faulty))...) // all are loops: the file is of this build
}

// faultsFile is where faults are kept; "" when there is no cache folder. Archives give all their builds one time.
func faultsFile() string {
	dir, err := os.UserCacheDir()
	path, err2 := self.Path()
	info, err3 := os.Stat(path)
	if errors.Join(err, err2, err3) != nil {
		return ""
	}
	build := fmt.Sprint(rundir.ThisMachine().CPU, vec.BestSet(), config.Version, rundir.Commit(), info.ModTime().UnixNano(), info.Size())
	return filepath.Join(dir, "hogwild", fmt.Sprintf("loops-%x.json", sha256.Sum256([]byte(build))))
}

// keepFaults keeps them for later runs, as far as that is possible.
func keepFaults(faulty map[string]string) {
	file := faultsFile()
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

// CheckLoops checks all loops, keeps what is wrong with them for later runs, and returns it by their names. After an error,
// which says that the check did not come to its end, nothing is kept.
func CheckLoops() (map[string]string, error) {
	if vec.BestSet() == vec.Plain {
		return nil, nil
	}
	if err := workers.CheckStart(); err != nil {
		return nil, err // the child would do what this program does
	}
	faulty := map[string]string{}
	loops := vec.Loops()
	for next := 0; next < len(loops); {
		last, trap, err := checkFrom(loops[next], faulty)
		if err != nil {
			return nil, err
		}
		if trap == "" {
			break
		}
		faulty[loops[last].String()] = trap
		next = last + 1
	}
	keepFaults(faulty)
	return faulty, nil
}

// checkFrom checks the loops from one on, in a child process. When one of them ends the child, last is that one, and trap says how.
func checkFrom(first vec.Loop, faulty map[string]string) (last int, trap string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	var out, trace bytes.Buffer
	child := self.Command(ctx, "worker")
	child.Env = append(os.Environ(), workers.CheckVariable+"="+first.String())
	child.Stdout, child.Stderr = &out, &trace
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // a signal to the group is not for it
	runtime.LockOSThread()                                                              // Pdeathsig is of this thread
	defer runtime.UnlockOSThread()
	err = child.Run()
	last = -1
	for line := range strings.Lines(out.String()) {
		name, wrong, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		last = slices.IndexFunc(vec.Loops(), func(l vec.Loop) bool { return l.String() == name })
		if wrong != "" {
			faulty[name] = wrong
		}
	}
	if c := workers.ReadCrash(trace.String()); err != nil && last >= int(first) && c.Traps() {
		return last, c.First, nil // "SIGILL: illegal instruction"
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it was not done after %v", checkTime)
	}
	return last, "", err
}

// checkLoops is the child's main: a line for each loop before it is checked, and another
// with what is wrong with it.
func checkLoops(first string) int {
	begun := false
	for _, l := range vec.Loops() {
		if begun = begun || l.String() == first; !begun {
			continue
		}
		fmt.Println(l)
		if err := checkLoop(l); err != nil {
			fmt.Printf("%v\t%v\n", l, err)
		}
	}
	return 0
}

// faultNotes says to people which loops are wrong, in a line; nothing when none is.
func faultNotes(faulty map[string]string) []string {
	var all []string
	for _, l := range vec.Loops() {
		if what, ok := faulty[l.String()]; ok {
			all = append(all, fmt.Sprintf("%v (%s)", l, what))
		}
	}
	if all == nil {
		return nil
	}
	return []string{"these assembly loops do not work on this processor; plain Go replaces them, slower: " + strings.Join(all, ", ")}
}

// ready is what comes before anything that computes. It tells what would keep every run on
// this machine from starting, and has the loops as this processor needs them.
func ready() error {
	if err := errors.Join(model.RegisterError(), vec.EnvironmentError()); err != nil {
		return config.Usage("%w", err)
	}
	if err := shm.Check(); err != nil {
		return config.Usage("%w", err)
	}
	if _, err := self.Path(); err != nil {
		return config.Usage("%w", err)
	}
	KnownFaults()
	return nil
}
