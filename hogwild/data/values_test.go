package data

import (
	"slices"
	"strings"
	"testing"
)

// TestRatingsMarks: commas and points in values are read by all of them, as in tables, and other files as the training
// data was.
func TestRatingsMarks(t *testing.T) {
	many := strings.Repeat("1\t1\t5\n", 200)
	for text, want := range map[string][]string{
		"1\t2\t500\n3\t4\t1,234\n5\t6\t700\n":                   {"1 2 500", "3 4 1234", "5 6 700"},
		"1\t2\t1,234,567\n3\t4\t1,234.5\n5\t6\t7\n":             {"1 2 1.234567e+06", "3 4 1234.5", "5 6 7"},
		"1;2;3,5\n3;4;1.234\n5;6;7\n":                           {"1 2 3.5", "3 4 1234", "5 6 7"},
		"a;2;1.234.567,5\nb;4;2\nc;6;-7,25\n":                   {"a 2 1.2345675e+06", "b 4 2", "c 6 -7.25"},
		"1,2,\"12,345\"\n3,4,500\n5,6,600\n":                    {"1 2 12345", "3 4 500", "5 6 600"},
		"1 2 1.234\n3 4 2.5\n5 6 7\n":                           {"1 2 1.234", "3 4 2.5", "5 6 7"},
		many + "2\t3\t12,345\n4\t5\t700\n":                      {"2 3 12345", "4 5 700"},
		"user\titem\tprice\n" + many + "2\t3\t0,5\n4\t5\t700\n": {"2 3 0.5", "4 5 700"},
	} {
		columns := ""
		if strings.HasPrefix(text, "user") {
			columns = "user=user,item=item,value=price"
		}
		train, test := mustLoad(t, Options{Path: file(t, "", "m", text), Task: "triples", Columns: columns, Seed: 1})
		got := slices.DeleteFunc(entriesOf(train, test), func(line string) bool { return line == "1 1 5" })
		if !slices.Equal(got, want) {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
		if text[0] == 'u' {
			s, err := LoadLike(file(t, "", "n", "user\titem\tprice\n2\t3\t1.234\n"), "", "", train.Meta)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Y[0] != 1234 {
				t.Errorf("1.234 in other data is %g, want 1234, as training has decimal commas", s.Y[0])
			}
		}
	}
}

// TestLineOfSizes: a line of nodes and edges above these is none; one that promises others is refused if it is sure.
func TestLineOfSizes(t *testing.T) {
	for text, want := range map[string][]string{
		"# rudy\n4 3\n1 2 1\n2 3 -1\n4 1 1\n": {"1 2 1", "1 4 1", "2 3 -1"},
		"4 3\r\n1 2\r\n2 3\r\n4 1\r\n":        {"1 2 1", "1 4 1", "2 3 1"},
		"4;3\n0;2;2,5\n2;3;1\n3;1;1\n":        {"0 2 2.5", "1 3 1", "2 3 1"},
		"4 2\n1 2\n2 3\n4 1\n":                {"1 2 1", "1 4 1", "2 3 1", "2 4 1"}, // an edge: three lines follow
		"3 4\n1 2\n2 3\n4 1\n1 3\n":           {"1 2 1", "1 3 1", "1 4 1", "2 3 1", "3 4 1"},
		"1 2\n2 3 5\n3 1 6\n":                 {"1 2 1", "1 3 6", "2 3 5"},
		"4 3\n1 2 1\n2 3\n4 1 1\n":            {"1 2 1", "1 4 1", "2 3 1", "3 4 1"},
	} {
		graph, _ := mustLoad(t, Options{Path: file(t, "", "g", text), Task: "edges", Seed: 1})
		got := entriesOf(graph)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		said := strings.Contains(strings.Join(graph.Notes, "\n"), "numbers of nodes and edges")
		if said != (len(want) == 3 && text[:3] != "1 2") {
			t.Errorf("%q: notes %q", text, graph.Notes)
		}
	}
	_, _, err := Load(Options{Path: file(t, "", "g", "4 5\n1 2 1\n2 3 -1\n4 1 1\n"), Task: "edges", Seed: 1})
	if err == nil || !strings.Contains(err.Error(), "3 entries, and the line of sizes promises 5") {
		t.Errorf("five edges promised: error %v", err)
	}
}

// TestRelations: no model takes them.
func TestRelations(t *testing.T) {
	path := file(t, "", "g", "h,r,t\na,knows,b\nb,knows,c\n")
	_, _, err := Load(Options{Path: path, Task: "edges", Columns: "head=h,relation=r,tail=t", Seed: 1})
	if err == nil || !strings.Contains(err.Error(), "no model learns relations: leave relation= out") {
		t.Errorf("error %v", err)
	}
}
