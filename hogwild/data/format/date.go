package format

import (
	"strconv"
	"strings"
	"time"
)

// dateOrders are the orders in which a date may have its year, month and day: 2026-03-31, 31.3.2026, 3/31/2026.
var dateOrders = []string{"ymd", "dmy", "mdy"}

// monthFirst is the order of 3/4/2026, where nothing decides it.
const monthFirst = "mdy"

// readDate reads a date in that order, with a year of four digits, or two behind /. The month may be a name between
// day and year, and a day of the week come first: Tue, 31 Mar 2026. A time may follow: 14:05, 2:05 PM, with seconds and
// a zone, which are passed over.
func readDate(cell, order string) (at time.Time, timed, ok bool) {
	if day, rest, ok := strings.Cut(strings.Trim(cell, "[]"), ", "); ok && len(day) == 3 {
		cell = rest
	}
	cell = strings.Trim(cell, "[]") // of Apache
	var n [3]int
	mark, named := byte(0), false
	for i := range n {
		k := 0
		for ; k < len(cell) && '0' <= cell[k] && cell[k] <= '9'; k++ {
			if n[i] = 10*n[i] + int(cell[k]-'0'); k == 4 {
				return at, false, false
			}
		}
		switch {
		case k == 0 && i == 1 && order == "dmy":
			n[i], k = monthName(cell)
			named = k > 0
		case k == 2 && i == 2 && order[i] == 'y' && mark == '/' && n[i] < 69: // as POSIX has it
			n[i] += 2000
		case k == 2 && i == 2 && order[i] == 'y' && mark == '/':
			n[i] += 1900
		case (order[i] == 'y') != (k == 4):
			k = 0
		}
		if k == 0 {
			return at, false, false
		}
		if cell = cell[k:]; i == 2 {
			break
		}
		if cell == "" || strings.IndexByte("-/. ", cell[0]) < 0 || i == 1 && cell[0] != mark {
			return at, false, false
		}
		mark, cell = cell[0], cell[1:]
	}
	part := func(letter byte) int { return n[strings.IndexByte(order, letter)] }
	hour, ok := readHour(cell, named)
	at = time.Date(part('y'), time.Month(part('m')), part('d'), hour, 0, 0, 0, time.UTC)
	ok = ok && (mark != ' ' || named) && at.Day() == part('d') && int(at.Month()) == part('m')
	return at, cell != "", ok
}

// monthName returns the month whose name, or its first three letters, stand at the beginning, and their number; else 0.
func monthName(text string) (month, letters int) {
	for letters < len(text) && (text[letters]|0x20)-'a' < 26 {
		letters++
	}
	for m := time.January; m <= time.December; m++ {
		if name := m.String(); strings.EqualFold(text[:letters], name) || strings.EqualFold(text[:letters], name[:3]) {
			return int(m), letters
		}
	}
	return 0, 0
}

// readHour returns the hour in what follows a date: nothing, or a time.
func readHour(text string, named bool) (hour int, ok bool) {
	if text == "" {
		return 0, true
	}
	if strings.IndexByte(" T,:", text[0]) < 0 || text[0] == ':' && !named {
		return 0, false
	}
	digits, rest, ok := strings.Cut(strings.TrimLeft(text[1:], " "), ":")
	hour, err := strconv.Atoi(digits)
	rest = strings.ToUpper(rest)
	if !ok && (text[0] != 'T' || len(digits) != 2) || err != nil || hour < 0 || hour > 23 ||
		strings.Trim(rest, "0123456789:.,+-ZAPMUTCG ") != "" {
		return 0, false
	}
	rest, _, _ = strings.Cut(strings.ReplaceAll(rest, "UTC", "GMT"), "GMT")
	rest = strings.TrimRight(rest, " ")
	if afternoon := strings.HasSuffix(rest, "PM"); hour <= 12 && (afternoon || strings.HasSuffix(rest, "AM")) {
		hour %= 12
		if afternoon {
			hour += 12
		}
	}
	return hour, true
}

// see counts a text among the dates of a column.
func (d *dates) see(cell string) {
	if len(cell) < len("1/1/26") || cell[0] > '9' && cell[0] != '[' && cell[min(3, len(cell))] != ',' {
		return
	}
	for i, order := range dateOrders {
		if _, timed, ok := readDate(cell, order); ok {
			d.fit[i]++
			d.timed = d.timed || timed
		}
	}
}

// dates count those in the texts of a column.
type dates struct {
	fit   [3]int // of dateOrders
	timed bool   // one has a time
}

// order returns the order of all n texts, "" if they are no dates. With both possible, points are of Europe.
func (d *dates) order(n int, example string) string {
	try := []int{0, 2, 1}
	if point := strings.IndexByte(example, '.'); point == 1 || point == 2 {
		try = []int{0, 1, 2}
	}
	for _, i := range try {
		if n > 0 && d.fit[i] == n {
			return dateOrders[i]
		}
	}
	return ""
}

// dateParts are the parts of a date that are learned from.
var dateParts = []string{"year", "month", "weekday", "hour"}

// partOf returns what a date would have in a column of years, months, and so on.
func partOf(at time.Time, part string) string {
	switch part {
	case "year":
		return strconv.Itoa(at.Year())
	case "month":
		return strconv.Itoa(int(at.Month()))
	case "weekday":
		return at.Weekday().String()
	}
	return strconv.Itoa(at.Hour())
}
