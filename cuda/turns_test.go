//go:build cuda

package cuda

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// turn is a line of the stand-in's file of turns: from when to when a process had a GPU, in microseconds, and the most
// CTAs that its launches had there at once.
type turn struct {
	PID      int
	From, To int64
	CTAs     int
	SMs      int
}

// turnsOf trains apart, where processes take turns on the GPU.
func turnsOf(t *testing.T, c config.Config) (turns []turn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "turns")
	if _, err := apart(t, c, "HOGWILD_FAKE_TURNS="+path).result(t); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	ok(t, err)
	for line := range strings.Lines(string(text)) {
		var one turn
		ok(t, json.Unmarshal([]byte(line), &one))
		turns = append(turns, one)
	}
	return turns
}

// TestWorkersTakeTurns: without a Multi-Process Service one process at a time has the GPU, so each must fill it:
// several workers keep as many multiprocessors busy as one does.
func TestWorkersTakeTurns(t *testing.T) {
	if !onStandIn() {
		t.Skip("HOGWILD_FAKE_TRACE is not set: not the stand-in driver")
	}
	var alone float64
	for _, workers := range []int{1, 4} {
		turns := turnsOf(t, digits(t, func(c *config.Config) {
			c.Model, c.Workers, c.InFlight, c.Epochs = "softmax", workers, 16, 3
		}))
		slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.From, b.From) })
		processes, busy, all := map[int]bool{}, 0.0, 0.0
		for i, one := range turns {
			if i > 0 && turns[i-1].To > one.From {
				t.Errorf("turns overlap: %+v and %+v", turns[i-1], one)
			}
			processes[one.PID] = true
			time := float64(one.To - one.From)
			busy, all = busy+time*float64(min(one.CTAs, one.SMs)), all+time
		}
		if len(processes) != 1+workers { // the coordinator evaluates
			t.Errorf("%d workers: %d processes had turns", workers, len(processes))
		}
		t.Logf("%d workers: %d turns, %.1f multiprocessors busy", workers, len(turns), busy/all)
		if workers == 1 {
			alone = busy / all
		} else if busy/all < .6*alone {
			t.Errorf("%d workers keep %.1f multiprocessors busy, one %.1f", workers, busy/all, alone)
		}
	}
}
