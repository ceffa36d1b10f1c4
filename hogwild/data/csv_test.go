package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

func textOf(text string) *source {
	return &source{Source: &format.Source{Path: "file", Text: []byte(text)}}
}

func decodeText(text, target string, like *Meta) (*table, error) {
	t, err := decode(textOf(text), Options{Format: "csv", Target: target}, like)
	if err == nil {
		t.fillHoles(allRows(t.Rows))
	}
	return t, err
}

func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text, target string
		columns      string
		x            []float32
		label        []float64
		texts        []string
		notes        []string
	}{
		"header, last column": {"a,b,c\n1,2,3\n4,5,6\n", "", "a b", []float32{1, 2, 4, 5}, []float64{3, 6}, nil,
			[]string{`target "c" (the last column; --target names another)`}},
		"no header": {"1,2,3\n4,5,6\n", "", "1 2", []float32{1, 2, 4, 5}, []float64{3, 6}, nil,
			[]string{`"3" (the last column`}},
		"one row":          {"1,2,3\n", "", "1 2", []float32{1, 2}, []float64{3}, nil, nil},
		"target by name":   {"a,b,c\n1,2,3\n", "a", "b c", []float32{2, 3}, []float64{1}, nil, nil},
		"target by number": {"a,b,c\n1,2,3\n", "2", "a c", []float32{1, 3}, []float64{2}, nil, nil},
		"target found": {"a,Label,c\n1,2,3\n", "", "a c", []float32{1, 3}, []float64{2}, nil,
			[]string{"by its name"}},
		"semicolons": {"a;b\n1.5;2\n", "", "a", []float32{1.5}, []float64{2}, nil, nil},
		"decimal commas": {"a;b;c\n1.001,5;-2;red\n\"-0,25\";3,0;a, b\n", "2", "a c=a, b c=red",
			[]float32{1001.5, 0, 1, -.25, 1, 0}, []float64{-2, 3}, nil, []string{"decimal commas"}},
		"same names": {"a,a,a\n1,2,3\n", "", "a a.2", []float32{1, 2}, []float64{3}, nil,
			[]string{`target "a.3"`}},
		"a name of two": {"a,a,a.2,y\n1,2,3,4\n", "y", "a a.3 a.2", []float32{1, 2, 3}, []float64{4}, nil,
			[]string{`target "y"`}},
		"a number for none": {",2,1,y\nu,2,3,4\nv,2,3,5\n", "y", "1.2=u 1.2=v 2 1", []float32{1, 0, 2, 3, 0, 1, 2, 3},
			[]float64{4, 5}, nil, []string{`target "y"`}},
		"tabs, CRLF": {"a\tb\r\n1\t2\r\n", "", "a", []float32{1}, []float64{2}, nil, nil},
		"quotes":     {"\"a, b\",c\n\"1\",2\n", "", "a, b", []float32{1}, []float64{2}, nil, nil},
		"pandas' numbers": {"0,1,2,3\n5,6,7,8\n", "", "0 1 2", []float32{5, 6, 7}, []float64{8}, nil,
			[]string{`"3" (the last column`}},
		"numbers from 1": {"1,2,3,4\n5,6,7,8\n", "", "1 2 3", []float32{1, 2, 3, 5, 6, 7}, []float64{4, 8}, nil,
			[]string{`"4" (the last column`}},
		"row numbers": {",a,y\n0,2,3\n1,5,6\n", "", "a", []float32{2, 5}, []float64{3, 6}, nil,
			[]string{"left out the first column"}},
		"text column": {"s,y\nred,1\nblue,2\nred,3\n", "", "s=blue s=red", []float32{0, 1, 1, 0, 0, 1},
			[]float64{1, 2, 3}, nil,
			[]string{"one feature for each text of s (2)"}},
		"text labels": {"1,cat\n2,dog\n", "", "1", []float32{1, 2}, nil, []string{"cat", "dog"}, nil},
		"all texts, header": {"s,kind\nred,cat\nblue,dog\n", "", "s=blue s=red", []float32{0, 1, 1, 0}, nil,
			[]string{"cat", "dog"}, []string{"one feature for each text of s (2)"}},
		"all texts, none": {"red,cat\nred,dog\n", "", "1=red", []float32{1, 1}, nil, []string{"cat", "dog"}, nil},
		"missing": {"a,s,y\n1,u,1\nNA,v,1\n3,,2\n?,v,2\n8,u,\n2,N/A,3\n6,v,8\n", "", "a s=u s=v",
			[]float32{1, 1, 0, 3, 0, 1, 3, 0, 1, 3, 0, 1, 2, 0, 1, 6, 0, 1}, []float64{1, 1, 2, 2, 3, 8}, nil,
			[]string{"filled 4 missing values with the mean, or the most common text", "a (2), s (2)",
				`left out 1 of 7 rows without a value of the target "y"`}},
		"almost empty": {"a,b,y\n" + strings.Repeat("1,,2\n2,,3\n", 15) + "3,4,4\n", "", "a",
			append(slices.Repeat([]float32{1, 2}, 15), 3), append(slices.Repeat([]float64{2, 3}, 15), 4), nil,
			[]string{`left out column "b": only 1 of 31 rows have a value`}},
		"comments": {"# made by, whom\n# on Monday\n#a;b;y\n1;2;3\n4;5;6\n", "", "#a b", []float32{1, 2, 4, 5},
			[]float64{3, 6}, nil, nil},
		"empty column": {"a,b,y\n1,,1\n2,,2\n", "", "a", []float32{1, 2}, []float64{1, 2}, nil,
			[]string{`"b": it is empty`}},
	} {
		t.Run(name, func(t *testing.T) {
			tab, err := decodeText(c.text, c.target, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(tab.Columns, " "); got != c.columns {
				t.Errorf("columns %q, want %q", got, c.columns)
			}
			if !slices.Equal(tab.x, c.x) || !slices.Equal(tab.label, c.label) || !slices.Equal(tab.text, c.texts) {
				t.Errorf("x %v, labels %v %q", tab.x, tab.label, tab.text)
			}
			notes := strings.Join(append(tab.Notes, tab.target), "\n")
			for _, want := range c.notes {
				if !strings.Contains(notes, want) {
					t.Errorf("notes %q do not say %q", notes, want)
				}
			}
		})
	}
}

