package cpu

import (
	"hogwild/hogwild/plan"
)

var (
	bothModes      = []string{"async", "sync"}
	bothPartitions = []string{"dynamic", "contiguous"}
)

// stepsOf returns the first positions and the lengths of a chunk's steps, as its
// definition has them.
func stepsOf(c plan.Chunk) (steps [][2]int) {
	for first, left := c.First, c.Count; left > 0; first += c.Stride {
		b := min(c.Batch, left)
		steps = append(steps, [2]int{first, b})
		left -= b
	}
	return steps
}
