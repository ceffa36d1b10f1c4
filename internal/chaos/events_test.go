package chaos

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// event is something that happens to a run.
type event struct {
	name  string
	ends  bool // the coordinator may end
	later bool // when the coordinator has started: before that it may refuse
	do    func(r *trial)
	can   func(r *trial) bool // nil: always
}

// events are what happens, each as likely as any other.
var events = []event{
	{name: "worker SIGKILL", do: func(r *trial) { r.signalWorkers(1, syscall.SIGKILL) }},
	{name: "worker SIGSEGV", do: func(r *trial) { r.signalWorkers(1, syscall.SIGSEGV) }},
	{name: "all workers SIGKILL", do: func(r *trial) { r.signalWorkers(99, syscall.SIGKILL) }},
	{name: "worker stopped for a while", do: (*trial).stopWorker},
	{name: "worker stopped for good", later: true,
		do: func(r *trial) { r.signalWorkers(1, syscall.SIGSTOP); r.pause(2000) }},
	{name: "coordinator SIGKILL", ends: true, do: func(r *trial) { r.end(syscall.SIGKILL) }},
	{name: "coordinator stopped for a while", do: (*trial).stopCoordinator},
	{name: "SIGINT", ends: true, do: func(r *trial) { r.end(syscall.SIGINT) }},
	{name: "SIGTERM", ends: true, do: func(r *trial) { r.end(syscall.SIGTERM) }},
	{name: "SIGHUP", ends: true, do: func(r *trial) { r.end(syscall.SIGHUP) }},
	{name: "signal in the first second", ends: true,
		do: func(r *trial) { r.again(""); r.pause(100); r.end(r.signals()) }},
	{name: "signal in the last second", ends: true, do: (*trial).lastSecond},
	{name: "fault: crash", ends: true, do: func(r *trial) { r.fail("crash") }},
	{name: "fault: error", ends: true, do: func(r *trial) { r.fail("error=ENOSPC") }},
	{name: "fault: panic", ends: true, do: func(r *trial) { r.fail("panic") }},
	{name: "disk full for a while", later: true, do: func(r *trial) { r.limit(unix.RLIMIT_FSIZE, 100) }},
	{name: "descriptors used up for a while", later: true, do: func(r *trial) { r.limit(unix.RLIMIT_NOFILE, 3) }},
	{name: "descriptors used up, worker SIGKILL", later: true,
		do: func(r *trial) { r.limit(unix.RLIMIT_NOFILE, 3, syscall.SIGKILL) }},
	{name: "run folder renamed for a while", later: true, do: (*trial).moveFolder},
	{name: "run folder renamed during a save", ends: true, later: true, do: (*trial).moveDuringSave},
	{name: "FIFO in place of a file", later: true, do: (*trial).pipe},
	{name: "run folder removed", later: true, do: (*trial).removeFolder},
	{name: "scale", later: true, do: func(r *trial) { r.scale(1 + r.rnd.IntN(6)) }},
	{name: "pause and continue", later: true, do: func(r *trial) { r.ask("pause"); r.pause(300); r.ask("continue") }},
	{name: "stop", ends: true, later: true, do: (*trial).stop},
	{name: "second coordinator", later: true, do: (*trial).second},
	{name: "dashboard clients that do not read", later: true, do: (*trial).connect,
		can: func(r *trial) bool { return r.board }},
}

// choose takes an event that can happen to the run.
func (r *trial) choose() event {
	for {
		if e := events[r.rnd.IntN(len(events))]; e.can == nil || e.can(r) {
			return e
		}
	}
}

// signalWorkers sends a signal to some workers, if there are any yet.
func (r *trial) signalWorkers(most int, s syscall.Signal) {
	pids := r.workers()
	for range min(most, len(pids)) {
		i := r.rnd.IntN(len(pids))
		if syscall.Kill(pids[i], s) == nil && s != syscall.SIGSTOP && s != syscall.SIGCONT {
			r.deaths++
		}
		pids = append(pids[:i], pids[i+1:]...)
	}
}

func (r *trial) stopWorker() {
	pids := r.workers()
	if len(pids) == 0 {
		return
	}
	pid := pids[r.rnd.IntN(len(pids))]
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	r.pause(300)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

func (r *trial) signal(s syscall.Signal) { _ = r.life.cmd.Process.Signal(s) } // it may have ended

func (r *trial) stopCoordinator() {
	r.signal(syscall.SIGSTOP)
	r.pause(300)
	r.signal(syscall.SIGCONT)
}

// end ends a life.
func (r *trial) end(s syscall.Signal) {
	r.signal(s)
	r.awaitEnd(s.String())
}

func (r *trial) awaitEnd(of string) {
	select {
	case <-r.life.ended:
	case <-time.After(patience):
		r.problem("hung", "%s had not ended the run after %v", of, patience)
		r.signal(syscall.SIGKILL)
		<-r.life.ended
	}
}

// again ends this life and begins one with faults.
func (r *trial) again(faults string) {
	r.end(syscall.SIGKILL)
	r.wait()
	r.start(faults)
}

// signals returns a signal that ends a life.
func (r *trial) signals() syscall.Signal {
	return []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL}[r.rnd.IntN(4)]
}

