package bench

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readmeClaims are all passages of README.md with a figure or a comparison. A # is a figure there, and from returns
// what it is the rounding of, computed from a file of results, or counted in what the passage is about. Without from
// the passage has no figure that anything could measure.
var readmeClaims = []struct {
	passage string
	from    func(t *testing.T) []float64
}{
	{"merged every few steps", nil},
	{"It needs Linux 3.17 or later on x86-64 or arm64, and Go #;", goVersion},
	{"downloads # MB of Go modules", modules("-deps", "../cmd/hogwild")},
	{"# MB) and compiles them", modules("-deps", "-test", "../...")},
	{"at the test loss at which the other ends, on # cores of an Intel Xeon with AVX-512", rivalsMachine},
	{"so that you can compare the two.", nil},

	{"# (# to #) times its examples/s, at its batch and rate", faster("zen3-2core-rivals", "example", "hogwild",
		"mnist_hogwild")},
	{"about the loop's own speed: with # processes # (# to #) times plain PyTorch's", func(t *testing.T) []float64 {
		return append([]float64{4}, faster("xeon-2core-program", "program-4", "hogwild", "PyTorch plain")(t)...)
	}},
	{"one worker: on a9a # (# to #) times sooner at its own best loss, which is #% above scikit-learn's",
		both(atOwn("a9a", "one worker", "scikit-learn"), endsAbove("a9a", "one worker", "scikit-learn"))},
	{"on imdb # (# to #) times", sooner("zen3-2core-rivals", "imdb", "one worker", "scikit-learn")},
	{"one worker: # (# to #) times sooner on a9a", sooner(againstRivals, "a9a", "one worker", "Vowpal Wabbit")},
	{"on imdb # (# to #) with plain SGD", sooner("zen3-2core-rivals", "imdb", "one worker", "Vowpal Wabbit")},
	{"liblinear is faster in # of # cases", liblinear},
	{"with skip-gram # (# to #) times the words/s of gensim with # threads", gensimSkipGram},
	{"with `--cbow` # times, and the text in memory", gensimSpeed},
	{"skip-gram vectors with a WordSim-353 of #, gensim's #;", gensimScores},
	{"# (# to #) times its values/s with AVX-512", faster(againstRivals, "factor", "hogwild", "LIBMF")},
	{"# (# to #) with AVX2, at an RMSE of #, its own #, on a made set", libmf},
	{"# rules on one clock", rules},
	{"of # statements of papers # agree, # differ, # are undecided", statements},

	{"# commands Each takes a few seconds", commands},
	{"it is from # cores of an AMD EPYC", func(t *testing.T) []float64 {
		var r struct{ Machine struct{ Cores float64 } }
		load(t, "zen3-2core-digits", &r)
		return []float64{r.Machine.Cores}
	}},
	{"Eight processes, one set of weights:", nil}, // --workers 8 in the command below
	{"Eight workers, half of them eight times slower", nil},
	{"# lines of a PyTorch loop change", changedLines},
	{"# promises", promises},

	{"For one large network on several GPUs", nil},
	{"The lowest loss of a perceptron with Adam", nil},
	{"on pixels ends #% above the test loss of PyTorch's best", endsAbove("mlp256", "hogwild", "PyTorch")},
	{"PyTorch takes # (# to #) times as long to hogwild's own", atOwn("mlp256", "hogwild", "PyTorch")},
	{"on standardised columns is at the loss of PyTorch's best # (# to #) times as soon",
		sooner(againstRivals, "mlp128-std", "hogwild", "PyTorch")},
	{"nothing else**: liblinear often gets there first", nil}, // 15 of 18, as above
	{"**Because asynchrony must be faster.** On equal cores of one machine no difference is shown: on MNIST # " +
		"workers in `sync` end at # (# to #) times the test loss of `async`, and take # (# to #) times as long to " +
		"one of #", asyncSync},
	{"synchronous SGD has # times the speed of asynchronous", clockSync},
	{"know why more workers are no faster", nil},
	{"see MNIST trained to #% in # s, and to #% in # s, on # cores: medians of # seeds", speedrunTimes},
	{"Apache 2.0", nil},
}

