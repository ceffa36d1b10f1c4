package format

import (
	"math"
	"slices"
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
		"12345678", "-1234567.12345", "1.23456789012345", "-0.0000001", "--1", "-.", "-.5", "9.007199254740993",
		"1e5", "-1.5E+3", "1e", "1e+", "1e22", "1e23", "1e-22", "9007199254740993e-1", "1.2345678901234567e-10",
		"1234567890123456789e-27", "1e-28", "9e37", "1e308", "1e400", "1e12345", "0e-40", "1.5e3e2", ".e1"} {
		check(t, s)
	}
	for _, bad := range []string{".", "-", "+", "", "x"} {
		if _, _, ok := parseNumber([]byte(bad)); ok {
			t.Errorf("%q is taken for a number", bad)
		}
	}
	for _, fast := range []string{"1.5e-05", "-9007199254740993E-27", "1e22"} { // and not by strconv
		all, _ := plainCells(nil, []byte(fast+","+strings.Repeat("x", 24)), 0, ',')
		if _, _, ok := parseNumber([]byte(fast)); !ok || len(fast) < 9 && len(all) != 1 {
			t.Errorf("%q is left to strconv", fast)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching(`[+-]?[0-9]{0,12}(\.[0-9]{0,12})?`).Draw(t, "number"))
		check(t, rapid.StringMatching(`-?[0-9]{0,3}(\.[0-9]{0,17})?`).Draw(t, "number"))
		check(t, rapid.StringMatching(`-?[0-9]{0,12}(\.[0-9]{0,18})?[eE][+-]?[0-9]{1,2}`).Draw(t, "number"))
		check(t, strconv.FormatFloat(rapid.Float64().Draw(t, "float"), 'g', -1, 64))
		check(t, strconv.FormatFloat(rapid.Float64Range(-1, 1).Draw(t, "float"), 'e', 18, 64))
		check(t, strconv.FormatFloat(rapid.Float64Range(-1e4, 1e4).Draw(t, "float"), 'f', -1, 64))
	})
}

// TestNullWords: what pandas and databases write for a missing value is one among numbers and dates, and a text among
// texts.
func TestNullWords(t *testing.T) {
	for _, word := range []string{"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
		"1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", `\N`} {
		text := strings.Repeat(word+",2021-03-01,a,1\n2,"+word+",b,2\n4,2021-03-01,c,"+word+"\n", 7)
		f, rows := readRows(t, text, Options{Missing: Fill})
		if len(rows) != 14 || !strings.HasPrefix(rows[0], "[NaN 2021 ") || !strings.HasPrefix(rows[1], "[2 NaN NaN") ||
			f.Columns[0] != "1" || f.Columns[1] != "2.year" {
			t.Errorf("%q: %q, columns %q, notes %q", word, rows, f.Columns[:3], f.Notes)
		}
		like := f.Known
		like.Fill = slices.Repeat([]float32{8}, like.Features)
		_, rows = readRows(t, word+",2021-03-01,a\n", Options{Like: &like, Inputs: true})
		if !strings.HasPrefix(rows[0], "[8 2021 ") {
			t.Errorf("%q to be predicted: %q", word, rows)
		}
	}
	f, rows := readRows(t, "a,kind,y\n1,None,1\n2,stone,2\n3,None,1\n", Options{})
	if strings.Join(f.Columns, " ") != "a kind=None kind=stone" || rows[2] != "[3 1 0] 1" {
		t.Errorf("columns %q, rows %q", f.Columns, rows)
	}
}
