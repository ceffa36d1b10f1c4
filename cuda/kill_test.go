//go:build cuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// TestKilledAnytime kills workers and coordinators 50 times in all, at random moments, and
// resumes when it was the coordinator. Nothing may be left of it, and what comes out must be
// as good as what an undisturbed run makes.
func TestKilledAnytime(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	for _, c := range []struct {
		name, mode string
		gpu        string
		near       float64 // of the undisturbed accuracy
		switches   []string
	}{
		{"async", "async", "0", .01, nil},
		{"sync", "sync", "0", .01, nil},
		{"through host memory", "async", "0,1", .01, []string{"HOGWILD_FAKE_DEVICES=2", "HOGWILD_FAKE_P2P=off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := digits(t, func(cfg *config.Config) {
				cfg.Mode, cfg.Workers, cfg.Model, cfg.Data = config.MustMode(c.mode), 2, "softmax", "digits:2000"
				cfg.Epochs, cfg.LR, cfg.SaveEvery, cfg.MaxRestarts = 60, .1, "50ms", 1000
				if c.mode == "async" {
					cfg.InFlight = 2
				}
			})
			undisturbed := cfg
			undisturbed.Run = t.TempDir()
			want := train(t, undisturbed)
			k := killer{t: t, cfg: cfg, switches: c.switches}
			if k.cfg.GPU = c.gpu; c.switches != nil {
				needStandIn(t)
			}
			got := k.play(25)
			t.Logf("%d workers and %d coordinators killed, resumed %d times; accuracy %.4f, undisturbed %.4f; loss "+
				"%.4f, %.4f; %d restarts",
				k.workers, k.coordinators, k.resumed, *got.TestAccuracy, *want.TestAccuracy, got.TestLoss,
				want.TestLoss, got.Restarts)
			if abs(*got.TestAccuracy-*want.TestAccuracy) > c.near {
				t.Errorf("accuracy %.4f, undisturbed %.4f", *got.TestAccuracy, *want.TestAccuracy)
			}
			if n := int64(cfg.Epochs * 2000); got.Examples+got.LostExamples != n {
				t.Errorf("%d examples and %d lost, want %d in all", got.Examples, got.LostExamples, n)
			}
		})
	}
}

// killer kills processes of a run apart.
type killer struct {
	t                              *testing.T
	cfg                            config.Config
	switches                       []string
	run                            *process
	since                          time.Time // when it was started
	workers, coordinators, resumed int
}

// play kills this many processes, and lets the last run end.
func (k *killer) play(kills int) rundir.Result {
	k.run, k.since = apart(k.t, k.cfg, k.switches...), time.Now()
	for k.workers+k.coordinators < kills {
		if rand.IntN(2) > 0 { // else perhaps while it starts
			for !k.saved() && !ended(k.run.Process.Pid) {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Duration(rand.IntN(int(200 * time.Millisecond))))
		if ended(k.run.Process.Pid) {
			_, err := k.run.result(k.t)
			k.t.Fatalf("the run is over after %d kills: %v", k.workers+k.coordinators, err)
		}
		if rand.IntN(3) == 0 {
			k.killCoordinator()
			continue
		}
		if pids := childrenOf(k.run.Process.Pid); len(pids) > 0 &&
			syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL) == nil {
			k.workers++
		}
	}
	remains := remainsOf(k.run.Process.Pid)
	r, err := k.run.result(k.t)
	if err != nil {
		k.t.Fatal(err)
	}
	remains.gone(k.t)
	return r
}

// saved reports whether the run has saved something since it was started.
func (k *killer) saved() bool {
	info, err := os.Stat(filepath.Join(k.cfg.Run, "snapshot.safetensors"))
	return err == nil && info.ModTime().After(k.since)
}

// killCoordinator kills, sees that nothing is left, and starts again.
func (k *killer) killCoordinator() {
	remains := remainsOf(k.run.Process.Pid)
	if err := k.run.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = k.run.Wait() // killed
	k.coordinators++
	remains.gone(k.t)
	k.cfg.Resume = ""
	if _, err := os.Stat(filepath.Join(k.cfg.Run, "snapshot.safetensors")); err == nil {
		k.cfg.Resume = k.cfg.Run
		k.resumed++
	}
	k.run, k.since = apart(k.t, k.cfg, k.switches...), time.Now()
}

// remains are what a coordinator and its workers hold: processes, and memfds, which are
// the segments and the stand-in's GPU memory.
type remains struct {
	pids   []int
	memfds map[uint64]string // by inode
}

func remainsOf(coordinator int) remains {
	r := remains{pids: append(childrenOf(coordinator), coordinator), memfds: map[uint64]string{}}
	for _, pid := range r.pids {
		for inode, name := range memfdsOf(pid) {
			r.memfds[inode] = name
		}
	}
	if r.left() == "" {
		panic("a run without processes")
	}
	return r
}

// gone waits until nothing of it is left anywhere on this machine.
func (r remains) gone(t *testing.T) {
	t.Helper()
	var left string
	for range 500 {
		if left = r.left(); left == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("after 5 s there is still %s", left)
}

func (r remains) left() string {
	for _, pid := range r.pids {
		if !ended(pid) {
			return fmt.Sprintf("process %d", pid)
		}
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		pid, _ := strconv.Atoi(filepath.Base(process))
		for inode, name := range memfdsOf(pid) {
			if _, ours := r.memfds[inode]; ours {
				return fmt.Sprintf("%s in process %d", name, pid)
			}
		}
	}
	return ""
}

// memfdsOf are the memfds that a process has open, by inode; none when it has ended, or is
// another user's.
func memfdsOf(pid int) map[uint64]string {
	found := map[uint64]string{}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		var s syscall.Stat_t
		name, err := os.Readlink(file)
		if err == nil && strings.HasPrefix(name, "/memfd:") && syscall.Stat(file, &s) == nil {
			found[s.Ino] = name
		}
	}
	return found
}

// ended reports whether a process is gone, or only waits to be asked how it ended.
func ended(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}
