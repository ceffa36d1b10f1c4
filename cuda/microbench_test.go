//go:build cuda

package cuda

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/perf/benchfmt"
	"gorgonia.org/cu"

	"hogwild/internal/self"
)

// microJob is struct Micro of kernels/micro.cu.
type microJob struct {
	Base, Out                uint64
	Times                    int64
	Pieces, Step, Per, Apart int64
	Width, Lanes             int64
}

const (
	accesses = 8 // of a turn of the loops in micro.cu
	sumsAt   = 8 // words of out before the threads' sums: SUMS there
)

// micro is a GPU with memory for the kernels of micro.cu.
type micro struct {
	*gpuUnderTest
	job, out, memory uint64
	bytes, large     int64 // of memory, and of what bandwidths reads
}

// BenchmarkMicro measures what a GPU does at best; docs/results/kernels.md says what the figures decide. It takes 1 GiB
// of the GPU's memory, and for the bandwidth of memory 16 GiB more, or half of what is free. Through the stand-in
// driver it shows only that each case runs. bench/bundle/report.py reads what it prints.
func BenchmarkMicro(b *testing.B) {
	m := &micro{gpuUnderTest: openGPU(b, func(image) bool { return true }, []string{"micro"}),
		bytes: 1 << 30, large: 16 << 30}
	if strings.Contains(m.Name, "stand-in") {
		m.bytes, m.large = 4<<20, 8<<20
	}
	m.job = put(m.gpuUnderTest, encode(microJob{}))
	m.out = put(m.gpuUnderTest, make([]uint64, sumsAt+m.SMs*2048/2)) // of all threads
	m.memory = put(m.gpuUnderTest, make([]uint32, m.bytes/4))
	fmt.Printf("gpu: %s\n", m.Name)
	for _, part := range []func(*testing.B){m.launches, m.additions, m.turns, m.latencies, m.bandwidths, m.copies,
		m.arithmetic, m.stores} {
		part(b)
	}
}

// figure is a rate to report: each turn of each warp is so much of the unit.
type figure struct {
	unit string
	each float64
}

// bench measures b.N turns of a kernel on some CTAs; 0: on all that the GPU runs at once.
func (m *micro) bench(b *testing.B, name, kernel string, ctas int, j microJob, figures ...figure) {
	k := m.kernels[kernel]
	if ctas == 0 {
		ctas = k.most
	}
	if ctas > k.most {
		return // a small GPU: all of its warps are another case
	}
	b.Run(name, func(b *testing.B) {
		g := m.in(b)
		j.Base, j.Out, j.Times = cmp.Or(j.Base, m.memory), m.out, int64(b.N)
		err := upload(cu.DevicePtr(m.job), encode(j))
		b.ResetTimer()
		if err = keep(err, k.run(ctas, cu.DevicePtr(m.job))); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		for _, f := range figures {
			b.ReportMetric(f.each*float64(b.N)*float64(ctas*threads/32)/b.Elapsed().Seconds(), f.unit)
		}
		if seen := get[uint64](g, 2, m.out); kernel == "micro_multiply" { // docs/results/kernels.md counts on 1,975
			b.ReportMetric(float64(seen[0])/float64(max(seen[1], 1))*1e3, "MHz")
		}
	})
}

