package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// keeper returns the owner of a model's weights, all drawn.
func keeper(t *testing.T, name string, set *data.Set, edit func(*tuning.Job)) (device.Owner, *device.Setup) {
	t.Helper()
	job := tuning.AsAsked(configtest.Dense())
	job.Asked.Model = name
	spec, err := model.Resolve(job.Asked.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	job.Asked.Loss = string(spec.Loss)
	edit(job)
	m, err := model.New(job.TrainedOptions(set), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := control.CreateWeights(job, model.Size(m.Params()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Seg.Close() })
	setup, err := device.NewSetup(job, shared, set)
	if err != nil {
		t.Fatal(err)
	}
	fillRandom(shared.W)
	o, err := Backend{}.Own(setup)
	if err != nil {
		t.Fatal(err)
	}
	return o, setup
}

// TestKeptCopyStays: what is trained after Keep changes neither the copy nor what is known of it, and the next Keep
// tells which tensors have changed since.
func TestKeptCopyStays(t *testing.T) {
	train, test, err := data.Load(data.Options{Path: "digits:1000", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	defer test.Close()
	o, s := keeper(t, "mlp:5", train, func(*tuning.Job) {})
	w := make([]float32, len(s.Weights))
	if _, err := o.Keep(w, false); err != nil {
		t.Fatal(err)
	}
	was := slices.Clone(s.Weights)
	score := func() (model.Score, device.Survey) {
		a, err1 := o.Score(nil, test)
		b, err2 := o.Survey(true)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return a, b
	}
	score1, survey1 := score()
	at := model.Offsets(s.Params)
	s.Weights[at[1]] = float32(math.NaN()) // of the second tensor
	s.Weights[at[2]] *= 1 + 1e-7           // of the third: nothing but rounding
	o.Await()
	score2, survey2 := score()
	kept, err := o.Kept()
	if err != nil || !slices.Equal(kept, was) || score1 != score2 || survey2.NotFinite != -1 ||
		survey1.Counts[1] != survey2.Counts[1] {
		t.Errorf("after training the copy has %+v and %v, not %+v", score2, survey2.NotFinite, score1)
	}
	changed, err := o.Keep(w, true)
	if err != nil || !slices.Equal(changed, []bool{false, true, false, false}) {
		t.Errorf("changed: %v, %v", changed, err)
	}
	if s, err := o.Survey(false); err != nil || s.NotFinite != at[1] || s.Counts != nil {
		t.Errorf("%+v, %v; weight %d is NaN", s, err, at[1])
	}
}

// TestSurveyOfCentredWeights: of a model that centres it surveys V - s mu' and k, computed in float64, in both
// forms.
func TestSurveyOfCentredWeights(t *testing.T) {
	train, test, err := data.Load(data.Options{Path: "digits:1000", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	defer test.Close()
	for _, merged := range []bool{false, true} {
		o, s := keeper(t, "softmax", train, func(j *tuning.Job) {
			j.Used.Center = true
			if merged {
				j.Asked.Workers, j.Used.MergeEvery = 2, 8
			}
		})
		if s.Job.Used.MergesCentered() != merged {
			t.Fatalf("merged: %v", !merged)
		}
		c, ok := model.CenteredOf(s.Params)
		if !ok || len(train.Mean) != c.Rows {
			t.Fatalf("%+v, %d means", c, len(train.Mean))
		}
		var sum float64 // of the plain weights
		for k := range c.Width {
			bias := float64(s.Weights[c.Bias+k])
			for j, mu := range train.Mean {
				v := float64(s.Weights[j*c.Width+k])
				if merged { // s is not looked at
					bias -= v * float64(mu)
				} else {
					v -= float64(s.Weights[c.S+k]) * float64(mu)
				}
				sum += v
			}
			sum += bias
		}
		if _, err := o.Keep(make([]float32, len(s.Weights)), false); err != nil {
			t.Fatal(err)
		}
		got, err := o.Survey(true)
		if err != nil || len(got.Counts) != 2 {
			t.Fatal(got, err)
		}
		if all := got.Counts[0].Sum + got.Counts[1].Sum; math.Abs(all-sum) > 1e-3 ||
			got.Counts[0].N+got.Counts[1].N != float64(len(s.Weights)-c.Width) {
			t.Errorf("merged %v: sum %v of %v, want %v", merged, all, got.Counts[0].N+got.Counts[1].N, sum)
		}
	}
}

// TestSurveyOfManyWeights: a tensor that is looked at in several pieces has the counts of its weights one by one,
// and the first of several weights that are not finite is told, wherever it is.
func TestSurveyOfManyWeights(t *testing.T) {
	const wide = 2*surveyed + 77
	set := &data.Set{Meta: data.Meta{Name: "wide", Rows: 1, Features: wide, Kind: data.Sparse,
		Classes: []string{"0", "1"}},
		Ptr: []int64{0, 1}, Idx: []uint32{3}, Val: []float32{1}, Y: []float32{1}, Freq: make([]float32, wide)}
	o, s := keeper(t, "logistic", set, func(*tuning.Job) {})
	inf := float32(math.Inf(-1))
	for _, bad := range [][]int{nil, {0}, {wide}, {wide - 1, wide}, {surveyed, wide},
		{surveyed - 1, surveyed, 2 * surveyed}, {rand.IntN(wide)}} {
		fillRandom(s.Weights)
		want := device.NewCounts()
		for _, i := range bad {
			s.Weights[i] = inf
		}
		for _, v := range s.Weights[:wide] {
			want.Add([]float32{v})
		}
		if _, err := o.Keep(make([]float32, len(s.Weights)), false); err != nil {
			t.Fatal(err)
		}
		got, err := o.Survey(true)
		if err != nil {
			t.Fatal(err)
		}
		if len(bad) == 0 && got.NotFinite != -1 || len(bad) > 0 && (got.NotFinite != bad[0] || got.Value != inf) {
			t.Errorf("weight %d is %v, want %v", got.NotFinite, got.Value, bad)
		}
		c := &got.Counts[0]
		if c.N != want.N || c.Buckets != want.Buckets || c.Low != want.Low || c.High != want.High ||
			math.Abs(c.Sum-want.Sum) > 1e-6 || math.Abs(c.Sum2-want.Sum2) > 1e-6*want.Sum2 {
			t.Errorf("%v: counts of %v numbers, sum %v, want %v, %v", bad, c.N, c.Sum, want.N, want.Sum)
		}
	}
}
