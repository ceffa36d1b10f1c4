//go:build cuda

package cuda

import (
	"cmp"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
)

// takesWhole reports whether a step needs the gradient of all weights.
func takesWhole(c *config.Config) bool { return c.Optimizer != config.SGD || c.AveragesGradients() }

// Local columns: each CTA keeps a copy of those that occur most often in its shared memory, and
// merges it every mergeEvery of its steps (kernels/sparse_local.h). In the training set's indices
// on the GPU they are marked.

const (
	localSlots = 512     // SLOTS of kernels/sparse_local.h
	localMark  = 1 << 31 // MARK
	// A merge writes up to localSlots weights one by one. Of imdb's rows, with 77 frequent
	// entries each, it takes seven to write as many directly.
	leastMerge, mostMerge = 16, 64
)

// mayHoldBack reports whether CTAs may keep what their steps change for a while: the weights are all
// workers', and take a step of plain SGD without order.
func mayHoldBack(s *device.Setup) bool {
	c := s.Job
	return c.Asked.Mode.Traits().Copies && s.Set.Sparse() && len(s.Spec.Widths) == 0 &&
		!takesWhole(&c.Asked)
}

// mergeEvery is how many steps a CTA takes from merge to merge; 1: it has no local copy. Where the
// run sets none, the steps not yet merged of all CTAs together are to be at most half of the steps
// in flight that the learning rate allows; where that is too little to gain by, or not known, there
// is no copy.
func mergeEvery(s *device.Setup) int {
	c := s.Job
	if !mayHoldBack(s) || s.Spec.Outputs != 1 {
		return 1
	}
	if n := config.Whole(c.Asked.MergeEvery); n > 0 {
		return n
	}
	ctas := ceilDiv(c.Used.InFlight, warpsOfCTA)
	if c.Used.InFlight <= c.Asked.Workers { // a worker's one step would be stale by those that it has not merged
		return 1
	}
	if n := int(c.Used.MaxInFlight) / (2 * ctas); n >= leastMerge {
		return min(n, mostMerge)
	}
	return 1
}

// biasEvery is how many steps a CTA without a local copy of columns takes from one addition of its biases to the
// next; 1: each step adds them. All steps add to the same sector, which only many in flight can keep
// busy; and what all CTAs keep back is to be no more than the learning rate allows.
func biasEvery(s *device.Setup) int {
	const few = 32 // steps in flight
	c, t := s.Job, &s.Job.Used
	if !mayHoldBack(s) || !s.Spec.Bias || s.Spec.Outputs > localSlots || c.Asked.MergeEvery == config.InPlace ||
		t.InFlight <= few {
		return 1
	}
	return int(min(max(t.MaxBiasHeld/float64(ceilDiv(t.InFlight, warpsOfCTA)), 1), mostMerge))
}

// localCount is how many weights the copy has, the bias among them; 0 where there is none.
func localCount(s *device.Setup) int {
	if mergeEvery(s) <= 1 {
		return 0
	}
	n := s.Spec.Features
	if s.Spec.Bias {
		n++
	}
	return min(n, localSlots)
}

// localColumns are they: the most frequent columns, and the bias last.
func localColumns(s *device.Setup) []int64 {
	n, freq := localCount(s), s.Set.Freq
	if s.Spec.Bias {
		n--
	}
	var top []int64 // most frequent first
	for j := range freq {
		if len(top) == n && (n == 0 || freq[j] <= freq[top[n-1]]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, freq[j], func(i int64, f float32) int { return cmp.Compare(f, freq[i]) })
		top = slices.Insert(top, at, int64(j))
		top = top[:min(n, len(top))]
	}
	if s.Spec.Bias {
		top = append(top, int64(s.Spec.Features))
	}
	return top
}
