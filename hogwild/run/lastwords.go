package run

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

// crash is what a worker said at its end.
type crash struct {
	first  string // its first line: "panic: ...", "SIGILL: ..."; of no crash the last one written
	all    string // from that line on
	place  string // the innermost frame outside Go's runtime: "loop.go:93"; "" without a traceback
	signal bool   // the processor or another process caused it
	after  bool   // a program failed after its loop, when it had been told to leave
	sent   bool   // another process did
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

// readCrash finds the crash in a worker's last words.
func readCrash(said string) crash {
	if at := regexp.MustCompile(programEnd).FindStringSubmatchIndex(said); at != nil {
		return readProgram(said[:at[0]], said[at[2]:at[3]])
	}
	at := regexp.MustCompile(crashLine).FindStringIndex(said)
	if at == nil {
		return crash{all: said, first: strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])}
	}
	c := crash{all: said[at[0]:]}
	first, more, _ := strings.Cut(c.all, "\n")
	c.first = first
	if strings.HasSuffix(first, ":") { // a list follows
		more, _, _ = strings.Cut(more, "\n")
		c.first += " " + strings.TrimSpace(more)
	}
	if strings.Contains(first, otherModel) { // another process of that program would fail, too
		c.place = "hogwild.join"
	} else if strings.Contains(first, leftLoop) {
		c.place = "job.batches()"
	}
	c.first = regexp.MustCompile(rankPrefix).ReplaceAllString(c.first, "")
	if m := regexp.MustCompile(faultLine).FindStringSubmatch(c.all); m != nil && !strings.HasPrefix(c.first, "panic: ") {
		c.first = m[1] + ", " + c.first
	}
	c.signal = regexp.MustCompile(bySignal).MatchString(c.all)
	if c.sent = regexp.MustCompile(sentLine).MatchString(c.all); c.sent {
		return c // wherever the worker was
	}
	runtime := regexp.MustCompile(ofRuntime)
	for _, f := range regexp.MustCompile(frameLines).FindAllStringSubmatch(c.all, -1) {
		if !runtime.MatchString(f[1]) {
			c.place = filepath.Base(f[2]) + ":" + f[3]
			break
		}
	}
	return c
}

// readProgram finds in what a program has printed why it ended as its worker says. An exception that a program
// has caught, and printed, is not why a signal ended it.
func readProgram(said, how string) crash {
	said = strings.TrimSpace(said)
	c := crash{first: how, all: strings.TrimSpace(said + "\n" + how), signal: strings.Contains(how, "the program was killed by "),
		after: strings.HasPrefix(how, program.AfterLoop)}
	t, found := traceback.Find(said)
	switch {
	case found && (t.Fatal || !c.signal):
		c.first, c.place, c.all = t.String(), t.Place, strings.TrimSpace(t.Text)+"\n"+how
	case !c.signal:
		if last := strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]); last != "" {
			c.first += ": " + last // such as the argument of sys.exit
		}
	}
	return c
}

// traps tells whether the code that ran is to blame: an instruction, an address, a panic.
func (c *crash) traps() bool { return !c.sent && regexp.MustCompile(trapLine).MatchString(c.all) }

// inLoop tells whether a loop in assembly may be wrong here. One that the processor lacks an instruction for is; who sends
// that signal, as a test does, has them checked in vain.
func (c *crash) inLoop() bool {
	return strings.HasPrefix(c.first, "SIGILL: ") || c.traps() && strings.Contains(c.place, ".s:")
}

// same tells whether two workers crashed at the same place for the same reason: addresses, ranks
// and indices may differ.
func (c *crash) same(o *crash) bool {
	numbers := regexp.MustCompile(anyNumber)
	plain := func(text string) string { return numbers.ReplaceAllString(text, "0") }
	return c.place != "" && c.place == o.place && plain(c.first) == plain(o.first)
}

// howEnded says in one line how a process ended.
func howEnded(status syscall.WaitStatus, c *crash) string {
	c.signal = c.signal || status.Signaled()
	how := lastwords.Ended(status)
	if c.first != "" {
		how += ": " + human.Brief(c.first)
	}
	return how
}

// repeated is a crash that happened more than once in an epoch, at one place in the program.
type repeated struct {
	epoch uint64
	crash crash
	ranks map[int]bool // who crashed so
	times int
}

// everywhere takes in the end of a worker, and tells whether by now every rank has crashed at the
// same place since the epoch began. One rank alone gets a second chance.
func (p *repeated) everywhere(rank int, c *crash, workers int, epoch uint64) bool {
	if c.place == "" {
		return false
	}
	if p.epoch != epoch || !p.crash.same(c) {
		*p = repeated{epoch: epoch, crash: *c, ranks: map[int]bool{}}
	}
	p.ranks[rank] = true
	p.times++
	for other := range workers { // there may have been more
		if !p.ranks[other] {
			return false
		}
	}
	return p.times > 1
}
