package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxNumbered is how many distinct whole numbers are still taken for classes, not
// for values, when nothing is said.
const maxNumbered = 100

// name is the label of row i as Meta.Classes has it: "+1" is 1, "3.0" is 3.
func (t *table) name(i int) string {
	if t.text != nil {
		return t.text[i]
	}
	return strconv.FormatFloat(t.label[i], 'g', -1, 64)
}

// findClasses decides between classes and values, by the task or else by the
// labels, and sets Classes, which stays nil for values.
func (t *table) findClasses(task string) error {
	switch {
	case task == "triples":
		return fmt.Errorf("data: %s has rows with labels, and the model takes the entries of a matrix: u.data, ratings.csv, an .npy of n x 3, or synth:lowrank:ROWSxCOLSxENTRIESxRANK", t.Name)
	case task == "edges":
		return fmt.Errorf("data: %s has rows with labels, and the model takes the edges of a graph: source, target, weight; or synth:dblife", t.Name)
	case task != "" && task != "classes" && task != "values":
		return fmt.Errorf("data: task %q: want classes, values, triples or edges", task)
	case task == "values" && t.text != nil:
		return fmt.Errorf("data: %s: label %q is not a number, so there is no value to predict; choose another column with --target", t.where(0), t.firstText())
	case task == "values" || task == "" && t.areValues():
		t.Classes = nil
	case t.Classes == nil && t.text != nil:
		return t.textClasses()
	case t.Classes == nil:
		for _, v := range distinct(t.label) {
			t.Classes = append(t.Classes, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return nil
}

// areValues says whether labels are something to measure: fractions, or more
// different numbers than a set of classes has.
func (t *table) areValues() bool {
	if t.text != nil || t.Classes != nil {
		return false
	}
	for _, v := range t.label {
		if v != math.Trunc(v) {
			return true
		}
	}
	k := len(distinct(t.label))
	return k > maxNumbered || t.Rows >= 4 && 2*k >= t.Rows
}

func (t *table) textClasses() error {
	names := distinct(t.text)
	if len(names) > maxNumbered && 2*len(names) > t.Rows {
		return fmt.Errorf("data: %s: the labels are %s different texts in %s rows: name another column with --target",
			t.Name, count(len(names)), count(t.Rows))
	}
	t.Classes = names
	return nil
}

// firstText is the first label that is not a number.
func (t *table) firstText() string {
	i := slices.IndexFunc(t.text, func(s string) bool { _, ok := cellNumber(s); return !ok })
	return t.text[max(i, 0)]
}

// targets numbers the labels: the place of each in classes, or its value when
// classes is nil. A label that is not among them is an error.
func (t *table) targets(classes []string) ([]float32, error) {
	y := make([]float32, t.Rows)
	if classes == nil {
		if t.text != nil {
			return nil, fmt.Errorf("data: %s: label %q is not a number, and the training data has values to predict", t.Name, t.firstText())
		}
		for i, v := range t.label {
			y[i] = float32(v)
		}
		return y, nil
	}
	place := map[string]float32{}
	for k, name := range classes {
		place[name] = float32(k)
	}
	// Numbers are looked up by value first: writing each as a text is slow.
	known := map[float64]float32{}
	for i := range y {
		if t.text == nil {
			if k, ok := known[t.label[i]]; ok {
				y[i] = k
				continue
			}
		}
		k, ok := place[t.name(i)]
		if !ok {
			return nil, fmt.Errorf("data: %s: class %q does not occur in the training data, which has %s",
				t.where(i), t.name(i), some(classes))
		}
		if y[i] = k; t.text == nil {
			known[t.label[i]] = k
		}
	}
	return y, nil
}

// distinct is the different values of v, sorted.
func distinct[T float64 | string](v []T) []T {
	seen := map[T]bool{}
	var out []T
	for _, x := range v {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// some is a list for an error message, its tail cut off.
func some(names []string) string {
	if len(names) > 12 {
		return fmt.Sprintf("%s and %s more", strings.Join(names[:12], ", "), count(len(names)-12))
	}
	return strings.Join(names, ", ")
}
