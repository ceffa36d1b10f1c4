package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/internal/check"
)

// TestCSVDates: a column of dates is learned from, and other rows are read in the same way.
func TestCSVDates(t *testing.T) {
	first := time.Date(2025, 12, 30, 5, 0, 0, 0, time.UTC)
	for _, layout := range []string{"2006-01-02", "2.1.2006", "1/2/2006 3:04 PM"} {
		var b strings.Builder
		b.WriteString("when;when.day;y\n")
		for i := range 50 {
			fmt.Fprintf(&b, "%s;%d;%d\n", first.AddDate(0, 0, 3*i).Format(layout), i*i%7, i%2)
		}
		tab, err := decodeText(b.String(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + 12 + 7 + 1
		if strings.Contains(layout, "PM") {
			want += 24
		}
		if tab.Features != want || tab.Columns[0] != "when.year" || tab.Columns[1] != "when.month=1" ||
			tab.Columns[13] != "when.weekday=Sunday" {
			t.Errorf("%d features, %q", tab.Features, tab.Columns)
		}
		for i := range tab.Rows {
			day := first.AddDate(0, 0, 3*i)
			row := tab.x[i*want : (i+1)*want]
			if row[0] != float32(day.Year()) || row[day.Month()] != 1 || row[13+day.Weekday()] != 1 ||
				slices.Index(row[1:13], 1) != int(day.Month())-1 || want > 40 && row[20+5] != 1 {
				t.Errorf("%v: %v", day, row)
			}
		}
		got, _ := streamed(t,
			Inputs{Path: file(t, "", "x.csv", "when.day;when.year;when\n9;7;"+first.Format(layout)+"\n9;8;\n"),
				Like: tab.Meta})
		if len(got) != 2 || got[0][0] != 2025 || got[0][12] != 1 || got[0][13+2] != 1 || got[0][want-1] != 9 ||
			got[1][0] != tab.Fill[0] || tab.Fill[0] < 2025 || tab.Fill[0] > 2027 {
			t.Errorf("predicted from %v; filled with %v", got, tab.Fill)
		}
		_, err = Stream(Inputs{Path: file(t, "", "x.csv", "when.day;when\n9;soon\n"), Like: tab.Meta},
			func(*Piece) error { return nil })
		check.Error(t, err, `x.csv:2: column "when": "soon": want a date`)
		_, _, err = Load(Options{Path: file(t, "", "t.csv", b.String()), Target: "when", Seed: 1})
		check.Error(t, err, `the target "when"`, "dates", "--target")
	}
}
