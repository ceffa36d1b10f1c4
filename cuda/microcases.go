//go:build cuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// launches measures what a launch costs, alone and in a queue.
func (p *bench) launches() error {
	n, k := 1000, p.kernels["micro_nothing"]
	if p.quick {
		n = 3
	}
	if err := k.run(1, p.job); err != nil { // the first one is late
		return err
	}
	began := time.Now()
	for range n {
		if err := k.launch(1, p.job, cu.NoStream); err != nil {
			return err
		}
	}
	if err := failed(cu.Synchronize(), "running %d empty kernels", n); err != nil {
		return err
	}
	queued := time.Since(began)
	began = time.Now()
	for range n {
		if err := k.run(1, p.job); err != nil {
			return err
		}
	}
	us := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(n) }
	p.add("launch, queued", "us", us(queued), "how short a launch may be")
	p.add("launch, waited for", "us", us(time.Since(began)), "the least time of a launch whose losses are wanted")
	return nil
}

// addition is a case of additions: which weights, how.
type addition struct {
	name, kernel string
	j            microJob
	warps        int     // that take part; 0: as many as the GPU runs
	sectors      float64 // of 32 bytes that an access of a warp touches
	weights      float64 // when it goes through a vector: how many it has
	means        string
}

// packed is a vector of that many lines of 32 floats, of which a warp takes whole lines.
func packed(lines int64) microJob {
	return microJob{Pieces: lines, Step: 32, Per: 32, Width: 1, Lanes: 32}
}

// additions tell which model of the L2 cache's atomic units holds.
func (p *bench) additions() error {
	few, places := []addition(nil), []struct {
		name string
		j    microJob
	}{
		{"one sector", microJob{Pieces: 1, Per: 32, Width: 1, Lanes: 1}},
		{"8 sectors of 2 lines", microJob{Pieces: 8, Step: 8, Per: 32, Width: 1, Lanes: 1}},
		{"25 lines", microJob{Pieces: 25, Step: 32, Per: 32, Width: 1, Lanes: 1}},
	}
	for _, place := range places {
		for _, warps := range []int{264, 1056, 2112, 0} { // CTAs on 33, 132 and 264 of an H200's multiprocessors; all
			who := "each warp"
			if warps > 0 {
				who = fmt.Sprintf("each of %d warps", warps)
			}
			few = append(few, addition{place.name + ", a lane of " + who, "micro_add", place.j, warps, 1, 0,
				"whether operations on one sector wait for each other: a bias that each sparse row adds to"})
		}
	}
	vector := func(lines int64) microJob {
		return microJob{Pieces: lines / 4, Step: 128, Per: 32, Width: 4, Lanes: 32}
	}
	apart := func(floats int64) microJob { // 8 floats of each line
		return microJob{Pieces: (floats + 31) / 32, Step: 128, Per: 8, Apart: 32, Width: 1, Lanes: 32}
	}
	scattered := microJob{Pieces: 512, Step: 32 * 32, Per: 1, Apart: 32, Lanes: 32}
	return p.all(append(few, []addition{
		{"25 lines (784 weights)", "micro_add", packed(25), 0, 4, 784, "logistic regression on images"},
		{"246 lines (7,850 weights)", "micro_add", packed(246), 0, 4, 7850, "softmax on MNIST"},
		{"3,181 lines (101,770 weights)", "micro_add", packed(3181), 0, 4, 101770, "784-128-10"},
		{"3,181 lines, scope gpu", "micro_add_gpu", packed(3181), 0, 4, 101770, "what the scope costs"},
		{"248 lines, vectors of 4", "micro_add_vector", vector(248), 0, 16, 7936, "whether vectors are worth it"},
		{"3,180 lines, vectors of 4", "micro_add_vector", vector(3180), 0, 16, 101760, "whether vectors are worth it"},
		{"784 weights, 8 a line", "micro_add", apart(784), 0, 4, 784, "whether slices go by lines"},
		{"7,850 weights, 8 a line", "micro_add", apart(7850), 0, 4, 7850, "whether slices go by lines"},
		{"a line for each lane, 2 MiB", "micro_add", scattered, 0, 32, 0, "sparse rows"},
		{"3,181 lines, stores", "micro_store", packed(3181), 0, 4, 101770, "what --write racy gains"},
	}...))
}

func (p *bench) all(cases []addition) error {
	for _, c := range cases {
		if c.warps/warpsOfCTA > p.kernels[c.kernel].most {
			continue // a small GPU: all of its warps are another case
		}
		turns, took, err := p.measure(c.kernel, c.warps/warpsOfCTA, c.j)
		if err != nil {
			return err
		}
		rate := turns * accesses / took.Seconds() // of warps' accesses
		p.add("add: "+c.name, "G sectors/s", rate*c.sectors/1e9, c.means)
		if c.weights > 0 {
			lanes := float64(c.j.Lanes) * float64(max(1, c.j.Width))
			p.add("add: "+c.name+", whole vectors", "M/s", rate*lanes/c.weights/1e6, "steps a second of all workers, without skipped zeros")
		}
	}
	return nil
}

// latencies follow a chain of words, a line each, in random order.
func (p *bench) latencies() error {
	for _, c := range []struct {
		name   string
		bytes  int64
		scopes []scope
	}{{"L2 cache", nearBytes / 4, scopes}, {"memory", p.bytes, scopes[:1]}} {
		const line = 32 // words
		n, turns := int(min(c.bytes, p.bytes)/4/line), 20000
		if p.quick {
			n, turns = 64, 64
		}
		words, order := make([]uint32, n*line), rand.New(rand.NewPCG(1, 1)).Perm(n)
		for i, at := range order {
			words[at*line] = uint32(order[(i+1)%n] * line)
		}
		if err := upload(p.memory, words); err != nil {
			return err
		}
		for _, s := range c.scopes {
			took, err := p.once(p.kernels["micro_chase"+s.kernel], 1, microJob{Times: int64(turns)})
			if err != nil {
				return err
			}
			p.add("load: latency, "+c.name+s.name, "ns", float64(took.Nanoseconds())/float64(turns), s.means("the time from a gather to its use"))
		}
	}
	return nil
}

