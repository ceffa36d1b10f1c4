package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

var repeatable = []struct {
	name string
	edit func(*config.Config)
}{
	{"async sgd", func(c *config.Config) {}},
	{"async adam cosine", func(c *config.Config) { c.Optimizer, c.Schedule, c.LR = "adam", "cosine", 1e-3 }},
	{"async cosine small batch", func(c *config.Config) { c.Schedule, c.Batch = "cosine", 48 }},
	{"sync every epoch", func(c *config.Config) { c.Mode, c.Workers = config.MustMode("sync"), 3 }},
	{"sync every 3 steps", func(c *config.Config) {
		c.Mode, c.Workers, c.AverageEvery = config.MustMode("sync"), 3,
			3
	}},
	{"sync momentum", func(c *config.Config) {
		c.Mode, c.Workers, c.AverageEvery, c.Optimizer = config.MustMode("sync"), 3, 3, "momentum"
	}},
	{"sync gradients momentum", func(c *config.Config) {
		c.Mode, c.Workers, c.Average, c.Optimizer = config.MustMode("sync"), 3, "gradients", "momentum"
	}},
}

// TestResumeIsExact: a run that was cut, twice, ends with the bits of one left alone.
func TestResumeIsExact(t *testing.T) {
	runtest.InFull(t)
	for _, c := range repeatable {
		t.Run(c.name, func(t *testing.T) {
			whole := configtest.Quick(t)
			whole.Epochs = 2
			c.edit(&whole)
			want := runtest.Train(t, whole)
			parts := runtest.WithRun(whole, t.TempDir())
			parts.Model = "slower"
			runtest.Cut(t, parts, 1, 400)
			parts = runtest.Resumed(parts)
			runtest.Cut(t, parts, 2, 500)
			got := runtest.Train(t, parts)
			runtest.SameEnd(t, want.Run, got.Run)
			if got.Examples != want.Examples || got.Epochs != want.Epochs {
				t.Errorf("%d examples in %d epochs, want %d in %d", got.Examples, got.Epochs, want.Examples,
					want.Epochs)
			}
			for i, e := range got.History { // sums of chunks in the same order
				if e.TrainLoss != want.History[i].TrainLoss || e.TestLoss != want.History[i].TestLoss {
					t.Errorf("epoch %d: losses %v, %v, want %v, %v", e.Epoch, e.TrainLoss, e.TestLoss,
						want.History[i].TrainLoss, want.History[i].TestLoss)
				}
			}
		})
	}
}

// TestResumeOfShortSteps: a model that takes many steps at once ends with the same bits wherever a run of it was cut,
// also while its rate falls.
func TestResumeOfShortSteps(t *testing.T) {
	words, pairs := wordRun(t, 5000), config.Default()
	text, lines := pairs, &strings.Builder{}
	for i := range 15000 {
		fmt.Fprintf(lines, "__label__%d w%d w%d\n", i%3, i%7, i%97)
	}
	text.Model, text.Data = "text:10", filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(text.Data, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	pairs.Data, pairs.Model = "synth:lowrank:1000x800x200003x4", "factor:4"
	for name, c := range map[string]config.Config{"word2vec:10": words, "word2vec:10 --cbow": words,
		"word2vec:10 --share-negatives": words, "text:10": text, "factor:4": pairs, "factor:4 atomic": pairs,
		"factor:4 sync": pairs} {
		for _, schedule := range []config.Schedule{"linear", "cosine"} {
			t.Run(name+" "+string(schedule), func(t *testing.T) {
				if schedule == "cosine" && name != "text:10" { // with -short one model shows the second schedule
					runtest.InFull(t)
				}
				c.CBOW, c.ShareNegatives = strings.Contains(name, "cbow"), strings.Contains(name, "share")
				c.Model, c.Schedule, c.Workers, c.Epochs, c.SaveEvery = strings.Fields(name)[0], schedule, 1, 4, "0"
				if c.Run = t.TempDir(); strings.HasSuffix(name, "c") {
					c.Mode = config.MustMode(name[len("factor:4 "):])
				}
				whole := runtest.Train(t, c)
				for epoch := range uint64(2) {
					parts := runtest.WithRun(c, t.TempDir())
					runtest.Interrupted(t, parts, epoch+1, 5000)
					runtest.SameEnd(t, whole.Run, runtest.Train(t, runtest.Resumed(parts)).Run)
				}
			})
		}
	}
}

// TestResumeKeepsTheBatch: what a run chose for itself does not change where it goes on, although
// with these settings another run would choose another batch.
func TestResumeKeepsTheBatch(t *testing.T) {
	c := config.Default()
	c.Workers, c.Epochs, c.Data, c.Model, c.Run = 1, 1, "synth:rcv1:0.0002", "logistic", t.TempDir()
	first, err := run.Run(t.Context(), c, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	was, err := rundir.SavedConfig(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	was.Optimizer, was.Epochs = "adagrad", 2
	if then, err := run.Run(t.Context(), was, run.Options{}); err != nil || first.Batch != 1 || then.Batch != 1 {
		t.Errorf("batch %d, then %d (%v), want 1", first.Batch, then.Batch, err)
	}
}

// TestOnEpochPanics: a callback that panics leaves neither workers nor memory that they use.
func TestOnEpochPanics(t *testing.T) {
	c := config.Default()
	c.Workers, c.Epochs, c.Data, c.Run = 2, 3, "digits:500", t.TempDir()
	defer func() {
		if said := recover(); said != "enough" {
			t.Errorf("%v came back, want what OnEpoch said", said)
		}
		time.Sleep(1500 * time.Millisecond) // longer than anybody waits for a word of the memory that is gone
	}()
	_, err := run.Run(t.Context(), c, run.Options{OnEpoch: func(rundir.EpochResult) { panic("enough") }})
	t.Errorf("the run ended with %v", err)
}

// TestResumeAtTheLastStep cuts a run while every worker has its last chunk of an
// epoch: nothing is left to train then, but the epoch has not been closed.
func TestResumeAtTheLastStep(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Workers, c.Epochs, c.Limit = "slowest", config.MustMode(mode), 3, 2, 2*3*c.Batch
			parts := runtest.WithRun(c, t.TempDir())
			runtest.Cut(t, parts, 1, c.Limit/2)
			got := runtest.Train(t, runtest.Resumed(parts))
			if want := int64(2 * c.Limit); got.Examples != want || got.Epochs != 2 {
				t.Errorf("%d examples in %d epochs, want %d in 2", got.Examples, got.Epochs, want)
			}
			if c.Model = "softmax"; mode == "sync" {
				runtest.SameWeights(t, runtest.Train(t, c).Run, got.Run)
			}
		})
	}
}

