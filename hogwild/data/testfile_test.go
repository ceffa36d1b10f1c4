package data

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/text"
	"hogwild/internal/check"
)

// table400 returns rows of "id, label, a, b"; the label is a > 40.
func table400(row func(id, label, a, b int) string) string {
	var s strings.Builder
	for i := range 400 {
		a, b := i*37%80, i*11%90
		label := 0
		if a > 40 {
			label = 1
		}
		s.WriteString(row(i+1, label, a, b))
	}
	return s.String()
}

// A test file that only its name says to be one, and that has no labels, is left for predict. One that has labels, some
// of them wrong, is scored or refused.
func TestFileWithoutLabels(t *testing.T) {
	all := func(id, label, a, b int) string { return fmt.Sprintf("%d,%d,%d,%d\n", id, label, a, b) }
	inputs := func(id, _, a, b int) string { return fmt.Sprintf("%d,%d,%d\n", id, a, b) }
	holes := func(id, label, a, b int) string {
		if label == 0 || id%3 == 0 {
			return fmt.Sprintf("%d,,%d,%d\n", id, a, b)
		}
		return all(id, label, a, b)
	}
	quoted := func(id, _, a, b int) string { return fmt.Sprintf("%d,\"a\n\"\"b\"\", c\",%d,%d\n", id, a, b) }
	const names = "PassengerId,Survived,a,b\n"
	labelled := func(_, label, a, _ int) string { return fmt.Sprintf("__label__%d w%d is\n", label, a%9+9*label) }
	words := &text.Options{Kind: text.Labels, MinCount: 1, NGrams: 1}
	texts := func(_, label, a, _ int) string { return fmt.Sprintf("%d,w%d is\n", label, a) }
	testsFound(t, map[string]found{
		"Kaggle's": {"train.csv", names + table400(all), "test.csv", "PassengerId,a,b\n" + table400(inputs),
			Options{Target: "Survived"}, `no values of the target "Survived"`},
		"by its number": {"train.csv", names + table400(all), "test.csv", "PassengerId,a,b\n" + table400(inputs),
			Options{Target: "2"}, `no values of the target "Survived"`},
		"packed": {"titanic_train.csv.gz", packed(t, names+table400(all)), "titanic_test.csv.gz",
			packed(t, "PassengerId,a,b\n"+table400(inputs)), Options{Target: "Survived"}, "titanic_test.csv.gz has no"},
		"an empty column": {"train.csv", names + table400(all), "test.csv",
			names + table400(func(id, _, a, b int) string { return fmt.Sprintf("%d,,%d,%d\n", id, a, b) }),
			Options{Target: "Survived"}, `no values of the target "Survived"`},
		"some empty": {"train.csv", names + table400(all), "test.csv", names + table400(holes),
			Options{Target: "Survived"}, ""},
		"semicolons, the last column": {"train.csv", "id;a;y\n" + table400(func(id, label, a, _ int) string {
			return fmt.Sprintf("%d;%d;%d\n", id, a, label)
		}), "test.csv", "id;a\n" + table400(func(id, _, a, _ int) string { return fmt.Sprintf("%d;%d\n", id, a) }),
			Options{}, `no values of the target "y"`},
		"lines in quotes": {"train.csv", "id,name,a,b,y\n" + table400(func(id, label, a, b int) string {
			return strings.TrimSpace(quoted(id, label, a, b)) + fmt.Sprintf(",%d\n", label)
		}), "test.csv", "id,name,a,b\n" + table400(quoted), Options{}, `no values of the target "y"`},
		"no names": {"train.csv", table400(func(_, label, a, b int) string {
			return fmt.Sprintf("%d.5,%d,%d\n", a, b, label)
		}),
			"test.csv", table400(func(_, _, a, b int) string { return fmt.Sprintf("%d.5,%d\n", a, b) }),
			Options{}, "no labels"},
		"LIBSVM": {"a9a", table400(func(_, label, a, b int) string {
			return fmt.Sprintf("%d 1:%d 3:%d\n", label, a, b)
		}),
			"a9a.t", table400(func(_, _, a, b int) string { return fmt.Sprintf("1:%d 3:%d\n", a, b) }),
			Options{Format: "libsvm"}, "no labels"},
		"lines of text": {"train.txt", table400(labelled), "test.txt",
			table400(func(_, _, a, _ int) string { return fmt.Sprintf("w%d is\n", a%9) }),
			Options{Task: text.Labels, Text: words}, "no labels"},
		"a table of text": {"train.csv", "y,words\n" + table400(texts), "test.csv",
			"words\n" + table400(func(_, _, a, _ int) string { return fmt.Sprintf("w%d is\n", a) }),
			Options{Task: text.Labels, Text: words, Target: "y"}, `no values of the target "y"`},
		"labels": {"train.csv", names + table400(all), "test.csv", names + "1,1,50,3\n2,0,3,4\n",
			Options{Target: "Survived"}, ""},
	})
}

