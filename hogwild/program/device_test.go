package program

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/program/programtest"
	"hogwild/internal/check"
)

// Without noise the best weights are those that the values were made of, and SGD comes there, however many
// workers take the steps. All of them are counted and sampled.
func TestAsyncFindsTheBestWeights(t *testing.T) {
	set := linear(t, 2000, 0).Train
	r := newRun(t, configured("async", 2, 5, 0.05), set)
	y := r.epochs(t, 8)
	if y.Examples != 2000 || y.Steps < 400 || y.Loss > 1e-6 {
		t.Errorf("the last epoch came to %+v", y)
	}
	for j, want := range []float32{2, -1, 0.5, 0.25} {
		if math.Abs(float64(r.w[j]-want)) > 1e-4 {
			t.Errorf("weights %v, want 2 -1 0.5 0.25", r.w)
			break
		}
	}
	steps := r.setup.Mem.Counts[0] + r.setup.Mem.Counts[control.RankWords]
	samples := int64(0)
	for _, record := range r.setup.Mem.Records {
		samples += record.Instruments(0).StalenessSamples
	}
	if steps != uint64(8*y.Steps) || uint64(samples) != steps {
		t.Errorf("%d steps are counted and %d sampled, and %d were taken", steps, samples, 8*y.Steps)
	}
	r.close(t)
}

