package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// Limits is the peak rates of a machine, reached by loops as plain as those that training needs.
type Limits struct {
	CPU    string    `json:"cpu"`
	Cores  int       `json:"cores"` // that this program may use
	Kernel string    `json:"kernel"`
	Go     string    `json:"go"`
	Time   time.Time `json:"time"`
	Limits []Limit   `json:"limits"`
}

// Limit is one figure, of repeats that together take part of a second: where other
// programs share the machine, the best of them is the machine's.
type Limit struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Cores  int     `json:"cores"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Means  string  `json:"means"` // what it bounds in training
}

const repeats = 9 // measurements of a limit: odd

// meter measures in repeats of a slot of time.
type meter struct {
	Limits
	slot time.Duration
	w    []float32 // weights of the pages that weights in training have
}

// Measure takes all limits, thirteen figures, in about so many seconds. It uses 200 MB of memory and every core.
func Measure(seconds float64) (*Limits, error) {
	var l shm.Layout
	l.Add("w", shm.F32, sizes[len(sizes)-1].floats)
	s, err := l.Create("limits")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	here := rundir.ThisMachine()
	m := &meter{slot: time.Duration(seconds / 13 / repeats * float64(time.Second)),
		Limits: Limits{CPU: here.CPU, Kernel: here.Kernel, Go: here.Go,
			Cores: min(machine.Cores(), runtime.GOMAXPROCS(0)), Time: time.Now().UTC().Truncate(time.Second)}}
	if m.w, err = shm.View[float32](s, "w"); err != nil {
		return nil, err
	}
	clear(m.w) // every page is there
	peak := vec.Peaks()[0]
	m.rate("multiply-add, "+peak.Name, "GFLOP/s", "dense layers and convolutions: peak of any matrix product",
		block*peak.Flops/1e9,
		func(_, _ int) { peak.Run(block) })
	m.read()
	for _, size := range sizes {
		m.scatter(m.w[:size.floats], size.name, size.means)
	}
	m.apart()
	m.cacheLine()
	return &m.Limits, nil
}

// rate measures a loop on one core and on all: turn(i, k) is its turn k on core i, and per what a turn does, in the
// unit.
func (m *meter) rate(name, unit, means string, per float64, turn func(i, k int)) {
	for _, cores := range slices.Compact([]int{1, m.Cores}) {
		m.add(Limit{Name: name, Unit: unit, Cores: cores, Means: means}, turn, func(n int, d time.Duration) float64 {
			return per * float64(n*cores) / d.Seconds()
		})
	}
}

// add runs a loop for about a slot, several times, and appends the limit: a figure of the turns and the time they took.
func (m *meter) add(f Limit, turn func(i, k int), figure func(n int, d time.Duration) float64) {
	from, n := 0, 1
	for together(f.Cores, from, n, turn) < m.slot/2 {
		from, n = from+n, 2*n
	}
	values := make([]float64, repeats)
	for i := range values {
		from += n
		values[i] = figure(n, together(f.Cores, from, n, turn))
	}
	slices.Sort(values)
	f.Min, f.Median, f.Max = values[0], values[repeats/2], values[repeats-1]
	m.Limits.Limits = append(m.Limits.Limits, f)
}

// together is how long n turns of a loop take on several cores at once.
func together(cores, from, n int, turn func(i, k int)) time.Duration {
	var running sync.WaitGroup
	began := time.Now()
	for i := range cores {
		running.Go(func() {
			for k := range n {
				turn(i, from+k)
			}
		})
	}
	running.Wait()
	return time.Since(began)
}

const block = 4 << 10 // floats: 16 kB, which the first-level cache holds

// read is a pass over memory that no cache holds. Each core has a part of it for its own.
func (m *meter) read() {
	part, to := len(m.w)/m.Cores/block*block, make([]float32, m.Cores*block)
	m.rate("memory, read", "GB/s", "one pass over a data set larger than the caches", 4*block/1e9, func(i, k int) {
		copy(to[i*block:][:block], m.w[i*part+k*block%part:])
	})
}

// sizes are those of weights whose random updates are measured.
var sizes = []struct {
	floats      int
	name, means string
}{
	{47_236, "w[j] += x at random, 47 k floats", "sparse models of RCV1's size, in the L2 cache: one such update per " +
		"nonzero"},
	{1_000_000, "w[j] += x at random, 1 M floats", "sparse models that fit in the L3 cache"},
	{50_000_000, "w[j] += x at random, 50 M floats", "sparse models and factors larger than the caches"},
}

// scatter is w[j] += x at random j, by all cores in the same weights, without locks.
func (m *meter) scatter(w []float32, name, means string) {
	list, r := make([]uint32, 1<<22), rand.New(rand.NewPCG(1, 2)) // so long that no cache holds the lines that it names
	for i := range list {
		list[i] = r.Uint32N(uint32(len(w)))
	}
	m.rate(name, "M/s", means, block/1e6, func(i, k int) {
		from := (len(list)/m.Cores*i/block + k) * block % len(list)
		for at := list[from:][:block]; len(at) >= 4; at = at[4:] {
			w[at[0]]++
			w[at[1]]++
			w[at[2]]++
			w[at[3]]++
		}
	})
}

// apart is steps on sparse rows, each core on rows and a model of its own: that all cores take of them over one is what
// workers gain that never meet at a weight.
func (m *meter) apart() {
	const rows, each, columns = 1 << 14, 80, 47_236
	models, w := make([]vec.Linear, m.Cores), make([][]float32, m.Cores)
	list := make([]int32, rows)
	for i := range list {
		list[i] = int32(i)
	}
	for i := range models {
		r, l := rand.New(rand.NewPCG(3, uint64(i))), &models[i]
		l.Loss, l.Ptr, l.Y = vec.LinearLogistic, make([]int64, 1, rows+1), make([]float32, rows)
		for range rows * each {
			l.Idx, l.Val = append(l.Idx, uint32(columns*r.Float64()*r.Float64())), append(l.Val, 0.1)
		}
		for range rows {
			l.Ptr = append(l.Ptr, l.Ptr[len(l.Ptr)-1]+each)
		}
		w[i] = make([]float32, columns+1)
	}
	const turn = 256
	m.rate("steps on sparse rows, a model for each core", "M/s",
		"sparse models: workers over one, if they never met at a weight", turn/1e6, func(i, k int) {
			from := k * turn % rows
			models[i].Steps(w[i][:columns], &w[i][columns], list[from:from+turn], 0.01)
		})
}

// cacheLine is the time in which a cache line goes from a core to another: half of that in which a word goes there and
// back.
func (m *meter) cacheLine() {
	if m.Cores == 1 {
		return
	}
	var next atomic.Uint32
	f := Limit{Name: "cache line, core to core", Unit: "ns", Cores: 2,
		Means: "each update of a cache line that another worker wrote last"}
	m.add(f, func(side, _ int) {
		for next.Load() != uint32(side) {
		}
		next.Store(1 - uint32(side))
	}, func(n int, d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(2*n) })
}

// WriteJSON writes the limits as one JSON object.
func (f *Limits) WriteJSON(w io.Writer) error { return human.WriteJSON(w, f) }

// WriteText writes the limits as a table.
func (f *Limits) WriteText(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%s, %d cores, %s, %s, %s\nmedian of %d repeats (range)\n\n%s",
		f.CPU, f.Cores, f.Kernel, f.Go, f.Time.Format("2006-01-02 15:04 MST"), repeats, aligned(f.Table()))
	return err
}

// Table is a row for each limit.
func (f *Limits) Table() *human.Table {
	return human.TableOf(f.Limits,
		human.Col("limit", func(l Limit) string { return l.Name }),
		human.Col("unit", func(l Limit) string { return l.Unit }),
		human.Col("cores", func(l Limit) string { return fmt.Sprint(l.Cores) }),
		human.Col("median (range)", func(l Limit) string {
			return Spread{l.Median, l.Min, l.Max, repeats}.Text(human.Short)
		}),
		human.Col("bounds", func(l Limit) string { return l.Means }))
}
