package vec

import (
	"slices"
	"strings"
	"testing"
)

// restored lets a test change what the loops take.
func restored(t *testing.T) {
	u, s, e := use, set, envErr
	t.Cleanup(func() { use, set, envErr = u, s, e })
}

func TestLimit(t *testing.T) {
	restored(t)
	if limit("go"); set != Plain || envErr != nil {
		t.Errorf("limited to go: %v, %v", set, envErr)
	}
	set = best()
	limit("sse9")
	if set != best() || envErr == nil || !strings.Contains(envErr.Error(), "HOGWILD_CPU=sse9: this processor has go") {
		t.Errorf("limited to a set that there is not: %v, %v", set, envErr)
	}
	if all := sets(); all[len(all)-1] != best().String() {
		t.Errorf("sets %v, the best is %v", all, best())
	}
}

func TestSwitchOff(t *testing.T) {
	restored(t)
	err := SwitchOff("dot", "nosuch", "merge")
	if err == nil || !strings.Contains(err.Error(), `"nosuch"`) {
		t.Errorf("a loop that there is not: %v", err)
	}
	if use[LoopDot] != Plain || use[LoopMerge] != Plain {
		t.Errorf("dot and merge run on %v and %v", use[LoopDot], use[LoopMerge])
	}
	want := set.String()
	if set != Plain {
		want += ", but dot and merge in plain Go"
		if off := Off(); !slices.Equal(off, []string{"dot", "merge"}) {
			t.Errorf("off: %v", off)
		}
	}
	if got := InstructionSet(); got != want {
		t.Errorf("runs on %q, want %q", got, want)
	}
	if err := SwitchOff("relu"); err != nil || use[LoopDot] != atMost(LoopDot, set) || use[LoopReLU] != Plain {
		t.Errorf("then relu alone: %v, dot on %v, relu on %v", err, use[LoopDot], use[LoopReLU])
	}
}