// The same of ratings, which have no values.
func TestRatingsWithoutValues(t *testing.T) {
	const names = "userId,movieId,rating\n"
	ratings := func(id, _, a, b int) string { return fmt.Sprintf("%d,%d,%d\n", id%40, a, b%5) }
	ids := func(id, _, a, _ int) string { return fmt.Sprintf("%d,%d\n", id%40, a) }
	texts := func(id, _, a, b int) string { return fmt.Sprintf("u%d\tf%d\t%d\n", id%40, a, b%5) }
	o := Options{Task: "triples"}
	testsFound(t, map[string]found{
		"by their names": {"train.csv", names + table400(ratings), "test.csv",
			"movieId,userId\n" + table400(func(id, _, a, _ int) string { return fmt.Sprintf("%d,%d\n", a, id%40) }),
			o, "test.csv has no values"},
		"by the names of training": {"train.csv", "reader,title,stars\n" + table400(ratings), "test.csv",
			"reader,title\n" + table400(ids), o, "test.csv has no values"},
		"an empty column": {"train.csv", names + table400(ratings), "test.csv", names +
			table400(func(id, _, a, _ int) string { return fmt.Sprintf("%d,%d,\n", id%40, a) }),
			Options{}, "test.csv has no values"},
		"texts": {"u.base", table400(texts), "u.test",
			table400(func(id, _, a, _ int) string { return fmt.Sprintf("u%d\tf%d\n", id%40, a) }),
			o, "u.test has no values"},
		"values": {"train.csv", names + table400(ratings), "test.csv", names + "1,37,2\n2,74,4\n", Options{}, ""},
	})
}

// found is a training file and one next to it.
type found struct {
	train, training, test, testing string
	o                              Options
	note                           string // "": it is the test set
}

func testsFound(t *testing.T, cases map[string]found) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file(t, dir, c.test, c.testing)
			c.o.Path = file(t, dir, c.train, c.training)
			train, test := mustLoad(t, c.o)
			noted := slices.ContainsFunc(train.Notes, func(s string) bool {
				return strings.Contains(s, cmp.Or(c.note, "left for predict"))
			})
			held := test.Rows == 67 || train.Kind == Pairs && test.Rows > 50 && test.Rows < 84
			if c.note != "" && (!noted || train.Rows != 400-test.Rows || !held) {
				t.Errorf("%d and %d rows of 400, notes %q", train.Rows, test.Rows, train.Notes)
			}
			if c.note == "" && (noted || train.Rows != 400) {
				t.Errorf("%d and %d rows, notes %q", train.Rows, test.Rows, train.Notes)
			}
			c.o.Test = filepath.Join(dir, c.test) // asked for, it must have labels
			_, _, err := Load(c.o)
			if (err == nil) != (c.note == "") {
				t.Errorf("with --test: %v", err)
			}
		})
	}
}

