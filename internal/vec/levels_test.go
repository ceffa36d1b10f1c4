package vec

import "testing"

// atLevels runs f with each set of instructions that this processor has and HOGWILD_CPU
// allows, from plain Go to the best.
func atLevels(t *testing.T, f func(t *testing.T)) {
	was := use
	defer func() { use = was }()
	for s := Plain; s <= set; s++ {
		if !has(s) {
			continue
		}
		for l := range use {
			use[l] = atMost(Loop(l), s)
		}
		t.Run(s.String(), f)
	}
}
