package live

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hogwild/hogwild/rundir"
)

// runFolder is a run's folder that a test fills as a run would.
type runFolder struct {
	testing.TB
	path string
}

func newRun(t testing.TB) runFolder {
	f := runFolder{t, t.TempDir()}
	f.write("config.yaml", "workers: 2\ndata: digits\nmodel: softmax\nepochs: 4\n")
	return f
}

// write adds text to a file.
func (f runFolder) write(name, text string) {
	f.Helper()
	w, err := os.OpenFile(filepath.Join(f.path, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err == nil {
		_, err = w.WriteString(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
}

// epoch adds the line of an epoch of 100 examples that took a second.
func (f runFolder) epoch(n int, loss float64) { f.write("metrics.jsonl", epochLine(n, loss)) }

func epochLine(n int, loss float64) string {
	return fmt.Sprintf(
		`{"kind":"epoch","epoch":%d,"seconds":%d,"examples":%d,"lr":0.1,"train_loss":%g,"test_loss":%g,"test_accuracy":0.75}`+"\n",
		n, n, 100*n, loss, 2*loss)
}

// second adds the line of a moment at which two workers have trained a and b examples.
func (f runFolder) second(at float64, a, b int) { f.write("metrics.jsonl", secondLine(at, a, b)) }

func secondLine(at float64, a, b int) string {
	return fmt.Sprintf(
		`{"kind":"second","epoch":%d,"epochs":4,"seconds":%g,"examples":%d,"total_examples":400,"train_loss":0.5,"examples_per_second":250.5,"workers":[`+
			`{"rank":0,"pid":11,"state":"training","examples":%d,"examples_per_second":150,"restarts":0,"staleness_samples":30,"staleness_mean":2,"lost_updates":0.01},`+
			`{"rank":1,"pid":12,"state":"restarting","examples":%d,"examples_per_second":100.5,"restarts":3,"staleness_samples":10,"staleness_mean":6,"lost_updates":0.05}]}`+"\n",
		int(at)+1, at, a+b, a, b)
}

func (f runFolder) tail() *tail { return &tail{path: filepath.Join(f.path, "metrics.jsonl")} }

// state reads on and returns what the tail has: epochs and seconds.
func (t *tail) state(tb testing.TB) (epochs []int, seconds []float64) {
	tb.Helper()
	if err := t.read(); err != nil {
		tb.Fatal(err)
	}
	for _, e := range t.epochs.all() {
		epochs = append(epochs, e.Epoch)
	}
	for _, s := range t.seconds.all() {
		seconds = append(seconds, s.Seconds)
	}
	return epochs, seconds
}

func wantState(tb testing.TB, t *tail, epochs []int, seconds []float64) {
	tb.Helper()
	e, s := t.state(tb)
	if !slices.Equal(e, epochs) || !slices.Equal(s, seconds) {
		tb.Errorf("epochs %v and seconds %v, want %v and %v", e, s, epochs, seconds)
	}
}

func TestTailFollows(t *testing.T) {
	run := newRun(t)
	tail := run.tail()
	wantState(t, tail, nil, nil) // there is no file yet
	run.second(0.5, 30, 20)
	wantState(t, tail, nil, []float64{0.5})
	line := epochLine(1, 2)
	run.write("metrics.jsonl", line[:40])
	wantState(t, tail, nil, []float64{0.5}) // what is cut off waits
	run.write("metrics.jsonl", line[40:])
	run.second(1.5, 90, 60)
	wantState(t, tail, []int{1}, []float64{0.5, 1.5})
	run.write("metrics.jsonl", "nonsense\n{\"kind\":\"other\"}\n")
	run.epoch(2, 1)
	wantState(t, tail, []int{1, 2}, []float64{0.5, 1.5})
}

// TestTailOfResumed has a run that was killed in its third epoch and goes on after its first.
func TestTailOfResumed(t *testing.T) {
	run := newRun(t)
	tail := run.tail()
	for n := 1; n <= 3; n++ {
		run.second(float64(n)-0.25, 60*n, 30*n)
		run.epoch(n, 1)
	}
	wantState(t, tail, []int{1, 2, 3}, []float64{0.75, 1.75, 2.75})
	m, _, err := rundir.OpenMetrics(run.path, &rundir.Past{History: []rundir.EpochResult{{Epoch: 1}}, Examples: 100})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	wantState(t, tail, []int{1}, []float64{0.75})
	run.second(1.25, 80, 50)
	run.epoch(2, 0.5)
	wantState(t, tail, []int{1, 2}, []float64{0.75, 1.25})
	if loss := tail.epochs.last.TrainLoss; loss != 0.5 {
		t.Errorf("loss %g, want that of the last line", loss)
	}
}

func TestTailOfFileBegunAnew(t *testing.T) {
	run := newRun(t)
	tail := run.tail()
	run.epoch(1, 1)
	run.epoch(2, 1)
	wantState(t, tail, []int{1, 2}, nil)
	if err := os.Truncate(tail.path, 0); err != nil {
		t.Fatal(err)
	}
	run.second(0.5, 1, 1) // longer than what was there
	run.second(0.75, 2, 2)
	wantState(t, tail, nil, []float64{0.5, 0.75})
}

func TestTailOfDiverged(t *testing.T) {
	run := newRun(t)
	tail := run.tail()
	run.write("metrics.jsonl", `{"kind":"epoch","epoch":1,"train_loss":null,"test_loss":null}`+"\n")
	wantState(t, tail, []int{1}, nil)
	if e := tail.epochs.last; !math.IsNaN(e.TrainLoss) || !math.IsNaN(e.TestLoss) {
		t.Errorf("losses %g and %g, want NaN for null", e.TrainLoss, e.TestLoss)
	}
}

// TestCourse compares with a list of all values.
func TestCourse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c curve[int]
		n := rapid.IntRange(0, 12*maxKept).Draw(t, "n")
		for i := range n {
			c.add(i)
		}
		var want []int
		for i := range n {
			if i%max(c.every, 1) == 0 || i == n-1 {
				want = append(want, i)
			}
		}
		if diff := cmp.Diff(want, c.all()); diff != "" {
			t.Fatalf("of %d values (-want +got):\n%s", n, diff)
		}
		if len(c.kept) > maxKept || c.every > 1 && len(c.kept) < maxKept/2 && n > c.every*maxKept/2 {
			t.Fatalf("%d values of %d are kept", len(c.kept), n)
		}
	})
}

func TestOneCourseOfMany(t *testing.T) {
	tail := &tail{}
	for i := range 10000 {
		tail.seconds.add(rundir.Status{Seconds: float64(i)})
	}
	all := tail.seconds.all()
	if n := len(all); n < maxKept/2 || n > maxKept+1 || all[0].Seconds != 0 || all[n-1].Seconds != 9999 {
		t.Errorf("%d moments from %g to %g, want at most %d that begin and end as the run", n, all[0].Seconds,
			all[n-1].Seconds, maxKept+1)
	}
}

// A pipe in the place of a run's metrics is an error, and is not waited for.
func TestTailOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- (&tail{path: path}).read() }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "pipe") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a writer")
	}
}
