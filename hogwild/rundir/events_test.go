package rundir_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// TestRecordsOfTheDefinition: known answers. The checksum is RFC 3720's (B.4), and the
// records are as TensorBoard 2.20's RecordWriter writes them.
func TestRecordsOfTheDefinition(t *testing.T) {
	ascending := make([]byte, 32)
	for i := range ascending {
		ascending[i] = byte(i)
	}
	for text, want := range map[string]uint32{"123456789": 0xe3069283, string(make([]byte, 32)): 0x8a9136aa,
		string(ascending): 0x46dd794e} {
		if got := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)); got != want {
			t.Errorf("checksum of %x: %x, want %x", text, got, want)
		}
	}
	var event, value, s rundir.Message
	value.Bytes(rundir.ValueTag, []byte("test/loss"))
	value.Float(rundir.ValueNumber, 0.25)
	s.Bytes(rundir.SummaryValue, value)
	event.Double(rundir.EventTime, 1234567890.5)
	event.Integer(rundir.EventStep, 300)
	event.Bytes(rundir.EventSummary, s)
	var version rundir.Message
	version.Double(rundir.EventTime, 1234567890.5)
	version.Bytes(rundir.EventVersion, []byte("brain.Event:2"))
	for want, data := range map[string][]byte{
		"000000000000000029039807d8ea82a2": nil,
		"0700000000000000bbd79f11686f6777696c64661d489d": []byte(
			"hogwild"),
		"1800000000000000a37f4b22090000a0b48065d2411a0d627261696e2e4576656e743a32f5e8f016":                 version,
		"200000000000000029eda950090000a0b48065d24110ac022a120a100a09746573742f6c6f7373150000803eed6276b3": event,
	} {
		if got := hex.EncodeToString(rundir.AppendRecord(nil, data)); got != want {
			t.Errorf("%q\n%s, want\n%s", data, got, want)
		}
	}
}

// histogramOf returns the histogram of a tensor of these weights.
func histogramOf(name string, w ...float32) rundir.Histogram {
	c := device.NewCounts()
	c.Add(w)
	return rundir.WeightHistogram(name, c)
}

// TestWeightHistogram counts drawn weights, some of them at the edges, by the definition:
// four buckets for each power of two.
func TestWeightHistogram(t *testing.T) {
	w := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 1e-30, -1e-30, 3e30, -3e30, math.MaxFloat32,
		0x1p-20, -0x1p-20, 0x1.fp-21}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		w = append(w, float32(rng.NormFloat64()*math.Exp(3*rng.NormFloat64())))
	}
	type bucket struct{ low, high float64 }
	want, sum := map[bucket]float64{}, 0.0
	for _, v := range w {
		x := math.Abs(float64(v))
		sum += float64(v)
		fraction, exponent := math.Frexp(x) // from 1/2 to 1
		part := math.Floor((2*fraction - 1) * 4)
		b := bucket{math.Ldexp(1+part/4, exponent-1), math.Ldexp(1+(part+1)/4, exponent-1)}
		switch {
		case x < 0x1p-20:
			b = bucket{-0x1p-20, 0x1p-20}
		case v < 0:
			b = bucket{-b.high, -b.low}
		}
		want[b]++
	}
	h := histogramOf("w", w...)
	got, low := map[bucket]float64{}, -math.Ldexp(1.25, 101) // -3e30 = -1.18 x 2^101
	for i, high := range h.Limits {
		if h.Counts[i] > 0 {
			got[bucket{low, high}] = h.Counts[i]
		}
		low = high
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if h.N != float64(len(w)) || h.Sum != sum || h.Min != float64(w[9]) || h.Max != math.MaxFloat32 {
		t.Errorf("%v weights, sum %v, from %v to %v", h.N, h.Sum, h.Min, h.Max)
	}
}

// TestWeightsThatDiverged: what is not finite is not counted, be it all.
func TestWeightsThatDiverged(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	h := histogramOf("w", nan, inf, -inf, 1, -nan)
	if h.N != 1 || h.Sum != 1 || h.Min != 1 || h.Max != 1 {
		t.Errorf("one of five is finite: %+v", h)
	}
	if h := histogramOf("w", nan, inf); h.N != 0 || h.Min != 0 || h.Max != 0 || len(h.Limits) != 0 {
		t.Errorf("none is finite: %+v", h)
	}
}

// tensorBoard reads a run folder with TensorBoard's own reader: of each tag the steps and
// what stands there.
const tensorBoard = `
import json, sys
from tensorboard.backend.event_processing import event_accumulator
a = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0})
a.Reload()
h = lambda v: [v.min, v.max, v.num, v.sum, v.sum_squares, list(v.bucket_limit), list(v.bucket)]
print(json.dumps({
    "scalars": {k: [[e.step, e.value] for e in a.Scalars(k)] for k in a.Tags()["scalars"]},
    "histograms": {k: [[e.step] + h(e.histogram_value) for e in a.Histograms(k)] for k in a.Tags()["histograms"]},
    "times": [e.wall_time for k in a.Tags()["scalars"] for e in a.Scalars(k)]}))
`