// scopes are how weights can be loaded: the first is how they are.
var scopes = []scope{{"", ""}, {", scope gpu", "_gpu"}, {", weak", "_weak"}}

type scope struct{ name, kernel string }

// means says what a figure at the first scope is for; the others are there to be compared with it.
func (s *scope) means(first string) string {
	if s.kernel == "" {
		return first
	}
	return "what the scope of loads costs: ld.relaxed.sys against this"
}

// bandwidths read memory as kernels read weights.
func (p *bench) bandwidths() error {
	vector := scope{", vectors of 4", "_vector"}
	for _, c := range []struct {
		name   string
		bytes  int64
		scopes []scope
	}{{"L2 cache", nearBytes, append(slices.Clone(scopes), vector)}, {"memory", p.bytes, []scope{scopes[0], vector}}} {
		for _, s := range c.scopes {
			means, bytes := s.means("weights that all CTAs read"), int64(128) // of a warp's load
			if s == vector {
				means, bytes = "whether loads of four are worth it: fewer of them are in flight for as many weights", 512
			}
			turns, took, err := p.measure("micro_load"+s.kernel, 0, microJob{Pieces: min(c.bytes, p.bytes) / bytes})
			if err != nil {
				return err
			}
			p.add("load: bandwidth, "+c.name+s.name, "GB/s", turns*accesses*float64(bytes)/took.Seconds()/1e9, means)
		}
	}
	return nil
}

// copies measures the copy engines, which carry what streams and what is saved.
func (p *bench) copies() (err error) {
	bytes, times := min(p.bytes/2, 64<<20), 8
	if p.quick {
		times = 1
	}
	host, err := pin(int(bytes))
	if err != nil {
		return err
	}
	defer func() { err = keep(err, unpin(host)) }()
	at, half := unsafe.Pointer(&host[0]), p.memory+cu.DevicePtr(bytes)
	for _, c := range []struct {
		name, means string
		copy        func() error
	}{
		{"host to GPU", "sets that stream", func() error { return cu.MemcpyHtoDAsync(p.memory, at, bytes, cu.NoStream) }},
		{"GPU to host", "snapshots", func() error { return cu.MemcpyDtoHAsync(at, p.memory, bytes, cu.NoStream) }},
		{"GPU to itself", "replicas that are taken and averaged", func() error { return cu.MemcpyDtoDAsync(half, p.memory, bytes, cu.NoStream) }},
	} {
		queue := func(times int) func() error {
			return func() (err error) {
				for range times {
					err = keep(err, failed(c.copy(), "copying %d bytes, %s", bytes, c.name))
				}
				return err
			}
		}
		if err := queue(1)(); err != nil { // the first one is late
			return err
		}
		took, err := p.timed("copies, "+c.name, queue(times))
		if err != nil {
			return err
		}
		p.add("copy: "+c.name, "GB/s", float64(bytes)*float64(times)/took.Seconds()/1e9, c.means)
	}
	return nil
}

// arithmetic measures conversions and multiplications, and the clock meanwhile.
func (p *bench) arithmetic() error {
	turns, took, err := p.measure("micro_bytes", 0, microJob{})
	if err != nil {
		return err
	}
	p.add("bytes to floats", "G/s", turns*32*32/took.Seconds()/1e9, "linear models on images: a conversion an input")
	if turns, took, err = p.measure("micro_multiply", 0, microJob{Step: 0}); err != nil {
		return err
	}
	p.add("multiply-add", "TFLOP/s", turns*32*64*2/took.Seconds()/1e12, "every product")
	seen := make([]uint64, 2)
	if err := download(seen, p.out); err != nil {
		return err
	}
	p.add("clock under load", "MHz", float64(seen[0])/float64(max(seen[1], 1))*1e3, "the limits of docs/kernels.md, which count on 1,755")
	return nil
}

// stores measures how late a running kernel sees what the host writes: a stop.
func (p *bench) stores() error {
	beside, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return failed(err, "making a stream")
	}
	if err := zero(p.memory, 8); err != nil {
		return err
	}
	const most = 1 << 22 // looks: some seconds
	j := microJob{Base: uint64(p.memory), Out: uint64(p.out), Times: most}
	if err := upload(p.job, encode(j)); err != nil {
		return err
	}
	stop, err := pin(4)
	if err != nil {
		return err
	}
	stop[0] = 1
	if err := p.kernels["micro_wait"].launch(1, p.job, cu.NoStream); err != nil {
		return err
	}
	time.Sleep(5 * time.Millisecond) // it runs by now; else its end is waited for a little longer
	began := time.Now()
	err = failed(cu.MemcpyHtoDAsync(p.memory, unsafe.Pointer(&stop[0]), 4, beside), "writing beside a running kernel")
	if err = keep(err, failed(cu.Synchronize(), "waiting for a kernel that waits")); err != nil {
		return err
	}
	p.add("store of the host, seen by a running kernel", "us", time.Since(began).Seconds()*1e6, "how soon a stop is obeyed; the end of the launch is in it")
	looks := make([]uint64, 3)
	if err := download(looks, p.out); err != nil {
		return err
	}
	if looks[2] == 0 {
		return fmt.Errorf("a running kernel did not see a write of the host in %d reads", most)
	}
	return unpin(stop)
}