func TestCSVDropsColumnsOfManyTexts(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,a,y\n")
	for i := range format.MaxTexts + 1 {
		text.WriteString("n" + itoa(i) + ",1," + itoa(i) + "\n")
	}
	tab, err := decodeText(text.String(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.Columns, []string{"a"}) ||
		!strings.Contains(strings.Join(tab.Notes, "\n"), `left out column "id"`) {
		t.Errorf("columns %q, notes %q", tab.Columns, tab.Notes)
	}
}

// Other data gets the features of the training data by name, in its order.
func TestCSVLikeTrainingData(t *testing.T) {
	train, err := decodeText("a,s,y,b\n1,red,5,2\n1,blue,6,2\n", "y", nil)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := decodeText("y;b;s;a\n7;3;red;4\n8;5;green;6\n", "", &train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	// a, s=blue, s=red, b; the target is the column that is no feature.
	if !slices.Equal(tab.x, []float32{4, 0, 1, 3, 6, 0, 0, 5}) || !slices.Equal(tab.label, []float64{7, 8}) {
		t.Errorf("x %v, labels %v", tab.x, tab.label)
	}
	_, err = decodeText("a,s,y\n1,red,5\n", "y", &train.Meta)
	check.Error(t, err, "file", `no column "b"`)
	_, err = decodeText("a,s,y,b\n1,red,5,2\nx,red,5,2\n", "y", &train.Meta)
	check.Error(t, err, "file:3", `column "a"`, `"x"`)
}

func TestCSVErrors(t *testing.T) {
	for text, says := range map[string][]string{
		"a,b\n1,2\n3\n":         {"file:3", "1 cell,", "2"},
		"a,b\n1,\"2\n":          {"file:", "quote"},
		"a,b\n1,inf\n":          {"file:2", `column "b"`, "inf", "finite"},
		"a,b\n1,2\n-1e39,2\n":   {"file:3", `column "a"`, "-1e39"},
		"a,b\n\n1,2\n1e999,2\n": {"file:4", `column "a"`, "1e999"},
	} {
		_, err := decodeText(text, "", nil)
		t.Run(text, func(t *testing.T) { check.Error(t, err, says...) })
	}
	_, err := decodeText("a,b\n1,2\n", "price", nil)
	check.Error(t, err, "file", `"price"`, "a, b")
}

// One text among numbers is a mistake of the file, not a column of texts; texts that number
// as many are.
func TestCSVStrayText(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a text": {"age,y\n1,2\n12o,3\n3,4\n4,5\n",
			`file:3: column "age" (number 1): "12o" is text, but the other 3 values are numbers`},
		"of the target": {"age,y\n1,2\n3,none\n3,4\n4,5\n",
			`file:3: column "y" (number 2): "none" is text, but the other 3 values are numbers`},
		"two of many": {"x,age,y\n1,1,2\n1,-,3\n1,--,4\n1,4,5\n1,4,5\n1,4,5\n",
			`file:3: column "age" (number 2): "-" is the first of 2 texts, but the other 4 values are numbers`},
		"only texts": {"t,y\n" + texts("text %d"),
			`no column to learn "y" from; left out column "t": almost all its texts are unique`},
		"in no header": {"1,2\n2,3\nx,4\n4,5\n", `file:3: column "1" (number 1): "x" is text`},
		"escape": {"\"a\x1b[2J\",y\n1,2\n\x1b[31m,3\n3,4\n4,5\n",
			`column "a\x1b[2J" (number 1): "\x1b[31m" is`},
		"long": {"age,y\n1,2\n" + strings.Repeat("x", 1e5) + ",3\n3,4\n4,5\n",
			strings.Repeat("x", 300) + `"... is text`},
		"Latin-1": {"name,y\nanna,1\ncaf\xe9,2\n",
			`file:3: "caf\xe9" is not UTF-8 text: convert it to UTF-8 first: iconv -f WINDOWS-1252`},
		"of test data":   {"x,y\nblue,2\n", `file:2: column "x": "blue": want a finite number`},
		"no such column": {"z,y\n1,2\n", `no column "x"`},
	} {
		var like *Meta
		if c.text[0] == 'z' || strings.Contains(c.text, "blue") {
			like = &Meta{Columns: []string{"x"}, Features: 1, Target: "y"}
		}
		_, err := decodeText(c.text, "", like)
		t.Run(name, func(t *testing.T) {
			check.Error(t, err, c.says, "file")
			if len(err.Error()) > 800 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the error has %d bytes: %q", len(err.Error()), err)
			}
		})
	}
	tab, err := decodeText("code,y\n1,2\na,3\nb,4\n4,5\n", "", nil)
	if err != nil || tab.Features != 4 {
		t.Errorf("two texts among two numbers: %v, %v", tab, err)
	}
}