// TestTensorBoardReadsOurs: a run that is resumed from before what its first file has.
func TestTensorBoardReadsOurs(t *testing.T) {
	run, half, r2 := t.TempDir(), 0.5, -0.25
	before := time.Now()
	in := &control.Instruments{StalenessSamples: 6, StalenessMean: 52, StalenessMax: 263, LostUpdates: 0.125,
		Conflicts:          0.5,
		StalenessHistogram: [][2]uint64{{0, 3}, {2, 1}, {256, 2}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := rundir.OpenEvents(run, nil, nil)
	must(err)
	workers := []rundir.WorkerStatus{{Rank: 0, Rate: 100}, {Rank: 12, Rate: 50}}
	must(e.Second(rundir.Status{Examples: 150, Rate: 150, Workers: workers}, &control.Instruments{}, 0.5))
	must(e.Epoch(rundir.EpochResult{Examples: 100, TrainLoss: 2,
		Tested: rundir.Tested{TestLoss: 4, TestAccuracy: &half}}, in,
		[]rundir.Histogram{histogramOf("0.bias", -1, 0, 1.125)}))
	// lost: there was no snapshot of it
	must(e.Epoch(rundir.EpochResult{Examples: 200, TrainLoss: 8, Tested: rundir.Tested{TestLoss: 8}},
		&control.Instruments{}, nil))
	must(e.Close())
	e, err = rundir.OpenEvents(run, &rundir.Past{Examples: 100}, nil)
	must(err)
	must(e.Epoch(rundir.EpochResult{Examples: 200, TrainLoss: 1,
		Tested: rundir.Tested{TestLoss: math.NaN(), TestRMSE: &half, TestR2: &r2}},
		&control.Instruments{}, nil))
	must(e.Second(rundir.Status{Examples: 1 << 40, Rate: 75, Workers: workers}, in, 0.25))
	must(e.Close())

	type numbers = map[string][][2]float64
	var got struct {
		Scalars    numbers
		Histograms map[string][][]any
		Times      []float64
	}
	out := bytes.ReplaceAll(check.Python(t, "tensorboard", tensorBoard, run), []byte("NaN"), []byte("-1"))
	must(json.Unmarshal(out, &got))
	const far = 1 << 40
	want := numbers{
		"train/loss": {{100, 2}, {200, 1}}, "test/loss": {{100, 4}, {200, -1}}, "test/accuracy": {{100, 0.5}},
		"test/rmse": {{200, 0.5}}, "test/r2": {{200, -0.25}},
		"rate/examples_per_second": {{far, 75}}, "workers": {{far, 2}}, "worker/0/examples_per_second": {{far, 100}},
		"worker/12/examples_per_second": {{far, 50}}, "lr": {{far, 0.25}},
		"staleness/mean": {{far, 52}}, "lost_updates": {{far, 0.125}}, "conflicts": {{far, 0.5}},
	}
	if d := cmp.Diff(want, got.Scalars); d != "" {
		t.Error(d)
	}
	list := func(v ...any) []any { return v }
	histograms := map[string][][]any{
		"staleness": {list(100., 0., 263., 6., 312., 4.+2*256*256, list(0.5, 1.5, 2.5, 255.5, 287.5),
			list(3., 0., 1., 0., 2.))},
		"weights/0.bias": {list(100., -1., 1.125, 3., 0.125, 2.265625,
			list(-1., -0x1p-20, 0x1p-20, 1., 1.25), list(1., 0., 1., 0., 1.))},
	}
	if d := cmp.Diff(histograms, got.Histograms); d != "" {
		t.Error(d)
	}
	for _, at := range got.Times {
		if at < float64(before.UnixMicro())/1e6 || at > float64(time.Now().UnixMicro())/1e6 {
			t.Errorf("at %v: it is %v", at, time.Now())
		}
	}
}

// TestEventsOfARun: a run's file has what its result has, and one that takes its folder
// begins anew.
func TestEventsOfARun(t *testing.T) {
	c := configtest.Quick(t)
	stray := filepath.Join(c.Run, rundir.EventPrefix+"0000000001.gone")
	if err := os.WriteFile(stray, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want := runtest.Train(t, c)
	var got struct{ Scalars map[string][][2]float64 }
	if err := json.Unmarshal(check.Python(t, "tensorboard", tensorBoard, c.Run), &got); err != nil {
		t.Fatal(err)
	}
	for i, e := range want.History {
		if now := got.Scalars["test/loss"][i]; now != [2]float64{float64(e.Examples), float64(float32(e.TestLoss))} {
			t.Errorf("%v, want epoch %+v", now, e)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(c.Run, rundir.EventPrefix+"*")); len(files) != 1 || files[0] == stray {
		t.Errorf("%q", files)
	}
}

// BenchmarkWeightHistogram measures what the histogram of an epoch's weights costs.
func BenchmarkWeightHistogram(b *testing.B) {
	rng, w := rand.New(rand.NewPCG(1, 2)), make([]float32, 1<<20)
	for i := range w {
		w[i] = float32(rng.NormFloat64() / 30)
	}
	for b.Loop() {
		histogramOf("w", w...)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(w)), "ns/weight")
}