// TestResumeByTime cuts a run wherever a timer finds it, again and again.
func TestResumeByTime(t *testing.T) {
	whole := configtest.Quick(t)
	whole.Optimizer, whole.Schedule, whole.LR = "adam", "cosine", 1e-3
	want := runtest.Train(t, whole)
	parts := runtest.WithRun(whole, t.TempDir())
	parts.Model = "slow"
	for range 20 {
		if _, err := os.Stat(filepath.Join(parts.Run, rundir.SnapshotFile)); err == nil {
			parts = runtest.Resumed(parts)
		}
		before := runtest.Belongings(t)
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond+runtest.Within(60*time.Millisecond))
		got, err := run.Run(ctx, parts, run.Options{})
		stop()
		runtest.Left(t, before)
		if err == nil {
			runtest.SameEnd(t, want.Run, got.Run)
			return
		}
		if !errors.Is(err, config.ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	runtest.SameEnd(t, want.Run, runtest.Train(t, runtest.Resumed(parts)).Run)
}

// TestResumeCountsEachExampleOnce: with several workers no two runs are alike, but
// an epoch has each example once, cut or not.
func TestResumeCountsEachExampleOnce(t *testing.T) {
	for _, partition := range []string{"dynamic", "contiguous"} {
		t.Run(partition, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Partition, c.Batch = "slower", 3, config.Partition(partition), 32
			part := runtest.Cut(t, c, 1, 500)
			c = runtest.Resumed(c)
			again := runtest.Cut(t, c, 2, 300)
			if part.Examples < 500 || part.Examples >= 2000 || again.Examples < 2300 || again.Examples >= 4000 {
				t.Errorf("%d and %d examples when cut", part.Examples, again.Examples)
			}
			if part.Seconds >= again.Seconds {
				t.Errorf("%v seconds of training, and %v when resumed", part.Seconds, again.Seconds)
			}
			got := runtest.Train(t, c)
			if got.Examples != 3*2000 || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, 3*2000)
			}
			for i, e := range got.History {
				if e.Epoch != i+1 || e.Examples != int64(2000*(i+1)) {
					t.Errorf("epoch %d of the history: %+v", i+1, e)
				}
			}
		})
	}
}

// TestSaveByTime: a snapshot that was made within an epoch while the run went on is
// as good as one made at its end.
func TestSaveByTime(t *testing.T) {
	for _, c := range repeatable {
		t.Run(c.name, func(t *testing.T) {
			whole := configtest.Quick(t)
			whole.Model, whole.SaveEvery, whole.Epochs = "slower", "30ms", 1
			c.edit(&whole)
			found := t.TempDir() // the folder as another process sees it during the run
			r := runtest.Start(t, whole)
			runtest.Await(t, "a snapshot within an epoch", func() bool {
				if runtest.Ended(r.Done) {
					t.Fatalf("the run is over: %v", r.Err)
				}
				copyFile(t, filepath.Join(whole.Run, rundir.SnapshotFile), filepath.Join(found, rundir.SnapshotFile))
				f, err := rundir.ReadSnapshot(found)
				return err == nil && f.Pos.Within
			})
			want, err := r.Wait()
			if err != nil {
				t.Fatal(err)
			}
			whole.Run, whole.Resume = t.TempDir(), found
			got := runtest.Train(t, whole)
			runtest.SameEnd(t, want.Run, got.Run)
			if got.Examples != want.Examples {
				t.Errorf("%d examples, want %d", got.Examples, want.Examples)
			}
		})
	}
}

