package worker_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestLocalSteps trains with two workers that merge copies: all their steps are in the
// weights at the end, so the loss is as in training in place.
func TestLocalSteps(t *testing.T) {
	loss := func(every string, batch int) float64 {
		c := configtest.Quick(t)
		c.Model, c.Workers, c.MergeEvery, c.Batch = "mlp:32", 2, config.Count(every), batch
		c.LR = 0.001 * float64(batch) // well within what two workers allow
		return runtest.Train(t, c).TestLoss
	}
	for _, batch := range []int{1, 16} {
		if plain, held := loss("1", batch), loss("8", batch); held > 1.2*plain+0.02 {
			t.Errorf("batch %d: test loss %.4f, in place %.4f", batch, held, plain)
		}
	}
}

// TestCentredTogether: two workers that merge centred weights learn as well as one. Were
// they merged as V, s and k the bias would run away (model.Centered) where updates are lost: to
// a loss of 1 to 100, on cores that are far apart or busy.
func TestCentredTogether(t *testing.T) {
	loss := func(workers int, seed uint64) float64 {
		c := configtest.Quick(t)
		c.Data, c.Model, c.Workers, c.Seed, c.Center, c.LR, c.Epochs = "digits:6000", "softmax", workers, seed, "on",
			0.1, 8
		r, err := run.Run(context.Background(), c, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.TestLoss
	}
	for seed := range uint64(3) {
		if one, two := loss(1, seed+1), loss(2, seed+1); !(two < 1.2*one) {
			t.Errorf("seed %d: test loss %v with one worker, %v with two", seed+1, one, two)
		}
	}
}

// TestHotRowsOfRuns: workers that merge frequent words, and are killed at times, train each word once, learn what
// workers that write in place do, and say how often which rows are in conflict.
func TestHotRowsOfRuns(t *testing.T) {
	path, r := filepath.Join(t.TempDir(), "words.txt"), rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	words := map[int]bool{}
	for range 5000 { // lines of one of ten topics
		topic := r.IntN(10)
		for range 20 {
			word := 10*int(300*math.Pow(r.Float64(), 3)) + topic
			words[word] = true
			fmt.Fprintf(&text, "w%d ", word)
		}
		text.WriteString("\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	config := func(every config.Count) config.Config {
		c := configtest.Quick(t)
		c.Data, c.Model, c.Workers, c.Batch, c.LR, c.MinCount, c.MergeEvery = path, "word2vec:50", 2, 1, .05, 1, every
		c.Epochs, c.MaxRestarts, c.SaveEvery = 6, 100, "0"
		return c
	}
	plain, c := runtest.Train(t, config("1")), config("auto")
	killed := runtest.Start(t, c)
	for i := range 3 {
		killed.Reach(uint64(i+2), 100)
		runtest.Kill(t, killed.PID(i%2))
	}
	got, err := killed.Wait()
	if err != nil || got.Restarts != 3 || got.Examples != plain.Examples || got.LostExamples != 0 {
		t.Errorf("%v; %d restarts, %d words, in place %d", err, got.Restarts, got.Examples, plain.Examples)
	}
	if !(got.TestLoss < 1.05*plain.TestLoss) || !(plain.TestLoss < 0.9*plain.History[0].TestLoss) {
		t.Errorf("test loss %v, in place %v, after an epoch %v", got.TestLoss, plain.TestLoss,
			plain.History[0].TestLoss)
	}
	hot := len(words) / 16
	if want := fmt.Sprintf("async, in place, the first 64 rows of each table merged every 256 local steps (auto), the "+
		"next %d every 1,024", hot-64); got.Merge != want {
		t.Errorf("it says %q, want %q", got.Merge, want)
	}
	for rows, r := range map[int]rundir.Result{64: plain, hot: got} {
		if len(r.Tables) != 4 || r.Tables[2].Table != fmt.Sprintf("out.weight, first %d rows", rows) {
			t.Errorf("tables %+v", r.Tables)
		}
	}
}
