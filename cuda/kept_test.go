//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// kinds are numbers of every kind that a weight may be, infinities and NaN left out.
func kinds(r *rand.Rand, v []float32) {
	for i := range v {
		switch x := float32(r.NormFloat64()); r.IntN(9) {
		case 0:
			v[i] = 0
		case 1:
			v[i] = float32(math.Copysign(0, -1))
		case 2:
			v[i] = math.Float32frombits(r.Uint32() & 0x807fffff) // a denormal
		case 3:
			v[i] = float32(math.Ldexp(1, -20)) * x // about the least bucket
		case 4:
			v[i] = 1e30 * x
		default:
			v[i] = x
		}
	}
}

// countsOf are device.Counts by the definition, and the sum of what is added up.
func countsOf(w []float32) (c device.Counts, magnitude float64) {
	c = *device.NewCounts()
	for _, v := range w {
		x := float64(v)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		sign := 0
		if x < 0 {
			sign = 1
		}
		if m, e := math.Frexp(math.Abs(x)); m == 0 || e <= -20 {
			c.Buckets[0][device.LeastBucket-1]++
		} else { // 2m is from 1 to 2, and x is 2m 2^(e-1)
			c.Buckets[sign][(e-1+127)*4+int((2*m-1)*4)]++
		}
		c.N++
		c.Sum += x
		c.Sum2 += x * x
		magnitude += math.Abs(x)
		c.Low, c.High = min(c.Low, v), max(c.High, v)
	}
	return c, magnitude
}

// sameCounts fails unless two are the same, but for the order in which they are added up.
func sameCounts(t *testing.T, what string, got, want device.Counts, magnitude float64) {
	t.Helper()
	if d := math.Abs(got.Sum - want.Sum); !(d <= 1e-13*magnitude) ||
		!(math.Abs(got.Sum2-want.Sum2) <= 1e-13*want.Sum2) {
		t.Fatalf("%s: the sums are %g and %g, want %g and %g", what, got.Sum, got.Sum2, want.Sum, want.Sum2)
	}
	got.Sum, got.Sum2 = want.Sum, want.Sum2
	if got != want {
		t.Fatalf("%s: %v of %v to %v, want %v of %v to %v, or other buckets", what, got.N, got.Low, got.High, want.N,
			want.Low, want.High)
	}
}

// sameBits reports whether two have the same bits. One NaN is like another: of arithmetic with a NaN a GPU makes
// 0x7fffffff, a core that NaN.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(a, b float32) bool {
		return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
	})
}

// TestSurveyKernels wants of the kernels what plain loops say, whichever CTA has which part of which tensor, and
// nothing written outside the copy; also where the numbers of weights do not fit 32 bits.
func TestSurveyKernels(t *testing.T) { onEach(t, testSurveyKernels, "survey") }

func testSurveyKernels(t *testing.T, g *gpuUnderTest) {
	const guard, guardValue, far = 3, 4711.25, 1 << 33
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		tensors []int64
		ctas    int
		each    int64
		begin   int64 // of the first tensor
		bad     []int64
	}{
		{[]int64{1}, 1, 32, 0, nil},
		{[]int64{1}, 1, 32, 0, []int64{0}},
		{[]int64{31, 0, 1, 224}, 3, 100, 0, []int64{255}},
		{[]int64{256, 256}, 2, 256, 0, []int64{256}},
		{[]int64{5, 1027, 3, 1, 4000}, 7, 736, 0, []int64{3000, 1500, 1499}},
		{[]int64{9999}, 4, 2528, 0, []int64{9998, 2528, 2527}},
		{[]int64{0, 3000, 77, 0}, 40, 96, 0, nil},
		{[]int64{3000, 77}, 2, far, far, []int64{far + 2999}},
	} {
		first := []int64{x.begin}
		for _, n := range x.tensors {
			first = append(first, first[len(first)-1]+n)
		}
		n := int(first[len(first)-1] - x.begin)
		w, to := make([]float32, n), slices.Repeat([]float32{guardValue}, guard+n+guard)
		kinds(r, w)
		for i, at := range x.bad {
			w[at-x.begin] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[i%3]
		}
		was := slices.Clone(w)
		want := make([]uint32, len(x.tensors))
		for i, n := range x.tensors { // every other tensor has changed, but for those that are not finite
			begin, end := first[i]-x.begin, first[i+1]-x.begin
			if n > 0 && i%2 == 0 {
				was[begin+r.Int64N(n)] += 1e31
			} else if n > 0 {
				was[begin+r.Int64N(n)] *= 1 + 1.0/(1<<21)
			}
			if device.Changed(was[begin:end], w[begin:end]) {
				want[i] = 1
			}
		}
		copy(to[guard:], was)
		base := put(g, to)
		j := copyJob{From: put(g, w) - uint64(4*x.begin), To: base + 4*guard - uint64(4*x.begin), First: put(g, first),
			Changed: put(g, make([]uint32, len(want))), Found: put(g, make([]float64, foundEach*(x.ctas+len(want)))),
			Counts: put(g, make([]uint64, 2*bucketsEach*len(want))), Tensors: int64(len(want)), Each: x.each}
		for _, kernel := range []string{"survey_keep", "survey_count"} {
			if err := g.kernels[kernel].run(x.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
				t.Fatal(err)
			}
		}
		copy(to[guard:], w)
		if !sameBits(get[float32](g, len(to), base), to) {
			t.Errorf("%v: the copy is another one, or something beside it is written", x)
		}
		if got := get[uint32](g, len(want), j.Changed); !slices.Equal(got, want) {
			t.Errorf("%v: changed are %v, want %v", x, got, want)
		}
		l := looked{buckets: get[uint64](g, 2*bucketsEach*len(want), j.Counts),
			found: get[float64](g, foundEach*(x.ctas+len(want)), j.Found), each: x.each}
		s := (&kept{first: first}).add(&l)
		if least := append(slices.Sorted(slices.Values(x.bad)), -1)[0]; s.NotFinite != int(least) ||
			least >= 0 && !sameBits([]float32{s.Value}, w[least-x.begin:least-x.begin+1]) {
			t.Errorf("%v: the first number that is not finite is %d, %v", x, s.NotFinite, s.Value)
		}
		for i := range want {
			c, magnitude := countsOf(w[first[i]-x.begin : first[i+1]-x.begin])
			sameCounts(t, fmt.Sprint(x, " tensor ", i), s.Counts[i], c, magnitude)
		}
	}
}

