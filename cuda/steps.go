//go:build cuda

package cuda

import "hogwild/hogwild/plan"

// How the chunks of a call of Train become launches: the steps of each, and their rows.

// each is how many steps a launch takes. At its end some CTAs have none left to take: it
// is long enough that this does not count. One whose rows come along has what fits a
// stage, about.
func (t *trainer) each() int {
	all := 0
	for _, c := range t.left {
		all += ceilDiv(c.Count, c.Batch)
	}
	n := max(ceilDiv(all, launches), 16*t.ctas*int(t.job.Teams))
	if t.rows.streams {
		n = min(n, max(1, int(t.memory.piece)/(t.rows.mean()*t.setup.Job.Tuning.Batch)))
	}
	return n
}

// take lists the rows of the next steps, so many at most, in the order in which a CPU
// takes them, and tells whether there are any.
func (t *trainer) take(steps int) bool {
	t.list, t.start = t.list[:0], append(t.start[:0], 0)
	for len(t.left) > 0 && len(t.start) <= steps {
		c, rest := t.left[0].Split(steps + 1 - len(t.start))
		if t.left[0] = rest; rest.Count == 0 {
			t.left = t.left[1:]
		}
		t.add(c)
	}
	return len(t.list) > 0
}

// add lists the steps of a chunk.
func (t *trainer) add(c plan.Chunk) {
	order, seen, at := t.setup.Order(c.Rank), c.Seen, len(t.list)
	t.list = append(t.list, make([]int32, c.Count)...)
	if c.Stride == c.Batch && c.Count > 0 { // at once, since neighbours in the order share a block
		order.Fill(t.list[at:], c.Epoch, c.First)
	}
	for first, end := c.First, at; end < len(t.list); first += c.Stride {
		from := end
		end = min(end+c.Batch, len(t.list))
		if c.Stride != c.Batch {
			order.Fill(t.list[from:end], c.Epoch, first)
		}
		t.start = append(t.start, int32(end))
		t.lr = append(t.lr, float32(t.setup.Rate(seen)))
		seen += int64((end - from) * c.Weight)
	}
}