// figure is a number, in digits or as a word, and comparison a word of one, in prose.
const (
	digits     = `\.?\d(?:[\d.,]*\d)?`
	number     = `(?i:` + digits + `|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`
	comparison = `(?i:faster|slower|sooner|twice|(?:as|times) (?:fast|long|good|accurate))`
)

var (
	tokens = regexp.MustCompile(`(?:^|[\s(|*])(` + number + `)(?:[\s%.,;:)-]|$)|\b(` + comparison + `)\b`)
	words  = strings.Fields("0 1 two three four five six seven eight nine ten eleven twelve")
)

// prose is the text of a page without blocks of code, pictures, marks of notes, addresses of links, and digits in code.
func prose(page string) string {
	for _, r := range []struct{ from, to string }{
		{"(?ms)^```.*?^```$", ""},
		{`(?m)^    .*$`, ""},
		{`!\[[^\]]*\]\([^)]*\)`, ""},
		{` ?\((?:\[\d\]\([^)]*\)(?:, )?)+\)`, ""},
		{`\[([^\]]*)\]\([^)]*\)`, "$1"},
		{`(?m)^#+ `, ""},
		{`\s+`, " "},
	} {
		page = regexp.MustCompile(r.from).ReplaceAllString(page, r.to)
	}
	return regexp.MustCompile("`[^`]*`").ReplaceAllStringFunc(page, func(code string) string {
		return regexp.MustCompile(`\d`).ReplaceAllString(code, "n")
	})
}

// TestReadmeClaims: each figure and each comparison of the README stands in a passage of the list above, and the
// figures are the results', rounded to the digits that it prints.
func TestReadmeClaims(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := prose(string(page))
	var covered [][]int
	for _, c := range readmeClaims {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(c.passage), "#", "("+number+")")
		found := regexp.MustCompile(pattern).FindAllStringSubmatchIndex(text, -1)
		if len(found) != 1 {
			t.Errorf("README.md has %d passages %q, want one", len(found), c.passage)
			continue
		}
		covered = append(covered, found[0][:2])
		if c.from == nil {
			continue
		}
		want := c.from(t)
		if want == nil {
			continue // it has said why
		}
		for i := 2; i < len(found[0]); i += 2 {
			at := i/2 - 1
			if printed := text[found[0][i]:found[0][i+1]]; at >= len(want) || !rounds(want[at], printed) {
				t.Errorf("README.md: %q is figure %d of %q, which are %.5g", printed, at+1, c.passage, want)
			}
		}
	}
	for _, token := range tokens.FindAllStringSubmatchIndex(text, -1) {
		from, to := token[2], token[3]
		if from < 0 {
			from, to = token[4], token[5]
		}
		if !slices.ContainsFunc(covered, func(c []int) bool { return c[0] <= from && to <= c[1] }) {
			t.Errorf("README.md: no results file is known for %q in %q", text[from:to],
				text[max(0, from-60):min(len(text), to+60)])
		}
	}
}

// TestReadmeClaimsFail: a figure without a passage is seen, in digits, as a word and as a comparison; figures round.
func TestReadmeClaimsFail(t *testing.T) {
	for text, want := range map[string]int{
		"It takes 3 s, (4.5) to .6%.": 3, "Twelve rules, four-fold": 2, "it is faster, and twice as good": 3,
		"x86-64, AVX2, word2vec, a9a and `--workers nn`": 0, "| 17 (6 to 25) times |": 3,
	} {
		if got := len(tokens.FindAllString(prose(text), -1)); got != want {
			t.Errorf("%q has %d figures, want %d", text, got, want)
		}
	}
	for _, c := range []struct {
		x       float64
		printed string
		want    bool
	}{{1.0216, "1.02", true}, {1.026, "1.02", false}, {0.534, ".534", true}, {12, "Twelve", true},
		{11, "twelve", false},
		{9_400, "9,400", true}, {math.NaN(), "1", false}} {
		if rounds(c.x, c.printed) != c.want {
			t.Errorf("%v printed as %s: want %v", c.x, c.printed, c.want)
		}
	}
}

