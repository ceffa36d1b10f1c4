//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/tuning"
)

// passage is a text of random words, some of them frequent, in sentences of up to longest.
type passage struct {
	k, words, longest, window, negatives int
	sample                               float64
}

func (p passage) String() string {
	return fmt.Sprintf("k=%d %d words window=%d negatives=%d sample=%g", p.k, p.words, p.window, p.negatives, p.sample)
}

// setup returns what fillSkipGram needs to know of a run on the passage.
func (p passage) setup(t *testing.T, seed uint64) *device.Setup {
	t.Helper()
	r, n := rand.New(rand.NewPCG(seed, 5)), 500
	set := &data.Set{Meta: data.Meta{Kind: data.Tokens, Rows: n, Features: p.words, Seed: seed, Text: &text.Options{
		Kind: text.Words, Window: p.window, Negatives: p.negatives, Sample: p.sample, NoiseExponent: .75}},
		Idx: make([]uint32, n), Freq: make([]float32, p.words)}
	for i, left := 0, 0; i < n; i++ {
		id := uint32(float64(p.words) * math.Pow(r.Float64(), 2))
		set.Freq[id] += 1 / float32(n)
		if left--; left < 0 {
			id, left = id|data.SentenceStart, r.IntN(p.longest)
		}
		set.Idx[i] = id
	}
	for i, f := range set.Freq {
		set.Freq[i] = max(f, .1/float32(n))
	}
	c := config.Default()
	c.Model, c.Seed = fmt.Sprintf("word2vec:%d", p.k), seed
	s := &device.Setup{Job: tuning.AsAsked(c), Set: set}
	s.Job.Used.Batch = 1
	var err error
	if s.Spec, err = model.Resolve(c.ModelOptions(), set.Meta); err == nil {
		s.Model, err = model.New(c.ModelOptions(), set.Meta)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// launchSkipGram runs a kernel on some steps of one row, the last of all that are left, as the self-check has it, with
// some warps at once. It returns the job, the weights before it, and the steps.
func launchSkipGram(t *testing.T, g *gpuUnderTest, kernel string, s *device.Setup, rows []int32, steps, teams int,
	edit func(*job)) (j job, w, lr []float32, start []int32) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 9))
	w = make([]float32, model.Size(s.Model.Params()))
	for i := range w {
		w[i] = (r.Float32() - .5) / float32(math.Sqrt(float64(s.Spec.Widths[0])/16))
	}
	for i := range steps {
		lr, start = append(lr, .01+.1*r.Float32()), append(start, int32(i))
	}
	start = append(start, int32(len(rows)))
	j = job{W: put(g, w), Idx: put(g, s.Set.Idx), Rows: put(g, rows), Start: put(g, start), LR: put(g, lr),
		Loss: put(g, make([]float32, steps)), Ticket: put(g, make([]int32, ticketBytes/4)),
		Counts: put(g, make([]int64, 1)), Ranks: 1, Steps: int64(steps), Features: int64(s.Set.Features),
		Weights: int64(len(w)), MaxBatch: 1, Sums: put(g, make([]float64, 2*sumsEach))}
	if err := fillSkipGram(&j, s, nil); err != nil {
		t.Fatal(err)
	}
	plan := j.Plan
	t.Cleanup(func() { _ = cu.MemFree(cu.DevicePtr(plan)) })
	j.Out, j.Teams = j.W, int64(min(teams, warpsOfCTA))
	edit(&j)
	if err := g.kernels[kernel].run(ceilDiv(teams, warpsOfCTA), cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	return j, w, lr, start
}

var passages = []passage{
	{k: 1, words: 5, longest: 3, window: 1, negatives: 1},
	{k: 20, words: 50, longest: 30, window: 5, negatives: 5, sample: 1e-2},
	{k: 33, words: 50, longest: 500, window: 40, negatives: 3, sample: 1e-3},
	{k: 100, words: 300, longest: 40, window: 5, negatives: 33},
	{k: 128, words: 3, longest: 200, window: 70, negatives: 2, sample: .5},
	{k: 129, words: 50, longest: 20, window: 3, negatives: 64, sample: 1e-2},
	{k: 300, words: 80, longest: 20, window: 4, negatives: 5},
	{k: 512, words: 40, longest: 20, window: 2, negatives: 5, sample: 1e-2},
}

