package chaos

import (
	"fmt"
	"strings"
	"testing"
)

// table counts what came of events.
type table struct {
	runs int
	rows []*row
}

type row struct {
	name                     string
	times                    int
	survived                 int // the coordinator that the event hit continued
	resumed                  int // another one resumed the run
	lost, torn, leaked, hung int
}

func (t *table) row(name string) *row {
	for _, r := range t.rows {
		if r.name == name {
			return r
		}
	}
	t.rows = append(t.rows, &row{name: name})
	return t.rows[len(t.rows)-1]
}

func (t *table) events() (n int) {
	for _, r := range t.rows {
		n += r.times
	}
	return n
}

// blame adds problems to the row of an event.
func (t *table) blame(name string, wrong []problem) {
	r := t.row(name)
	for _, p := range wrong {
		switch p.kind {
		case "lost":
			r.lost++
		case "torn":
			r.torn++
		case "leaked":
			r.leaked++
		case "hung":
			r.hung++
		}
	}
}

// String is the table in Markdown, in the order of events.
func (t *table) String() string {
	var b strings.Builder
	sum := row{name: "all"}
	b.WriteString("| event | times | survived | resumed | lost | torn | leaked | hung " +
		"|\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	line := func(r *row) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", r.name, r.times, r.survived, r.resumed, r.lost,
			r.torn, r.leaked, r.hung)
	}
	for _, e := range events {
		r := t.row(e.name)
		line(r)
		sum.times, sum.survived, sum.resumed = sum.times+r.times, sum.survived+r.survived, sum.resumed+r.resumed
		sum.lost, sum.torn, sum.leaked, sum.hung = sum.lost+r.lost, sum.torn+r.torn, sum.leaked+r.leaked,
			sum.hung+r.hung
	}
	line(&sum)
	return b.String()
}

func TestTable(t *testing.T) {
	var all table
	all.row("SIGINT").times, all.row("SIGINT").resumed = 2, 2
	all.blame("SIGINT", []problem{{"lost", ""}, {"torn", ""}, {"leaked", ""}, {"hung", ""}})
	for _, want := range []string{"| SIGINT | 2 | 0 | 2 | 1 | 1 | 1 | 1 |\n", "| all | 2 | 0 | 2 | 1 | 1 | 1 | 1 |\n",
		"| SIGTERM | 0 |"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in\n%s", want, &all)
		}
	}
}
