package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"hogwild/internal/self"
	"hogwild/shm"
)

// oneWord is the worst that racy updates can do: every core adds to the same word. A
// float64 counts them exactly, so what is missing in the end was lost.
func (m *meter) oneWord(a *arena) {
	f := Limit{Name: "w[0] += 1, one word", Unit: "M/s", Means: "a bias, or a feature present in every row, that all workers update"}
	for _, members := range m.together() {
		var lost []float64
		made := 0 // by each member, since the word was zero
		a.word[0] = 0
		f.Cores = len(members)
		m.add(f, m.repeat(members, func(i, n int) {
			if i == 0 {
				made += n
			}
			count(a.word, n)
		}, func(n int, d time.Duration) float64 {
			lost = append(lost, 100*(1-a.word[0]/float64(made*len(members))))
			a.word[0], made = 0, 0
			return float64(n*len(members)) / 1e6 / d.Seconds()
		}))
		if len(members) > 1 {
			m.add(Limit{Name: "w[0] += 1, of which lost", Unit: "%", Cores: f.Cores, Means: "updates overwritten by another worker"}, lost)
		}
	}
}

// count adds one to the word n times, each time in memory.
func count(word []float64, n int) {
	for range n {
		word[0]++
	}
}

// cacheLine is the time in which a cache line goes from a core to its neighbour: half
// of that in which a word goes there and back.
func (m *meter) cacheLine(a *arena) {
	for i := 0; i+1 < len(m.cores); i++ {
		values := m.repeat([]int{i, i + 1}, func(side, n int) { pingPong(&a.turn[0], uint32(side), n) }, nanoseconds)
		for k := range values {
			values[k] /= 2
		}
		m.add(Limit{Name: fmt.Sprintf("cache line, core %d to %d", m.cores[i], m.cores[i+1]), Unit: "ns", Cores: 2,
			Means: "each update of a cache line that another worker wrote last"}, values)
	}
}

// pingPong sets the turn to the other side's n times, each time when it is side's own.
func pingPong(turn *uint32, side uint32, n int) {
	for range n {
		for atomic.LoadUint32(turn) != side {
		}
		atomic.StoreUint32(turn, 1-side)
	}
}

// wake is the time in which a core wakes a thread that sleeps on another core, and is
// woken by it.
func (m *meter) wake(a *arena) {
	if len(m.cores) < 2 {
		return
	}
	atomic.StoreUint32(&a.turn[0], 0)
	m.add(Limit{Name: "futex, wake and be woken", Unit: "us", Cores: 2, Means: "each barrier"},
		m.repeat([]int{0, 1}, func(side, n int) { futexPingPong(&a.turn[0], uint32(side), n) },
			func(n int, d time.Duration) float64 { return nanoseconds(n, d) / 1e3 }))
}

// futexPingPong adds one to the turn n times, each time when it is side's own: even or odd. It
// sleeps in between.
func futexPingPong(turn *uint32, side uint32, n int) {
	for range n {
		for {
			v := atomic.LoadUint32(turn)
			if v%2 == side {
				break
			}
			_ = shm.Wait(turn, v, time.Second) // a failure makes this a busy loop
		}
		shm.Wake(turn)
	}
}

// start is the time from the start of a process of this same program to its end.
func (m *meter) start(args []string) error {
	values := make([]float64, repeats)
	for i := range values {
		c := self.Command(context.Background(), args...)
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("bench: starting this program with %q: %w: %s", args, err, out)
		}
		values[i] = float64(time.Since(began).Microseconds()) / 1e3
	}
	m.add(Limit{Name: "process, start to end", Unit: "ms", Cores: 1, Means: "starting a worker, before it maps memory"}, values)
	return nil
}
