package tuning_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/check"
)

// limitJob is a run whose limit of steps in flight is put to the test.
type limitJob struct {
	name, data string // a real set, synth:NAME, or a file that limitFile writes
	model      string
	lr         float64
	batch      int
	epochs     int
	more       func(*config.Config)
}

func few(c *config.Config)    { c.Limit = 10000 }
func fewRaw(c *config.Config) { c.Limit, c.Center = 10000, "off" }
func houses(c *config.Config) { c.Target, c.Scale = "median_house_value", "standard" }
func target(c *config.Config) { c.Target = "y" }

// limitJobs: those with small synthetic data also run in CI.
var limitJobs = []limitJob{
	{"a9a", "a9a/a9a", "logistic", .01, 1, 3, nil},
	{"a9a", "a9a/a9a", "logistic", .1, 1, 2, nil},
	{"a9a", "a9a/a9a", "hinge", .01, 1, 2, nil},
	{"w8a", "w8a/w8a", "logistic", .1, 1, 2, nil},
	{"imdb", "imdb/imdb_ltc_train.gz", "logistic", 1, 1, 2, nil},
	{"MNIST", "mnist", "softmax", .01, 1, 1, few},
	{"MNIST", "mnist", "softmax", .1, 8, 2, few},
	{"MNIST", "mnist", "mlp:64", .03, 8, 3, few},
	{"Fashion-MNIST, raw", "fashion-mnist", "softmax", .01, 8, 2, fewRaw},
	{"Fashion-MNIST, raw", "fashion-mnist", "mlp:32", .01, 1, 1, fewRaw},
	{"California housing", "california-housing/housing.csv", "linear", .0003, 16, 8, houses},
	{"synth:dense:6000x40", "synth:dense:6000x40", "logistic", .05, 4, 3, nil},
	{"synth:linear:6000x20", "synth:linear:6000x20", "linear", .003, 1, 2, nil},
	{"synth:sparse:10000x2000x20", "synth:sparse:10000x2000x20", "logistic", .5, 1, 3, nil},
	{"rows of unlike lengths", "lengths.csv", "softmax", .01, 8, 8, target},
	{"rows of unlike lengths", "lengths.csv", "mlp:16", .01, 8, 8, target},
	{"correlated columns", "correlated.csv", "linear", .001, 1, 3, target},
	{"a rare class", "rare.libsvm", "logistic", .1, 1, 3, nil},
	{"a rare class", "rare.libsvm", "hinge", .03, 1, 3, nil},
	{"white inputs", "white.csv", "mlp:64", .05, 8, 4, target},
	{"white inputs", "white.csv", "mlp:32,32,32", .03, 16, 4, target},
}

// within returns the loss that a limit may cost: more of networks, where the noise is larger.
func (j limitJob) within() float64 {
	if j.data == "white.csv" {
		return .05
	}
	return .03
}

// limitSeeds is of how many seeds the median loss is taken: the last weights of a constant rate are
// noisy, most with the hinge loss on a rare class, where one run may spoil a mean by 10%.
const limitSeeds = 5

