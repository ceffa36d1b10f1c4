package workers

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
)

// TestSighting: what is found of a process that stands still, one look a second, and of one that moves on.
func TestSighting(t *testing.T) {
	still, moved := &threads{switches: 7, state: "S (sleeping)"}, &threads{switches: 8}
	for _, c := range []struct {
		name  string
		limit time.Duration
		moves int // after this many looks; 0: never
		want  map[int]Motion
	}{
		{"hangs", 4 * time.Second, 0, map[int]Motion{3: Warning, 5: Hung, 11: Held, 12: Held, 13: Held}},
		{"moves again", 4 * time.Second, 4, map[int]Motion{3: Warning, 4: Moves, 6: Warning, 8: Hung}},
		{"moves before", 4 * time.Second, 2, map[int]Motion{4: Warning, 6: Hung, 12: Held, 13: Held}},
		{"is killed, and moves", 4 * time.Second, 6, map[int]Motion{3: Warning, 5: Hung, 12: Held, 13: Held}},
	} {
		s, is := &sighting{}, *still
		for i := 1; i <= 13; i++ {
			if i == c.moves {
				is.switches++
			}
			f := s.look(&is, time.Second, c.limit)
			want, found := c.want[i]
			if !found && (i == 1 || i == c.moves) {
				want = Runs
			}
			if f.State != want {
				t.Errorf("%s: look %d: %v, want %v", c.name, i, f.State, want)
			}
			if f.State == Hung && (f.For != c.limit || f.Kernel != "S (sleeping)") {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
	s, limit := &sighting{}, config.Default().HangTimeout
	for i := range 3 * int(limit/time.Second) {
		want := map[int]Motion{0: Runs, int(limit / 2 / time.Second): Warning}
		if f := s.look(still, time.Second, 0); f.State != want[i] {
			t.Errorf("without a limit: look %d: %v", i, f.State)
		}
	}
	for _, is := range []*threads{moved, {switches: 8, running: true}, {switches: 8, traced: true},
		{switches: 8, running: true}} {
		if f := s.look(is, time.Hour, time.Second); f.State != Runs && f.State != Moves {
			t.Errorf("%+v: %v", is, f.State)
		}
	}
}

// TestLook: a process that is stopped hangs; this one, which runs, does not, and of one that is gone nothing is said.
func TestLook(t *testing.T) {
	p := exec.Command("sleep", "60")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Wait()
	defer p.Process.Kill()
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w, timeout := NewWatch(64*time.Millisecond), time.Now().Add(time.Minute)
	all := []Watched{{PID: 1 << 30}, {PID: os.Getpid()}, {PID: p.Process.Pid, OnDevice: true}}
	for saw := map[Motion]bool{}; !saw[Hung]; time.Sleep(w.Every()) {
		if time.Now().After(timeout) {
			t.Fatalf("it does not hang: %v", saw)
		}
		found := w.Look(all)
		if found[0] != (Finding{}) || found[1].State != Runs {
			t.Errorf("%+v", found)
		}
		f := found[2]
		if saw[f.State] = true; f.State == Hung && (!saw[Warning] || f.Kernel != "T (stopped)" ||
			f.Limit != w.timeout) {
			t.Errorf("%+v", f)
		}
	}
}

// TestReadThreads: what the kernel says of this process, which runs, and of one that is stopped.
func TestReadThreads(t *testing.T) {
	if all, err := readThreads(os.Getpid(), 0); err != nil || !all.running || all.switches == 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := readThreads(1<<30, 0); err == nil {
		t.Error("of no process")
	}
	var a threads
	if a.add("Name:\thogwild\nState:\tT (stopped)\n") == nil {
		t.Error("no error without switches")
	}
	const tail = "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t4\n"
	for _, s := range []string{"State:\tT (stopped)\nTracerPid:\t0\n", "State:\tS (sleeping)\nTracerPid:\t4\n"} {
		if err := a.add(s + tail); err != nil {
			t.Error(err)
		}
	}
	if want := (threads{state: "T (stopped)", switches: 22, traced: true}); a != want || !a.stopped() {
		t.Errorf("%+v", a)
	}
}
