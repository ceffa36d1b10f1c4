package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// name is the label of row i as Meta.Classes has it: "+1" is 1, "3.0" is 3.
func (t *table) name(i int) string {
	if t.text != nil {
		return t.text[i]
	}
	return strconv.FormatFloat(t.label[i], 'g', -1, 64)
}

// findClasses decides between classes and numbers, by the task or else by the
// labels, and sets Classes, which stays nil for numbers. What the labels decided is in
// the Notes.
func (t *table) findClasses(task string) error {
	switch {
	case task == "triples":
		return fmt.Errorf("data: %s has rows with labels, and the model takes the entries of a matrix: u.data, "+
			"ratings.csv, an .npy of n x 3, or synth:lowrank:ROWSxCOLSxENTRIESxRANK", t.Name)
	case task == "edges":
		return fmt.Errorf("data: %s has rows with labels, and the model takes the edges of a graph: source, target, "+
			"weight; or synth:dblife", t.Name)
	case task != "" && task != "classes" && task != "values":
		return fmt.Errorf("data: task %q: want classes, values, triples or edges", task)
	case task == "values" && t.text != nil:
		return fmt.Errorf("data: %s: label %s is not a number, so there is no value to predict; choose another "+
			"column with --target", t.where(0), human.Quote(t.firstText()))
	case task == "values":
		t.Classes = nil
		t.notef("%s: numbers, regression", t.target)
	case t.Classes != nil: // of digits and IDX
	case t.text != nil:
		return t.textClasses()
	default:
		return t.numberedClasses(task)
	}
	return nil
}

// numberedClasses decides what labels are that are numbers.
func (t *table) numberedClasses(task string) error {
	if i := slices.IndexFunc(t.label, func(v float64) bool { return v != math.Trunc(v) }); i >= 0 {
		if task == "classes" {
			return fmt.Errorf("data: %s: label %g is not a class, which is a whole number or a text: predict numbers "+
				"with --model linear, or choose another column with --target",
				t.where(i), t.label[i])
		}
		t.notef("%s: numbers, regression", t.target)
		return nil
	}
	values := distinct(t.label)
	k := len(values)
	if task == "" && !t.areClasses(values) {
		t.notef("%s: numbers, regression (%s different whole numbers in %s rows); --model softmax treats them as "+
			"classes",
			t.target, count(k), count(t.Rows))
		return nil
	}
	for _, v := range values {
		t.Classes = append(t.Classes, strconv.FormatFloat(v, 'g', -1, 64))
	}
	switch {
	case task == "" && k > 2 && t.areCounts(values):
		t.notef("warning: %s: %s classes, which look like counts or grades in an order; --model linear predicts them "+
			"as numbers", t.target, count(k))
	case task == "" && k > 2:
		t.notef("%s: %s classes (whole numbers, each %s times on average); --model linear treats them as numbers",
			t.target, count(k), human.Short(float64(t.Rows)/float64(k)))
	default:
		t.notef("%s: %s classes", t.target, count(k))
	}
	t.warnOfMany()
	return nil
}

// areCounts says whether classes are rather counts, or grades: there are some, and they become rarer, by a factor
// of three at least, to both sides of the most frequent one.
func (t *table) areCounts(values []float64) bool {
	rows := map[float64]int{}
	for _, v := range t.label {
		rows[v]++
	}
	var n []int
	for _, v := range values {
		n = append(n, rows[v])
	}
	peak := slices.Index(n, slices.Max(n))
	down := func(a, b int) int { return b - a }
	return len(n) > 4 && values[0] >= 0 && slices.Max(n) >= 3*slices.Min(n) &&
		slices.IsSorted(n[:peak+1]) && slices.IsSortedFunc(n[peak:], down)
}

// warnOfMany warns of hundreds of classes with few rows each.
func (t *table) warnOfMany() {
	if k := len(t.Classes); k > format.MaxTexts && t.Rows < 10*k {
		t.notef("warning: %s classes have %s rows each on average, which is little to learn them from; --target "+
			"names another column",
			count(k), human.Short(float64(t.Rows)/float64(k)))
	}
}

// areClasses says whether labels that are whole numbers stand for classes. One or two do.
// More do if each occurs several times, and if they are either few, or numbered from 0 or
// 1 on with no more gaps than chance leaves: of m classes as frequent as each other,
// m exp(-n/m) do not occur in n rows, give or take three times the root of that. Counts,
// years and prices begin elsewhere or have gaps.
func (t *table) areClasses(values []float64) bool {
	n, k := float64(t.Rows), float64(len(values))
	switch {
	case k <= 2:
		return true
	case n < 3*k:
		return false
	case k <= format.FewClasses:
		return true
	}
	first := values[0]
	m := values[len(values)-1] - first + 1
	absent := m * math.Exp(-n/m)
	return (first == 0 || first == 1) && m-k <= absent+3*math.Sqrt(absent)
}

func (t *table) textClasses() error {
	names := distinct(t.text)
	if len(names) > format.FewClasses && 2*len(names) > t.Rows {
		return fmt.Errorf("data: %s: %s: %s different texts in %s rows, almost one for each: name another column "+
			"with --target",
			t.Name, t.target, count(len(names)), count(t.Rows))
	}
	t.Classes = names
	t.notef("%s: %s classes", t.target, count(len(names)))
	t.warnOfMany()
	return nil
}

// firstText is the first label that is not a number.
func (t *table) firstText() string {
	i := slices.IndexFunc(t.text, func(s string) bool { _, ok := format.Number(s); return !ok })
	return t.text[max(i, 0)]
}

// targets numbers the labels: the place of each in classes, or its value when
// classes is nil. A label that is not among them is an error.
func (t *table) targets(classes []string) ([]float32, error) {
	if t.y != nil {
		return t.y, nil
	}
	y := make([]float32, t.Rows)
	if classes == nil {
		if t.text != nil {
			return nil, fmt.Errorf("data: %s: label %s is not a number, and the training data has values to predict",
				t.Name, human.Quote(t.firstText()))
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
			return nil, fmt.Errorf("data: %s: class %s does not occur in the training data, which has %s",
				t.where(i), human.Quote(t.name(i)), format.Some(classes))
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
