package vec

import (
	"strings"
	"testing"
)

// TestCheck: every loop passes its check, with each set of instructions, and is left as it
// was switched.
func TestCheck(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		was := use
		for _, l := range Loops() {
			if err := l.Check(); err != nil {
				t.Error(err)
			}
		}
		if use != was {
			t.Errorf("switched to %v, was %v", use, was)
		}
	})
}

// TestCheckFindsWrongLoops spoils what each loop computes, by a little, and only when it
// does not run in plain Go: its check must notice.
func TestCheckFindsWrongLoops(t *testing.T) {
	restored(t)
	was := samples
	defer func() { samples = was }()
	for _, l := range Loops() {
		if l == LoopFetch { // computes nothing
			continue
		}
		use[l] = AVX2
		plain := was[l]
		samples[l] = func(n int, m *maker) {
			set := use[l]
			use[l] = Plain
			plain(n, m)
			if use[l] = set; set != Plain {
				last := m.made[len(m.made)-1]
				x := &last[len(last)-1]
				*x += 2e-3 * (1 + *x**x)
			}
		}
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), l.String()+" on avx2") {
			t.Errorf("%v computes something else: %v", l, err)
		}
	}
}