// keptModels are a model of each family, with odd sizes.
var keptModels = []struct {
	model, data string
	center      bool
}{
	{"softmax", "digits:60", true}, {"softmax", "digits:60", false}, {"mlp:13", "digits:60", true},
	{"mlp:33,9", "digits:60", false}, {"logistic", "synth:dense:50x7", true},
	{"conv:2@3p2,4", "digits:60", false}, {"factor:7", "synth:lowrank:61x53x400x3", false},
	{"mlp:13", "synth:linear:50x7", false}, {"cut:10", "synth:dblife:0.002", false},
	{"logistic", "synth:sparse:60x3001x5", false},
}

// ownsBoth are the owners of the same weights on a GPU and on cores, and what the two have in common.
func ownsBoth(t *testing.T, name, path string,
	center bool) (s *device.Setup, gpu *owner, host device.Owner, test *data.Set) {
	t.Helper()
	train, test, err := data.Load(data.Options{Path: path, Seed: 1})
	ok(t, err)
	c := configtest.Dense()
	c.Model, c.Workers, c.GPU, c.Data = name, 1, "0", path
	if kind, _, _ := strings.Cut(name, ":"); train.Classes == nil && kind == "mlp" {
		c.Loss, c.Standard = "squared", data.Standard{Deviation: 40}
	} else if kind == "mlp" || kind == "conv" {
		c.Loss = "cross-entropy"
	}
	job := tuning.AsAsked(c)
	job.Used.Center = center
	m, err := model.New(job.TrainedOptions(train), train.Meta)
	ok(t, err)
	shared, err := control.CreateWeights(job, model.Size(m.Params()))
	ok(t, err)
	s, err = device.NewSetup(job, shared, train)
	ok(t, err)
	made, err := backend{}.Own(s)
	ok(t, err)
	host, err = cpu.Backend{}.Own(s)
	ok(t, err)
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
		shared.Seg.Close()
		train.Close()
		test.Close()
	})
	return s, made.(*owner), host, test
}

// TestKeepsAsHost: copy, survey and which tensors have changed are as an owner in host memory has them from plain
// loops; and the plain weights follow the definition, in double.
func TestKeepsAsHost(t *testing.T) {
	for _, x := range keptModels {
		t.Run(fmt.Sprint(x.model, " ", x.center), func(t *testing.T) {
			s, gpu, host, _ := ownsBoth(t, x.model, x.data, x.center)
			r := rand.New(rand.NewPCG(3, 4))
			kinds(r, s.Weights)
			keepsBoth(t, s, gpu, host, false)
			if w, err := gpu.Kept(); x.center && err == nil {
				isPlain(t, s, w)
			}
			at := model.Offsets(s.Params)
			for n := range 3 { // a tensor more each time is left as it is
				for i, p := range s.Params {
					if part := s.Weights[at[i] : at[i]+p.Len()]; (i+n)%3 > 0 && !model.IsCenter(p) {
						part[[]int{0, len(part) - 1, len(part) / 2}[n]] += 1e31
					}
				}
				keepsBoth(t, s, gpu, host, true)
			}
			for _, i := range []int{len(s.Weights) - 1, 0, len(s.Weights) / 2} {
				kinds(r, s.Weights)
				s.Weights[i], s.Weights[min(i+3, len(s.Weights)-1)] = float32(math.Inf(-1)), float32(math.NaN())
				keepsBoth(t, s, gpu, host, true)
			}
		})
	}
}

