package shm

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/internal/self"
)

func word(t *testing.T) *uint32 {
	var l Layout
	l.Add("word", U32, 1)
	return &view[uint32](t, create(t, &l), "word")[0]
}

func TestWaitReturns(t *testing.T) {
	checkLeaks(t)
	w := word(t)
	start := time.Now()
	if err := Wait(w, 1, 0); err != nil || time.Since(start) > time.Second {
		t.Errorf("another value: %v after %v", err, time.Since(start))
	}
	start = time.Now()
	err := Wait(w, 0, 30*time.Millisecond)
	if took := time.Since(start); err != nil || took > time.Second {
		t.Errorf("a timeout of 30 ms: %v after %v", err, took)
	}
}

func TestWakeWakesAll(t *testing.T) {
	checkLeaks(t)
	w := word(t)
	var waiting atomic.Int32
	done := make(chan error, 5)
	for range cap(done) {
		go func() {
			waiting.Add(1)
			var err error
			for atomic.LoadUint32(w) == 0 && err == nil {
				err = Wait(w, 0, 0)
			}
			done <- err
		}()
	}
	until(t, "five that wait", func() bool { return waiting.Load() == 5 })
	time.Sleep(5 * time.Millisecond)
	Wake(w)
	for range cap(done) {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("somebody sleeps on")
		}
	}
}

func TestAlive(t *testing.T) {
	checkLeaks(t)
	if !Alive(os.Getpid()) || !Alive(os.Getppid()) {
		t.Error("this process, or its parent, is said to be dead")
	}
	cmd := self.Command(t.Context())
	cmd.Env = append(os.Environ(), jobVariable+"=look") // ends at once: it has no descriptor 3
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	until(t, "the end of a child that nobody waits for", func() bool { return !Alive(pid) })
	if err := cmd.Process.Signal(os.Signal(os.Kill)); err != nil {
		t.Errorf("the child is not a zombie: %v", err)
	}
	_ = cmd.Wait() // it failed, as it had to
	for _, gone := range []int{pid, 0, -1, 1 << 30} {
		if Alive(gone) {
			t.Errorf("process %d is said to be alive", gone)
		}
	}
}