// One worker takes the very steps of a loop in Go, on the rows that package cpu trains, at the rates of the schedule.
func TestOneWorkerTakesTheStepsOfALoop(t *testing.T) {
	set := linear(t, 700, 0.3).Train
	for _, partition := range []config.Partition{"dynamic", "contiguous"} {
		c := configured("async", 1, 7, 0.05)
		c.Schedule, c.Epochs, c.L2, c.Partition = "cosine", 3, 0.01, partition
		r := newRun(t, c, set)
		for epoch := range 3 {
			for i := range r.setup.Plan.Chunks() {
				if _, err := r.devices[0].Train([]plan.Chunk{r.setup.Plan.At(epoch, i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		w, order, rows := make([]float64, 4), r.setup.Order(0), make([]int32, 700)
		steps := 0
		for epoch := range 3 {
			order.Fill(rows, epoch, 0)
			seen := epoch * 700
			for batch := range slices.Chunk(rows, 7) {
				step(w, set, batch, r.setup.Rate(int64(seen)), 0.01)
				seen += len(batch)
				steps++
			}
		}
		for j, want := range w {
			if math.Abs(float64(r.w[j])-want) > 1e-6 {
				t.Errorf("%s: weights %v, want %v", partition, r.w, w)
				break
			}
		}
		if r.w[4] != float32(steps) {
			t.Errorf("its buffer counts %v steps, want %d", r.w[4], steps)
		}
		r.close(t)
	}
}

// step takes one step of SGD on the mean of a batch, in Go.
func step(w []float64, set *data.Set, batch []int32, lr, l2 float64) {
	g := make([]float64, len(w))
	for _, i := range batch {
		x := append(slices.Clone(set.X[3*i:3*i+3]), 1)
		e := -float64(set.Y[i])
		for j := range x {
			e += w[j] * float64(x[j])
		}
		for j := range x {
			g[j] += e * float64(x[j]) / float64(len(batch))
		}
	}
	for j := range w {
		w[j] -= lr * (g[j] + l2*w[j])
	}
}

// Averaged gradients are the joint batch's: full-batch descent, which reaches the least squares that the normal
// equations have. Averaged weights come near it.
func TestSyncSolvesTheNormalEquations(t *testing.T) {
	set := linear(t, 240, 0.3).Train
	best := programtest.LeastSquares(set.Rows, func(i int) (x []float64, y float64) {
		for _, v := range set.X[3*i : 3*i+3] {
			x = append(x, float64(v))
		}
		return x, float64(set.Y[i])
	})
	for _, average := range []string{"gradients", "weights"} {
		c := configured("sync", 3, 80, 0.3)
		c.Average, c.AverageEvery = config.Average(average), 1
		r := newRun(t, c, set)
		number := 0
		for epoch := range 60 {
			for round := range r.setup.Plan.Rounds {
				number++
				r.round(t, epoch, round, number)
			}
		}
		for j, want := range best {
			if math.Abs(float64(r.w[j])-want) > 1e-5 {
				t.Errorf("averaged %s: weights %v, want %v", average, r.w, best)
				break
			}
		}
		if math.Round(float64(r.w[4])) != 60 {
			t.Errorf("averaged %s: the buffer is %v, want 60", average, r.w[4])
		}
		for _, record := range r.setup.Mem.Records {
			if n := record.Instruments(0).StalenessSamples; n > 0 {
				t.Errorf("%d samples of steps that no other worker disturbs", n)
			}
		}
		r.close(t)
	}
}

// A program with data of its own trains its own examples, each once an epoch.
func TestOwnData(t *testing.T) {
	const rows = 400
	sets, err := data.LoadIndices(rows, rows/4, 0, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sets.Close)
	c := configured("async", 1, rows, 0.5)
	c.Data = data.None
	r := newRun(t, c, sets.Train, "own=400")
	y := r.epochs(t, 1)
	loss := 0.0 // of the weights 0, on all of them
	for i := range rows {
		_, value := programtest.Row(i)
		loss += value * value / 2
	}
	if y.Examples != rows || y.Steps != 1 || math.Abs(y.Loss-loss) > 1e-6*loss {
		t.Errorf("the epoch came to %+v, want %d examples with loss %v", y, rows, loss)
	}
	r.close(t)
}

// What goes wrong while a program trains is an error that says what.
func TestTrainFails(t *testing.T) {
	set := linear(t, 640, 0.3).Train
	for _, c := range []struct {
		trick string
		says  []string
	}{
		{"exit=0@train", []string{"the program exited with status 0 before it was told to: keep iterating over " +
			"job.batches()"}},
		{"exit=1@train", []string{"the program exited with status 1"}},
		{"kill=train", []string{"the program was killed by SIGKILL"}},
		{"child=train", []string{"the program was killed by SIGKILL"}},
		{"close=train", []string{"it has closed its socket, and runs on"}},
		{"line=nonsense@train", []string{`"nonsense"`, "invalid character"}},
		{`line={"trained":{"examples":1,"steps":1}}@train`,
			[]string{"it trained 1 examples in 1 steps, and was to train 64 in 8"}},
		{`line={"trained":{"examples":"all"}}@train`, []string{"trained.examples cannot be string"}},
		{`line={"trained":{"examples":64,"steps":8,"loss":"much"}}@train`, []string{`"much" is not a number`}},
		{`line={"scored":{}}@train`, []string{"its answer to train is not trained"}},
		{`line={"not_finite":{"step":9,"loss":"nan"}}@train`, []string{"step 9 of 8 had a loss that is not finite"}},
		{`line={"trained":{"examples":64,"steps":8,"loss":"inf"}}@train`, []string{"the loss became +Inf at step 8"}},
	} {
		r := newRun(t, configured("async", 1, 8, 0.01), set, c.trick)
		_, err := r.devices[0].Train([]plan.Chunk{r.setup.Plan.At(0, 0)})
		check.Error(t, err, c.says...)
		_ = r.devices[0].Close()
	}
	noChildren(t)
}

func TestNotFinite(t *testing.T) {
	r := newRun(t, configured("async", 1, 8, 0.01), linear(t, 640, 0.3).Train, "nan=train")
	for i := range 3 {
		_, err := r.devices[0].Train([]plan.Chunk{r.setup.Plan.At(0, i)})
		var nan *device.NotFiniteError
		switch {
		case i < 2 && err != nil:
			t.Error(err)
		case i == 2 && (!errors.As(err, &nan) || nan.Step != 18 || !math.IsNaN(nan.Loss) || nan.LR != 0.01):
			t.Errorf("%v, want one of step 18", err)
		}
	}
	r.close(t)
}

// A program that has another model than the run is refused, and does not stay.
func TestJoinRefuses(t *testing.T) {
	set := linear(t, 640, 0.3).Train
	r := newRun(t, configured("async", 1, 8, 0.01), set)
	inner, err := cpu.Backend{}.Join(r.setup, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Join(r.setup, 0, inner, started(t, "features=5"))
	check.Error(t, err, "the program's model is not that of the run:", "weight  [1 5], and [1 3] in the run")
	for trick, says := range map[string]string{`line={"trained":{}}@welcome`: "its answer to welcome is not ready",
		"exit=0@welcome":  "exited with status 0",
		`line=[]@welcome`: "array"} {
		_, err := Join(r.setup, 0, inner, started(t, trick))
		check.Error(t, err, says)
	}
	r.close(t)
}

// A program that does not leave is killed; one that fails while it leaves is named.
func TestClose(t *testing.T) {
	set := linear(t, 640, 0.3).Train
	r := newRun(t, configured("async", 1, 8, 0.01), set, "exit=4@leave")
	check.Error(t, r.devices[0].Close(), "the program exited with status 4")
	p := started(t)
	p.Kill(os.ErrPermission)
	if err := p.Close(); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	noChildren(t)
}