// A label that is broken is no reason to leave a test file out.
func TestFileWithBrokenLabels(t *testing.T) {
	dir := t.TempDir()
	row := func(_, _, a, b int) string { return fmt.Sprintf("%d,%d,%d.5\n", a, b, 3*a) }
	path := file(t, dir, "train.csv", "a,b,y\n"+table400(row))
	file(t, dir, "test.csv", "a,b,y\n"+table400(row)+"1,2,abc\n")
	_, _, err := Load(Options{Path: path})
	check.Error(t, err, "test.csv", `"abc" is not a number`, "or none")
}

// With None all rows are trained on, whatever lies next to the file, and are the test set.
func TestNoTestFile(t *testing.T) {
	dir := t.TempDir()
	rows := table400(func(_, label, a, b int) string { return fmt.Sprintf("%d 1:%d 3:%d\n", label, a, b) })
	words := strings.Repeat("the cat sat on the mat\n", 400)
	corpus := &text.Options{Kind: text.Words, MinCount: 1, Window: 2}
	file(t, dir, "rows.t", "no rows")
	for name, c := range map[string]struct {
		o    Options
		rows int
	}{
		"a file":   {Options{Path: file(t, dir, "rows", rows)}, 400},
		"digits":   {Options{Path: "digits:300", Seed: 1}, 300},
		"a matrix": {Options{Path: "synth:lowrank:20x10x150x2", Seed: 1}, 150},
		"ratings": {Options{Path: file(t, "", "u.data", table400(func(id, label, a, b int) string {
			return fmt.Sprintf("%d\t%d\t%d\n", id%40, a, b)
		})), Task: "triples"}, 400},
		"words": {Options{Path: file(t, "", "c.txt", words), Task: text.Words, Text: corpus}, 2400},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Test = None
			train, test := mustLoad(t, c.o)
			if train.Rows != c.rows || test.Rows != c.rows {
				t.Errorf("%d and %d rows, want %d", train.Rows, test.Rows, c.rows)
			}
			last := train.Notes[len(train.Notes)-1]
			if !strings.HasPrefix(last, "test none: the training set is the test set") {
				t.Errorf("notes %q", train.Notes)
			}
		})
	}
}

// Rows of classes that training has not seen are counted and left out, unless they are most.
func TestOtherClasses(t *testing.T) {
	train := file(t, "", "train.csv", "a,b,kind\n"+table400(func(_, label, a, b int) string {
		return fmt.Sprintf("%d,%d,%c\n", a, b, 'x'+label)
	}))
	for name, c := range map[string]struct{ rows, note, error string }{
		"two": {"1,2,x\n3,4,new\n5,6,y\n7,8,x\n9,9,old\n",
			`left out 2 of 5 rows, whose classes the training data does not have, such as "new"`, ""},
		"most": {"1,2,x\n3,4,new\n5,6,old\n", "", `/t.csv:3: class "new" does not occur in the training data`},
	} {
		t.Run(name, func(t *testing.T) {
			_, test, err := Load(Options{Path: train, Test: file(t, "", "t.csv", "a,b,kind\n"+c.rows)})
			if c.error != "" {
				check.Error(t, err, c.error)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer test.Close()
			_, y := rowsOf(t, test)
			if !slices.Equal(y, []float32{0, 1, 0}) || !slices.Contains(test.Notes, c.note) {
				t.Errorf("labels %v, notes %q", y, test.Notes)
			}
		})
	}
}

// What data info says of a test file.
func TestDescribeTestFile(t *testing.T) {
	dir := t.TempDir()
	row := func(_, label, a, b int) string { return fmt.Sprintf("%d,%d,%d\n", a, b, label) }
	path := file(t, dir, "train.csv", "a,b,y\n"+table400(row))
	for body, note := range map[string]string{
		"a,b\n1,2\n":     `test.csv has no values of the target "y"`,
		"a,b,y\n1,2,1\n": "test set: " + filepath.Join(dir, "test.csv"),
	} {
		if err := os.WriteFile(filepath.Join(dir, "test.csv"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Describe(Options{Path: path})
		if err != nil || !slices.ContainsFunc(m.Notes, func(s string) bool { return strings.Contains(s, note) }) {
			t.Errorf("%q: notes %q, %v", body, m.Notes, err)
		}
	}
}
