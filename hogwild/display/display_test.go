package display

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
	"hogwild/internal/human"
)

// screen is a terminal that knows line feed, carriage return, cursor up (A) and
// erase to the end of the line (K), and refuses everything else.
type screen struct {
	t             *testing.T
	columns, rows int
	lines         [][]byte // what scrolled away, then what is on the screen
	y, x          int      // of the cursor; y counts in lines
}

// resize wraps lines again for another width, as most terminals do.
func (s *screen) resize(columns int) {
	s.columns = columns
	var lines [][]byte
	for y, line := range s.lines {
		if y == s.y {
			s.y = len(lines)
		}
		for len(line) > columns {
			lines, line = append(lines, line[:columns]), line[columns:]
		}
		lines = append(lines, line)
	}
	s.lines = lines
}

func newScreen(t *testing.T, columns, rows int) *screen {
	return &screen{t: t, columns: columns, rows: rows, lines: make([][]byte, 1)}
}

func (s *screen) size() (int, int) { return s.columns, s.rows }

func (s *screen) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\n': // a terminal driver makes it CR LF
			s.x = 0
			s.down()
		case c == '\r':
			s.x = 0
		case c == '\x1b':
			i += s.escape(p[i:]) - 1
		case c >= ' ' && c < 0x7f:
			s.put(c)
		default:
			s.t.Errorf("unexpected byte %q", c)
		}
	}
	return len(p), nil
}

// escape carries out the sequence at the start of p and returns its length.
func (s *screen) escape(p []byte) int {
	switch {
	case bytes.HasPrefix(p, []byte("\x1b[K")):
		s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
	case bytes.HasPrefix(p, []byte("\x1b[A")) && s.y > s.top():
		s.y--
	default:
		s.t.Fatalf("line %d of %d: unknown escape, or cursor up above the screen, in %q", s.y, len(s.lines), p)
	}
	return len("\x1b[K")
}

func (s *screen) top() int { return max(len(s.lines)-s.rows, 0) }

func (s *screen) down() {
	if s.y++; s.y == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) put(c byte) {
	if s.x == s.columns {
		s.x = 0
		s.down()
	}
	for len(s.lines[s.y]) <= s.x {
		s.lines[s.y] = append(s.lines[s.y], ' ')
	}
	s.lines[s.y][s.x] = c
	s.x++
}

// String returns everything from the first line to the cursor, an underscore, and to the
// last line that is not blank.
func (s *screen) String() string {
	var b strings.Builder
	end := len(s.lines)
	for end > s.y+1 && len(s.lines[end-1]) == 0 {
		end--
	}
	for y, line := range s.lines[:end] {
		if y == s.y {
			line = append(bytes.Clone(line), '_')
		}
		fmt.Fprintf(&b, "|%s\n", bytes.TrimRight(line, " "))
	}
	return b.String()
}

// TestDisplayShrinks: nothing is left of a block that was drawn for more columns, and no line
// above it is lost.
func TestDisplayShrinks(t *testing.T) {
	for columns := 100; columns > 3; columns -= 7 {
		s := newScreen(t, 120, 60)
		d := &Display{live: human.Live{W: s, Size: s.size}}
		d.Say("above")
		d.Status(moment(4, 150000))
		s.resize(columns)
		d.Status(moment(4, 300000))
		want := newScreen(t, columns, 60)
		again := &Display{live: human.Live{W: want, Size: want.size}}
		again.Say("above")
		again.Status(moment(4, 300000))
		if got := s.String(); got != want.String() {
			t.Errorf("shrunk to %d columns:\n%swant\n%s", columns, got, want)
		}
	}
}

// TestSpeedIsSmooth: a rate that does not change is shown from the first look on, and of one
// that doubles the share 1 - exp(-t/2) is seen after t seconds.
func TestSpeedIsSmooth(t *testing.T) {
	v := Speed{examples: 500}
	n := int64(500)
	for range 100 {
		n += 1000
		if got := v.Next(n, .1); math.Abs(got-10000) > 1e-6 {
			t.Fatalf("%v examples/s, want 10000", got)
		}
	}
	for i := 1; i <= 40; i++ {
		n += 2000
		got := v.Next(n, .1)
		if want := 10000 * (2 - math.Exp(-float64(i)/20)); math.Abs(got-want) > .01*want {
			t.Fatalf("%v examples/s %d looks after the rate doubled, want %v", got, i, want)
		}
	}
}

// moment returns a run of n workers after some examples of 600,000.
func moment(n int, examples int64) rundir.Status {
	s := rundir.Status{Epoch: 1 + int(examples/60000), Epochs: 10, Seconds: float64(examples) / 60000,
		Examples: examples, Total: 600000}
	for i := range n {
		w := rundir.WorkerStatus{Rank: i, PID: 12345 + i, State: "training", Examples: examples / int64(n),
			Rate: 84211 - 9000*float64(i%8)}
		s.Workers = append(s.Workers, w)
		s.Rate += w.Rate
	}
	if examples > 0 {
		loss := 0.4681
		s.TrainLoss = &loss
	}
	return s
}

func lastEpoch() *rundir.EpochResult {
	accuracy := 0.8912
	return &rundir.EpochResult{Epoch: 1, Seconds: 1.04, Examples: 60000, TrainLoss: 0.61234,
		Tested: rundir.Tested{TestLoss: 0.41234, TestAccuracy: &accuracy}}
}

