package ability_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/internal/check"
)

// lines writes a file of n lines.
func linesOf(t *testing.T, name string, n int, line func(i int, r *rand.Rand) string) string {
	t.Helper()
	path, r := filepath.Join(t.TempDir(), name), rand.New(rand.NewPCG(5, uint64(len(name))))
	var text strings.Builder
	for i := range n {
		text.WriteString(line(i, r))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// namedCase is a run, and one that begins with its weights on other data.
type namedCase struct {
	model  string
	files  [2]func(int, *rand.Rand) string
	ending string
	axes   map[string][2]string // of each tensor
	says   string
}

// namedCases returns some of all models whose weights have names.
func namedCases() map[string]namedCase {
	words := func(first, last, count int) func(int, *rand.Rand) string {
		return func(_ int, r *rand.Rand) string {
			var line []string
			for range count {
				line = append(line, fmt.Sprint("w", first+min(r.IntN(last-first), r.IntN(last-first))))
			}
			return strings.Join(line, " ") + "\n"
		}
	}
	labelled := func(most, other string, first, last int) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string {
			label := most
			if i%3 == 0 {
				label = other
			}
			return "__label__" + label + " " + label + "s " + words(first, last, 3)(i, r)
		}
	}
	ratings := func(users, items int) func(int, *rand.Rand) string {
		return func(_ int, r *rand.Rand) string {
			return fmt.Sprintf("%d\t%d\t%d\n", users+7*r.IntN(30), items+r.IntN(20), 1+r.IntN(5))
		}
	}
	sold := func(users, items int) func(int, *rand.Rand) string {
		return func(_ int, r *rand.Rand) string {
			return fmt.Sprintf("ann%d\tB0%d\t%d\n", users+7*r.IntN(30), items+r.IntN(20), 1+r.IntN(5))
		}
	}
	table := func(names, cities string, order ...int) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string {
			if i == 0 {
				return names + "\n"
			}
			city := strings.Split(cities, ",")[r.IntN(3)]
			cells := []string{fmt.Sprint(r.Float64()), fmt.Sprint(r.Float64()), city}
			var row []string
			for _, j := range order {
				row = append(row, cells[j])
			}
			return strings.Join(append(row, "abc"[r.IntN(3):][:1]), ",") + "\n"
		}
	}
	svm := func(features ...int) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string {
			line := fmt.Sprint(i % 2)
			for _, j := range features {
				line += fmt.Sprintf(" %d:%.3f", j, r.Float64())
			}
			return line + "\n"
		}
	}
	tableOf := map[string][2]string{"0.weight": {"classes", "columns"}, "0.bias": {"classes"}}
	return map[string]namedCase{
		"words": {"word2vec:6", [2]func(int, *rand.Rand) string{words(0, 30, 8), words(10, 45, 8)}, "txt",
			map[string][2]string{"in.weight": {"words"}, "out.weight": {"words"}}, "20 of 35 words (15 new)"},
		"text": {"text:5",
			[2]func(int, *rand.Rand) string{labelled("cat", "dog", 0, 20), labelled("dog", "cow", 5, 25)}, "txt",
			map[string][2]string{"in.weight": {"words"}, "out.weight": {"classes"}},
			"17 of 23 words (6 new), 1 of 2 classes (1 new)"},
		"columns": {"softmax", [2]func(int, *rand.Rand) string{table("u,v,city,y", "oslo,rome,bern", 0, 1, 2),
			table("city,u,w,y", "rome,cairo,oslo", 2, 0, 1)}, "csv", tableOf, "3 of 5 columns (2 new), 3 of 3 classes"},
		"two layers": {"mlp:4", [2]func(int, *rand.Rand) string{table("u,v,city,y", "oslo,rome,bern", 0, 1, 2),
			table("v,city,u,y", "rome,bern,oslo", 1, 2, 0)}, "csv", map[string][2]string{"0.weight": {"", "columns"},
			"0.bias": {}, "2.weight": {"classes"}, "2.bias": {"classes"}}, "5 of 5 columns, 3 of 3 classes"},
		"ids": {"factor:3", [2]func(int, *rand.Rand) string{ratings(1, 100), ratings(71, 110)}, "data",
			map[string][2]string{"user.weight": {"users"}, "item.weight": {"items"}},
			"20 of 30 row ids (10 new), 10 of 20 column ids (10 new)"},
		"ids that are texts": {"factor:3", [2]func(int, *rand.Rand) string{sold(1, 100), sold(71, 110)}, "data",
			map[string][2]string{"user.weight": {"text users"}, "item.weight": {"text items"}},
			"20 of 30 row ids (10 new), 10 of 20 column ids (10 new)"},
		"indices": {"logistic", [2]func(int, *rand.Rand) string{svm(1, 2, 5), svm(1, 3, 7)}, "svm",
			map[string][2]string{"0.weight": {"", "indices"}, "0.bias": {}}, "5 of 7 features (2 new), 2 of 2 classes"},
	}
}