// TestSkipGramStep: one step in flight, added or stored, is a step of the CPU: the same windows and negatives, the
// same losses and weights but for rounding. Windows and negatives are fewer and more than a warp has lanes, and a word
// and its negatives come again within a window.
func TestSkipGramStep(t *testing.T) { onEach(t, testSkipGramStep, "skipgram") }

func testSkipGramStep(t *testing.T, g *gpuUnderTest) {
	for i, p := range passages {
		for _, racy := range []int64{0, 1} {
			t.Run(fmt.Sprintf("%v racy=%d", p, racy), func(t *testing.T) {
				s, rows := p.setup(t, uint64(i)), []int32{0, 499}
				for range 58 {
					rows = append(rows, int32(rand.New(rand.NewPCG(uint64(len(rows)), 1)).IntN(500)))
				}
				g := g.in(t)
				j, w, lr, start := launchSkipGram(t, g, "skipgram_step", s, rows, 50, 1, func(j *job) {
					j.Racy, j.Epoch, j.Record = racy, 3, put(g, make([]uint64, device.RecordWords))
				})
				want, loss := slices.Clone(w), make([]float64, len(lr))
				for i, rate := range lr {
					loss[i] = s.Model.(model.Stepper).Steps(want, s.Set, rows[start[i]:start[i+1]],
						model.Step{LR: rate, Epoch: 3})
				}
				closeTo(t, "loss", get[float32](g, len(lr), j.Loss), loss, make([]float64, len(lr)))
				closeTo(t, "w", get[float32](g, len(w), j.W), widen(want), widen(w))
				if n := get[int64](g, 1, j.Counts)[0]; int(n) != len(lr) {
					t.Errorf("%d of %d steps are counted", n, len(lr))
				}
			})
		}
	}
}

// TestSkipGramTeams: with sixteen words at a time each is trained once: a rate of next to nothing leaves the losses of
// the first weights.
func TestSkipGramTeams(t *testing.T) { onEach(t, testSkipGramTeams, "skipgram") }

func testSkipGramTeams(t *testing.T, g *gpuUnderTest) {
	s, rows := passages[1].setup(t, 1), make([]int32, 500)
	for i := range rows {
		rows[i] = int32(i)
	}
	record := put(g, make([]uint64, device.RecordWords))
	j, w, lr, _ := launchSkipGram(t, g, "skipgram_step", s, rows, 500, 2*warpsOfCTA, func(j *job) {
		j.LR, j.Record = put(g, slices.Repeat([]float32{1e-9}, 500)), record
	})
	want := make([]float64, len(lr))
	for i, row := range rows {
		want[i] = s.Model.(model.Stepper).Steps(slices.Clone(w), s.Set, []int32{row}, model.Step{})
	}
	closeTo(t, "loss", get[float32](g, len(lr), j.Loss), want, make([]float64, len(lr)))
	if n := get[int64](g, 1, j.Counts)[0]; n != 500 {
		t.Errorf("%d of 500 steps are counted", n)
	}
	if seen := get[uint64](g, device.RecordWords, record); seen[0] == 0 || seen[4] == 0 {
		t.Errorf("of 500 steps %d weights were looked at, and %d updates are their staleness", seen[0], seen[4])
	}
}

// TestSkipGramEvaluate compares with the losses of the model, with the windows of an evaluation.
func TestSkipGramEvaluate(t *testing.T) { onEach(t, testSkipGramEvaluate, "skipgram") }

func testSkipGramEvaluate(t *testing.T, g *gpuUnderTest) {
	for i, p := range passages {
		s, rows := p.setup(t, uint64(i)), []int32{}
		for row := range int32(130) {
			rows = append(rows, 100+row)
		}
		j, w, _, _ := launchSkipGram(t, g, "skipgram_evaluate", s, rows, 1, 2*warpsOfCTA, func(j *job) {
			j.Epoch, j.Start = 7, put(g, []int32{0, int32(len(rows))})
		})
		score, _ := s.Model.(interface {
			EvalRows(w []float32, set *data.Set, from, to int) (model.Score, bool)
		}).EvalRows(w, s.Set, 100, 230)
		want := sums{float64(score.N), score.Loss}
		want.check(t, g, 2, j.Sums, 1e-5)
	}
}

