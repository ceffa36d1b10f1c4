package format

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// readRows returns the columns of a table, its numbers and labels, and its notes.
func readRows(t *testing.T, text string, o Options) (f *File, rows []string) {
	t.Helper()
	o.Format = "csv"
	f, err := Open(&Source{Path: "x", Text: []byte(text)}, o)
	for row := (Row{}); err == nil; {
		if err = f.Next(&row); err == nil && f.Texts {
			rows = append(rows, fmt.Sprint(row.Val, " ", row.Text))
		} else if err == nil {
			rows = append(rows, fmt.Sprint(row.Val, " ", row.Label))
		}
	}
	if err != io.EOF {
		t.Fatalf("%.60q: %v", text, err)
	}
	return f, rows
}

// TestLayout: what separates cells, and what is no cell, is told by many rows.
func TestLayout(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		columns string
		rows    []string
	}{
		"separators in a quoted header": {"\"w (kg; dry; net; mean of 3)\",b,y\n1,2,3\n4,5,6\n",
			"w (kg; dry; net; mean of 3) b", []string{"[1 2] 3", "[4 5] 6"}},
		"a comma in a header of tabs": {"Age, years, at birth\tb\ty\n1\t2\t3\n4\t5\t6\n", "Age, years, at birth b",
			[]string{"[1 2] 3", "[4 5] 6"}},
		"lists in cells": {".1,a|b|c|d,0\n.2,a|b|c|e,1\n.3,a|b|c|d,0\n", "1 2=a|b|c|d 2=a|b|c|e",
			[]string{"[0.1 1 0] 0", "[0.2 0 1] 1", "[0.3 1 0] 0"}},
		"lists of semicolons": {"a,tags,y\n1,u;v;w,0\n2,u;v;x,1\n3,u;v;w,1\n", "a tags=u;v;w tags=u;v;x",
			[]string{"[1 1 0] 0", "[2 0 1] 1", "[3 1 0] 1"}},
		"tabs and two commas a text": {"n\tbad, poor, so\ng\tgood, fine, so\nn\tbad, poor, so\n", "1=g 1=n",
			[]string{"[0 1] bad, poor, so", "[1 0] good, fine, so", "[0 1] bad, poor, so"}},
		"pipes and decimal points": {"a|b|y\n1.5|x, y|1\n2.5|x, z|2\n3|x, y|2\n", "a b=x, y b=x, z",
			[]string{"[1.5 1 0] 1", "[2.5 0 1] 2", "[3 1 0] 2"}},
		"Excel":            {"sep=;\r\na;b;y\r\n1;2,5;3\r\n4;5;6\r\n", "a b", []string{"[1 2.5] 3", "[4 5] 6"}},
		"Excel, odd":       {"\"sep=^\"\na^b^y\n1^2^3\n4^5^6\n", "a b", []string{"[1 2] 3", "[4 5] 6"}},
		"R":                {"\"a\",\"b\",\"y\"\n\"1\",1,2,3\n\"2\",4,5,6\n", "a b", []string{"[1 2] 3", "[4 5] 6"}},
		"a separator more": {"a;b;y;\n1;2;3;\n4;5;6;\n", "a b", []string{"[1 2] 3", "[4 5] 6"}},
		"in rows alone":    {"a,b,y\n1,2,3,\n4,5,,\n7,8,9,\n", "a b", []string{"[1 2] 3", "[7 8] 9"}},
		"without names":    {"1,2,3,\n4,5,6,\n", "1 2", []string{"[1 2] 3", "[4 5] 6"}},
		"missing, no more": {"a,b,y\n1,2,\n4,5,6\n7,8,9\n", "a b", []string{"[4 5] 6", "[7 8] 9"}},
		"comments": {"# by \"whom; when\"\n\"weight; kg\",b,y\n1,2,3\n4,5,6\n", "weight; kg b",
			[]string{"[1 2] 3", "[4 5] 6"}},
		"quotes are letters": {"ham\t5\" disk\t1\nspam\t\"free\" now\t2\nham\t\"5\"\t3\n",
			"1=ham 1=spam 2=\"5\" 2=\"free\" now 2=5\" disk",
			[]string{"[1 0 0 0 1] 1", "[0 1 0 1 0] 2", "[1 0 1 0 0] 3"}},
	} {
		f, rows := readRows(t, c.text, Options{})
		if got := strings.Join(f.Columns, " "); got != c.columns || !slices.Equal(rows, c.rows) {
			t.Errorf("%s: columns %q, rows %q; want %q, %q", name, got, rows, c.columns, c.rows)
		}
	}
	late := strings.Repeat("ham\tx\t1\nspam\ty\t2\n", 500) + "ham\t5\" disk\t1\n"
	if f, rows := readRows(t, late, Options{}); len(rows) != 1001 || f.Columns[2] != `2=5" disk` {
		t.Errorf("a late quote: %d rows, columns %q", len(rows), f.Columns)
	}
}

// TestLayoutOfInputs: rows to be predicted may lack the labels, and the last feature.
func TestLayoutOfInputs(t *testing.T) {
	like := &Known{Format: "csv", Kind: Floats, Features: 2, Columns: []string{"1", "2"}, Target: "3",
		Fill: []float32{7, 8}}
	for text, want := range map[string]string{"1,2,\n4,5,\n": "[1 2] 0 [4 5] 0", "1,\n4,\n": "[1 8] 0 [4 8] 0",
		"1,2,3,\n4,5,6,\n": "[1 2] 0 [4 5] 0"} {
		_, rows := readRows(t, text, Options{Like: like, Inputs: true, Was: "3"})
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
