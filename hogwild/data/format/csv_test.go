package format

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBlocks: what a table is does not depend on how it is cut.
func TestBlocks(t *testing.T) {
	defer func(n int) { blockBytes = n }(blockBytes)
	var text strings.Builder
	text.WriteString("n,id,down,near,x,few,kind,note,date,codes,y\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 600 {
		cells := []any{i, i / 120 * 1000, 599 - i, i + i/599, rng.NormFloat64(), i % 7, "k" + fmt.Sprint(i%3),
			fmt.Sprintf("\"%d,\n%d\"", i, i), fmt.Sprintf("2026-03-%02d", 1+i%28), rng.IntN(90),
			[]string{"b", "a"}[i%2]}
		if i%50 == 3 {
			cells[4], cells[6], cells[9] = "", "NA", fmt.Sprint("c", i)
		}
		text.WriteString(strings.ReplaceAll(strings.Trim(fmt.Sprintln(cells...), "\n"), " ", ",") + "\n")
	}
	// What the table is, its rows and its error, as text: not a number equals itself there.
	read := func(text string, o Options, size int) string {
		blockBytes = size
		var rows strings.Builder
		f, err := Open(&Source{Path: "x", Text: []byte(text)}, o)
		for row := (Row{}); err == nil; {
			if err = f.Next(&row); err == nil {
				fmt.Fprintf(&rows, "%v\n", row)
			}
		}
		if err == io.EOF {
			f.Next = nil
			fmt.Fprintf(&rows, "%+v", *f)
		}
		return rows.String() + err.Error()
	}
	good := text.String()
	for name, text := range map[string]string{"good": good, "bad": strings.Replace(good, ",k1,", ",\xff,", 150),
		"short": strings.Replace(good, ",k1,", ",", 150), "stray": strings.Replace(good, "2026", "x", 1)} {
		for _, o := range []Options{{}, {Missing: Drop, Target: "few"}, {Missing: Refuse, Ignore: "codes"},
			{Lenient: true}} {
			o.Format = "csv"
			want := read(text, o, 1<<20)
			for _, size := range []int{1, 100, 3000} {
				if got := read(text, o, size); got != want {
					t.Errorf("%s, %+v in blocks of %d: %.300s, want %.300s", name, o, size, got, want)
				}
			}
		}
	}
}