// texts returns lines of more different texts than may become features, and two classes.
func texts(cell string) string {
	var lines strings.Builder
	for i := range format.MaxTexts + 1 {
		fmt.Fprintf(&lines, cell+",%d\n", i, i%2)
	}
	return lines.String()
}

// Numbers with signs around them are texts, and the note about them says what to do.
func TestCSVNotQuiteNumbers(t *testing.T) {
	for format, says := range map[string]bool{"%d.5%%": true, "$%d": true, "\"$1,%d.00\"": true, "-%d €": true,
		"A%d": false, "2026-01-%d": false, "1.2.3.%d": false, "555-%d": false} {
		_, err := decodeText("t,y\n"+texts(format), "", nil)
		check.Error(t, err, "almost all its texts are unique")
		if err != nil && strings.Contains(err.Error(), "write its numbers without %") != says {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestCSVMissing(t *testing.T) {
	const text = "a,b,y\n1,2,3\n4,5,6\n7,,9\n"
	read := func(text, missing string) (*table, error) {
		return decode(textOf(text), Options{Format: "csv", Missing: missing}, nil)
	}
	tab, err := read(text, format.Drop)
	if err != nil || tab.Rows != 2 || !strings.Contains(strings.Join(tab.Notes, "\n"), "left out 1 of 3 rows with "+
		"missing values: b (1)") {
		t.Errorf("%v, %v", tab, err)
	}
	_, err = read("a,b,y\n1,,2\n2,,3\n3,7,4\n", format.Drop)
	check.Error(t, err, `2 of 3 rows lack a value, most of them in column "b"`)
	_, err = read(text, format.Refuse)
	check.Error(t, err, `file:4: column "b" has no value`, "--missing drop")
	_, _, err = Load(Options{Path: file(t, "", "a.csv", text), Missing: "ignore"})
	check.Error(t, err, `missing "ignore"`, "fill, drop or error")
}

// TestFillsWithTrainingRows: what stands for a missing value comes from the training rows alone, goes with the Meta,
// and fills the rows of tests and of predictions.
func TestFillsWithTrainingRows(t *testing.T) {
	dir := t.TempDir()
	train := file(t, dir, "train.csv", "a,s,y\n1,u,0\n2,v,1\n6,u,1\n,,0\n")
	o := Options{Path: train, Test: file(t, dir, "other.csv", "a,s,y\n,u,0\n100,,1\n"), Scale: "none", Seed: 1}
	s, test := mustLoad(t, o)
	if !slices.Equal(s.Fill, []float32{3, 1, 0}) || !slices.Equal(test.X, []float32{3, 1, 0, 100, 1, 0}) {
		t.Errorf("filled with %v; the test rows %v", s.Fill, test.X)
	}
	got, notes := streamed(t, Inputs{Path: file(t, dir, "x.csv", "s,a\n,7\nv,NA\n"), Like: s.Meta})
	if !slices.EqualFunc(got, [][]float32{{7, 1, 0}, {3, 0, 1}}, slices.Equal) ||
		!strings.Contains(strings.Join(notes, "\n"), "filled 2 missing values with the mean") {
		t.Errorf("predicted from %v, %q", got, notes)
	}
	o.Path, o.Test = converted(t, o), ""
	cached, _ := mustLoad(t, o)
	if !slices.Equal(cached.Fill, s.Fill) || !slices.Equal(cached.X, s.X) {
		t.Errorf("a cache fills with %v: %v", cached.Fill, cached.X)
	}
}

// TestCSVIgnore: columns that are not wanted make no features, whatever is in them; by name or number.
func TestCSVIgnore(t *testing.T) {
	const text = "a,\"b, c\",d,y\n1,5,x,2\n2,oops,2,3\n3,7,3,4\n4,8,4,5\n"
	read := func(ignore string) (*table, error) {
		return decode(textOf(text), Options{Format: "csv", Ignore: ignore}, nil)
	}
	tab, err := read(`"b, c", 3`)
	if err != nil || !slices.Equal(tab.Columns, []string{"a"}) {
		t.Fatalf("%v, %v", tab, err)
	}
	got, _ := streamed(t, Inputs{Path: file(t, "", "x.csv", text), Like: tab.Meta})
	if !slices.EqualFunc(got, [][]float32{{1}, {2}, {3}, {4}}, slices.Equal) {
		t.Errorf("predicted from %v", got)
	}
	for ignore, says := range map[string]string{"e": `no column "e" to ignore`, "a,y": `column "y" is the target`,
		`"`: "ignore"} {
		_, err := read(ignore)
		check.Error(t, err, says)
	}
}

// TestCSVIDs: numbers of rows are no inputs.
func TestCSVIDs(t *testing.T) {
	table := func(name string, value func(i int) int) string {
		var b strings.Builder
		b.WriteString(name + ",x,y\n")
		for i := range 50 {
			fmt.Fprintf(&b, "%d,%d,%d\n", value(i), i*i%7, i%3)
		}
		return b.String()
	}
	for _, c := range []struct {
		name  string
		value func(int) int
		id    bool
	}{
		{"number", func(i int) int { return i }, true},
		{"number", func(i int) int { return i + 1 }, true},
		{"year", func(i int) int { return 1900 + i }, false},
		{"PassengerId", func(i int) int { return 997 * i % 1009 }, true},
		{"customer_id", func(i int) int { return i % 9 }, false},
		{"paid", func(i int) int { return 997 * i % 1009 }, false},
	} {
		tab, err := decodeText(table(c.name, c.value), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := !slices.Contains(tab.Columns, c.name); got != c.id ||
			got != strings.Contains(strings.Join(tab.Notes, "\n"), "ids of the rows") {
			t.Errorf("%s: columns %q, notes %q", c.name, tab.Columns, tab.Notes)
		}
	}
	var headless strings.Builder
	for i := range 50 {
		fmt.Fprintf(&headless, "%d,%d,%d\n", i, i*i%7, i%3)
	}
	if tab, err := decodeText(headless.String(), "", nil); err != nil || !slices.Equal(tab.Columns, []string{"2"}) {
		t.Errorf("%v, %v", tab, err)
	}
}

// Other data has its target in the column of the training data's, wherever that stands and
// whatever was left out.
func TestCSVTargetOfOtherData(t *testing.T) {
	train, err := decodeText("price,empty,size\n1.5,,2\n2.5,,3\n4,,5\n", "price", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := decodeText("size,empty,price\n7,x,8\n9,y,10\n", "", &train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(other.x, []float32{7, 9}) || !slices.Equal(other.label, []float64{8, 10}) {
		t.Errorf("x %v, labels %v", other.x, other.label)
	}
}

// Texts that are names of rows teach nothing; a few different ones that occur once do no harm.
func TestCSVNames(t *testing.T) {
	var text strings.Builder
	text.WriteString("name,color,y\n")
	for i := range 60 {
		text.WriteString("row" + itoa(i) + "," + []string{"red", "blue"}[i%2] + "," + itoa(i%3) + "\n")
	}
	tab, err := decodeText(text.String(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(tab.Notes, "\n"); tab.Features != 2 ||
		!strings.Contains(notes, `left out column "name": almost all its texts are unique, e.g. "row0" in line 2`) {
		t.Errorf("features %q, notes %q", tab.Columns, notes)
	}
	other, err := decodeText("name,color,y\na,green,1\nb,red,2\nc,green,0\n", "", &tab.Meta)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(other.Notes, "\n"); !slices.Equal(other.x, []float32{0, 0, 0, 1, 0, 0}) ||
		!strings.Contains(notes, `in 2 of 3 rows column "color"`) {
		t.Errorf("x %v, notes %q", other.x, notes)
	}
}
