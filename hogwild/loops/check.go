package loops

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"hogwild/hogwild/workers"
	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// The program checks its loops in assembly against their references in plain Go when the doctor asks for it, and when a
// worker died in one: starting a run takes no check. It runs in a child process, since a loop with an instruction that
// the processor lacks ends the process that runs it; the child names each loop before it runs it. Only a trap or a
// wrong number is held against a loop. What is wrong is kept for later runs.

// CheckOne is vec's; a test replaces it.
var CheckOne = vec.Loop.Check

// CheckTime is how long a check may take. It takes milliseconds, but the machine may be busy.
var CheckTime = 30 * time.Second

// Check checks all loops, keeps what is wrong with them for later runs, and returns it by their names. After an error,
// which says that the check did not come to its end, nothing is kept.
func Check() (map[string]string, error) {
	if vec.BestSet() == vec.Plain {
		return nil, nil
	}
	if err := workers.CheckStart(0); err != nil {
		return nil, err // the child would do what this program does
	}
	faulty := map[string]string{}
	all := vec.Loops()
	for next := 0; next < len(all); {
		last, trap, err := inChild(all[next], faulty)
		if err != nil {
			return nil, err
		}
		if trap == "" {
			break
		}
		faulty[all[last].String()] = trap
		next = last + 1
	}
	Keep(faulty)
	return faulty, nil
}

// inChild checks the loops from one on, in a child process. When one of them ends the child, last is that one, and trap
// says how.
func inChild(first vec.Loop, faulty map[string]string) (last int, trap string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), CheckTime)
	defer cancel()
	var out, trace bytes.Buffer
	child := self.Command(ctx, "worker")
	child.Env = append(os.Environ(), workers.CheckVariable+"="+first.String(), workers.RankVariable+"=")
	child.Stdout, child.Stderr = &out, &trace
	// a signal to the group is not for it
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	runtime.LockOSThread() // Pdeathsig is of this thread
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
		err = fmt.Errorf("it was not done after %v", CheckTime)
	}
	return last, "", err
}

// CheckFrom is the child's main: a line for each loop before it is checked, and another
// with what is wrong with it.
func CheckFrom(first string) int {
	begun := false
	for _, l := range vec.Loops() {
		if begun = begun || l.String() == first; !begun {
			continue
		}
		fmt.Println(l)
		if err := CheckOne(l); err != nil {
			fmt.Printf("%v\t%v\n", l, err)
		}
	}
	return 0
}
