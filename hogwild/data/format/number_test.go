package format

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What the fast parser accepts is what strconv says, to the last bit.
func TestParseNumber(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		for _, behind := range []string{" ", ",", "\n", "x"} {
			v, n, ok := parseNumber([]byte(s + behind))
			behind += strings.Repeat(strings.Repeat(behind, 7)+s, 2) + "1234567890123456789012345"
			all := []cell{{text: []byte(s[:min(n, len(s))]), v: v, plain: ok}}
			all, _ = plainCells(all, []byte(s+behind), 0, ',')
			for _, x := range all {
				want, err := strconv.ParseFloat(string(x.text), 64)
				if x.plain && (err != nil || math.Float64bits(x.v) != math.Float64bits(want)) {
					t.Fatalf("%q is %v, want %v (%v)", x.text, x.v, want, err)
				}
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
		check(t, rapid.StringMatching(`-?[0-9]{0,3}(\.[0-9]{0,17})?`).Draw(t, "number"))
		check(t, strconv.FormatFloat(rapid.Float64().Draw(t, "float"), 'g', -1, 64))
		check(t, strconv.FormatFloat(rapid.Float64Range(-1e4, 1e4).Draw(t, "float"), 'f', -1, 64))
	})
}
