package lastwords

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var all Tail
	for i := range 10000 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	if s := all.String(); len(s) > Limit || !strings.HasSuffix(s, "line 9999") || !strings.Contains(s, "line 9500\n") {
		t.Errorf("%d bytes: %.20s", len(s), s)
	}
}
