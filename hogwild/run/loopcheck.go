package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/self"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// Before its first run on a machine the program checks its loops in assembly against their
// references in plain Go. It does so in a child process, since a loop with an instruction that
// the processor lacks ends the process that runs it; the child names each loop before it
// runs it. What was found is kept in the user's cache folder, in a file for each kind of
// processor.

// checkLoop is vec's; a test replaces it.
var checkLoop = vec.Loop.Check

// loopFindings is what a check of the loops found, as the cache folder keeps it.
type loopFindings struct {
	CPU     string            `json:"cpu"`     // the processor's name
	Set     string            `json:"set"`     // the instruction set that was checked
	Program string            `json:"program"` // version, commit, and time and size of its file
	Faulty  map[string]string `json:"faulty"`  // what is wrong with a loop, by its name
}

var verified = sync.OnceValue(func() map[string]string { return verifyLoops(false) })

// VerifyLoops checks the loops against plain Go, unless this machine's cache folder says
// that this program has done so, and switches those off that are wrong. It returns what is
// wrong, by the loops' names. It runs before anything that computes; again asks for a fresh check.
func VerifyLoops(again bool) map[string]string {
	if again {
		return verifyLoops(true)
	}
	return verified()
}

func verifyLoops(again bool) map[string]string {
	// The child of a program that does not ask IsWorker, as one that only calls Eval, would
	// do what that program does.
	if vec.BestSet() == vec.Plain || !asked.Load() || isChild() {
		return nil
	}
	want := loopFindings{CPU: rundir.ThisMachine().CPU, Set: vec.InstructionSet(), Program: programStamp()}
	file := want.file()
	known, ok := readFindings(file)
	if again || !ok || known.CPU != want.CPU || known.Set != want.Set || known.Program != want.Program {
		var err error
		if want.Faulty, err = checkInChild(); err != nil {
			return nil // no process can be started: the first worker's error says so
		}
		want.write(file)
		known = want
	}
	off := slices.Collect(maps.Keys(known.Faulty))
	_ = vec.SwitchOff(append(off, vec.Off()...)...) // a name of another version is no loop here
	return known.Faulty
}

// programStamp tells one build of this program from another: archives give all their builds one time.
func programStamp() string {
	path, err := self.Path()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %s, %s, %d bytes", config.Version, rundir.Commit(), info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000"), info.Size())
}

// file is where the findings are kept; "" when there is no cache folder.
func (f loopFindings) file() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	name := strings.Trim(notInNames.ReplaceAllString(f.CPU+" "+f.Set+" "+filepath.Base(os.Args[0]), "-"), "-")
	return filepath.Join(dir, "hogwild", "loops-"+name+".json")
}

// readFindings reads a file that write has written.
func readFindings(file string) (f loopFindings, ok bool) {
	text, err := os.ReadFile(file)
	return f, err == nil && json.Unmarshal(text, &f) == nil
}

// write keeps the findings for the next run, as far as that is possible: without them it
// only checks again.
func (f loopFindings) write(file string) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o755) != nil {
		return
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err) // strings can be written
	}
	part, err := os.CreateTemp(filepath.Dir(file), "loops-")
	if err != nil {
		return
	}
	_, err = part.Write(append(text, '\n'))
	if errors.Join(err, part.Close()) != nil || os.Rename(part.Name(), file) != nil {
		os.Remove(part.Name())
	}
}

// checkInChild checks all loops, and says what is wrong with them.
func checkInChild() (map[string]string, error) {
	faulty := map[string]string{}
	loops := vec.Loops()
	for next := 0; next < len(loops); {
		last, err := checkFrom(loops[next], faulty)
		if err == nil {
			return faulty, nil
		}
		if last < next {
			return nil, err // it did not begin
		}
		faulty[loops[last].String()] = err.Error()
		next = last + 1
	}
	return faulty, nil
}

// checkFrom checks the loops from one on, in a child process. When the child ends before
// all are done, last is the loop that it was at, else -1, and the error says how it ended.
func checkFrom(first vec.Loop, faulty map[string]string) (last int, err error) {
	var out, trace bytes.Buffer
	child := self.Command(context.Background(), "worker")
	child.Env = append(os.Environ(), checkVariable+"="+first.String())
	child.Stdout, child.Stderr = &out, &trace
	err = child.Run()
	last = -1
	for line := range strings.Lines(out.String()) {
		name, wrong, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for i, l := range vec.Loops() {
			if l.String() == name {
				last = i
			}
		}
		if wrong != "" {
			faulty[name] = wrong
		}
	}
	if err != nil {
		if said, _, _ := strings.Cut(trace.String(), "\n"); said != "" { // "SIGILL: illegal instruction"
			err = errors.New(said)
		}
	}
	return last, err
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
	return []string{"these assembly loops give wrong results on this processor; plain Go replaces them, slower: " + strings.Join(all, ", ")}
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
	VerifyLoops(false)
	return nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
