package chaos

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// mark is the environment variable by which the processes of a trial are known: it names its folder.
const mark = "HOGWILD_TEST_TRIAL"

// patience is for a run of a second, on a machine with much else to do.
const patience = 2 * time.Minute

// trial is a run folder and the processes that work on it, one coordinator after the other.
type trial struct {
	job    *job
	where  string // the folder of all
	folder string // the run's
	data   string
	extra  []string // flags of each life, also of those that resume
	life   *life
	lives  int
	deaths int  // of workers, at most
	saved  bool // there was a snapshot
	done   bool
	wrong  []problem

	rnd     *rand.Rand
	history []string   // the events so far
	latest  string     // the last of them
	scaled  bool       // there were or are other numbers of workers
	board   bool       // there is a dashboard
	clients []net.Conn // of the dashboard
}

// life is one coordinator.
type life struct {
	cmd   *exec.Cmd
	began time.Time
	log   string
	ended chan struct{} // closed when it has
	open  []string      // descriptors after its first epoch
}

// problem is one thing that went wrong. Its kind is a column of the table.
type problem struct{ kind, text string }

func newTrial(t *testing.T, j job) *trial {
	t.Helper()
	r := &trial{job: &j, where: t.TempDir()}
	r.folder = filepath.Join(r.where, "run")
	if err := os.Mkdir(filepath.Join(r.where, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if j.counts {
		r.data = writeCounts(t)
	}
	t.Cleanup(func() { // of a test that failed in between
		for _, pid := range r.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return r
}

func (r *trial) problem(kind, format string, a ...any) {
	r.wrong = append(r.wrong, problem{kind, fmt.Sprintf(format, a...)})
}

func (r *trial) report(t *testing.T) {
	t.Helper()
	for i, p := range r.wrong {
		t.Errorf("%s: %s: %s", r.job, p.kind, p.text)
		if i == len(r.wrong)-1 {
			t.Log(r.last())
		}
	}
}

// last is the end of what the last life wrote.
func (r *trial) last() string {
	if r.life == nil {
		return ""
	}
	text, _ := os.ReadFile(r.life.log) // for an error's text
	if at := bytes.Index(text, []byte("panic: ")); at >= 0 {
		return string(text[at:min(len(text), at+4000)])
	}
	return string(text[max(0, len(text)-1500):])
}

// lastError returns what the last life says of its end.
func (r *trial) lastError() string {
	text, _ := os.ReadFile(r.life.log)
	if at := bytes.LastIndex(text, []byte("hogwild: ")); at >= 0 {
		return string(text[at:])
	}
	return fmt.Sprintf("status %d, no error", r.life.status())
}

// awaitEpoch returns when an epoch has ended in this life, or the life is over.
func (r *trial) awaitEpoch() {
	for !r.life.over() && !r.life.says("\nepoch ") {
		time.Sleep(2 * time.Millisecond)
	}
}

// says reports whether a life has written some text.
func (l *life) says(text string) bool {
	all, _ := os.ReadFile(l.log)
	return bytes.Contains(append([]byte("\n"), all...), []byte(text)) // the first line too begins after a line end
}

// start starts a coordinator with faults: it resumes the run if there is a snapshot.
func (r *trial) start(faults string) {
	args := r.job.arguments(r.folder, r.data)
	if r.hasSnapshot() {
		args = []string{"train", "--resume", r.folder}
	}
	r.lives++
	l := &life{cmd: exec.Command(program, append(args, r.extra...)...), began: time.Now(), ended: make(chan struct{})}
	l.log = filepath.Join(r.where, fmt.Sprintf("life-%d.log", r.lives))
	log, err := os.Create(l.log)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	if r.job.delay != "" {
		faults = strings.Trim("chunk.taken:delay="+r.job.delay+"@every,"+faults, ",")
	}
	l.cmd.Dir = r.where
	l.cmd.Env = append(os.Environ(), mark+"="+r.where, "TMPDIR="+filepath.Join(r.where, "tmp"),
		fault.Variable+"="+faults)
	l.cmd.Stdout, l.cmd.Stderr = log, log
	if err := l.cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		_ = l.cmd.Wait() // its state says how it ended
		close(l.ended)
	}()
	r.life = l
}

func (r *trial) hasSnapshot() bool { return rundir.HasSnapshot(r.folder) }

func (l *life) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// wait waits for the end of a life.
func (r *trial) wait() {
	select {
	case <-r.life.ended:
	case <-time.After(patience):
		_ = r.life.cmd.Process.Signal(syscall.SIGQUIT) // it writes its stacks
		time.Sleep(time.Second)
		_ = r.life.cmd.Process.Kill()
		<-r.life.ended
		r.problem("hung", "the run had not ended after %v", patience)
	}
	r.examine()
}

// status returns the exit status of a life that has ended, negative for a signal.
func (l *life) status() int {
	s := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if s.Signaled() {
		return -int(s.Signal())
	}
	return s.ExitStatus()
}

// examine looks at what a coordinator has left behind.
func (r *trial) examine() {
	r.mournWorkers()
	status := r.life.status()
	if r.done = status == 0 || status == 2 && r.life.says("epochs are done"); r.done {
		r.checkEnd()
	}
	if status == 2 && !r.done && !r.life.says("fault ") {
		r.problem("lost", "the run cannot be resumed: %s", r.lastError())
		r.done = true
	}
	r.checkOrphans()
	r.checkFiles(status >= 0 && status != 2)
}

// mournWorkers counts the workers of whose deaths the coordinator has told.
func (r *trial) mournWorkers() {
	text, _ := os.ReadFile(r.life.log)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "worker ") && strings.Contains(line, "(pid ") {
			r.deaths++
		}
	}
}

// play is a life with faults, and as many without as it takes until the run is done.
func (r *trial) play(faults string) {
	r.start(faults)
	r.wait()
	r.finish()
}

// finish resumes the run until it is done.
func (r *trial) finish() {
	for tries := 0; !r.done; tries++ {
		if tries == 3 {
			r.problem("lost", "not done after being resumed %d times: %s", tries, r.lastError())
			return
		}
		r.start("")
		r.wait()
	}
}