// TestInitByName: each word, column, class and id has the weights that it had, wherever it stood, and new ones have the
// weights of a run without --init.
func TestInitByName(t *testing.T) {
	for name, c := range namedCases() {
		t.Run(name, func(t *testing.T) {
			settings := func(i int, init string, seed uint64) config.Config {
				d := runtest.AsGiven(t, c.model, init, 1)
				d.Data, d.Test, d.Seed = linesOf(t, fmt.Sprint("x.", c.ending), 600, c.files[i]), "none", seed
				d.Scale = "none"
				if name == "words" {
					d.MinCount = 1
				}
				return d
			}
			from, own := settings(0, "", 3), settings(1, "", 1)
			from.LR = 0.1 // else there are tensors that are zero
			_, was := runtest.RanAs(t, from)
			_, fresh := runtest.RanAs(t, own)
			by := settings(1, from.Run, 1)
			var said strings.Builder
			if _, err := run.Run(context.Background(), by, run.Options{Progress: &said}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), "init: taken by name: "+c.says+"\n") {
				t.Errorf("it says\n%s", said.String())
			}
			s, err := saved.Open(by.Run)
			if err != nil {
				t.Fatal(err)
			}
			for i, tensor := range s.Tensors() {
				axes, tested := c.axes[tensor.Name]
				if !tested {
					continue
				}
				at := func(d int) []int { return placesOf(t, axes[d], from, by, tensor.Shape, d) }
				rows, columns, old := at(0), at(1), was[i]
				for k, v := range tensor.Values {
					row, column := rows[k/len(columns)], columns[k%len(columns)]
					want, what := fresh[i].Values[k], "its own first value"
					if row >= 0 && column >= 0 {
						want, what = old.Values[row*(len(old.Values)/old.Shape[0])+column], "what it had"
					}
					if math.Abs(float64(v-want)) > 1e-6 {
						t.Fatalf("%s[%d]: %v, want %s, %v", tensor.Name, k, v, what, want)
					}
				}
			}
		})
	}
}

// TestInitOfOtherScaling: weights of columns that had other means, widths and places, of a table or of sparse rows,
// predict of the new rows what the run that had trained them predicts.
func TestInitOfOtherScaling(t *testing.T) {
	table := func(names string, swap, shift, wide float64) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string {
			if i == 0 {
				return names + "\n"
			}
			u, v := shift+wide*r.NormFloat64(), r.NormFloat64()
			y := "abc"[min(2, int(math.Abs((u-shift)/wide-v))):][:1]
			if swap > 0 {
				u, v = v, u
			}
			return fmt.Sprintf("%.3f,%.3f,%s\n", u, v, y)
		}
	}
	sparse := func(wide float64) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string {
			return fmt.Sprintf("%d 1:%.3f 3:%.3f\n", i%3, float64(i%3)+r.NormFloat64(), wide*r.NormFloat64())
		}
	}
	for _, c := range []struct {
		model, scale, ending string
		was, now             func(int, *rand.Rand) string
	}{
		{"softmax", "auto", "csv", table("u,v,y", 0, 0, 1), table("v,u,y", 1, 30, 5)},
		{"mlp:4", "auto", "csv", table("u,v,y", 0, 40, 2), table("v,u,y", 1, 36, 7)},
		{"mlp:4", "unit", "csv", table("u,v,y", 0, 2, 1), table("u,v,y", 0, 3, 4)},
		{"softmax", "standard", "svm", sparse(1), sparse(9)},
	} {
		t.Run(c.model+" "+c.scale+" "+c.ending, func(t *testing.T) {
			settings := func(line func(int, *rand.Rand) string, init string) config.Config {
				d := runtest.AsGiven(t, c.model, init, 1)
				d.Data, d.Test, d.Scale = linesOf(t, "x."+c.ending, 400, line), "none", c.scale
				return d
			}
			was, now := settings(c.was, ""), settings(c.now, "")
			was.LR = 0.1
			runtest.RanAs(t, was)
			now.Init = was.Run
			got, _ := runtest.RanAs(t, now)
			want, err := saved.Eval(was.Run, now.Data, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.TestLoss-want.Loss) > 1e-5*want.Loss {
				t.Errorf("loss %v of the weights in the new run, %v in their own", got.TestLoss, want.Loss)
			}
		})
	}
}