// show plays a short run: each step changes what the one before left on the screen.
func show(d *Display, workers int, step func(title string)) {
	d.Start("softmax on digits: 60,000 rows, 784 features, 10 classes", "async, 4 workers, batch 64, lr 0.1")
	d.Status(moment(workers, 20000))
	step("the first status")
	d.Epoch(*lastEpoch())
	s := moment(workers, 150000)
	s.Last = lastEpoch()
	s.Workers[1].State, s.Workers[1].Rate, s.Workers[1].PID = "starting", 0, 12400
	s.Workers[1].Restarts = 1
	d.Warn("worker 1 (pid 12346) was killed by SIGKILL: restarted, 1 of 3")
	d.Status(s)
	step("an epoch ended, a worker died")
	d.Say("saved runs/x")
	s.Workers = s.Workers[:1]
	d.Status(s)
	step("all but one worker left")
	d.Close()
	d.Say("after the end")
	step("closed")
}

func TestDisplayOnTerminal(t *testing.T) {
	var text strings.Builder
	for _, c := range []struct{ workers, columns, rows int }{{4, 80, 24}, {4, 140, 24}, {4, 60, 12}, {40, 100, 12},
		{4, 100, 3}, {4, 30, 12}} {
		s := newScreen(t, c.columns, c.rows)
		show(&Display{live: human.Live{W: s, Size: s.size}}, c.workers, func(title string) {
			fmt.Fprintf(&text, "--- %d workers, %d x %d: %s\n%s", c.workers, c.columns, c.rows, title, s)
		})
	}
	check.Golden(t, "display.golden", text.String())
}

func TestDisplayElsewhere(t *testing.T) {
	for _, c := range []struct {
		name  string
		quiet bool
		size  func() (int, int)
		want  string
	}{
		{"pipe", false, nil, `epoch   1      1.0 s  train loss 0.6123  test loss 0.4123  accuracy 89.12%
worker 1 (pid 12346) was killed by SIGKILL: restarted, 1 of 3
saved runs/x
after the end
`},
		{"quiet pipe", true, nil, "worker 1 (pid 12346) was killed by SIGKILL: restarted, 1 of 3\n"},
		{"quiet terminal", true, func() (int, int) { return 80, 24 },
			"worker 1 (pid 12346) was killed by SIGKILL: restarted, 1 of 3\n"},
	} {
		var b bytes.Buffer
		d := New(&b, c.quiet)
		d.live.Size = c.size
		show(d, 4, func(string) {})
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}

// TestShortEpochs: of epochs that follow each other quickly the first is shown and the last, once each, on a terminal
// and in a pipe; of slow ones all.
func TestShortEpochs(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{-time.Hour, "1 5"}, {2 * betweenEpochs, "1 2 3 4 5"}} {
		var b bytes.Buffer
		d := New(&b, false)
		for n := 1; n <= 5; n++ {
			d.Epoch(rundir.EpochResult{Epoch: n, TrainLoss: 1, Tested: rundir.Tested{TestLoss: 1}})
			d.shown = d.shown.Add(-c.age)
		}
		d.Close()
		d.Close()
		var shown []string
		for line := range strings.Lines(b.String()) {
			shown = append(shown, strings.Fields(line)[1])
		}
		if got := strings.Join(shown, " "); got != c.want {
			t.Errorf("epochs that are %v apart: %s are shown, want %s", c.age, got, c.want)
		}
	}
}

// TestReading: a terminal shows at once what is being done, and nothing of it stays.
func TestReading(t *testing.T) {
	s := newScreen(t, 80, 24)
	d := &Display{live: human.Live{W: s, Size: s.size}}
	done := d.During("reading digits ...")
	if s.String() != "|reading digits ...\n|_\n" {
		t.Errorf("while it reads:\n%s", s)
	}
	done()
	d.Start("header")
	if s.String() != "|header\n|_\n" {
		t.Errorf("afterwards:\n%s", s)
	}
}

func TestDisplayKnowsTerminals(t *testing.T) {
	terminal := openTerminal(t, 91, 17)
	t.Setenv("TERM", "xterm")
	d := New(terminal, false)
	if d.live.Size == nil {
		t.Fatal("a terminal is not taken for one")
	}
	if columns, rows := d.live.Size(); columns != 91 || rows != 17 {
		t.Errorf("%d columns, %d rows", columns, rows)
	}
	t.Setenv("TERM", "dumb")
	if d := New(terminal, false); d.live.Size != nil {
		t.Error("a dumb terminal is asked to move its cursor")
	}
	t.Setenv("TERM", "xterm")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if d := New(w, false); d.live.Size != nil {
		t.Error("a pipe is taken for a terminal")
	}
}

// openTerminal returns the program's side of a pseudo-terminal.
func openTerminal(t *testing.T, columns, rows uint16) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal
}

// Numbers that make no sense must not stop the display.
func TestDisplayOfOddNumbers(t *testing.T) {
	s := newScreen(t, 80, 24)
	d := &Display{live: human.Live{W: s, Size: s.size}}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		d.Status(rundir.Status{Rate: rate, Workers: []rundir.WorkerStatus{{Rate: rate}, {Rate: 1}}})
	}
	d.Status(rundir.Status{})
	if d.Close(); s.String() != "|_\n" {
		t.Errorf("left on the screen:\n%s", s)
	}
}

func TestDisplayNowhere(t *testing.T) {
	show(New(nil, false), 4, func(string) {})
}
