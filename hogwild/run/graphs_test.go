package run_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
)

// graphRun returns a run on a knowledge graph in which entity a has the relation r to a + r + 1, modulo their number.
func graphRun(t *testing.T, facts int) config.Config {
	t.Helper()
	r, all := rand.New(rand.NewPCG(3, 5)), &strings.Builder{}
	for range facts {
		head, relation := r.IntN(400), r.IntN(3)
		fmt.Fprintf(all, "e%d\tr%d\te%d\n", head, relation, (head+relation+1)%400)
	}
	path := filepath.Join(t.TempDir(), "graph.tsv")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := configtest.Quick(t)
	c.Data, c.Model, c.Loss, c.Batch, c.LR, c.Negatives, c.Schedule = path, "kge:complex:16", "", 0, 0, 32, "auto"
	return c
}

// TestGraphRepeats: with one worker a run repeats to the bit, and so does one that was cut and resumed.
func TestGraphRepeats(t *testing.T) {
	c := graphRun(t, 15000)
	c.Workers, c.Epochs, c.SaveEvery, c.Run = 1, 4, "0", t.TempDir()
	whole := runtest.Train(t, c)
	again := runtest.WithRun(c, t.TempDir())
	runtest.SameEnd(t, whole.Run, runtest.Train(t, again).Run)
	parts := runtest.WithRun(c, t.TempDir())
	runtest.Interrupted(t, parts, 2, 5000)
	runtest.SameEnd(t, whole.Run, runtest.Train(t, runtest.Resumed(parts)).Run)
}

// TestGraphFactsAreTrainedOnce: when workers are killed in the middle of a pass, each fact counts once in each pass,
// and the loss is as in an undisturbed run.
func TestGraphFactsAreTrainedOnce(t *testing.T) {
	c := graphRun(t, 60000)
	c.Epochs, c.Workers, c.MaxRestarts = 4, 3, 1000
	whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
	killed := runtest.KilledOften(t, c)
	if killed.Restarts == 0 {
		t.Error("no worker was killed")
	}
	if killed.Examples != whole.Examples || killed.LostExamples != 0 {
		t.Errorf("%d facts, %d lost, want %d", killed.Examples, killed.LostExamples, whole.Examples)
	}
	if math.Abs(killed.TestLoss-whole.TestLoss) > 0.1*whole.TestLoss+0.05 {
		t.Errorf("test loss %v, and %v undisturbed", killed.TestLoss, whole.TestLoss)
	}
	if f := killed.Detail.Ranked; f == nil || f.Facts == nil || f.Facts.MRR < 0.5 {
		t.Errorf("the ranking is %+v", f)
	}
}