// keepsBoth compares what two owners say of the weights.
func keepsBoth(t *testing.T, s *device.Setup, gpu *owner, host device.Owner, compare bool) {
	t.Helper()
	ok(t, gpu.Upload())
	if !compare { // as when a run begins
		_, err := host.Keep(make([]float32, len(s.Weights)), false)
		ok(t, err)
	}
	w, err := host.Kept()
	ok(t, err)
	was := slices.Clone(w)
	changed, err := gpu.Keep(nil, compare)
	ok(t, err)
	_, err = host.Keep(make([]float32, len(s.Weights)), false)
	ok(t, err)
	want, err := host.Kept()
	ok(t, err)
	got, err := gpu.Kept()
	if ok(t, err); !sameBits(got, want) {
		t.Fatalf("the copy is %v, in host memory %v", got, want)
	}
	params := s.Plain.Params()
	at := model.Offsets(params)
	for i := range changed {
		if end := at[i] + params[i].Len(); changed[i] != device.Changed(was[at[i]:end], want[at[i]:end]) {
			t.Errorf("%s has changed: %t, in host memory %t", params[i].Name, changed[i], !changed[i])
		}
	}
	if compare != (len(changed) == len(params)) {
		t.Errorf("of %d tensors it tells whether %d have changed", len(params), len(changed))
	}
	for _, counts := range []bool{true, false} {
		a, err := gpu.Survey(counts)
		ok(t, err)
		b, err := host.Survey(counts)
		ok(t, err)
		if a.NotFinite != b.NotFinite || a.NotFinite >= 0 && (a.Value == a.Value) != (b.Value == b.Value) ||
			len(a.Counts) != len(b.Counts) {
			t.Fatalf("weight %d is %v, in host memory weight %d is %v", a.NotFinite, a.Value, b.NotFinite, b.Value)
		}
		for i, c := range a.Counts {
			_, magnitude := countsOf(want[at[i] : at[i]+params[i].Len()])
			sameCounts(t, params[i].Name, c, b.Counts[i], magnitude)
		}
	}
}

// isPlain compares the copy of centred weights with V - s mu' in double.
func isPlain(t *testing.T, s *device.Setup, w []float32) {
	t.Helper()
	c, _ := model.CenteredOf(s.Params)
	for i, got := range w {
		from := i
		if i >= c.S {
			from += c.Width
		}
		want, within := float64(s.Weights[from]), 0.0
		if i < c.Rows*c.Width {
			less := float64(s.Set.Mean[i/c.Width]) * float64(s.Weights[c.S+i%c.Width])
			want, within = want-less, 2e-7*max(math.Abs(want), math.Abs(less))+1e-44 // half of the least denormal
		}
		if !(math.Abs(float64(got)-want) <= within) {
			t.Fatalf("plain weight %d is %g, want %g", i, got, want)
		}
	}
}

// TestKeepsOfPrograms: their weights are kept and surveyed too, where nothing of the run computes on the GPU.
func TestKeepsOfPrograms(t *testing.T) {
	c := configtest.Dense()
	c.Workers, c.GPU = 1, "0"
	s, o := ownOf(t, c, backend{})
	host, err := cpu.Backend{}.Own(s)
	ok(t, err)
	randomize(rand.New(rand.NewPCG(1, 2)), s.Weights)
	for i := range 3 {
		keepsBoth(t, s, o.(*owner), host, i > 0)
		s.Weights[7*i]++
	}
}

// TestScoreLeavesTheCopy: other weights than the copy are scored as the copy is, and the copy stays.
func TestScoreLeavesTheCopy(t *testing.T) {
	for _, x := range keptModels {
		s, gpu, host, test := ownsBoth(t, x.model, x.data, x.center)
		r := rand.New(rand.NewPCG(5, 6))
		other := make([]float32, model.Size(s.Plain.Params()))
		randomize(r, other)
		randomize(r, s.Weights)
		first, err := gpu.Score(other, test) // before there is a copy
		ok(t, err, gpu.Upload())
		_, err = gpu.Keep(nil, false)
		ok(t, err)
		_, err = host.Keep(make([]float32, len(s.Weights)), false)
		ok(t, err)
		for i, w := range [][]float32{nil, other, nil} {
			got, err := gpu.Score(w, test)
			ok(t, err)
			want, err := host.Score(w, test)
			ok(t, err)
			if got.N != want.N || !(math.Abs(got.Loss-want.Loss) <= 1e-4*math.Abs(want.Loss)) {
				t.Errorf("%s: score %d is %+v, in host memory %+v", x.model, i, got, want)
			}
			if w != nil && !(math.Abs(got.Loss-first.Loss) <= 1e-9*math.Abs(first.Loss)) {
				t.Errorf("%s: other weights have the score %+v, before there was a copy %+v", x.model, got, first)
			}
		}
		a, err := gpu.Kept()
		ok(t, err)
		if b, err := host.Kept(); err != nil || !sameBits(a, b) {
			t.Errorf("%s: the copy is no longer that of the weights (%v)", x.model, err)
		}
	}
}
