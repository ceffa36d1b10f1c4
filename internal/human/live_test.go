package human

import (
	"bytes"
	"errors"
	"testing"
)

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no more") }

// TestLive: on a terminal a block takes the place of the one before and fits, and lines above it stay; elsewhere there
// is no block. (What a screen shows then, tests of the display of a run see.)
func TestLive(t *testing.T) {
	var b bytes.Buffer
	live := Live{W: &b, Size: func() (columns, rows int) { return 8, 4 }}
	for _, x := range []struct {
		above, block []string
		want         string
	}{
		{nil, nil, ""},
		{nil, []string{"1234567", "12345678", ""}, "1234567\n1234567\n\n"},
		{[]string{"stays\x1b"}, []string{"äöü4567890"},
			"\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K\x1b[A\x1b[Kstays\\u001b\näöü4567\n"},
		{nil, []string{"a", "b", "c", "d"}, "\r\x1b[K\x1b[A\x1b[Ka\nb\n... 2 m\n"},
		{[]string{"end"}, nil, "\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K\x1b[A\x1b[Kend\n"},
	} {
		b.Reset()
		if err := live.Draw(x.above, x.block...); err != nil || b.String() != x.want {
			t.Errorf("%q above %q: %q, want %q (%v)", x.above, x.block, b.String(), x.want, err)
		}
	}
	b.Reset()
	live = NewLive(&b)
	if err := live.Draw([]string{"one", "two"}, "three"); err != nil || b.String() != "one\ntwo\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	live = NewLive(broken{})
	if err := live.Draw([]string{"one"}); err == nil {
		t.Error("no error")
	}
}
