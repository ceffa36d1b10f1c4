package cpu

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
)

// TestPlaces: each worker of all nodes on a machine has a core for itself, or none is bound to one.
func TestPlaces(t *testing.T) {
	for cores := 1; cores <= 33; cores++ {
		for workers := 2; workers <= 9; workers++ {
			for nodes := 0; nodes <= 5; nodes++ {
				taken := make([]bool, cores)
				for node := range max(1, nodes) {
					for rank := range workers {
						at := place(&config.Config{Workers: workers, HostNode: node, HostNodes: nodes},
							rank, cores, 4711)
						if enough := workers*max(1, nodes) <= cores; !enough || at < 0 {
							if enough || at >= 0 {
								t.Fatalf("%d cores, %d nodes of %d workers: rank %d of node %d has %d", cores, nodes,
									workers, rank, node, at)
							}
							continue
						}
						if taken[at] {
							t.Fatalf("%d cores, %d nodes of %d workers: rank %d of node %d has core %d, which is taken",
								cores, nodes, workers, rank, node, at)
						}
						taken[at] = true
					}
				}
			}
		}
	}
	alone := config.Config{Workers: 3}
	if a, b := place(&alone, 1, 8, 4711), place(&alone, 1, 8, 4712); a != (4711+1)%8 || b != (4712+1)%8 {
		t.Errorf("runs of two coordinators begin at cores %d and %d", a, b)
	}
}

// TestStay: all threads of the process have long turns, where Linux has turns of several lengths.
func TestStay(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || before.Runtime == 0 {
		t.Skip("turns have one length here")
	}
	runtimes := func() (all []uint64) {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name())
			if a, err := unix.SchedGetAttr(id, 0); err == nil { // else it has just ended
				all = append(all, a.Runtime)
			}
		}
		return all
	}
	defer stay(time.Duration(before.Runtime))
	stay(longTurn)
	for _, runtime := range runtimes() {
		if runtime != uint64(longTurn) {
			t.Errorf("a thread has turns of %d ns, want %d", runtime, longTurn)
		}
	}
}
