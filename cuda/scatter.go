//go:build cuda

package cuda

import (
	"os"

	"hogwild/hogwild/device"
)

// scatter numbers the columns of a model on sparse rows anew for GPU memory. Frequent columns often have
// neighbouring numbers, in order of frequency or of groups, and a line of the L2 cache holds the weights of 32
// neighbours: most rows would add to one line. Here neighbours are in different lines. The columns are cut into 32
// runs of equal length L (the first ones may have one more), and each line has a column of every run:
//
//	line          0       1      ..  L-1
//	run 0         0       1      ..  L-1        columns
//	run 1         2L-t    2L-t+1 ..  2L-t-1     turned by t = .618 L lines, run 2 by 2 t, and so on
//
// So the first L columns are in L lines, each with 31 later columns, which are rare if the numbers go by
// frequency. Groups of equal size, each in its own order, may all begin with runs: as the turns follow the golden
// ratio, the first columns of the runs are L/72 lines apart or more. There is no table of the columns, in either
// direction, and a copy of the weights reads or writes 32 streams.
//
// The biases, behind the columns' weights, stay. Rows keep the order of their entries, so a step adds up the same
// numbers in the same order.
type scatter struct {
	Columns int `json:"columns"` // 0: all is as in host memory
	Outputs int `json:"outputs"` // weights of a column, which stay together
	start   [lineFloats + 1]uint32
	turn    [lineFloats]uint32
}

// lineFloats is how many floats are in a line of a GPU's L2 cache.
const lineFloats = 32

func newScatter(s *device.Setup) scatter {
	if s.Job.Asked.Layout != nil || !s.Set.Sparse() || os.Getenv(device.ScatterVariable) == "off" {
		return scatter{}
	}
	return scatterOf(s.Spec.Features, s.Spec.Outputs)
}

func scatterOf(columns, outputs int) scatter {
	c := scatter{Columns: columns, Outputs: outputs}
	each, longer := columns/lineFloats, columns%lineFloats
	for run := range lineFloats {
		n := each
		if run < longer {
			n++
		}
		c.start[run+1] = c.start[run] + uint32(n)
		c.turn[run] = uint32(run * (each * 618 / 1000) % max(1, n))
	}
	return c
}

// column is where a column goes.
func (c *scatter) column(j uint32) uint32 {
	if c.Columns == 0 {
		return j
	}
	run := uint64(j) * lineFloats / uint64(c.Columns) // or the one before it
	for j < c.start[run] {
		run--
	}
	line, n := j-c.start[run]+c.turn[run], c.start[run+1]-c.start[run]
	if line >= n {
		line -= n
	}
	return line*lineFloats + uint32(run)
}

// columnAt is the column that has gone to a place.
func (c *scatter) columnAt(at uint32) uint32 {
	if c.Columns == 0 {
		return at
	}
	run := at % lineFloats
	n := c.start[run+1] - c.start[run]
	return c.start[run] + (at/lineFloats+n-c.turn[run])%n
}

// weightAt is the weight that has gone to a place.
func (c *scatter) weightAt(at int) int {
	if at >= c.Columns*c.Outputs {
		return at
	}
	return int(c.columnAt(uint32(at/c.Outputs)))*c.Outputs + at%c.Outputs
}

// copyTo fills to with a vector as a GPU has it, copyBack with the same as host memory has it.
func (c *scatter) copyTo(to, from []float32) {
	k, next := c.Outputs, c.firsts()
	for at, run := 0, 0; at < c.Columns*k; at, run = at+k, (run+1)%lineFloats {
		j := int(next[run])
		for i := range k {
			to[at+i] = from[j*k+i]
		}
		c.forward(&next, run)
	}
	copy(to[c.Columns*k:], from[c.Columns*k:])
}

func (c *scatter) copyBack(to, from []float32) {
	k, next := c.Outputs, c.firsts()
	for at, run := 0, 0; at < c.Columns*k; at, run = at+k, (run+1)%lineFloats {
		j := int(next[run])
		for i := range k {
			to[j*k+i] = from[at+i]
		}
		c.forward(&next, run)
	}
	copy(to[c.Columns*k:], from[c.Columns*k:])
}

// firsts are the columns of line 0, forward goes on to the one of a run's next line.
func (c *scatter) firsts() (next [lineFloats]uint32) {
	for run := range next {
		next[run] = c.start[run]
		if c.turn[run] > 0 {
			next[run] = c.start[run+1] - c.turn[run]
		}
	}
	return next
}

func (c *scatter) forward(next *[lineFloats]uint32, run int) {
	if next[run]++; next[run] == c.start[run+1] {
		next[run] = c.start[run]
	}
}

// there returns vectors of weights, or of what belongs to each of them, as a GPU has them: v itself, if that is as host
// memory has them. Each is size long.
func (c *scatter) there(v []float32, size int) []float32 {
	if c.Columns == 0 || len(v) == 0 {
		return v
	}
	all := make([]float32, len(v))
	for at := 0; at < len(v); at += size {
		c.copyTo(all[at:at+size], v[at:at+size])
	}
	return all
}

// back fills v, as host memory has vectors, with those that read brings as a GPU has them.
func (c *scatter) back(v []float32, size int, read func([]float32) error) error {
	if c.Columns == 0 || len(v) == 0 {
		return read(v)
	}
	all := make([]float32, len(v))
	if err := read(all); err != nil {
		return err
	}
	for at := 0; at < len(v); at += size {
		c.copyBack(v[at:at+size], all[at:at+size])
	}
	return nil
}

// renumber writes to idx where the columns of some entries go, or their slots for the local ones.
func (c *scatter) renumber(idx, from []uint32, slot map[uint32]uint32) {
	for i, j := range from {
		idx[i] = c.column(j)
	}
	if slot == nil {
		return
	}
	for i, j := range from {
		if at, ok := slot[j]; ok {
			idx[i] = localMark | at
		}
	}
}
