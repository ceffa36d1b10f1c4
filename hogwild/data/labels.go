package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// name returns the label of row i as Meta.Classes has it: "+1" is 1, "3.0" is 3, and "007" and 17 digits are as in the
// file.
func (t *table) name(i int) string {
	if t.text != nil {
		return t.text[i]
	}
	return className(t.label[i])
}

func className(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// mostExact: whole numbers below it are each a float64 of their own.
const mostExact = 1 << 53

// readCodes decides what becomes of labels that are all whole numbers but come as texts, as a number would lose
// their zeros or their last digits: they stay texts as classes, unless two texts are one number, and are numbers else.
func (t *table) readCodes(task string) {
	values := make([]float64, len(t.text))
	largest, ok := 0., t.text != nil
	for i := 0; i < len(values) && ok; i++ {
		values[i], ok = format.Number(t.text[i])
		largest = max(largest, math.Abs(values[i]))
	}
	if !ok {
		return
	}
	var each []float64
	for _, name := range distinct(t.text) {
		v, _ := format.Number(name)
		each = append(each, v)
	}
	slices.Sort(each)
	twice := largest < mostExact && len(slices.Compact(slices.Clone(each))) < len(each)
	if twice || task == "values" || task == "" && !t.areClasses(each) {
		t.label, t.text = values, nil
	}
}

// findClasses decides between classes and numbers, by the task or else by the
// labels, and sets Classes, which stays nil for numbers. What the labels decided is in
// the Notes.
func (t *table) findClasses(task string) error {
	t.readCodes(task)
	switch {
	case task == "triples":
		return fmt.Errorf("data: %s has rows with labels, and the model takes the entries of a matrix: u.data, "+
			"ratings.csv, an .npy of n x 3, or synth:lowrank:ROWSxCOLSxENTRIESxRANK", t.Name)
	case task == "edges":
		return fmt.Errorf("data: %s has rows with labels, and the model takes the edges of a graph: source, target, "+
			"weight; or synth:dblife", t.Name)
	case task == likesTask:
		return fmt.Errorf("data: %s has rows with labels, and the model takes what users liked: a user and an item a "+
			"line, or lists of items", t.Name)
	case task == factsTask:
		return fmt.Errorf("data: %s has rows with labels, and the model takes the facts of a graph: head, relation, "+
			"tail", t.Name)
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
	falls, counts := t.areCounts(values)
	switch {
	case task == "" && counts:
		t.notef("%s: numbers, regression (whole numbers from %g to %g, the last of them rare, as counts and grades "+
			"are); --model softmax, or --loss cross-entropy, treats them as classes", t.target, values[0], values[k-1])
		return nil
	case task == "" && !t.areClasses(values):
		t.notef("%s: numbers, regression (%s different whole numbers in %s rows); --model softmax treats them as "+
			"classes",
			t.target, count(k), count(t.Rows))
		return nil
	}
	for _, v := range values {
		if math.Abs(v) >= mostExact {
			return fmt.Errorf("data: %s: label %s: classes from 2^53 on are told apart in CSV files only: give one, "+
				"or number the classes", t.where(slices.Index(t.label, v)), className(v))
		}
		t.Classes = append(t.Classes, className(v))
	}
	switch {
	case task == "" && falls:
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

// fewClasses is how many whole numbers are too few to have a shape: they are classes.
const fewClasses = 3

// areCounts says whether whole numbers look like counts or grades, and whether they surely are some. They look so if
// they become rarer to both sides of the most frequent one, give or take chance, and the half that is farthest from it
// has less than three tenths of the rows. They surely are if the last one is rare, and so is the first, unless it is 0
// or 1: the largest of all counts occurs once or twice, while a class should have rows to learn it from. Images have
// classes.
func (t *table) areCounts(values []float64) (look, are bool) {
	first, last := values[0], values[len(values)-1]
	if len(values) <= fewClasses || last-first >= 2*float64(len(values)) || t.Shape != nil {
		return false, false
	}
	n := make([]int, int(last-first)+1)
	for _, v := range t.label {
		n[int(v-first)]++
	}
	peak, order := slices.Index(n, slices.Max(n)), make([]int, len(n))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return max(a-peak, peak-a) - max(b-peak, peak-b) })
	far, least := 0, map[bool]int{false: n[peak], true: n[peak]} // of each side
	for k, i := range order {
		if low := least[i > peak]; float64(n[i]-low) > 3*math.Sqrt(float64(n[i]+low)) {
			return false, false
		}
		least[i > peak] = min(least[i > peak], n[i])
		if k >= (len(n)+1)/2 {
			far += n[i]
		}
	}
	rare := func(n int) bool { return n <= 3+t.Rows/80 }
	look = 10*far < 3*t.Rows
	return look, look && rare(n[len(n)-1]) && (first == 0 || first == 1 || rare(n[0]))
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

// firstText returns the first label that is not a number.
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
		if t.readCodes("values"); t.text != nil {
			return nil, fmt.Errorf("data: %s: label %s is not a number, and the training data has values to predict",
				t.Name, human.Quote(t.firstText()))
		}
		for i, v := range t.label {
			y[i] = float32(v)
		}
		return y, nil
	}
	// Numbers are looked up by value first: writing each as a text is slow. Files, and runs of earlier versions, may
	// spell them in another way: 1e+06.
	place, known := map[string]float32{}, map[float64]float32{}
	for k, name := range classes {
		place[name] = float32(k)
		if v, ok := format.Number(name); ok && math.Abs(v) < mostExact {
			known[v] = float32(k)
		}
	}
	for i := range y {
		if t.text == nil {
			if k, ok := known[t.label[i]]; ok {
				y[i] = k
				continue
			}
		}
		k, ok := place[t.name(i)]
		if v, number := format.Number(t.name(i)); !ok && number {
			k, ok = known[v]
		}
		if !ok {
			return nil, fmt.Errorf("data: %s: class %s does not occur in the training data, which has %s",
				t.where(i), human.Quote(t.name(i)), format.Some(classes))
		}
		y[i] = k
	}
	return y, nil
}

// distinct returns the different values of v, sorted.
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
