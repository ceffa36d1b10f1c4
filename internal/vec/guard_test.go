package vec

import (
	"slices"
	"testing"
)

// testGuards are the guards of a worker that is alone, for n numbers under locks of 1<<shift.
func testGuards(n, shift int, count *uint64) map[string]*Guard {
	return map[string]*Guard{
		"locked":  LockGuard(count, make([]uint32, 2*((n-1)>>shift+1)), 2, shift, 3),
		"ordered": TicketGuard(count, make([]uint64, 16*6), []uint64{0, 3, 5}),
		"atomic":  AtomicGuard(count),
	}
}

// takeAll takes the steps of n rows, as the caller of a loop with a guard has to: guarded takes
// those from a row on, and write is the half of one. It returns how many the loop took.
func takeAll(g *Guard, n int, guarded func(from int) int, write func(i int)) (byLoop int) {
	for i := 0; i < n; i++ {
		if g.kind == ordered { // take a ticket
			g.words[0] = g.tickets[16]
			g.tickets[0] = g.words[0] + 1
		}
		done := guarded(i)
		byLoop += done
		if i += done; g.kind == ordered && g.tickets[16] > g.words[0] {
			i-- // the loop's last turn is over
		} else if i < n {
			write(i)
			if g.kind == ordered {
				g.tickets[16]++
			}
		}
	}
	return byLoop
}

// Under a guard that no other worker wants the steps leave the bits of Steps; they are counted, and
// locks are given back.
func TestGuardedBits(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, k := range wideSizes {
			guardedFactors(t, k)
		}
		for _, k := range oddSizes {
			guardedFactors(t, k)
			for loss := LinearLogistic; loss <= LinearAbsolute; loss++ {
				for _, weighted := range []string{"", "both"} {
					guardedLinear(t, loss, 2*k+1, k, k%2 == 0, weighted)
					guardedLinear(t, loss, k, k, k%3 == 0, weighted)
				}
			}
		}
	})
}

func guardedFactors(t *testing.T, k int) {
	const nodes, entries = 13, 50
	idx, y, rows := make([]uint32, 2*entries), fresh(t, entries), make([]int32, entries)
	for i := range rows {
		rows[i] = int32(i * 7 % entries)
		idx[2*i], idx[2*i+1] = uint32(i*5%nodes), uint32((i*5+1+i%(nodes-1))%nodes)
	}
	s, start, n := FactorRate{Keep: 0.999, Rate: -0.02}, fresh(t, nodes*k), nodes*k
	want := Factors{K: k, W: slices.Clone(start), Mean: 0.25}
	want.Steps(rows, idx, y, s)
	var count uint64
	for name, g := range testGuards(n, 8, &count) {
		memory, w := between(n)
		copy(w, start)
		f, coef := Factors{K: k, W: w, Mean: 0.25}, make([]float32, Coefs(k))
		count = 0
		byLoop := takeAll(g, entries, func(i int) int {
			done, _ := f.Guarded(rows[i:], idx, y, coef, s, g)
			return done
		}, func(i int) { f.Write(rows[i], idx, y, coef, s) })
		guardedAlike(t, name, g, memory, want.W, byLoop, int(count))
		if fast := use[LoopFactor] == AVX512 && k <= 128; (byLoop > 0) != fast ||
			name != "locked" && fast && byLoop != entries {
			t.Errorf("k %d, %s: the loop took %d steps of %d by itself", k, name, byLoop, entries)
		}
	}
}

func guardedLinear(t *testing.T, loss LinearLoss, d, most int, shrink bool, weighted string) {
	const rows, lr = 40, 0.05
	l := randomLinear(t, loss, rows, d, most)
	weigh(l, weighted)
	if shrink {
		l.WeightDecay = fresh(t, d)
	}
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i * 7 % rows)
	}
	start := fresh(t, d+1)
	want := slices.Clone(start)
	l.Steps(want[:d], &want[d], order, lr)
	var count uint64
	for name, g := range testGuards(d+1, 20, &count) {
		memory, w := between(d + 1)
		copy(w, start)
		var coef float32
		count = 0
		byLoop := takeAll(g, rows, func(i int) int {
			done, _, _ := l.Guarded(w[:d], &w[d], order[i:], lr, &coef, g)
			return done
		}, func(i int) { l.Write(w[:d], &w[d], order[i], lr, coef) })
		guardedAlike(t, name, g, memory, want, byLoop, int(count))
		if fast := use[LoopLinear] == AVX2; fast && byLoop != rows || !fast && byLoop > 0 {
			t.Errorf("loss %d, %s: the loop took %d steps of %d by itself", loss, name, byLoop, rows)
		}
	}
}

