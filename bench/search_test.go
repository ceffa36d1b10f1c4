package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// A trainer that is played: its loss on validation rows is 1 at the rate --best and one more for each factor of two
// that the rate is away from it; on training rows the best rate is twice that, on test rows 16 times. It diverges above
// the rate --bound. Each run leaves a line in the file "starts" in the folder of the experiment.
const player = `
lr=0.1 best=0.1 bound=1e30
for a in "$@"; do case $a in
--lr=*) lr=${a#*=} ;;
--best=*) best=${a#*=} ;;
--bound=*) bound=${a#*=} ;;
--run=*) run=${a#*=} ;;
--seed=*) seed=${a#*=} ;;
--validation=0.1) held=1 ;;
--refuses=true) refuses=1 ;;
--fails=true) fails=1 ;;
--waits=true) waits=1 ;;
esac; done
folder=${run%/*/*}
echo "${run##*/} $*" >> "$folder/starts"
if [ "$held$refuses" = 11 ]; then echo 'hogwild: validation has no effect with model cut' >&2; exit 2; fi
if [ "$fails" ]; then exit 4; fi
mkdir -p "$run"
if [ "$waits" ]; then trap 'exit 130' INT; while [ ! -e "$folder/go" ]; do sleep 0.02; done; fi
awk -v lr="$lr" -v best="$best" -v bound="$bound" -v seed="$seed" -v run="$run" -v held="$held" '
function away(x) { x = log(lr / x) / log(2); return 1 + (x < 0 ? -x : x) + seed / 1e6 }
BEGIN {
	printf "mode: async\nworkers: 2\nlr: %s\nrun: %s\n", lr, run > run "/config.yaml"
	if (lr > bound) {
		print "hogwild: training diverged" > "/dev/stderr"
		exit 3
	}
	scores = held ? sprintf("\"test_loss\": null, \"validation_loss\": %.6f", away(best)) : sprintf("\"test_loss\": %.6f", away(16 * best))
	printf "{\"kind\": \"epoch\", \"epoch\": 1, \"seconds\": 2, \"train_loss\": %.6f, %s}\n", away(2 * best), scores > run "/metrics.jsonl"
	printf "{\"mode\": \"async\", \"workers\": 2, \"seconds\": 4, \"examples_per_second\": 1, \"test_loss\": %.6f, \"lr_used\": %s}\n", away(16 * best), lr > run "/result.json"
}'
`

// contest is a plan of a group with a case for each list of settings, at the rate 0.1 unless they say another, and a
// runner for it.
func contest(t *testing.T, cases ...string) (*Runner, Plan) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "player.sh")
	if err := os.WriteFile(script, []byte(player), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Plan{Kind: "bench", Name: "played", Seeds: []uint64{1, 2, 3}, Command: "hogwild bench", Search: 2}
	for i, text := range cases {
		c := Case{Name: string(rune('a' + i))}
		for _, s := range strings.Fields("lr=0.1 " + text) {
			flag, value, _ := strings.Cut(s, "=")
			c.Settings = Override(c.Settings, []Setting{{flag, value}})
		}
		c.Settings = slices.DeleteFunc(c.Settings, func(s Setting) bool { return s.Value == "" })
		p.Cases = append(p.Cases, c)
	}
	return &Runner{Folder: t.TempDir(), Program: []string{"/bin/sh", script}}, p
}

var searched = regexp.MustCompile(`^([a-z])\.(?:lr=|auto)`)

// runs carries out a plan and counts the runs that were started of each case: of its search and of the comparison.
func runs(t *testing.T, r *Runner, p Plan) (e *Experiment, search, main map[string]int, lines []string) {
	t.Helper()
	e, err := r.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.Folder, "starts")
	text := readFile(path)
	_ = os.Remove(path)
	search, main = map[string]int{}, map[string]int{}
	for line := range strings.Lines(text) {
		lines = append(lines, line)
		if m := searched.FindStringSubmatch(line); m != nil {
			search[m[1]]++
		} else {
			main[line[:1]]++
		}
	}
	return e, search, main, lines
}

