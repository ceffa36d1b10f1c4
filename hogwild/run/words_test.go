package run_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// wordRun returns a run on a text of this many lines, in which words stand near others of their topic.
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
	c := configtest.Quick(t)
	c.Data, c.Model, c.Loss, c.Batch, c.LR, c.Schedule = path, "word2vec:20", "", 0, 0, "auto"
	return c
}

// TestWordsAreTrainedOnce: when a worker or the coordinator is killed in the middle of a pass, each word counts once in
// each pass, and the loss is as in an undisturbed run.
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
			whole := runtest.Train(t, alone)
			words := whole.Examples / 4
			killed := runtest.KilledOften(t, c)
			c.Run = filepath.Join(t.TempDir(), "cut")
			part := runtest.Cut(t, c, 2, int(words/3))
			if part.Examples <= words || part.Examples >= 2*words {
				t.Errorf("%d words when cut, and a pass has %d", part.Examples, words)
			}
			continued := runtest.Train(t, runtest.Resumed(c))
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
		return runtest.Train(t, d).TrainLoss
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

// listed returns the lines that words.txt is to have for a text with nothing held out, counted here.
func listed(t *testing.T, path string, least int) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	counts, order := map[string]int{}, []string(nil)
	for word := range strings.FieldsSeq(string(text)) {
		if counts[word]++; counts[word] == 1 {
			order = append(order, word)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for _, word := range order {
		if counts[word] >= least {
			lines = append(lines, fmt.Sprintf("%s %d\n", word, counts[word]))
		}
	}
	return lines
}

// fewWords returns a test file of a wordRun, so that all of its text is trained on.
func fewWords(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "few.txt")
	if err := os.WriteFile(path, []byte("w0_0 w0_1 w0_2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWordsStay: words.txt is made again when it, or its folder, is removed, and it is in the folder that a run is
// saved to when its own is taken.
func TestWordsStay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	for name, remove := range map[string]func(dir string) error{
		"words":  func(dir string) error { return os.Remove(filepath.Join(dir, rundir.WordsFile)) },
		"folder": os.RemoveAll,
		"taken": func(dir string) error {
			return cmp.Or(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o777),
				os.WriteFile(filepath.Join(dir, "mine"), nil, 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := wordRun(t, 1000)
			c.Test, c.Run, c.Epochs = fewWords(t), filepath.Join(c.Run, "mine"), 3
			out := &remover{c.Run, "epoch   1", remove}
			got, err := run.Run(context.Background(), c, run.Options{Progress: out})
			if out.when != "" || err != nil && (name != "taken" || !errors.Is(err, config.ErrElsewhere)) {
				t.Fatalf("%q, %v", out.when, err)
			}
			text, err := os.ReadFile(filepath.Join(got.Run, rundir.WordsFile))
			if want := strings.Join(listed(t, c.Data, 5), ""); err != nil || string(text) != want {
				t.Errorf("%v, %d bytes of words, want %d", err, len(text), len(want))
			}
			f, err := rundir.ReadWeights(got.Run, 0)
			if err != nil || f.Saved.Meta.Text.Vocabulary == nil {
				t.Errorf("the weights have no words: %v", err)
			}
		})
	}
}

// withoutWords makes a file of weights one of a version that saved no words.
func withoutWords(t *testing.T, path string) {
	t.Helper()
	meta, tensors, err := rundir.ReadTensors(path)
	if err != nil {
		t.Fatal(err)
	}
	delete(meta, "hogwild.words")
	tensors = slices.DeleteFunc(tensors, func(x rundir.Tensor) bool { return x.Name == "hogwild.words" })
	if err := rundir.WriteTensors(path, meta, tensors); err != nil {
		t.Fatal(err)
	}
}

// TestWordsOfOthers: a words.txt that is not the one of the weights is refused, also by a run of a version that did not
// save its checksum; one that is missing is in the snapshot. A run is resumed in all of these cases, with its own
// words.
func TestWordsOfOthers(t *testing.T) {
	c := wordRun(t, 400)
	c.Test, c.Epochs = fewWords(t), 1
	runtest.Train(t, c)
	lines := listed(t, c.Data, 5)
	path := filepath.Join(c.Run, rundir.WordsFile)
	read := func() (words []string, err error) {
		f, err := rundir.ReadWeights(c.Run, 0)
		if err == nil && f.Saved.Meta.Text.Vocabulary != nil {
			words = f.Saved.Meta.Text.Vocabulary.Words
		}
		return words, err
	}
	whole, err := read()
	if err != nil || len(whole) != len(lines) {
		t.Fatalf("%d words, %v, want %d", len(whole), err, len(lines))
	}
	negative := slices.Clone(lines)
	negative[len(lines)-1] = "last -3\n"
	for name, wrong := range map[string][]string{
		"exchanged": slices.Insert(slices.Clone(lines[1:]), 1, lines[0]),
		"doubled":   slices.Insert(slices.Clone(lines[1:]), 1, lines[1]),
		"negative":  negative,
		"cut":       lines[:len(lines)-1],
		"empty":     nil,
		"missing":   {"-"},
	} {
		for _, earlier := range []bool{false, true} {
			what := name
			if earlier {
				what += ", of an earlier version"
				withoutWords(t, filepath.Join(c.Run, rundir.WeightsFile))
				withoutWords(t, filepath.Join(c.Run, rundir.SnapshotFile))
			}
			if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := read(); err != nil || !slices.Equal(got, whole) {
				t.Fatalf("%s: with its own words %v", what, err)
			}
			if err := os.WriteFile(path, []byte(strings.Join(wrong, "")), 0o666); err != nil {
				t.Fatal(err)
			}
			if name == "missing" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			switch got, err := read(); {
			case name != "missing":
				check.Error(t, err, "words")
			case err != nil || !earlier && !slices.Equal(got, whole) || earlier && got != nil:
				t.Errorf("%s: %d words, %v", what, len(got), err)
			}
		}
		c.Epochs++
		runtest.Train(t, runtest.Resumed(c))
		if text, err := os.ReadFile(path); err != nil || string(text) != strings.Join(lines, "") {
			t.Errorf("%s: resumed with %d bytes of words, %v", name, len(text), err)
		}
		if _, err := read(); err != nil {
			t.Errorf("%s: resumed: %v", name, err)
		}
	}
}
