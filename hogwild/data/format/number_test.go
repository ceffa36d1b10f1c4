package format

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// What the fast parser accepts is what strconv says, to the last bit.
func TestParseNumber(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		// Digit by digit, and in words.
		for _, behind := range []string{" ", ",1,2,3,4,5,6,7,8,9", "\n.123456789012345", "x-1111111111111111"} {
			v, n, ok := parseNumber([]byte(s + behind))
			want, err := strconv.ParseFloat(s[:min(n, len(s))], 64)
			if ok && (err != nil || math.Float64bits(v) != math.Float64bits(want)) {
				t.Fatalf("%q is %v, want %v (%v)", s, v, want, err)
			}
		}
	}
	for _, s := range []string{"0", "-0", "1", "+1", ".5", "5.", "0.1", "9007199254740993", "123456789012345678",
		"1234567890123456789", "0.0000000000000000001", ".", "-", "", "1.2.3", "9007199254740992.1", "1234567",
		"12345678", "-1234567.12345", "1.23456789012345", "-0.0000001", "--1", "-.", "-.5", "9.007199254740993"} {
		check(t, s)
	}
	for _, bad := range []string{".", "-", "+", "", "x"} {
		if _, _, ok := parseNumber([]byte(bad)); ok {
			t.Errorf("%q is taken for a number", bad)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching(`[+-]?[0-9]{0,12}(\.[0-9]{0,12})?`).Draw(t, "number"))
	})
}