// rates returns the rates that cases were trained at.
func rates(e *Experiment) (all []float64) {
	for _, c := range e.Cases {
		all = append(all, LRUsed.Of(&c)[0])
	}
	return all
}

// TestSearch: each case finds the rate that is best on validation rows, and no other has a say; all try the same ones
// with the same seeds, and none stays at an edge.
func TestSearch(t *testing.T) {
	r, p := contest(t, "best=0.1", "best=0.2 lr-cap=auto", "best=0.8 nodes=2", "best=0.05 nodes=2 "+averageLR+"=scaled")
	e, search, main, lines := runs(t, r, p)
	if diff := cmp.Diff([]float64{0.1, 0.2, 0.8, 0.05}, rates(e)); diff != "" {
		t.Errorf("rates:\n%s", diff)
	}
	want := map[string]int{}
	for i, c := range e.Cases {
		s := c.Search
		want[c.Name] = 7 * 2 // 0.025 to 1.6, by two seeds
		if !slices.Equal(s.Rates, []float64{0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6}) ||
			!slices.Equal(s.Seeds, []uint64{1001, 1002}) || s.AtEdge || s.Set != "validation" {
			t.Errorf("case %s: %+v", c.Name, s)
		}
		for j, lr := range s.Rates {
			away := 1 + math.Abs(math.Log2(lr/rates(e)[i]))
			if got := s.Losses[j]; math.Abs(float64(got[0])-away-0.001001) > 1e-5 ||
				math.Abs(s.Mean(j)-away-0.0010015) > 1e-5 {
				t.Errorf("case %s at %v: %v, want %v and the seed", c.Name, lr, got, away)
			}
		}
	}
	if diff := cmp.Diff(want, search); diff != "" {
		t.Errorf("runs of the search:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 3, "b": 3, "c": 3, "d": 3}, main); diff != "" {
		t.Errorf("runs of the comparison:\n%s", diff)
	}
	for _, line := range lines { // what a case says itself stands
		for has, cases := range map[string]string{"--lr-cap=off": "acd", "--lr-cap=auto": "b",
			"--" + averageLR + "=same": "c", "--" + averageLR + "=scaled": "d"} {
			if strings.Contains(line, has) != strings.Contains(cases, line[:1]) {
				t.Errorf("%s, want %s for %s only", line, has, cases)
			}
		}
		if held := searched.MatchString(line); strings.Contains(line, "--validation=0.1") != held ||
			strings.Contains(line, "--validation=none") == held {
			t.Errorf("rows held out: %s", line)
		}
	}
	if back, err := ReadExperiment(r.Folder); err != nil || asText(t, back) != asText(t, e) {
		t.Errorf("results.json holds something else (%v)", err)
	}
	if got := fmt.Sprint(e.flags()); got != "[lr best lr-cap nodes "+averageLR+"]" ||
		e.record(&e.Cases[2], []string{"lr"})[2] != "0.8" {
		t.Errorf("columns %s; lr of c: %v", got, e.record(&e.Cases[2], []string{"lr"}))
	}
}

// TestSearchSeeds: five, two if it is to be quick, one where each case is run once.
func TestSearchSeeds(t *testing.T) {
	for _, c := range []struct {
		repeats, want int
		quick         bool
	}{{5, 5, false}, {2, 5, false}, {10, 5, false}, {3, 2, true}, {1, 1, false}, {1, 1, true}} {
		p := &Plan{Seeds: FirstSeeds(c.repeats)}
		p.SetSearch(c.quick, false)
		if got := p.searchSeeds(p.Search); len(got) != c.want || got[0] != 1001 {
			t.Errorf("%d repeats, quick %v: %v, want %d seeds from 1001", c.repeats, c.quick, got, c.want)
		}
	}
}

// TestSearchGoesOn: a repeated command runs what is missing, of the search too, and finds the same.
func TestSearchGoesOn(t *testing.T) {
	r, p := contest(t, "best=0.1", "best=0.2 waits=true")
	if done, total, all := r.Searched(p); done != 0 || total != 12 || all {
		t.Errorf("before: %d of %d, all %v", done, total, all)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for !strings.Contains(readFile(filepath.Join(r.Folder, "starts")), "b.lr") {
			time.Sleep(5 * time.Millisecond)
		}
		cancel(config.ErrTerminated)
	}()
	if e, err := r.Run(ctx, p); e != nil || err == nil ||
		!strings.Contains(err.Error(), "of this step of the search for learning rates, kept in "+r.Folder+
			"; run `hogwild bench` to continue") {
		t.Fatalf("%v, %v", e, err)
	}
	done, _, _ := r.Searched(p)
	_ = os.Remove(filepath.Join(r.Folder, "starts"))
	if err := os.WriteFile(filepath.Join(r.Folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, search, _, _ := runs(t, r, p)
	if now, total, all := r.Searched(p); search["a"]+search["b"]+done != 16 || now != 16 || total != 16 || !all {
		t.Errorf("%v runs were started after %d; now %d of %d, all %v", search, done, now, total, all)
	}
	if again, search, main, _ := runs(t, r, p); len(search)+len(main) > 0 || asText(t, again) != asText(t, e) {
		t.Errorf("again: %v and %v were started", search, main)
	}
	for _, name := range []string{"runs/a.2", "search/b.lr=0.4.1002"} {
		if err := os.Remove(filepath.Join(r.Folder, name, trialFile)); err != nil {
			t.Fatal(err)
		}
	}
	if again, search, main, _ := runs(t, r, p); search["b"] != 1 || len(search) != 1 || main["a"] != 1 ||
		len(main) != 1 || asText(t, timeless(again).Cases) != asText(t, timeless(e).Cases) {
		t.Errorf("with two missing: %v and %v were started", search, main)
	}
	r.Fresh = true
	if _, search, main, _ := runs(t, r, p); search["a"] != 8 || main["a"] != 3 {
		t.Errorf("fresh: %v and %v were started", search, main)
	}
}

// TestSearchEnds: it goes so far and no further, down where all diverges, and runs that fail for other reasons do not
// make it go on.
func TestSearchEnds(t *testing.T) {
	for _, c := range []struct {
		cases   []string
		rates   []float64
		tried   int
		edge    bool
		why     string
		failing int
	}{
		{[]string{"best=1e9", "best=0.1"}, []float64{12.8, 0.1}, 9, true,
			"a: the best learning rate is the lowest or highest", 0},
		{[]string{"best=0.1 bound=0.03", "best=0.1"}, []float64{0.025, 0.1}, 5, false, "", 0},
		{[]string{"best=0.1 bound=1e-9", "best=0.1"}, []float64{0.1 / 128, 0.1}, 9, true,
			"a: the best learning rate", 6},
		{[]string{"best=0.1", "fails=true"}, []float64{0.1, math.NaN()}, 3, false, "b: 3 of 3 runs failed", 6},
	} {
		r, p := contest(t, c.cases...)
		p.Search = 1
		e, search, _, _ := runs(t, r, p)
		notes := strings.Join(e.Fairness(), "\n")
		for i, want := range c.rates {
			if got := e.Cases[i].Chosen; human.Finite(want) && !slices.Contains(got, Setting{"lr", plainNumber(want)}) {
				t.Errorf("%v: case %d has %v, want %v", c.cases, i, got, want)
			}
		}
		if search["a"] != c.tried || search["b"] != c.tried || !strings.Contains(notes, c.why) ||
			strings.Contains(notes, "lowest or highest") != c.edge {
			t.Errorf("%v: %v tried, want %d each; notes: %s", c.cases, search, c.tried, notes)
		}
	}
}

// TestSearchWithoutHeldOutRows goes by the training loss, whose best rate is another one, and says so.
func TestSearchWithoutHeldOutRows(t *testing.T) {
	r, p := contest(t, "best=0.1 refuses=true", "best=0.2 refuses=true")
	e, search, _, _ := runs(t, r, p)
	if diff := cmp.Diff([]float64{0.2, 0.4}, rates(e)); diff != "" || e.Cases[0].Search.Set != "training" ||
		!strings.Contains(strings.Join(e.Fairness(), ""), "chosen by the training loss") {
		t.Errorf("%+v, %q\n%s", e.Cases[0].Search, e.Fairness(), diff)
	}
	if done, total, all := r.Searched(p); done != 2*2*5 || done != total || !all {
		t.Errorf("%d of %d, all %v; %v", done, total, all, search)
	}
	if _, search, main, _ := runs(t, r, p); search["a"]+search["b"] > 1 || len(main) > 0 { // one is refused again
		t.Errorf("again: %v and %v were started", search, main)
	}
}

// TestSearchFromAutomaticRate: the first case tells it, in a run of one epoch.
func TestSearchFromAutomaticRate(t *testing.T) {
	r, p := contest(t, "lr= best=0.2", "lr= best=0.1")
	if done, total, all := r.Searched(p); done != 0 || total != 1+12 || all {
		t.Errorf("before: %d of %d, all %v", done, total, all)
	}
	e, search, _, lines := runs(t, r, p)
	if diff := cmp.Diff([]float64{0.2, 0.1}, rates(e)); diff != "" || search["a"] != 1+8 || search["b"] != 8 ||
		!strings.Contains(lines[0], "--epochs=1 ") || strings.Contains(lines[0], "--lr=") {
		t.Errorf("%v, first %s\n%s", search, lines[0], diff)
	}
}

// TestNoSearch: with one rate for all, with rates that are compared, and where a loss does not tell.
func TestNoSearch(t *testing.T) {
	for _, c := range []struct {
		name  string
		same  bool
		cases []string
		rates []float64
		note  string
	}{
		{"one rate", true, []string{"best=0.1", "best=0.4"}, []float64{0.1, 0.1}, ""},
		{"compared rates", false, []string{"best=0.1", "best=0.1 lr=0.3"}, []float64{0.1, 0.3}, ""},
		{"compared rates, one rate", true, []string{"best=0.1", "best=0.1 lr=0.3"}, []float64{0.1, 0.3}, ""},
		{"a case alone", false, []string{"best=0.4"}, []float64{0.1}, ""},
		{"programs", false, []string{"program=x", "program=y best=1"}, []float64{0.1, 0.1},
			"one learning rate for all cases: a program takes its own steps"},
		{"delays", false, []string{"gradient-delay=1us", "gradient-delay=1us best=1"}, []float64{0.1, 0.1},
			"one learning rate for all cases: with gradient-delay speeds are compared"},
	} {
		r, p := contest(t, c.cases...)
		p.SameLR = c.same
		e, search, _, lines := runs(t, r, p)
		if diff := cmp.Diff(c.rates, rates(e)); diff != "" || len(search) > 0 || strings.Join(e.Notes, "") != c.note {
			t.Errorf("%s: %v, notes %q\n%s", c.name, search, e.Notes, diff)
		}
		kept := strings.Count(strings.Join(lines, ""), "--lr-cap=off")
		if (c.name == "one rate") != (kept == len(lines)) || kept > 0 && c.name != "one rate" {
			t.Errorf("%s: the rate is kept in %d of %d runs", c.name, kept, len(lines))
		}
		if said := summary(t, e); strings.Contains(said, "ONE LEARNING RATE") != c.same {
			t.Errorf("%s: %s", c.name, said)
		}
	}
}
