package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// wordRun is a run on a text of so many lines, in which words stand near those of their topic.
func wordRun(t *testing.T, lines int) config.Config {
	t.Helper()
	r, all := rand.New(rand.NewPCG(3, 5)), &strings.Builder{}
	for range lines {
		topic := r.IntN(8)
		for range 5 + r.IntN(30) {
			fmt.Fprintf(all, "w%d_%d ", topic, int(60*math.Pow(r.Float64(), 2)))
		}
		all.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "corpus.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := quick(t)
	c.Data, c.Model, c.Loss, c.Batch, c.LR, c.Schedule = path, "word2vec:20", "", 0, 0, "auto"
	return c
}

// TestWordsAreTrainedOnce: whoever is killed in the middle of a pass, worker or coordinator, each word counts once in
// each pass, and the loss is that of a run that nobody disturbed.
func TestWordsAreTrainedOnce(t *testing.T) {
	for _, name := range []string{"word2vec:20", "word2vec:20 merged"} {
		t.Run(name, func(t *testing.T) {
			c := wordRun(t, 15000)
			c.Epochs, c.Workers, c.MaxRestarts = 4, 3, 1000
			if strings.HasSuffix(name, "merged") {
				c.MergeEvery = "64"
			}
			alone := c
			alone.Run = filepath.Join(t.TempDir(), "alone")
			whole := train(t, alone)
			words := whole.Examples / 4
			r := start(t, c)
			for i := range 6 {
				time.Sleep(within(20 * time.Millisecond))
				if ended(r.done) {
					break
				}
				kill(t, r.pid(i%c.Workers)) // each has been replaced when its turn comes again
			}
			killed, err := r.wait()
			if err != nil {
				t.Fatal(err)
			}
			c.Run = filepath.Join(t.TempDir(), "cut")
			part := cut(t, c, 2, int(words/3))
			if part.Examples <= words || part.Examples >= 2*words {
				t.Errorf("%d words when cut, and a pass has %d", part.Examples, words)
			}
			continued := train(t, resumed(c))
			for _, got := range []rundir.Result{killed, continued} {
				if got.Examples != whole.Examples || got.LostExamples != 0 {
					t.Errorf("%d words, %d lost, want %d", got.Examples, got.LostExamples, whole.Examples)
				}
				if math.Abs(got.TestLoss-whole.TestLoss) > 0.02*whole.TestLoss {
					t.Errorf("test loss %v, and %v undisturbed", got.TestLoss, whole.TestLoss)
				}
			}
			if killed.Restarts == 0 {
				t.Error("no worker was killed")
			}
		})
	}
}

// TestWordsOfAnyWorkers: the loss of 1, 2 and 8 workers is the same within what seeds make of it.
func TestWordsOfAnyWorkers(t *testing.T) {
	c := wordRun(t, 4000)
	c.Epochs = 3
	loss := func(workers int, seed uint64, edit func(*config.Config)) float64 {
		d := c
		d.Workers, d.Seed, d.Run = workers, seed, filepath.Join(t.TempDir(), "run")
		edit(&d)
		return train(t, d).TrainLoss
	}
	same := func(*config.Config) {}
	low, high := math.Inf(1), math.Inf(-1)
	for seed := range uint64(4) {
		x := loss(1, seed, same)
		low, high = min(low, x), max(high, x)
	}
	margin := (high - low) / 2
	for name, x := range map[string]float64{"2 workers": loss(2, 9, same), "8 workers": loss(8, 9, same),
		"8 workers, merged": loss(8, 9, func(c *config.Config) { c.MergeEvery = "64" })} {
		if x < low-margin || x > high+margin {
			t.Errorf("%s: loss %v; one worker has %v to %v", name, x, low, high)
		}
	}
}