// limitFile writes synthetic data to a file, so that a run can be judged by its loss on the training rows.
func limitFile(t *testing.T, name string) string {
	t.Helper()
	path, r := filepath.Join(t.TempDir(), name), rand.New(rand.NewPCG(5, 5))
	var text strings.Builder
	columns := func(n int) {
		for i := range n {
			fmt.Fprintf(&text, "c%d,", i)
		}
		text.WriteString("y\n")
	}
	switch name {
	case "lengths.csv": // three classes; some rows are twenty times as long as others
		columns(24)
		for range 4000 {
			class, length := r.IntN(3), math.Exp(r.NormFloat64())
			for i := range 24 {
				mean := .5
				if i%3 == class {
					mean = .9
				}
				fmt.Fprintf(&text, "%.4f,", length*(mean+.3*r.NormFloat64()))
			}
			fmt.Fprintf(&text, "%c\n", 'a'+class)
		}
	case "white.csv":
		columns(12)
		whiteRows(&text, r)
	case "friedman.csv":
		columns(10)
		friedmanRows(&text, r)
	case "correlated.csv":
		columns(12)
		weights := make([]float64, 12)
		for i := range weights {
			weights[i] = r.NormFloat64()
		}
		for range 4000 {
			common, y := r.NormFloat64(), .3*r.NormFloat64()
			for _, w := range weights {
				x := common + .5*r.NormFloat64()
				y += w * x
				fmt.Fprintf(&text, "%.4f,", x)
			}
			fmt.Fprintf(&text, "%.4f\n", y)
		}
	case "rare.libsvm": // columns by a power law; few rows are of class 1
		for range 12000 {
			var row [1000]bool
			score := -2.5
			for range 12 {
				row[min(999, int(math.Pow(1-r.Float64(), -1/.6)))] = true
			}
			for j, is := range row {
				if is {
					score += float64(j*7919%13-6) / 18
				}
			}
			class := -1
			if r.Float64() < 1/(1+math.Exp(-2*score)) {
				class = 1
			}
			fmt.Fprint(&text, class)
			for j, is := range row {
				if is {
					fmt.Fprintf(&text, " %d:1", j)
				}
			}
			text.WriteByte('\n')
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// friedmanRows writes rows of Friedman 1.
func friedmanRows(text *strings.Builder, r *rand.Rand) {
	for range 2400 {
		var x [10]float64
		for k := range x {
			x[k] = r.Float64()
			fmt.Fprintf(text, "%.4f,", x[k])
		}
		fmt.Fprintf(text, "%.4f\n", 10*math.Sin(math.Pi*x[0]*x[1])+20*(x[2]-.5)*(x[2]-.5)+10*x[3]+5*x[4]+
			r.NormFloat64())
	}
}

// whiteRows writes rows of five classes by a random network of tanh: hidden layers have all of the curvature.
func whiteRows(text *strings.Builder, r *rand.Rand) {
	var in [16][12]float64
	var out [5][16]float64
	for i := range in {
		for k := range in[i] {
			in[i][k] = r.NormFloat64() * .43
		}
		for c := range out {
			out[c][i] = r.NormFloat64()
		}
	}
	for range 4000 {
		var z [5]float64
		var x [12]float64
		for k := range x {
			x[k] = r.NormFloat64()
			fmt.Fprintf(text, "%.4f,", x[k])
		}
		for i := range in {
			h := 0.0
			for k := range x {
				h += in[i][k] * x[k]
			}
			for c := range z {
				z[c] += out[c][i] * math.Tanh(h)
			}
		}
		fmt.Fprintf(text, "%c\n", 'a'+slices.Index(z[:], slices.Max(z[:])))
	}
}

// config returns the configuration of a job, judged by its loss on all training rows.
func (j limitJob) config(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.Model, c.LR, c.Batch, c.Epochs, c.LRCap, c.SaveEvery, c.Workers = j.model, j.lr, j.batch, j.epochs, "off", "0", 1
	switch {
	case strings.HasPrefix(j.data, "synth:"):
		c.Data = filepath.Join(t.TempDir(), "made.csv")
		if strings.Contains(j.data, "sparse") {
			c.Data = filepath.Join(t.TempDir(), "made.libsvm")
		}
		makeFile(t, j.data, c.Data)
	case strings.Contains(j.data, "/") || !strings.Contains(j.data, "."):
		c.Data = check.Data(t, j.data)
	default:
		c.Data = limitFile(t, j.data)
	}
	if j.more != nil {
		j.more(&c)
	}
	c.Test = c.Data
	if info, err := os.Stat(c.Data); err == nil && info.IsDir() {
		c.Test = filepath.Join(c.Data, "train-images-idx3-ubyte.gz")
	}
	return c
}

// TestLimit: with as many steps in flight as a run says that its rate is stable up to, training ends within 3% of the
// serial loss at equal passes, a network on white inputs within 5%; with half as many, too; and eight times as many
// cost at least half of the jobs more than that, so the limit is not idle.
//
// Five small jobs always run; all of them with HOGWILD_LIMIT=all, which also prints the table
// of docs/asynchrony.md:
//
//	HOGWILD_LIMIT=all go test ./hogwild/tuning -run 'TestLimit$' -v
func TestLimit(t *testing.T) {
	runtest.InFull(t)
	jobs := limitJobs
	if os.Getenv("HOGWILD_LIMIT") == "" {
		jobs = []limitJob{limitJobs[12], limitJobs[16], limitJobs[15], limitJobs[19], limitJobs[20]}
	}
	worse, ran := 0, 0
	table := "| job | model | lr | batch | lambda | h | limit | serial | at half | at the limit | at 8 times " +
		"|\n|---|---|---|---|---|---|---|---|---|---|---|\n"
	for _, j := range jobs {
		t.Run(fmt.Sprintf("%s %s %g", j.name, j.model, j.lr), func(t *testing.T) {
			c := j.config(t)
			run := func(flight float64) (loss, limit float64, facts string) {
				var losses [limitSeeds]float64
				for seed := range uint64(limitSeeds) {
					c.Mode, c.Seed, c.Run = config.DelayedBy(max(0, int(flight)-1)), seed+1,
						t.TempDir()
					r, err := runtest.Try(t, c)
					if err != nil {
						return math.Inf(1), 0, ""
					}
					losses[seed] = r.TestLoss
					limit, facts = r.MaxInFlight,
						fmt.Sprintf("%.3g | %.2g | %.3g", r.Lambda, r.Curvature, r.MaxInFlight)
				}
				slices.Sort(losses[:])
				return losses[limitSeeds/2], limit, facts
			}
			serial, limit, facts := run(1)
			if limit < 1 {
				limit = 1
			}
			row := fmt.Sprintf("| %s | %s | %g | %d | %s | %.4g |", j.name, j.model, j.lr, j.batch, facts, serial)
			ratio := func(share float64) float64 {
				loss, _, _ := run(share * limit)
				return loss/serial - 1
			}
			half, at, eight := ratio(.5), ratio(1), ratio(8)
			table += row + percent(half) + percent(at) + percent(eight) + "\n"
			if ran++; !(eight <= .03) {
				worse++
			}
			if !(half <= j.within()) || !(at <= j.within()) {
				t.Errorf("limit %.3g: loss %.4g serially, %+.1f%% at half the limit, %+.1f%% at it", limit, serial,
					100*half, 100*at)
			}
		})
	}
	t.Logf("training loss against the serial one:\n%s%d of %d worse by more than 3%% at 8 times", table, worse, ran)
	if 2*worse < ran {
		t.Errorf("only %d of %d jobs lose more than 3%% at eight times the limit", worse, ran)
	}
}

// TestDeepNetworkKeepsRate: a network of five hidden layers has a limit below a step at its automatic rate, and learns.
// Two steps in flight end within 40% of the loss of one; at a rate lowered to four times the limit they lost 126%. Half
// of the seeds leave the plateau that all begin on after the rehearsal, and have higher limits.
func TestDeepNetworkKeepsRate(t *testing.T) {
	runtest.InFull(t)
	j := limitJob{"Friedman 1", "friedman.csv", "mlp:16,16,16,16,16", 0, 0, 30, target}
	c := j.config(t)
	c.LRCap = "auto"
	var median [2]float64
	for late := range median {
		var losses, limits [limitSeeds]float64
		for seed := range losses {
			c.Mode, c.Seed, c.Run = config.DelayedBy(late), uint64(seed)+1, t.TempDir()
			r := runtest.Train(t, c)
			losses[seed], limits[seed] = r.TestLoss, r.MaxInFlight
		}
		slices.Sort(losses[:])
		slices.Sort(limits[:])
		median[late] = losses[limitSeeds/2]
		if limits[limitSeeds/2] > 1 {
			t.Errorf("limits of %.3g steps: the job is too easy", limits)
		}
	}
	if !(median[1] <= 1.4*median[0]) {
		t.Errorf("loss %.3g with two steps in flight, %.3g with one", median[1], median[0])
	}
}

func percent(x float64) string {
	if !(x < 10) {
		return " lost |"
	}
	return fmt.Sprintf(" %+.1f%% |", 100*x)
}

func makeFile(t *testing.T, name, path string) {
	t.Helper()
	set, test, err := data.Load(data.Options{Path: name, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer test.Close()
	if err := data.WriteFile(t.Context(), path, set); err != nil {
		t.Fatal(err)
	}
}
