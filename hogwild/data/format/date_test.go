package format

import (
	"strings"
	"testing"
	"time"
)

// TestReadDate: dates are those that package time reads, in each order.
func TestReadDate(t *testing.T) {
	for _, c := range []struct{ cell, order, layout string }{
		{"2026-03-31", "ymd", "2006-01-02"}, {"2026/3/1", "ymd", "2006/1/2"}, {"2026-02-30", "ymd", ""},
		{"31.3.2026", "dmy", "2.1.2006"}, {"31.3.2026", "mdy", ""}, {"3/31/2026", "mdy", "1/2/2006"},
		{"29/02/2025", "dmy", ""},
		{"2026-03-31T23:05:59Z", "ymd", "2006-01-02T15:04:05Z"}, {"2026-03-31 07:05", "ymd", "2006-01-02 15:04"},
		{"3/31/2026 2:05 PM", "mdy", "1/2/2006 3:04 PM"}, {"3/31/2026 12:05:00 AM", "mdy", "1/2/2006 3:04:05 PM"},
		{"2026-03-31 25:00", "ymd", ""}, {"2026-03-31 later", "ymd", ""}, {"2026-03.31", "ymd", ""},
		{"2026-03-31 14:05:09 UTC", "ymd", "2006-01-02 15:04:05 UTC"},
		{"03/31/2026 02:05 pm", "mdy", "01/02/2006 03:04 pm"},
		{"03/31/2026 02:05:00 PM GMT", "mdy", "01/02/2006 03:04:05 PM GMT"}, {"3/31/26", "mdy", "1/2/06"},
		{"31/3/71 14:05", "dmy", "2/1/06 15:04"}, {"31-Mar-2026", "dmy", "2-Jan-2006"},
		{"31-MAR-2026", "dmy", "2-Jan-2006"},
		{"1 March 2026 23:05", "dmy", "2 January 2006 15:04"}, {"31.03.2026, 14:05:00", "dmy", "02.01.2006, 15:04:05"},
		{"Tue, 31 Mar 2026 14:05:00 +0200", "dmy", time.RFC1123Z},
		{"Tue, 31 Mar 2026 14:05:00 GMT", "dmy", time.RFC1123},
		{"2026-03-31T14", "ymd", "2006-01-02T15"}, {"31/Mar/2026:14:05:00 +0000", "dmy", "02/Jan/2006:15:04:05 -0700"},
		{"[31/Mar/2026:14:05:00 +0000]", "dmy", "[02/Jan/2006:15:04:05 -0700]"}, {"2026-03-31 14:05:09.25+02:00", "ymd",
			"2006-01-02 15:04:05.00-07:00"},
		{"31 3 2026", "dmy", ""}, {"31-Mai-2026", "dmy", ""}, {"2026-03-31 14", "ymd", ""}, {"1.2.26", "dmy", ""},
		{"31/3/2026:14:05", "dmy", ""}, {"Mar-31-2026", "dmy", ""},
		{"31-03-26", "dmy", ""}, {"2026-03", "ymd", ""}, {"1.2.3.4", "dmy", ""},
	} {
		at, timed, ok := readDate(c.cell, c.order)
		if c.layout == "" {
			if ok {
				t.Errorf("%s is taken for %v", c.cell, at)
			}
			continue
		}
		want, err := time.Parse(c.layout, c.cell)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || timed != strings.ContainsAny(c.cell, ":T") || at.YearDay() != want.YearDay() ||
			at.Year() != want.Year() || at.Hour() != want.Hour() {
			t.Errorf("%s: %v, %v, %v", c.cell, at, timed, ok)
		}
	}
}
