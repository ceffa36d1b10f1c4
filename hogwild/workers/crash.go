package workers

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"hogwild/hogwild/program"
	"hogwild/internal/human"
	"hogwild/internal/lastwords"
	"hogwild/internal/traceback"
)

// Crash is what a worker said at its end.
type Crash struct {
	First     string // its first line: "panic: ...", "SIGILL: ..."; of no crash the last one written
	Place     string // the innermost frame outside Go's runtime: "loop.go:93"; "" without a traceback
	Signal    bool   // the processor or another process caused it
	AfterLoop bool   // a program failed after its loop, when it had been told to leave
	all       string // from the first line on
	sent      bool   // another process caused it
}

// Patterns in the text of a crash. They are compiled when a worker has died: each process would
// pay for it at its start.
const (
	// How Go begins it. (A fault within Go code is a panic, or an "unexpected fault address" with
	// the signal two lines below.)
	crashLine = `(?m)^(panic: |fatal error: |unexpected fault address |SIG[A-Z]+[0-9]*: |hogwild worker )`
	bySignal  = `(?m)^SIG[A-Z]+[0-9]*: |^unexpected fault address |^\[signal SIG`
	trapLine  = `(?m)^panic: |^(\[signal )?SIG(ILL|SEGV|BUS|FPE): |^unexpected fault address `
	faultLine = `(?m)^\[signal (SIG[A-Z]+: [a-z ]+) code=`
	// Another process sent the signal: SI_USER, or SI_TKILL (-6) without its sign.
	sentLine = `(?m) sigcode=(0|18446744073709551610)\b|^\[signal SIG.* code=0x(0|fffffffffffffffa) `
	// A frame is two lines: the function, then "\t/path/file.go:93 +0x1d".
	frameLines = `(?m)^([^\s:]+)\(.*\)\n\t(\S+\.(?:go|s|c)):(\d+)`
	ofRuntime  = `^(panic$|runtime[./]|internal/runtime/)`
	rankPrefix = `^hogwild worker [0-9]+: `
	anyNumber  = `0x[0-9a-f]+|[0-9]+`
	otherModel = "the program's model is not that of the run"
	leftLoop   = "before it was told to: keep iterating"
	// How a worker tells the end of its program, which has printed before it.
	programEnd = `(?m)^hogwild worker [0-9]+: ((?:.*: )?(?:the program (?:exited with status [1-9]|was killed by).*|program .*: it has closed its socket, and runs on))$`
)

// ReadCrash finds the crash in a worker's last words.
func ReadCrash(said string) Crash {
	if at := regexp.MustCompile(programEnd).FindStringSubmatchIndex(said); at != nil {
		return ReadProgram(said[:at[0]], said[at[2]:at[3]])
	}
	at := regexp.MustCompile(crashLine).FindStringIndex(said)
	if at == nil {
		return Crash{all: said, First: strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])}
	}
	c := Crash{all: said[at[0]:]}
	first, more, _ := strings.Cut(c.all, "\n")
	c.First = first
	if strings.HasSuffix(first, ":") { // a list follows
		more, _, _ = strings.Cut(more, "\n")
		c.First += " " + strings.TrimSpace(more)
	}
	if strings.Contains(first, otherModel) { // another process of that program would fail, too
		c.Place = "hogwild.join"
	} else if strings.Contains(first, leftLoop) {
		c.Place = "job.batches()"
	}
	c.First = regexp.MustCompile(rankPrefix).ReplaceAllString(c.First, "")
	if m := regexp.MustCompile(faultLine).FindStringSubmatch(c.all); m != nil &&
		!strings.HasPrefix(c.First, "panic: ") {
		c.First = m[1] + ", " + c.First
	}
	c.Signal = regexp.MustCompile(bySignal).MatchString(c.all)
	if c.sent = regexp.MustCompile(sentLine).MatchString(c.all); c.sent {
		return c // wherever the worker was
	}
	runtime := regexp.MustCompile(ofRuntime)
	for _, f := range regexp.MustCompile(frameLines).FindAllStringSubmatch(c.all, -1) {
		if !runtime.MatchString(f[1]) {
			c.Place = filepath.Base(f[2]) + ":" + f[3]
			break
		}
	}
	return c
}

// ReadProgram finds in what a program has printed why it ended as its worker says. An exception that a program
// has caught, and printed, is not why a signal ended it.
func ReadProgram(said, how string) Crash {
	said = strings.TrimSpace(said)
	c := Crash{First: how, all: strings.TrimSpace(said + "\n" + how),
		Signal:    strings.Contains(how, "the program was killed by "),
		AfterLoop: strings.HasPrefix(how, program.AfterLoop)}
	t, found := traceback.Find(said)
	switch {
	case found && (t.Fatal || !c.Signal):
		c.First, c.Place, c.all = t.String(), t.Place, strings.TrimSpace(t.Text)+"\n"+how
	case !c.Signal:
		if last := strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]); last != "" {
			c.First += ": " + last // such as the argument of sys.exit
		}
	}
	return c
}

// Traps reports whether the code that ran is to blame: an instruction, an address, a panic.
func (c *Crash) Traps() bool { return !c.sent && regexp.MustCompile(trapLine).MatchString(c.all) }

// InLoop reports whether a loop in assembly may be wrong here. One that the processor lacks an instruction for is.
func (c *Crash) InLoop() bool {
	return strings.HasPrefix(c.First, "SIGILL: ") || c.Traps() && strings.Contains(c.Place, ".s:")
}

// same reports whether two workers crashed at the same place for the same reason: addresses, ranks
// and indices may differ.
func (c *Crash) same(o *Crash) bool {
	numbers := regexp.MustCompile(anyNumber)
	plain := func(text string) string { return numbers.ReplaceAllString(text, "0") }
	return c.Place != "" && c.Place == o.Place && plain(c.First) == plain(o.First)
}

// howEnded says in one line how a process ended.
func howEnded(status syscall.WaitStatus, c *Crash) string {
	c.Signal = c.Signal || status.Signaled()
	how := lastwords.Ended(status)
	if c.First != "" {
		how += ": " + human.Brief(c.First)
	}
	return how
}
