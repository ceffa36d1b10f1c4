package bench

import "testing"

// TestRunScriptBudget: parts that do not fit are skipped and named; a driver that starts slowly is waited for,
// one that does not start ends it.
func TestRunScriptBudget(t *testing.T) {
	t.Parallel()
	bundle, tools := playedBundle(t), toolsWithoutPS(t)
	for _, c := range []struct {
		name string
		env  []string
		page []string
	}{
		{"budget", []string{"BUDGET=60", "PARTS=flight:300 training:9"},
			[]string{"| flight | skipped: only 5", "| training | tests | ok |"}},
		{"slow driver", []string{"PLAYED_HANG=--version", "PARTS=driver:1 training:9"},
			[]string{"| driver | cut off: out of time |", "| training | finished |"}},
		{"no driver", []string{"PLAYED_STATUS=1", "PARTS=driver:9 training:9"},
			[]string{"| driver | hogwild-cuda --version | FAIL |", "| training | skipped: no driver |"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := play(t, bundle, tools, c.env...)
			_ = p.Wait()
			p.want(c.page...)
		})
	}
}