// launches measures what a launch costs, alone and in a queue.
func (m *micro) launches(b *testing.B) {
	k := m.kernels["micro_nothing"]
	for _, c := range []struct {
		name   string
		launch func() error
	}{
		{"queued", func() error { return k.launch(1, cu.DevicePtr(m.job), cu.NoStream) }},
		{"waited for", func() error { return k.run(1, cu.DevicePtr(m.job)) }},
	} {
		b.Run("launch, "+c.name, func(b *testing.B) {
			m.in(b)
			err := k.run(1, cu.DevicePtr(m.job)) // the first one is late
			b.ResetTimer()
			for range b.N {
				err = keep(err, c.launch())
			}
			if err = keep(err, failed(cu.Synchronize(), "running %d empty kernels", b.N)); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// packed returns the job for a vector of lines of 32 floats. A warp takes whole lines.
func packed(lines int64) microJob {
	return microJob{Pieces: lines, Step: 32, Per: 32, Width: 1, Lanes: 32}
}

// additions tell which model of the L2 cache's atomic units holds.
func (m *micro) additions(b *testing.B) {
	for _, place := range []struct {
		name         string
		pieces, step int64
	}{{"one sector", 1, 0}, {"8 sectors of 2 lines", 8, 8}, {"25 lines", 25, 32}} {
		for _, warps := range []int{264, 1056, 2112, 0} { // CTAs on 33, 132 and 264 of an H200's multiprocessors; all
			who := "each warp"
			if warps > 0 {
				who = fmt.Sprintf("each of %d warps", warps)
			}
			m.bench(b, "add: "+place.name+", a lane of "+who, "micro_add", warps/warpsOfCTA,
				microJob{Pieces: place.pieces, Step: place.step, Per: 32, Width: 1, Lanes: 1},
				figure{"Gsectors/s", accesses / 1e9})
		}
	}
	vector := func(lines int64) microJob {
		return microJob{Pieces: lines / 4, Step: 128, Per: 32, Width: 4, Lanes: 32}
	}
	apart := func(floats int64) microJob { // 8 floats of each line
		return microJob{Pieces: (floats + 31) / 32, Step: 128, Per: 8, Apart: 32, Width: 1, Lanes: 32}
	}
	for _, c := range []struct {
		name, kernel string
		j            microJob
		sectors      float64 // of 32 bytes that an access of a warp touches
		weights      float64 // when it goes through a vector: how many it has
	}{
		{"25 lines (784 weights)", "micro_add", packed(25), 4, 784},
		{"246 lines (7,850 weights)", "micro_add", packed(246), 4, 7850},
		{"3,181 lines (101,770 weights)", "micro_add", packed(3181), 4, 101770},
		{"3,181 lines, scope gpu", "micro_add_gpu", packed(3181), 4, 101770},
		{"248 lines, vectors of 4", "micro_add_vector", vector(248), 16, 7936},
		{"3,180 lines, vectors of 4", "micro_add_vector", vector(3180), 16, 101760},
		{"784 weights, 8 a line", "micro_add", apart(784), 4, 784},
		{"7,850 weights, 8 a line", "micro_add", apart(7850), 4, 7850},
		{"a line for each lane, 2 MiB", "micro_add", microJob{Pieces: 512, Step: 32 * 32, Per: 1, Apart: 32, Lanes: 32},
			32, 0},
		{"3,181 lines, stores", "micro_store", packed(3181), 4, 101770},
	} {
		figures := []figure{{"Gsectors/s", accesses * c.sectors / 1e9}}
		if c.weights > 0 { // steps of all workers, without skipped zeros
			figures = append(figures, figure{"Mvectors/s", accesses * float64(c.j.Lanes*c.j.Width) / c.weights / 1e6})
		}
		m.bench(b, "add: "+c.name, c.kernel, 0, c.j, figures...)
	}
}

// turns tell what a line bears: loads, additions, and both in turn, as steps make them.
func (m *micro) turns(b *testing.B) {
	for _, place := range []struct {
		name  string
		lines float64
		j     microJob
	}{
		{"one sector, a lane", 1, microJob{Pieces: 1, Per: 32, Width: 1, Lanes: 1}},
		{"4 sectors of a line, a lane", 1, microJob{Pieces: 4, Step: 8, Per: 32, Width: 1, Lanes: 1}},
		{"4 lines, a lane", 4, microJob{Pieces: 4, Step: 32, Per: 32, Width: 1, Lanes: 1}},
		{"one line, all lanes", 1, packed(1)},
	} {
		for _, c := range []struct {
			name, kernel string
			warps        int
		}{{"loads", "micro_read", 2112}, {"additions", "micro_add", 2112},
			{"loads and additions in turn", "micro_read_add", 264},
			{"loads and additions in turn", "micro_read_add", 2112}} {
			m.bench(b, fmt.Sprintf("a line: %s, %s of each of %d warps", c.name, place.name, c.warps), c.kernel,
				c.warps/warpsOfCTA, place.j, figure{"M/s/line", accesses / place.lines / 1e6})
		}
	}
}

// scopes are how weights can be loaded, by the ends of kernels' names: the first is how they are.
var scopes = [][2]string{{"", ""}, {", scope gpu", "_gpu"}, {", weak", "_weak"}}

// latencies follow a chain of words, a line each, in random order.
func (m *micro) latencies(b *testing.B) {
	for _, c := range []struct {
		name   string
		bytes  int64
		scopes [][2]string
	}{{"L2 cache", 4 << 20, scopes}, {"memory", m.bytes, scopes[:1]}} {
		const line = 32 // words
		n := int(c.bytes / 4 / line)
		words, order := make([]uint32, n*line), rand.New(rand.NewPCG(1, 1)).Perm(n)
		for i, at := range order {
			words[at*line] = uint32(order[(i+1)%n] * line)
		}
		if err := upload(cu.DevicePtr(m.memory), words); err != nil {
			b.Fatal(err)
		}
		for _, s := range c.scopes {
			m.bench(b, "load: latency, "+c.name+s[0], "micro_chase"+s[1], 1, microJob{})
		}
	}
}

// bandwidths read memory as kernels read weights.
func (m *micro) bandwidths(b *testing.B) {
	vector := [2]string{", vectors of 4", "_vector"}
	large, size := m.random(b)
	for _, c := range []struct {
		name   string
		at     uint64
		bytes  int64
		scopes [][2]string
	}{{"L2 cache", m.memory, min(16<<20, m.bytes), append(slices.Clone(scopes), vector)},
		{"memory", large, size, [][2]string{scopes[0], vector}}} {
		for _, s := range c.scopes {
			bytes := int64(128) // of a warp's load
			if s == vector {
				bytes = 512
			}
			m.bench(b, "load: bandwidth, "+c.name+s[0], "micro_load"+s[1], 0,
				microJob{Base: c.at, Pieces: c.bytes / bytes},
				figure{"GB/s", accesses * float64(bytes) / 1e9})
		}
	}
}

// random is memory so large that caches hold next to nothing of it, and how large: what was asked for, or half of
// what is free. Its words are random, as equal ones might be stored as less.
func (m *micro) random(b *testing.B) (at uint64, bytes int64) {
	piece := make([]float32, m.bytes/16)
	for i := range piece {
		piece[i] = rand.Float32()
	}
	each := int64(len(piece)) * 4
	free, _, err := cu.MemInfo()
	bytes = min(m.large, free/2) / each * each
	p, failedToAllocate := m.allocate(bytes, "the benchmark of memory")
	if err = keep(err, failedToAllocate); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cu.MemFree(p) })
	err = upload(p, piece)
	for done := each; done < bytes; done += each {
		err = keep(err, move(p+cu.DevicePtr(done), p, len(piece)))
	}
	if err != nil {
		b.Fatal(err)
	}
	return uint64(p), bytes
}

// copies measures the copy engines, which carry what streams and what is saved.
func (m *micro) copies(b *testing.B) {
	bytes := min(m.bytes/2, 64<<20)
	host, err := pin(int(bytes))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unpin(host) })
	at, memory := unsafe.Pointer(&host[0]), cu.DevicePtr(m.memory)
	for _, c := range []struct {
		name string
		copy func() error
	}{
		{"host to GPU", func() error { return cu.MemcpyHtoDAsync(memory, at, bytes, cu.NoStream) }},
		{"GPU to host", func() error { return cu.MemcpyDtoHAsync(at, memory, bytes, cu.NoStream) }},
		{"GPU to itself",
			func() error { return cu.MemcpyDtoDAsync(memory+cu.DevicePtr(bytes), memory, bytes, cu.NoStream) }},
	} {
		b.Run("copy: "+c.name, func(b *testing.B) {
			m.in(b)
			err := keep(c.copy(), cu.Synchronize()) // the first one is late
			b.ResetTimer()
			for range b.N {
				err = keep(err, c.copy())
			}
			if err = failed(keep(err, cu.Synchronize()), "copying %d bytes, %s", bytes, c.name); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(bytes)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}

// arithmetic is conversions and multiplications, and the clock meanwhile.
func (m *micro) arithmetic(b *testing.B) {
	m.bench(b, "bytes to floats", "micro_bytes", 0, microJob{}, figure{"G/s", 32 * 32 / 1e9})
	m.bench(b, "multiply-add", "micro_multiply", 0, microJob{}, figure{"TFLOP/s", 32 * 64 * 2 / 1e12})
}

// stores are how late a running kernel sees what the host writes: a stop. The end of the launch is in it.
func (m *micro) stores(b *testing.B) {
	b.Run("store of the host, seen by a running kernel", func(b *testing.B) {
		g, took := m.in(b), time.Duration(0)
		beside, err := cu.MakeStream(cu.NonBlocking)
		stop, failedToPin := pin(4)
		if err = keep(err, failedToPin); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = keep(unpin(stop), beside.Destroy()) })
		stop[0] = 1
		const most = 1 << 22 // looks: some seconds
		for range b.N {
			err = keep(zero(cu.DevicePtr(m.memory), 8),
				upload(cu.DevicePtr(m.job), encode(microJob{Base: m.memory, Out: m.out, Times: most})))
			err = keep(err, m.kernels["micro_wait"].launch(1, cu.DevicePtr(m.job), cu.NoStream))
			time.Sleep(5 * time.Millisecond) // it runs by now; else its end is waited for a little longer
			began := time.Now()
			err = keep(err, failed(cu.MemcpyHtoDAsync(cu.DevicePtr(m.memory), unsafe.Pointer(&stop[0]), 4, beside),
				"writing beside a running kernel"))
			if err = keep(err, failed(cu.Synchronize(), "waiting for a kernel that waits")); err != nil {
				b.Fatal(err)
			}
			took += time.Since(began)
			if get[uint64](g, 3, m.out)[2] == 0 {
				b.Fatalf("a running kernel did not see a write of the host in %d reads", most)
			}
		}
		b.ReportMetric(took.Seconds()*1e6/float64(b.N), "us")
	})
}

// TestMicrobenchRuns: each case gives positive numbers, in the text that the page of make gpu-bundle is made from; how
// large, only a GPU says.
func TestMicrobenchRuns(t *testing.T) {
	c := self.Command(t.Context(), "-test.run=^$", "-test.bench=^BenchmarkMicro$", "-test.benchtime=1x")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string]bool{}
	for r := benchfmt.NewReader(bytes.NewReader(out), ""); r.Scan(); {
		line, ok := r.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("not Go's benchmark format:\n%s", out)
		}
		name := line.Name.String()
		if seen[name] {
			t.Errorf("there are two of %s", name)
		}
		for _, v := range line.Values {
			if seen[v.Unit], seen[name] = true, true; !(v.Value > 0) || math.IsInf(v.Value, 0) {
				t.Errorf("%s: %v %s", name, v.Value, v.Unit)
			}
		}
	}
	for _, name := range []string{"launch, queued", "add: one sector, a lane of each warp",
		"add: 25 lines, a lane of each of 264 warps", "a line: loads, 4 lines, a lane of each of 2112 warps",
		"a line: loads and additions in turn, one sector, a lane of each of 264 warps",
		"add: one sector, a lane of each of 2112 warps", "load: latency, memory", "load: latency, L2 cache, weak",
		"load: bandwidth, L2 cache, scope gpu",
		"load: bandwidth, memory, vectors of 4", "copy: host to GPU"} {
		name = "Micro/" + strings.ReplaceAll(name, " ", "_")
		if !seen[name] && !seen[fmt.Sprintf("%s-%d", name, runtime.GOMAXPROCS(0))] {
			t.Errorf("there is no figure %q in\n%s", name, out)
		}
	}
	if !seen["MHz"] {
		t.Errorf("there is no clock in\n%s", out)
	}
}