// TestSaveAllTheTime asks for a save every millisecond, so that they meet the ends of
// epochs, evaluations and each other.
func TestSaveAllTheTime(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Data, c.Workers, c.Mode, c.Epochs, c.SaveEvery = "digits:500", 2, config.MustMode(mode), 40, "1ms"
			if got := runtest.Train(t, c); got.Examples != 40*500 || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, 40*500)
			}
			if mode == "sync" { // saving changes nothing
				calm := runtest.WithRun(c, t.TempDir())
				calm.SaveEvery = "0"
				runtest.SameEnd(t, runtest.Train(t, calm).Run, c.Run)
			}
			runtest.NoHalves(t, c.Run)
		})
	}
}

// copyFile copies a file, if it is there.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestResumeConcludes: a run that was killed when its last epoch was saved, before it had a result, is resumed to the
// end of one that was not: weights, scores, a line an epoch. Then it is done.
func TestResumeConcludes(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"test rows":   func(*config.Config) {},
		"validation":  func(c *config.Config) { c.Validation = "0.2" },
		"patience":    func(c *config.Config) { c.Validation, c.Patience, c.LR, c.Epochs = "0.2", 1, 1e-30, 9 },
		"target":      func(c *config.Config) { c.TargetAccuracy, c.Epochs = 0.2, 9 },
		"one epoch":   func(c *config.Config) { c.Epochs = 1 },
		"two workers": func(c *config.Config) { c.Mode, c.Workers = config.MustMode("sync"), 2 },
		"a program":   func(c *config.Config) { *c = runtest.WithRun(runtest.Linear(t, ""), c.Run) },
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.Quick(t)
			edit(&c)
			whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
			killed := runtest.Command(t, c)
			killed.Env = append(killed.Environ(),
				fmt.Sprintf("%s=snapshot.saved:crash@%d", fault.Variable, whole.Epochs))
			if err := killed.Run(); err == nil || !rundir.HasSnapshot(c.Run) {
				t.Fatalf("it was not killed after a save: %v", err)
			}
			end := runtest.Train(t, runtest.Resumed(c))
			runtest.SameEnd(t, whole.Run, end.Run)
			if end.TestLoss != whole.TestLoss || end.Epochs != whole.Epochs || end.Stopped != whole.Stopped ||
				end.Examples != whole.Examples || end.BestEpoch != whole.BestEpoch {
				t.Errorf("%+v\nwant %+v", end, whole)
			}
			run, err := rundir.ReadRun(c.Run)
			if err != nil || run.Result == nil || len(run.Epochs) != whole.Epochs || run.State() != rundir.Done {
				t.Errorf("%d epochs in %s (%v), state %v", len(run.Epochs), rundir.MetricsName, err, run.State())
			}
			if _, err := runtest.Try(t, runtest.Resumed(c)); whole.Stopped == "" && !errors.Is(err, config.ErrUsage) {
				t.Errorf("resumed once more: %v", err)
			}
		})
	}
}

// TestResumeGoesOn: a run that is complete takes more epochs, and not the same again.
func TestResumeGoesOn(t *testing.T) {
	c := configtest.Quick(t)
	whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
	c.Epochs = 2
	runtest.Train(t, c)
	_, err := runtest.Try(t, runtest.Resumed(c))
	if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), "its 2 epochs are done; raise --epochs to "+
		"train further") {
		t.Errorf("error %v, want one that says that all is done", err)
	}
	c.Epochs = 3
	runtest.SameEnd(t, whole.Run, runtest.Train(t, runtest.Resumed(c)).Run)
}

// TestResumeReadsTheSnapshotOnce: a snapshot that the caller has read is not read again, here because the file holds
// nothing any more; one that was replaced since is.
func TestResumeReadsTheSnapshotOnce(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Epochs = 1, 2
	runtest.Train(t, c)
	c = runtest.Resumed(c)
	c.Epochs = 3
	path := filepath.Join(c.Run, rundir.SnapshotFile)
	read, err := rundir.ReadSnapshot(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err == nil {
		err = errors.Join(os.WriteFile(path, make([]byte, info.Size()), 0o666),
			os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Run(t.Context(), c, run.Options{Snapshot: read})
	if err != nil || r.Epochs != 3 {
		t.Fatalf("%d epochs, %v", r.Epochs, err)
	}
	c.Epochs = 4
	r, err = run.Run(t.Context(), c, run.Options{Snapshot: read})
	if err != nil || r.Epochs != 4 || r.Examples != 4*2000 {
		t.Errorf("of a snapshot that was replaced: %d epochs, %d examples, %v", r.Epochs, r.Examples, err)
	}
}
