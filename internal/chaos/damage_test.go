package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"hogwild/hogwild/rundir"
)

// processes returns the trial's running processes.
func (r *trial) processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		text, err := os.ReadFile(filepath.Join(process, "environ"))
		if err != nil || !bytes.Contains(text, []byte(mark+"="+r.where+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(process))
		pids = append(pids, pid)
	}
	return pids
}

// workers are the processes of the trial but for the coordinator.
func (r *trial) workers() (pids []int) {
	for _, pid := range r.processes() {
		if pid != r.life.cmd.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// checkOrphans sees that no process outlives its coordinator. Memfds go with the last one that has them.
func (r *trial) checkOrphans() {
	for range 1000 {
		if len(r.processes()) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.problem("leaked", "processes %v outlived their coordinator by 10 s", r.processes())
}

// expected are the files that a run may leave. One that was killed also leaves what it was writing.
var (
	expected = regexp.MustCompile(
		`^(config\.yaml|metrics\.jsonl|result\.json|[a-z.]+\.safetensors|events\.out\.tfevents\.[^/]*|(worker|program)-[a-z0-9]+\.log)$`)
	remaining = regexp.MustCompile(`^\.[^/]+$|\.tmp[^/]*$|^control\.sock$`)
)

// checkFiles sees that all weights are whole, and that there are no other files than a run's. A coordinator that was
// killed has not tidied up, and one that refuses to start has not either.
func (r *trial) checkFiles(tidy bool) {
	if s := r.hasSnapshot(); r.saved && !s {
		r.problem("lost", "the snapshot is gone")
	} else {
		r.saved = s
	}
	files, _ := os.ReadDir(r.folder) // none, if it ended too early
	for _, f := range files {
		switch name := f.Name(); {
		case expected.MatchString(name):
		case !tidy && remaining.MatchString(name):
			continue
		default:
			r.problem("leaked", "the run folder has %s", name)
			continue
		}
		if filepath.Ext(f.Name()) == ".safetensors" {
			if _, _, err := rundir.ReadTensors(filepath.Join(r.folder, f.Name())); err != nil {
				r.problem("torn", "%v", err)
			}
		}
	}
	for _, glob := range []string{"tmp/*", "[^rtl]*"} { // all but run, tmp and the logs
		if left, _ := filepath.Glob(filepath.Join(r.where, glob)); len(left) > 0 {
			r.problem("leaked", "%v", left)
		}
	}
}

// checkEnd compares a run that is done with what it must have come to.
func (r *trial) checkEnd() {
	if r.job.counts {
		if text := r.wrongCounts(); text != "" {
			r.problem("lost", "%s", text)
		}
	}
	r.checkWeights()
	r.checkMetrics()
}

func (r *trial) checkWeights() {
	_, tensors, err := rundir.ReadTensors(filepath.Join(r.folder, rundir.WeightsFile))
	if err != nil {
		r.problem("torn", "%v", err)
		return
	}
	for _, t := range tensors {
		w, _ := t.Floats() // wrongCounts, or the accuracy, notices if there are none
		for i, v := range w {
			if v-v != 0 {
				r.problem("lost", "%s: weight %d is %v", t.Name, i, v)
				return
			}
		}
	}
}

// checkMetrics sees that there is one line an epoch, with the examples until then.
func (r *trial) checkMetrics() {
	run, err := rundir.ReadRun(r.folder)
	if err != nil {
		r.problem("torn", "%v", err)
		return
	}
	accuracy := math.NaN()
	for i, e := range run.Epochs { // without those that a resumed run has trained again
		if e.Epoch != i+1 || e.Examples != int64(e.Epoch*r.job.examples()) {
			r.problem("lost", "line %d of epochs in %s is of epoch %d, %d examples, want %d an epoch", i+1,
				rundir.MetricsName, e.Epoch, e.Examples, r.job.examples())
			break
		}
		if e.TestAccuracy != nil {
			accuracy = *e.TestAccuracy
		}
	}
	if len(run.Epochs) != r.job.epochs {
		r.problem("lost", "%s has %d of %d epochs", rundir.MetricsName, len(run.Epochs), r.job.epochs)
	}
	if run.Result == nil || run.Result.LostExamples != 0 || run.Result.Epochs != r.job.epochs {
		r.problem("lost", "the result is %+v", run.Result)
	}
	if !(accuracy >= r.job.want-0.06) {
		r.problem("lost", "accuracy %v, %v undisturbed", accuracy, r.job.want)
	}
}

// descriptors returns what a process has open. Some are for a moment only, so it is the least of several looks.
func descriptors(pid int) (least []string) {
	for i := range 5 {
		var open []string
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range all {
			if to, err := os.Readlink(fd); err == nil {
				open = append(open, to)
			}
		}
		if i == 0 || len(open) < len(least) {
			least = open
		}
		time.Sleep(2 * time.Millisecond)
	}
	return least
}

// TestDamageIsSeen: what the table counts would be noticed.
func TestDamageIsSeen(t *testing.T) {
	for kind, damage := range map[string]func(r *trial) error{
		"torn": func(r *trial) error {
			path := filepath.Join(r.folder, rundir.SnapshotFile)
			text, err := os.ReadFile(path)
			if err == nil {
				text[len(text)/2] ^= 1
				err = os.WriteFile(path, text, 0o666)
			}
			return err
		},
		"leaked": func(r *trial) error { return os.WriteFile(filepath.Join(r.folder, "weights.tmp"), nil, 0o666) },
		"lost": func(r *trial) error {
			path := filepath.Join(r.folder, rundir.MetricsName)
			text, err := os.ReadFile(path)
			_, after, _ := bytes.Cut(text, []byte("\n"))
			return errors.Join(err, os.WriteFile(path, after, 0o666))
		},
	} {
		r := newTrial(t, countingJob("async", 2, 3))
		r.play("")
		r.report(t)
		if err := damage(r); err != nil {
			t.Fatal(err)
		}
		if r.examine(); len(r.wrong) == 0 || r.wrong[0].kind != kind {
			t.Errorf("%s: seen was %v", kind, r.wrong)
		}
		left := exec.Command("sleep", "60")
		left.Env = []string{mark + "=" + r.where}
		if err := left.Start(); err != nil {
			t.Fatal(err)
		}
		if pids := r.processes(); !slices.Equal(pids, []int{left.Process.Pid}) {
			t.Errorf("processes %v, want %d", pids, left.Process.Pid)
		}
		_ = left.Process.Kill()
		_ = left.Wait() // killed
	}
}