// rounds reports whether x, rounded to the digits of a printed figure, is that.
func rounds(x float64, printed string) bool {
	if i := slices.Index(words, strings.ToLower(printed)); i > 1 {
		return x == float64(i)
	}
	printed = strings.ReplaceAll(printed, ",", "")
	y, err := strconv.ParseFloat(printed, 64)
	_, decimals, _ := strings.Cut(printed, ".")
	return err == nil && math.Abs(x-y) <= 0.5*math.Pow10(-len(decimals))+1e-9
}

// modules measures what `go` downloads for the packages, in MB; nil where the module cache has no archives.
func modules(list ...string) func(t *testing.T) []float64 {
	return func(t *testing.T) []float64 {
		ask := func(arguments ...string) string {
			out, err := exec.Command("go", arguments...).Output()
			if err != nil {
				t.Fatalf("go %v: %v", arguments, err)
			}
			return strings.TrimSpace(string(out))
		}
		cache := ask("env", "GOMODCACHE")
		format := "{{with .Module}}{{if .Version}}{{.Path}}/@v/{{.Version}}.zip{{end}}{{end}}"
		files := strings.Fields(ask(append([]string{"list", "-f", format}, list...)...))
		slices.Sort(files)
		sum := 0.0
		for _, file := range slices.Compact(files) {
			file = regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(file,
				func(c string) string { return "!" + strings.ToLower(c) })
			info, err := os.Stat(cache + "/cache/download/" + file)
			if err != nil {
				t.Logf("sizes of modules are not compared: %v", err)
				return nil
			}
			sum += float64(info.Size()) / 1e6
		}
		return []float64{sum}
	}
}

func goVersion(t *testing.T) []float64 {
	text, err := os.ReadFile("../go.mod")
	m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatalf("go.mod has no version: %v", err)
	}
	v, _ := strconv.ParseFloat(string(m[1]), 64)
	return []float64{v}
}

// section is the text of the README between two headings of the second level.
func section(t *testing.T, name string) string {
	page, err := os.ReadFile("../README.md")
	_, text, found := strings.Cut(string(page), "\n## "+name+"\n")
	if err != nil || !found {
		t.Fatalf("README.md has no %s (%v)", name, err)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// commands counts those that train before the user's own module.
func commands(t *testing.T) []float64 {
	before, _, _ := strings.Cut(section(t, "Three commands"), "Then your own module.")
	return []float64{float64(strings.Count(before, "\n    hogwild train "))}
}

// changedLines counts the loop's lines that call hogwild.
func changedLines(t *testing.T) []float64 {
	return []float64{float64(len(regexp.MustCompile(`(?m)^    .*\bjob(?:\.\w+\(| = ).*$`).FindAllString(
		section(t, "Three commands"), -1)))}
}

func promises(t *testing.T) []float64 {
	return []float64{float64(strings.Count(section(t, "Six promises"), "\n| ") - 1)}
}

// liblinear is in how many rows of the table of docs/results/solvers.md, which has no results file, one of its solvers
// is ahead of hogwild's two workers.
func liblinear(t *testing.T) []float64 {
	page, err := os.ReadFile("../docs/results/solvers.md")
	if err != nil {
		t.Fatal(err)
	}
	ahead, rows := 0.0, 0.0
	row := regexp.MustCompile(`(?m)^\| \w+ \| [\w-]+ \| 1e-\d \|(.*)$`)
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		cells := strings.Split(r[1], "|") // hogwild with two workers, one; liblinear's dual solver, Newton's method
		ours, err := strconv.ParseFloat(strings.TrimSpace(cells[0]), 64)
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if slices.ContainsFunc(cells[2:4], func(cell string) bool {
			x, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			return err == nil && x < ours
		}) {
			ahead++
		}
	}
	return []float64{ahead, rows}
}
