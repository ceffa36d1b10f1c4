package format

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// writtenNumbers writes n numbers below most, with this many decimals, and the marks of a country.
func writtenNumbers(n int, most float64, decimals int, point, group string) (cells []string, values []float64) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(decimals)))
	for range n {
		v := rng.Float64() * rng.Float64() * most
		whole, digits, has := strings.Cut(strconv.FormatFloat(v, 'f', decimals, 64), ".")
		v, _ = strconv.ParseFloat(strings.TrimRight(whole+"."+digits, "."), 64)
		for at := len(whole) - 3; at > 0; at -= 3 {
			whole = whole[:at] + group + whole[at:]
		}
		if has {
			whole += point + digits
		}
		cells, values = append(cells, whole), append(values, v)
	}
	return cells, values
}

// TestMarks: numbers are what was written, whatever the marks, in training and as rows to be predicted.
func TestMarks(t *testing.T) {
	const n = 60
	for name, c := range map[string]struct {
		separator, point, group string
		decimals                []int // of each column; the last is the target
		most                    float64
		note                    string
	}{
		"American thousands":          {"\t", ".", ",", []int{0, 0}, 50000, "commas between thousands: a ("},
		"American, decimals":          {"\t", ".", ",", []int{2, 0}, 50000, "commas between thousands: a ("},
		"American millions":           {";", ".", ",", []int{0, 2}, 5e7, "commas between thousands: a ("},
		"American in quotes":          {",", ".", ",", []int{0, 1}, 50000, "commas between thousands: a ("},
		"American, bars":              {"|", ".", ",", []int{0, 1}, 50000, "commas between thousands: a ("},
		"European thousands":          {";", ",", ".", []int{0, 0}, 50000, "points between thousands: a ("},
		"European tabs":               {"\t", ",", ".", []int{0, 0}, 50000, "points between thousands: a ("},
		"European, decimals":          {";", ",", ".", []int{0, 2}, 50000, "decimal commas: y"},
		"European, both":              {";", ",", ".", []int{2, 0}, 50000, "decimal commas: a"},
		"European, three decimals":    {";", ",", ".", []int{3, 1}, 900, "decimal commas: a, y"},
		"European, commas and quotes": {",", ",", ".", []int{2, 0}, 50000, "decimal commas: a"},
		"three decimals":              {",", ".", "", []int{3, 3}, 900, ""},
		"three decimals, tabs":        {"\t", ".", "", []int{3, 3}, 900, ""},
		"three decimals, semicolons":  {";", ".", "", []int{3, 1}, 900, ""},
		"as Go":                       {",", ".", "", []int{2, 0}, 50000, ""},
	} {
		a, x := writtenNumbers(n, c.most, c.decimals[0], c.point, c.group)
		b, y := writtenNumbers(n+1, c.most, c.decimals[1], c.point, c.group)
		text, inputs, want := "a"+c.separator+"y\n", "a\n", ""
		quote := func(cell string) string {
			if strings.Contains(cell, c.separator) {
				return `"` + cell + `"`
			}
			return cell
		}
		for i := range a {
			text += quote(a[i]) + c.separator + quote(b[i]) + "\n"
			inputs += quote(a[i]) + "\n"
			want += fmt.Sprint([]float32{float32(x[i])}, " ", y[i], "\n")
		}
		f, rows := readRows(t, text, Options{Target: "y"})
		if got := strings.Join(rows, "\n") + "\n"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: notes %q", name, notes)
		}
		like := f.Known
		like.Fill = []float32{0}
		_, other := readRows(t, text, Options{Like: &like})
		_, few := readRows(t, strings.Join(strings.SplitAfter(text, "\n")[:3], ""), Options{Like: &like, Inputs: true})
		for i, row := range other {
			if row != rows[i] || i < len(few) && strings.Fields(few[i])[0] != strings.Fields(row)[0] {
				t.Errorf("%s: like that %s, %s", name, row, few)
			}
		}
	}
}

// TestDoubtfulMarks: what has two readings is refused by the name of the column, unless it is left out, and told in a
// description.
func TestDoubtfulMarks(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"groups alone":      {"a\tx\ty\n1,234\t1\t5\n2,345\t2\t6\n", `column "a": 1,234 may be 1.234 or 1234`},
		"beside thousands":  {"a\tx\ty\n1,234\t1\t5\n2345\t2\t6\n12\t2\t6\n", `column "a": 1,234 may be`},
		"points":            {"a;x;y\n11.234;1;5\n22.345;2;6\n", `column "a": 11.234 may be 11234 or 11.234`},
		"of other columns":  {"a;x;y\n1,234;1,5;5\n22;1,7;6\n33;1,8;7\n", `column "a": 1,234 may be`},
		"both marks":        {"a;x;y\n1,5;1;5\n2.5;2;6\n", `column "a": some of its numbers have decimal commas, others`},
		"commas and points": {"a;x;y\n1,512;1;5\n2.512;2;6\n", `column "a": 1,512 may be`},
	} {
		_, err := Open(&Source{Path: "x", Text: []byte(c.text)}, Options{Format: "csv"})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "--ignore a") {
			t.Errorf("%s: %v", name, err)
		}
		readRows(t, c.text, Options{Ignore: "a"})
		f, _ := readRows(t, c.text, Options{Lenient: true})
		if !strings.Contains(strings.Join(f.Notes, "\n"), "problem: x: column \"a\"") {
			t.Errorf("%s: notes %q", name, f.Notes)
		}
	}
	like := &Known{Format: "csv", Kind: Floats, Features: 1, Columns: []string{"a"}, Target: "y", Named: true}
	_, err := Open(&Source{Path: "x", Text: []byte("a;b\n1,234;5\n2,345;6\n")}, Options{Like: like, Inputs: true})
	if err == nil || !strings.Contains(err.Error(), `column "a": 1,234 may be 1.234 or 1234`) {
		t.Errorf("to be predicted: %v", err)
	}
	_, rows := readRows(t, "a;b\n1,5;5\n2,25;6\n", Options{Like: like, Inputs: true})
	if strings.Join(rows, " ") != "[1.5] 0 [2.25] 0" {
		t.Errorf("to be predicted: %q", rows)
	}
}