func guardedAlike(t *testing.T, name string, g *Guard, memory, want []float32, byLoop, count int) {
	t.Helper()
	all, inner := between(len(want))
	copy(inner, want)
	if !sameBits(memory, all) {
		t.Fatalf("%s: %v, without a guard %v", name, memory[32:32+len(want)], want)
	}
	if count != byLoop {
		t.Errorf("%s: %d steps counted, the loop took %d", name, count, byLoop)
	}
	if g.kind == locked && slices.Max(g.locks) > 0 {
		t.Errorf("locks %v left", g.locks)
	}
}

// A loop takes no lock that another has, keeps no other that it took, and writes nothing; it does
// not write before its turn, nor take a ticket that another has.
func TestGuardStopsTheLoop(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		if use[LoopFactor] != AVX512 {
			return
		}
		const k = 8 // a lock for two nodes
		var count uint64
		idx, y, rows, s := []uint32{0, 2, 0, 4, 0, 2}, make([]float32, 3), []int32{0, 1, 2},
			FactorRate{Keep: 1, Rate: 0.1}
		for name, c := range map[string]struct {
			close func(g *Guard) // after this the guard opens for the first row alone, or for none
			done  int
		}{
			"locked":  {func(g *Guard) { g.locks[2*2] = 9 }, 1},
			"sleeper": {func(g *Guard) { g.locks[2*1+1] = 1 }, 1},
			"other":   {func(g *Guard) { g.locks[2*0+1], g.locks[2*2+1] = 2, 1 }, 2},
			"ordered": {func(g *Guard) { g.words[0] = 1 }, 0},
			"taken":   {func(g *Guard) { g.tickets[16*(2+1)] = 2<<16 | 9 }, 1},
		} {
			kind := name
			switch name {
			case "taken":
				kind = "ordered"
			case "sleeper", "other":
				kind = "locked"
			}
			g := testGuards(6*k, 4, &count)[kind]
			c.close(g)
			locks := slices.Clone(g.locks)
			f, coef, want := Factors{K: k, W: fresh(t, 6*k)}, make([]float32, Coefs(k)), make([]float32, Coefs(k))
			like := Factors{K: k, W: slices.Clone(f.W)}
			like.Steps(rows[:c.done], idx, y, s)
			like.Read(rows[c.done:], idx, y, want, s)
			done, _ := f.Guarded(rows, idx, y, coef, s, g)
			if done != c.done || !sameBits(f.W, like.W) || !slices.Equal(g.locks, locks) {
				t.Errorf("%s: %d steps, want %d; locks %v, were %v; weights %v, want %v", name, done, c.done, g.locks,
					locks, f.W, like.W)
			}
			slept := name == "sleeper" || name == "other"
			if g.Slept() != slept || g.Slept() {
				t.Errorf("%s: it does not say once whether somebody sleeps", name)
			}
			if name != "taken" && !slept && !sameBits(coef, want) { // there the next row has no ticket, or is not read
				t.Errorf("%s: coefficients %v, want %v", name, coef, want)
			}
		}
	})
}

// The loop of linear models ends after a step whose lock somebody sleeps for, and has not read the next row.
func TestSleeperStopsLinear(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		if use[LoopLinear] != AVX2 {
			return
		}
		const d = 9
		l := randomLinear(t, LinearSquared, 5, d, 4)
		w, order := fresh(t, d+1), []int32{3, 1, 4}
		want := slices.Clone(w)
		l.Steps(want[:d], &want[d], order[:1], 0.1)
		var count uint64
		coef, untouched := float32(7), float32(7)
		g := LockGuard(&count, []uint32{0, 1}, 2, 20, 3)
		done, _, _ := l.Guarded(w[:d], &w[d], order, 0.1, &coef, g)
		if done != 1 || count != 1 || !g.Slept() || g.Slept() || g.locks[0] != 0 || coef != untouched ||
			!sameBits(w, want) {
			t.Errorf("%d steps, %d counted, lock %d, coefficient %v, weights %v, want %v", done, count,
				g.locks[0], coef, w, want)
		}
	})
}
