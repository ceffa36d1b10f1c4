//go:build cuda

package cuda

import (
	"fmt"

	"gorgonia.org/cu"

	"hogwild/hogwild/data"
)

// A set that does not fit in the GPU's memory streams: what belongs to columns is there
// all the time (frequencies, scales), what belongs to rows comes with each launch, in its
// stage. The rows of a launch are gathered from the set's segment, numbered anew from 0,
// and copied while the launch before it runs. The kernels do not know.

// source is where the launches of a kernel find the rows of a set.
type source struct {
	set     *data.Set
	streams bool // rows come with the launch; else they are on the GPU
	scatter *scatter
}

// stageSize returns what the rows take in a stage, in bytes.
func (f source) stageSize(rows []int32) int {
	bytes := 4 * len(rows)
	if f.streams {
		for _, r := range rows {
			bytes += f.row(r)
		}
	}
	return stageBytes(8, bytes+8)
}

// row returns what a row takes when it streams, in bytes: the number, the label and m, too.
func (f source) row(r int32) int {
	switch s := f.set; {
	case s.X8 != nil:
		return 12 + s.Features
	case s.X != nil:
		return 12 + 4*s.Features
	case s.Ptr != nil:
		return 12 + 8 + 8*int(s.Ptr[r+1]-s.Ptr[r])
	}
	return 12 + 8
}

// mean returns what a row takes on average, in bytes.
func (f source) mean() int {
	if f.set.Sparse() {
		return 20 + 8*ceilDiv(len(f.set.Idx), f.set.Rows)
	}
	return f.row(0)
}

// put places the rows in the stage, and tells the job where.
func (f source) put(s *stage, j *job, rows []int32) {
	if !f.streams {
		j.Rows = stageArray(s, rows)
		return
	}
	numbers, at := reserve[int32](s, len(rows))
	for i := range numbers {
		numbers[i] = int32(i)
	}
	j.Rows, j.IDs = at, stageArray(s, rows)
	set := f.set
	j.Y = stageArray(s, set.Labels(rows))
	if set.M != nil {
		j.M = gather(s, set.M, 1, rows)
	}
	switch {
	case set.X8 != nil:
		j.X8 = gather(s, set.X8, set.Features, rows)
	case set.X != nil:
		j.X = gather(s, set.X, set.Features, rows)
	case set.Ptr != nil:
		j.Ptr, j.Idx, j.Val = gatherSparse(s, set, rows, f.scatter)
	default:
		j.Idx = gather(s, set.Idx, 2, rows)
	}
}

// gather places rows of width numbers each.
func gather[T number](s *stage, from []T, width int, rows []int32) uint64 {
	to, at := reserve[T](s, width*len(rows))
	for i, r := range rows {
		copy(to[i*width:(i+1)*width], from[int(r)*width:])
	}
	return at
}

// gatherSparse places rows of any length, one behind the other.
func gatherSparse(s *stage, set *data.Set, rows []int32, c *scatter) (ptr, idx, val uint64) {
	ends, ptr := reserve[int64](s, len(rows)+1)
	ends[0] = 0
	for i, r := range rows {
		ends[i+1] = ends[i] + set.Ptr[r+1] - set.Ptr[r]
	}
	columns, idx := reserve[uint32](s, int(ends[len(rows)]))
	values, val := reserve[float32](s, int(ends[len(rows)]))
	for i, r := range rows {
		c.renumber(columns[ends[i]:ends[i+1]], set.Idx[set.Ptr[r]:set.Ptr[r+1]], nil)
		copy(values[ends[i]:ends[i+1]], set.Val[set.Ptr[r]:])
	}
	return ptr, idx, val
}

// pieceBytes is what a launch's rows take at most, about, when they stream: some
// milliseconds of a PCIe bus, and of a core that gathers them.
const pieceBytes = 32 << 20

// bufferShare is the allowance for each process of a run, for its kernels, its activations and
// what its launches need, as a share of the GPU's memory: 1.1 of 141 GiB. It is a guess: no GPU
// was at hand to be measured.
const bufferShare = 128

// mostContext is the most that a context is believed to take: they take some hundred MiB.
const mostContext = 1 << 30

// contextCost returns what the current context of this process takes of a GPU, in bytes; before is
// what NVML said to be free before it was made. Where that is not known, all that is taken is held
// to be the context's.
func contextCost(uuid string, before *int64) (int64, error) {
	free, total, err := cu.MemInfo()
	if err != nil {
		return 0, failed(err, "asking for the free memory of a GPU")
	}
	cost := total - free
	// equal: this process had one before
	if after := nvmlFree(uuid); before != nil && after != nil && *before > *after {
		cost = *before - *after
	}
	return min(cost, mostContext), nil
}

// fits asks the GPU whether an allocation for a set leaves enough for the workers' contexts, and
// for the buffers of all processes. If not, piece is what a launch's rows may take when the set
// streams, and a note says so.
func (o *owner) fits(what string, bytes int64) (piece int64, err error) {
	free, total, err := cu.MemInfo()
	if err != nil {
		return 0, failed(err, "asking for the free memory of GPU %d", o.device)
	}
	workers := int64(o.setup.Job.Asked.Workers)
	processes := 1 + workers
	kept := workers*o.context + processes*total/bufferShare
	if bytes <= free-kept {
		return 0, nil
	}
	if o.setup.Spec.Family().OfWords() {
		return 0, fmt.Errorf("gpu: the %s set, %s of words, does not fit in %s of GPU %d, and words need "+
			"those around them; train on less text, or leave --gpu out", what, size(bytes),
			size(max(0, free-kept)), o.device)
	}
	piece = max(1, min(pieceBytes, free/(16*processes))) // all stages: an eighth of it
	o.notes = append(o.notes, fmt.Sprintf("the %s set, %s, does not fit in %s of GPU %d (%s free, %s for %d "+
		"processes): it streams in pieces of %s", what, size(bytes), size(max(0, free-kept)), o.device, size(free),
		size(kept), processes, size(piece)))
	return piece, nil
}