// placesOf returns where the names along a dimension were in another run, -1 for a new one, read from the files.
func placesOf(t *testing.T, what string, was, now config.Config, shape []int, d int) (places []int) {
	t.Helper()
	if d >= len(shape) {
		return []int{0}
	}
	names := func(c config.Config) (list []string) {
		field := func(file string, column int) (all []string) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				all = append(all, strings.Fields(line)[column])
			}
			return all
		}
		f, err := rundir.ReadWeights(c.Run, 0)
		if err != nil {
			t.Fatal(err)
		}
		switch what {
		case "words":
			return field(filepath.Join(c.Run, rundir.WordsFile), 0)
		case "classes":
			return f.Saved.Meta.Classes
		case "columns":
			return f.Saved.Meta.Columns
		case "users", "items":
			list = field(c.Data, map[string]int{"users": 0, "items": 1}[what])
			slices.SortFunc(list, func(a, b string) int {
				x, _ := strconv.Atoi(a)
				y, _ := strconv.Atoi(b)
				return x - y
			})
			return slices.Compact(list)
		case "text users", "text items": // numbered as they come
			for _, id := range field(c.Data, map[string]int{"text users": 0, "text items": 1}[what]) {
				if !slices.Contains(list, id) {
					list = append(list, id)
				}
			}
		}
		return list
	}
	old, list := names(was), names(now)
	for i := range shape[d] {
		switch {
		case what == "":
			places = append(places, i)
		case what == "indices" && i < 5: // the last of the file
			places = append(places, i)
		case what == "indices":
			places = append(places, -1)
		default:
			places = append(places, slices.Index(old, list[i]))
		}
	}
	return places
}

// TestInitOfOtherData: weights that have nothing of this run's words, columns or ids are refused in a line.
func TestInitOfOtherData(t *testing.T) {
	text := func(word string) string {
		return linesOf(t, "t.txt", 200, func(i int, r *rand.Rand) string {
			return fmt.Sprintf("%s%d %s%d %s%d\n", word, i%5, word, r.IntN(6), word, i%3)
		})
	}
	c := runtest.AsGiven(t, "word2vec:4", "", 1)
	c.Data, c.MinCount = text("a"), 1
	runtest.RanAs(t, c)
	by := runtest.AsGiven(t, "word2vec:4", c.Run, 1)
	by.Data, by.MinCount = text("b"), 1
	_, err := run.Run(context.Background(), by, run.Options{})
	check.Error(t, err, "was trained on other data", "none of this run's words")
}

// TestInitIsNoDivergence: weights that are wrong for the data, though finite, have not diverged.
func TestInitIsNoDivergence(t *testing.T) {
	c := runtest.AsGiven(t, "softmax", "", 1)
	c.LR = 0.1
	_, ts := runtest.RanAs(t, c)
	var wrong []rundir.Tensor
	for _, x := range ts {
		n := len(x.Values) / 10
		v := append(slices.Clone(x.Values[3*n:]), x.Values[:3*n]...) // of other classes
		for i := range v {
			v[i] *= 100
		}
		wrong = append(wrong, rundir.FloatTensor(x.Name, x.Shape, v))
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := rundir.WriteTensors(path, nil, wrong); err != nil {
		t.Fatal(err)
	}
	by := runtest.AsGiven(t, "softmax", path, 1)
	by.Epochs = 2
	r, err := run.Run(context.Background(), by, run.Options{})
	if err != nil || r.TestLoss < 23 { // ten times the loss of no knowledge
		t.Errorf("loss %v, %v", r.TestLoss, err)
	}
}
