package peers

import (
	"strings"
	"testing"
)

// TestOtherBuilds: a node whose program is of another commit is named.
func TestOtherBuilds(t *testing.T) {
	same, other := nodeInfo{Build: "69e1f03d2a41", Host: "a"}, nodeInfo{Build: "69e1f03d2a41, modified", Host: "b"}
	if note := otherBuilds([]nodeInfo{same, same}); note != "" {
		t.Error(note)
	}
	if note := otherBuilds([]nodeInfo{same, same, other}); !strings.HasPrefix(note, "node 2 (b)") ||
		!strings.Contains(note, "modified") {
		t.Error(note)
	}
}