// wordsRun is a run on a made text.
func wordsRun(t *testing.T, edit func(*config.Config)) config.Config {
	t.Helper()
	r, all := rand.New(rand.NewPCG(1, 2)), &strings.Builder{}
	for range 300 {
		topic := r.IntN(10)
		for range 1 + r.IntN(30) {
			word := int(200 * math.Pow(r.Float64(), 2))
			if r.IntN(2) == 0 {
				word = word/10*10 + topic
			}
			fmt.Fprintf(all, "w%d ", word)
		}
		all.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return digits(t, func(c *config.Config) {
		c.Model, c.Data, c.Batch, c.MinCount, c.Subsample, c.InFlight, c.Schedule = "word2vec:20", path, 0, 2, 1e-2, 1,
			"constant"
		edit(c)
	})
}

// TestSkipGramSameAsCPU: with one step in flight a run is the CPU's, but for rounding, and so are ranks in turns.
func TestSkipGramSameAsCPU(t *testing.T) {
	sameAsCPU(t, wordsRun(t, func(*config.Config) {}), 1e-5)
	sameAsCPU(t, wordsRun(t, func(c *config.Config) {
		c.Mode, c.Workers, c.AverageEvery, c.InFlight = config.MustMode("sync"), 2, 50, 0
	}), 1e-5)
}

// TestSkipGramManyInFlight: the run ends near the serial one, by one process and by two.
func TestSkipGramManyInFlight(t *testing.T) {
	serial := wordsRun(t, func(c *config.Config) { c.GPU, c.InFlight, c.Epochs = "", 0, 3 })
	want := train(t, serial)
	for _, edit := range []func(*config.Config){
		func(*config.Config) {},
		func(c *config.Config) { c.Workers = 2 },
	} {
		c := serial
		c.GPU, c.InFlight, c.Run = "0", 16, t.TempDir()
		edit(&c)
		got := train(t, c)
		first, end, loss := want.History[0].TrainLoss, want.TrainLoss, got.TrainLoss
		t.Logf("%d workers: train loss %.4f, the serial run's %.4f after %.4f", c.Workers, loss, end, first)
		if !(math.Abs(loss-end) < .1*(first-end)) || got.Examples != want.Examples {
			t.Errorf("%d workers: %d words, train loss %.4f; the serial run has %d, %.4f after %.4f",
				c.Workers, got.Examples, loss, want.Examples, end, first)
		}
	}
}

// TestWordsRefuse: what does not train on a GPU is said before anything starts.
func TestWordsRefuse(t *testing.T) {
	for says, edit := range map[string]func(*config.Config){
		"word2vec:20 with cbow trains":  func(c *config.Config) { c.CBOW = true },
		"in host memory only; leave sh": func(c *config.Config) { c.ShareNegatives = true },
		"choose 512 or fewer":           func(c *config.Config) { c.Model = "word2vec:600" },
		"use batch 1, or leave --gpu":   func(c *config.Config) { c.Batch = 8 },
		"use sgd":                       func(c *config.Config) { c.Optimizer, c.LR = "adam", .001 },
		"use average weights": func(c *config.Config) {
			c.Mode, c.Average, c.Batch = config.MustMode("sync"), "gradients", 1
		},
		"or sync, or leave": func(c *config.Config) { c.Mode = config.MustMode("atomic") },
	} {
		_, err := run.Run(t.Context(), wordsRun(t, edit), run.Options{})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line that says %q", err, says)
		}
	}
	s := passages[1].setup(t, 1)
	for _, name := range []string{"text:20", "bpr:8", "warp:8"} {
		s.Spec.Name, s.Job.Asked.Model = name, name
		want := "gpu: " + name + " trains in host memory only; leave --gpu out"
		if _, err := familyOf(s); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestWordsDoNotStream: a text that does not fit is refused, as windows need the words around a word.
func TestWordsDoNotStream(t *testing.T) {
	if !replay(t, cramped...) {
		return
	}
	_, err := run.Run(t.Context(), wordsRun(t, func(*config.Config) {}), run.Options{})
	if says := "words need those around them; train on less text"; err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want an error that says %q", err, says)
	}
}
