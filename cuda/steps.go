//go:build cuda

package cuda

import (
	"math"
	"time"
	"unsafe"

	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// How the chunks of a call of Train become launches: the steps of each, what the GPU is told
// to list them (kernels/steps.cu), and what their losses come to.

// piece is steps of a chunk that are in one launch.
type piece struct {
	plan.Chunk
	ends bool // they are the chunk's last
}

func (p *piece) steps() int { return ceilDiv(p.Count, p.Batch) }

// seenAt is how many examples of the run go before a step.
func (p *piece) seenAt(step int) int64 { return p.Seen + int64(step)*p.each() }

// each is how many examples of all workers go by in a step.
func (p *piece) each() int64 { return int64(p.Batch * p.Weight) }

// flight is a launch that is queued.
type flight struct {
	pieces []piece
	steps  int
	queued time.Time
}

// partWords is struct Part of kernels/steps.cu, in words, sumWords struct Sum.
const (
	partWords = 8
	sumWords  = 2
)

// listing is struct Steps.
type listing struct {
	Parts, Rates, Rows, Start, LR, Loss, Sums uint64
	Count, Batch, Stride, Each, Epoch         int64
	Seed                                      uint64
	Block                                     int64
}

const listingBytes = int(unsafe.Sizeof(listing{}))

// cut takes the next steps of the chunks left, up to this many.
func (t *trainer) cut(steps int) (pieces []piece) {
	for len(t.left) > 0 && steps > 0 {
		first, rest := t.left[0].Split(steps)
		if t.left[0] = rest; rest.Count == 0 {
			t.left = t.left[1:]
		}
		p := piece{first, rest.Count == 0}
		pieces, steps = append(pieces, p), steps-p.steps()
	}
	return pieces
}

// ratesOf is how many learning rates a piece has: one for each block of examples in which a step
// begins, or where a step is longer than a block, one for each step.
func (t *trainer) ratesOf(p *piece) int {
	block := t.setup.Schedule.Rates
	if p.Count == 0 || p.each() >= block {
		return p.steps()
	}
	return int(p.seenAt(p.steps()-1)/block-p.Seen/block) + 1
}

// rates appends them.
func (t *trainer) rates(to []float32, p *piece) []float32 {
	by := max(t.setup.Schedule.Rates, p.each())
	for i := range t.ratesOf(p) {
		to = append(to, float32(t.rate(p.Seen+int64(i)*by)))
	}
	return to
}

// stagePieces places in a stage what the GPU needs to list the steps of the pieces, beginning with
// the words of the listing itself.
func (t *trainer) stagePieces(s *stage, pieces []piece) (l listing) {
	parts, at := reserve[int64](s, partWords*len(pieces))
	c := &pieces[0]
	l = listing{Parts: at, Batch: int64(c.Batch), Stride: int64(c.Stride), Each: c.each(), Epoch: int64(c.Epoch),
		Seed: t.setup.Order(c.Rank).Seed, Block: t.setup.Schedule.Rates}
	rates, row, step := t.lr[:0], 0, 0
	for i := range pieces {
		p := &pieces[i]
		if p.Count == 0 {
			continue
		}
		o := t.setup.Order(p.Rank)
		copy(parts[partWords*l.Count:], []int64{int64(o.First), int64(o.N), int64(p.First), int64(p.Count), int64(row),
			int64(step), p.Seen, int64(len(rates))})
		l.Count++
		rates, row, step = t.rates(rates, p), row+p.Count, step+p.steps()
	}
	l.Rates = stageArray(s, rates)
	t.lr = rates
	return l
}

// rowsOf lists the rows of the pieces on the host: of a set that streams it gathers them.
func (t *trainer) rowsOf(pieces []piece, rows int) []int32 {
	if cap(t.list) < rows {
		t.list = make([]int32, rows)
	}
	t.list = t.list[:rows]
	at := 0
	for _, p := range pieces {
		order, first := t.setup.Order(p.Rank), p.First
		if p.Stride == p.Batch { // at once, since neighbours in the order share a block
			order.Fill(t.list[at:at+p.Count], p.Epoch, first)
			at += p.Count
			continue
		}
		for end := at + p.Count; at < end; first += p.Stride {
			n := min(p.Batch, end-at)
			order.Fill(t.list[at:at+n], p.Epoch, first)
			at += n
		}
	}
	return t.list
}

// ended takes in a launch's results: the sums of its pieces.
func (t *trainer) ended(f flight, sums []uint64) {
	for i := range f.pieces {
		p := &f.pieces[i]
		y := plan.ChunkResult{Examples: p.Count, Steps: p.steps()}
		if p.Count > 0 {
			y.Loss = math.Float64frombits(sums[0])
			bad, loss := int32(sums[1]), math.Float32frombits(uint32(sums[1]>>32))
			if bad >= 0 && t.failed == nil {
				t.failed = device.NotFinite(t.steps+int64(bad)+1, float64(loss),
					float64(float32(t.rate(p.seenAt(int(bad))))))
			}
			t.steps += int64(y.Steps)
			sums = sums[sumWords:]
		}
		if t.part = t.part.Plus(y); p.ends {
			t.results = append(t.results, t.part)
			t.part = plan.ChunkResult{}
		}
	}
}

// A launch is to take 10 ms: long against its overhead, short against the patience of who waits for a turn on the GPU,
// or for a stop. At its end some CTAs have no step left to take, so that it has 16 steps of each, where those do not
// take as long as a watchdog of a GPU with a display would bear. Two are queued. Their rows are listed in memory of the
// GPU, 16 bytes each: a launch has at most as many as fill a share of it, or a million (mostRows) if that is more. That
// is 9 million of 141 GiB, 4 ms at 2.5 billion rows a second.
const (
	trainTime   = 10 * time.Millisecond
	longestTime = 200 * time.Millisecond
	leastWaves  = 16
	listShare   = 1 << 9  // of the GPU's memory, for the lists of two launches
	mostRows    = 1 << 20 // of a launch
)

// longest is how many rows a launch on the GPU has at the most.
func (c *gpu) longest() int { return max(mostRows, int(c.Total/listShare/(2*16))) }

// each is how many steps a launch takes, of those left: alike in all of them. One whose rows
// come along has what fits a stage, about.
func (t *trainer) each() int {
	all, batch := 0, t.setup.Job.Used.Batch
	for _, c := range t.left {
		all += ceilDiv(c.Count, c.Batch)
	}
	most := min(2*t.pace, t.most/batch)
	if r := t.replica; r != nil && r.every > 0 && !r.long {
		most = min(most, r.every)
	}
	if t.rows.streams {
		most = min(most, int(t.memory.piece)/(t.rows.mean()*batch))
	}
	return max(1, ceilDiv(all, max(1, ceilDiv(all, max(1, most)))))
}

// aim is how long a launch is to take.
func (t *trainer) aim() time.Duration {
	if r := t.replica; r != nil && r.aim > 0 {
		return r.aim
	}
	return trainTime
}

// adapt aims the next launches at t.aim, at most doubling or halving the number of their steps.
// A launch of less than half of it shows its overhead only.
func (t *trainer) adapt(steps int, took time.Duration) {
	if 2*steps < t.pace && took < t.aim() {
		return
	}
	wave := float64(t.ctas) * float64(t.job.Teams)
	speed := float64(steps) / float64(max(took, time.Microsecond))
	want := max(speed*float64(t.aim()), min(leastWaves*wave, speed*float64(longestTime)), wave)
	want = min(max(want, float64(t.pace)/2), float64(t.pace)*2)
	t.pace = min(int(want), max(1, t.most/t.setup.Job.Used.Batch))
}

// PreferredChunks is the number of chunks that make a launch as long as it should be.
func (t *trainer) PreferredChunks() int {
	return ceilDiv(t.pace, ceilDiv(t.setup.Plan.Chunk, t.setup.Job.Used.Batch))
}
