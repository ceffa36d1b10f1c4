//go:build cuda

package cuda

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// Where an update's record has what: see kernels/record.h.
const (
	recordLooked, recordConflicts, recordTried, recordLost = 0, 1, 2, 3
	recordHistogram                                        = 6
)

// TestSamples runs launches of a few steps each. One step in 64 of the rank is a sample, whatever
// launch it falls in, and half of the samples are of staleness; with one step in flight nothing is
// sampled, and no other step has changed a weight.
func TestSamples(t *testing.T) { onEach(t, testSamples) }

func testSamples(t *testing.T, g *gpuUnderTest) {
	s := draw(problem{d: 13, k: 3, loss: model.CrossEntropy, batches: slices.Repeat([]int{1}, 10), ctas: 1}, 1)
	j := s.job(g)
	record := put(g, make([]uint64, device.RecordWords))
	j.Record, j.Weights = record, int64(len(s.w))
	const launches = 64 * 4 * 2 // of ten steps
	for n := range launches {
		j.Taken = int64(10 * n)
		if err := zero(cu.DevicePtr(j.Ticket), 4); err != nil {
			t.Fatal(err)
		}
		if err := g.kernels["linear_step"].run(1, cu.DevicePtr(put(g, encode(j)))); err != nil {
			t.Fatal(err)
		}
	}
	r := get[uint64](g, device.RecordWords, record)
	sampled := uint64(0)
	for _, n := range r[recordHistogram:] {
		sampled += n
	}
	if want := uint64(10 * launches / 64 / 2); sampled != want || r[recordLooked] != 8*want ||
		r[recordHistogram] != sampled || r[recordConflicts] != 0 {
		t.Errorf("%d samples of staleness, %d of them 0, want %d; %d of %d weights in conflict, want 0 of %d",
			sampled, r[recordHistogram], want, r[recordConflicts], r[recordLooked], 8*want)
	}
}

// TestSeesConflicts: a step that another overtakes finds its weights changed. Sixteen
// teams take steps on the one entry of a matrix.
func TestSeesConflicts(t *testing.T) { onEach(t, testSeesConflicts, "factor") }

func testSeesConflicts(t *testing.T, g *gpuUnderTest) {
	for _, racy := range []int64{0, 1} {
		p := drawPairs(pairs{nodes: 2, k: 300, optimizer: "sgd", batches: ones(3000)}, 1)
		for i := range p.lr {
			p.lr[i] = 1e-6
		}
		for i := range p.y {
			p.y[i] = 30
		}
		j := p.job(g)
		record := put(g, make([]uint64, device.RecordWords))
		j.Record, j.Teams, j.Racy = record, 8, racy
		var r []uint64
		for range 30 { // launches: it is rare that a step is overtaken just while it is a sample
			err := zero(cu.DevicePtr(j.Ticket), 4)
			if err = keep(err, g.kernels["factor_step"].run(2, cu.DevicePtr(put(g, encode(j))))); err != nil {
				t.Fatal(err)
			}
			j.Taken += j.Steps
			if r = get[uint64](g, device.RecordWords, record); r[recordConflicts] > 0 {
				break
			}
		}
		if r[recordLooked] == 0 || r[recordConflicts] == 0 || r[recordConflicts] > r[recordLooked] {
			t.Errorf("racy %d: %d of %d weights in conflict", racy, r[recordConflicts], r[recordLooked])
		}
		if racy == 0 && r[recordTried] != 0 ||
			racy == 1 && (r[recordLost] == 0 || r[recordLost] != r[recordConflicts]) {
			t.Errorf("racy %d: %d of %d lost", racy, r[recordLost], r[recordTried])
		}
	}
}

// TestTurns: the word for which teams wait is in another cache line than the ticket, and a team
// sleeps between two looks at it.
func TestTurns(t *testing.T) { onEach(t, testTurns) }

func testTurns(t *testing.T, g *gpuUnderTest) {
	const line = 128 / 4 // words
	s := draw(problem{d: 13, k: 3, loss: model.CrossEntropy, batches: slices.Repeat([]int{1}, 50), ctas: 4}, 1)
	for discipline, end := range map[string]uint32{"locked": 0, "ordered": 50} {
		j := s.job(g)
		j.Discipline = numberOf(config.MustMode(discipline).Traits())
		if err := g.kernels["linear_step"].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
			t.Fatal(err)
		}
		words := get[uint32](g, ticketBytes/4, j.Ticket)
		if near := slices.Max(words[1:line]); words[0] < 50 || words[line] != end || near != 0 {
			t.Errorf("discipline %v: %d tickets, then %d at most, and %d in the next line, want %d", discipline,
				words[0], near, words[line], end)
		}
	}
	for _, file := range []string{"linear", "mlp", "conv", "sparse", "factor", "cut"} {
		made := imagesOf(file, g.Major, 0)
		text, err := made[len(made)-1].read() // PTX
		if err != nil {
			t.Fatal(err)
		}
		waits, sleeps := strings.Count(text, "atom.relaxed.sys.global.cas"), strings.Count(text, "nanosleep")
		if waits == 0 || sleeps < waits {
			t.Errorf("%s: %d looks at a lock, and %d times sleep", file, waits, sleeps)
		}
	}
}

// TestGPUModes: in locked and ordered mode no update is lost; with one step in flight
// both are serial; with four in flight an ordered update is stale by at most three.
func TestGPUModes(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"softmax", func(c *config.Config) { c.Model, c.Data = "softmax", "digits:2000" }},
		{"factor", func(c *config.Config) { c.Model, c.Data, c.Batch = "factor:8", "synth:lowrank:60x50x4000x3", 1 }},
		{"factor momentum", func(c *config.Config) {
			c.Model, c.Data, c.Batch, c.Optimizer, c.LR = "factor:8", "synth:lowrank:60x50x4000x3", 8, "momentum", .01
		}},
	} {
		serial := train(t, digits(t, func(k *config.Config) { c.edit(k); k.GPU = "" }))
		for _, mode := range []string{"atomic", "locked", "ordered"} {
			for _, flight := range []int{1, 4} {
				r := train(t,
					digits(t, func(k *config.Config) { c.edit(k); k.Mode, k.InFlight = config.MustMode(mode), flight }))
				near := 1e-3
				if flight > 1 {
					near = .05
				}
				if e := math.Abs(r.TestLoss - serial.TestLoss); !(e < near) {
					t.Errorf("%s %s, %d in flight: test loss %.4f, serial %.4f", c.name, mode, flight, r.TestLoss,
						serial.TestLoss)
				}
				if r.LostUpdates != 0 || r.StalenessSamples == 0 ||
					flight == 1 && (r.StalenessMax != 0 || r.Conflicts != 0) {
					t.Errorf("%s %s, %d in flight: %+v", c.name, mode, flight, r.Instruments)
				}
				if mode == "ordered" && r.StalenessMax > int64(flight-1) {
					t.Errorf("%s ordered, %d in flight: stale by %d updates", c.name, flight, r.StalenessMax)
				}
			}
		}
	}
}
