package data

import (
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

func decodeText(text, target string, like *Meta) (*table, error) {
	return decodeCSV(&source{path: "file", text: []byte(text)}, target, like)
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
			[]string{"first line", `target "c" (the last column; --target names another)`}},
		"no header":        {"1,2,3\n4,5,6\n", "", "1 2", []float32{1, 2, 4, 5}, []float64{3, 6}, nil, []string{`"3" (the last column`}},
		"target by name":   {"a,b,c\n1,2,3\n", "a", "b c", []float32{2, 3}, []float64{1}, nil, nil},
		"target by number": {"a,b,c\n1,2,3\n", "2", "a c", []float32{1, 3}, []float64{2}, nil, nil},
		"target found":     {"a,Label,c\n1,2,3\n", "", "a c", []float32{1, 3}, []float64{2}, nil, []string{"by its name"}},
		"semicolons":       {"a;b\n1,5;2\n", "", "a=1,5", []float32{1}, []float64{2}, nil, nil},
		"tabs, CRLF, mark": {"\ufeffa\tb\r\n1\t2\r\n", "", "a", []float32{1}, []float64{2}, nil, nil},
		"quotes":           {"\"a, b\",c\n\"1\",2\n", "", "a, b", []float32{1}, []float64{2}, nil, nil},
		"text column": {"s,y\nred,1\nblue,2\nred,3\n", "", "s=blue s=red", []float32{0, 1, 1, 0, 0, 1}, []float64{1, 2, 3}, nil,
			[]string{`"s" became 2 features`}},
		"text labels":       {"1,cat\n2,dog\n", "", "1", []float32{1, 2}, nil, []string{"cat", "dog"}, nil},
		"all texts, header": {"s,kind\nred,cat\nblue,dog\n", "", "s=blue s=red", []float32{0, 1, 1, 0}, nil, []string{"cat", "dog"}, []string{"first line"}},
		"all texts, none":   {"red,cat\nred,dog\n", "", "1=red", []float32{1, 1}, nil, []string{"cat", "dog"}, nil},
		"missing": {"a,b,y\n1,,1\n2,NA,1\n?,3,1\n4,nan,1\n5,null,1\n6,7,8\n9,9,\n", "", "a b", []float32{6, 7}, []float64{8}, nil,
			[]string{"left out 6 of 7 rows", "a (1), b (4), y (1)"}},
		"empty column": {"a,b,y\n1,,1\n2,,2\n", "", "a", []float32{1, 2}, []float64{1, 2}, nil, []string{`"b": it is empty`}},
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
	for i := range maxTexts + 1 {
		text.WriteString("n" + itoa(i) + ",1," + itoa(i) + "\n")
	}
	tab, err := decodeText(text.String(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.Columns, []string{"a"}) || !strings.Contains(strings.Join(tab.Notes, "\n"), `left out column "id"`) {
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
		"a,b\n1,2\n3\n":         {"file:3", "1 cells", "2"},
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
