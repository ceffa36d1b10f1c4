package workers

import (
	"os"
	"testing"
)

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