// lastSecond ends a life between its last snapshot and its result.
func (r *trial) lastSecond() {
	r.again("snapshot.saved:delay=60ms@every,workers.halt:delay=100ms,file.rename:delay=20ms@every")
	for !r.life.over() {
		if s, err := rundir.ReadSnapshot(r.folder); err == nil && int(s.Pos.Epoch) > r.job.epochs {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	r.pause(300)
	r.end(r.signals())
}

// fail ends this life and begins one that fails at a point, or does not come to it for a while.
func (r *trial) fail(action string) {
	var p fault.Place
	for p.Name == "" || elsewhere(p.Name) || p.NoError && strings.HasPrefix(action, "error") {
		p = fault.Points[r.rnd.IntN(len(fault.Points))]
	}
	at := "@" + []string{"1", "2", "3", "5", "9"}[r.rnd.IntN(5)]
	r.history[len(r.history)-1] += " " + p.Name + at
	r.again(p.Name + ":" + action + at)
	select {
	case <-r.life.ended:
	case <-time.After(time.Duration(r.rnd.IntN(400)) * time.Millisecond):
		r.end(syscall.SIGTERM)
	}
	r.deaths += r.job.workers
}

// limit lets the coordinator have no more of a resource for a moment, in which a worker may get a signal.
func (r *trial) limit(resource int, soft uint64, s ...syscall.Signal) {
	pid := r.life.cmd.Process.Pid
	var was unix.Rlimit
	if unix.Prlimit(pid, resource, nil, &was) != nil {
		return // it has ended
	}
	_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: soft, Max: was.Max}, nil)
	for _, s := range s {
		r.signalWorkers(1, s)
	}
	r.pause(300)
	_ = unix.Prlimit(pid, resource, &was, nil)
}

func (r *trial) moveFolder() {
	away := r.folder + "-away"
	if os.Rename(r.folder, away) != nil {
		return // there is none yet
	}
	r.pause(300)
	r.moveBack(away)
}

// moveDuringSave moves it between the making of a file and its renaming.
func (r *trial) moveDuringSave() {
	r.again("file.rename:delay=50ms@every")
	r.awaitEpoch()
	for !r.life.over() {
		if files, _ := filepath.Glob(filepath.Join(r.folder, "*.tmp")); len(files) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	r.moveFolder()
}

// pipe has a pipe in a file's place for a while. No process may wait for what it will say.
func (r *trial) pipe() {
	names := []string{rundir.ConfigFile, rundir.ResultFile, rundir.WeightsFile, rundir.MetricsName}
	path := filepath.Join(r.folder, names[r.rnd.IntN(len(names))])
	away := filepath.Join(r.where, "tmp", "away")
	had := os.Rename(path, away) == nil
	_ = unix.Mkfifo(path, 0o600) // unless the run has made the file again
	r.ask("runs")
	r.pause(100)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		_ = os.Remove(away)
	} else if had {
		_ = os.Rename(away, path)
	} else {
		_ = os.Remove(path)
	}
}

// moveBack gives a folder its name again; if the run has made another one meanwhile, that counts.
func (r *trial) moveBack(away string) {
	if os.Rename(away, r.folder) != nil {
		_ = os.RemoveAll(away)
		r.saved = false
	}
}

// removeFolder removes it at once, from the run's view. A run that has just ended keeps it.
func (r *trial) removeFolder() {
	away := r.folder + "-away"
	if os.Rename(r.folder, away) != nil {
		return // there is none yet
	}
	if time.Sleep(50 * time.Millisecond); r.life.over() {
		r.moveBack(away)
		return
	}
	_ = os.RemoveAll(away)
	r.saved = false
}

// ask has another process ask the run for something, and reports whether the run has obeyed. It may refuse, e.g. when
// it ends or its folder is gone.
func (r *trial) ask(what string, args ...string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append([]string{what, r.folder}, args...)...).CombinedOutput()
	if ctx.Err() != nil {
		r.problem("hung", "hogwild %s had not ended after %v: %s", what, patience, out)
	}
	return err == nil
}

// stop has a run stopped, which is to have ended then.
func (r *trial) stop() {
	if r.ask("stop") {
		r.awaitEnd("hogwild stop")
	}
}

func (r *trial) scale(workers int) {
	r.scaled = true
	r.ask("scale", strconv.Itoa(workers))
}

// second starts another coordinator on the same folder, which must refuse.
func (r *trial) second() {
	args := r.job.arguments(r.folder, r.data)
	if r.hasSnapshot() {
		args = []string{"train", "--resume", r.folder}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = r.where
	out, _ := cmd.CombinedOutput() // its state says how it ended
	if status := cmd.ProcessState.ExitCode(); status != 2 && !r.life.over() {
		r.problem("lost", "a second coordinator ended with status %d: %s", status, out)
	}
}

var address = regexp.MustCompile(`dashboard http://([0-9.:]+)`)

// connect opens streams of the dashboard that are not read from.
func (r *trial) connect() {
	text, _ := os.ReadFile(r.life.log)
	m := address.FindSubmatch(text)
	if m == nil {
		return // not yet
	}
	for range 100 {
		c, err := net.DialTimeout("tcp", string(m[1]), time.Second)
		if err != nil {
			return // ended, or full
		}
		_, _ = c.Write([]byte("GET /events HTTP/1.1\r\nHost: x\r\n\r\n"))
		r.clients = append(r.clients, c)
	}
}

func (r *trial) disconnect() {
	for _, c := range r.clients {
		c.Close()
	}
}

// checkDescriptors sees that a coordinator has no more open than when it had started, but for connections.
func (r *trial) checkDescriptors() {
	if len(r.clients) > 0 || r.scaled || !r.life.says("\nepoch ") || len(r.workers()) < r.job.workers {
		return
	}
	open := descriptors(r.life.cmd.Process.Pid)
	if r.life.open == nil {
		r.life.open = open
	}
	if len(open) > len(r.life.open)+4 {
		r.problem("leaked", "%d descriptors open: %v\n%d before: %v", len(open), open, len(r.life.open), r.life.open)
	}
}
