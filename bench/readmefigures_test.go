package bench

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

// What the figures of the README are computed from: see readme_test.go.

func load(t *testing.T, name string, to any) {
	t.Helper()
	text, err := os.ReadFile("results/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// side is the runs of one side of a case of bench/rivals/compare.py.
type side []struct {
	Rate, RMSE float64
	To, Losses []float64
}

// againstRivals is the file of the README's comparison with rivals.
const againstRivals = "xeon-2core-rivals"

type rivals struct {
	Commit  string
	Machine struct {
		CPU   string
		Cores float64
	}
	Cases []struct {
		Case    string
		Like    map[string]string
		Figures map[string]side
	}
}

// of returns the runs of sides of a case, equally many.
func (r *rivals) of(t *testing.T, name string, names ...string) (sides []side) {
	t.Helper()
	for _, c := range r.Cases {
		if c.Case == name {
			for _, side := range names {
				if n := len(c.Figures[side]); n == 0 || n != len(c.Figures[names[0]]) {
					t.Fatalf("%s has %d runs of %s", name, n, side)
				}
				sides = append(sides, c.Figures[side])
			}
			return sides
		}
	}
	t.Fatalf("no case %s", name)
	return nil
}

// spreadOf is the median, the smallest and the largest.
func spreadOf(list []float64) []float64 {
	s := stats.Sample{Xs: slices.Sorted(slices.Values(list)), Sorted: true}
	low, high := s.Bounds()
	return []float64{s.Quantile(0.5), low, high}
}

// faster is how many times faster one side is than another, round by round.
func faster(file, name, ours, theirs string) func(t *testing.T) []float64 {
	return func(t *testing.T) (all []float64) {
		var r rivals
		load(t, file, &r)
		sides := r.of(t, name, ours, theirs)
		for i := range sides[0] {
			all = append(all, sides[0][i].Rate/sides[1][i].Rate)
		}
		return spreadOf(all)
	}
}

// ends are the final losses.
func (s side) ends() (all []float64) {
	for _, r := range s {
		all = append(all, r.Losses[len(r.Losses)-1])
	}
	return all
}

// arrives is when each run was at the first pass whose mean loss is at most the goal's mean final one; at its end where
// only the interval of the difference says that they are equal; infinite: not at all.
func (s side) arrives(goal side) (all []float64) {
	want := stats.Mean(goal.ends())
	at := -1
	for k := 0; k < len(s[0].Losses) && at < 0; k++ {
		var sum, n float64
		for _, r := range s {
			if r.Losses[k] > 0 { // 0: not known
				sum, n = sum+r.Losses[k], n+1
			}
		}
		if n > 0 && sum/n <= want {
			at = k
		}
	}
	a, b := s.ends(), goal.ends()
	u, v := stats.Variance(a)/float64(len(a)), stats.Variance(b)/float64(len(b))
	half := 0.002 * want
	if u+v > 0 {
		freedom := (u + v) * (u + v) / (u*u/float64(len(a)-1) + v*v/float64(len(b)-1))
		half = max(half, stats.InvCDF(stats.TDist{V: freedom})(0.975)*math.Sqrt(u+v))
	}
	if at < 0 && math.Abs(stats.Mean(a)-want) <= half {
		at = len(s[0].To) - 1
	}
	for _, r := range s {
		if all = append(all, math.Inf(1)); at >= 0 {
			all[len(all)-1] = r.To[at]
		}
	}
	return all
}

// race returns the times of hogwild's side and of a rival to the mean test loss at which the rival's best setting ends.
// Each has its best setting or the one for the other, whichever is sooner.
func (r *rivals) race(t *testing.T, name, ours, theirs string) (mine, own []float64) {
	sides := r.of(t, name, ours, theirs)
	mine, own = sides[0].arrives(sides[1]), sides[1].arrives(sides[1])
	for _, c := range r.Cases {
		if c.Case != name {
			continue
		}
		for key, times := range map[string]*[]float64{
			ours + " for " + cmp.Or(c.Like[theirs], theirs): &mine, theirs + " for " + ours: &own,
		} {
			if s := c.Figures[key]; len(s) > 0 {
				if other := s.arrives(sides[1]); spreadOf(other)[0] < spreadOf(*times)[0] {
					*times = other
				}
			}
		}
	}
	return mine, own
}

// sooner is how many times sooner a side is at the loss at which a rival ends. It gets there.
func sooner(file, name, ours, theirs string) func(t *testing.T) []float64 {
	return func(t *testing.T) (all []float64) {
		var r rivals
		load(t, file, &r)
		mine, own := r.race(t, name, ours, theirs)
		for i := range mine {
			all = append(all, own[i]/mine[i])
			if math.IsInf(mine[i], 1) {
				t.Errorf("%s: %s does not get to the loss of %s, and the README does not say so", name, ours, theirs)
			}
		}
		return spreadOf(all)
	}
}

// atOwn is how many times sooner a side of the README's comparison is than a rival, at the loss at which its own best
// setting ends.
func atOwn(name, ours, theirs string) func(t *testing.T) []float64 {
	return func(t *testing.T) (all []float64) {
		var r rivals
		load(t, againstRivals, &r)
		rival, own := r.race(t, name, theirs, ours)
		for i := range own {
			all = append(all, rival[i]/own[i])
		}
		return spreadOf(all)
	}
}

// endsAbove is by how many percent a side ends above a rival that it does not get to.
func endsAbove(name, ours, theirs string) func(t *testing.T) []float64 {
	return func(t *testing.T) []float64 {
		var r rivals
		load(t, againstRivals, &r)
		sides := r.of(t, name, ours, theirs)
		if mine, _ := r.race(t, name, ours, theirs); !math.IsInf(mine[0], 1) {
			t.Errorf("%s: %s gets to the loss of %s, and the README does not say so", name, ours, theirs)
		}
		return []float64{100 * (stats.Mean(sides[0].ends())/stats.Mean(sides[1].ends()) - 1)}
	}
}

// both are the figures of two claims.
func both(a, b func(t *testing.T) []float64) func(t *testing.T) []float64 {
	return func(t *testing.T) []float64 { return append(a(t), b(t)...) }
}

// rivalsMachine is its number of cores, if the README names it and the commit.
func rivalsMachine(t *testing.T) []float64 {
	var r rivals
	load(t, againstRivals, &r)
	page, err := os.ReadFile("../README.md")
	if err != nil || !strings.Contains(string(page), "at commit "+r.Commit+":") ||
		r.Machine.CPU != "Intel(R) Xeon(R) Processor" {
		t.Errorf("the README has another commit or processor than %s, %s (%v)", r.Commit, r.Machine.CPU, err)
	}
	return []float64{r.Machine.Cores}
}

// libmf is the ratio of speeds with AVX2, and the RMSE of both sides, the same in both files to four digits.
func libmf(t *testing.T) []float64 {
	all := faster("xeon-2core-avx2", "factor", "hogwild", "LIBMF")(t)
	for i, name := range []string{"hogwild", "LIBMF"} {
		for _, file := range []string{"xeon-2core-avx2", "zen5-2core-e22a29d"} {
			var r rivals
			load(t, file, &r)
			sides := r.of(t, "factor", name)
			for _, run := range sides[0] {
				if len(all) == 3+i {
					all = append(all, run.RMSE)
				} else if math.Abs(run.RMSE-all[3+i]) > 5e-5 {
					t.Errorf("%s: %s has an RMSE of %v and of %v", file, name, run.RMSE, all[3+i])
				}
			}
		}
	}
	return all
}

// gensimRates are the words/s of hogwild's two workers, and of gensim's two threads in the ways that it reads.
func gensimRates(t *testing.T, file string) (ours []float64, gensim map[string][]float64) {
	var r struct {
		Speed map[string]struct {
			Words []float64 `json:"words_per_second"`
		}
	}
	load(t, file, &r)
	gensim = map[string][]float64{}
	for _, way := range []string{"LineSentence", "list", "corpus_file"} {
		gensim[way] = r.Speed["gensim, "+way+", 2"].Words
	}
	return r.Speed["hogwild, 2"].Words, gensim
}

// gensimSkipGram compares with gensim in its fastest way of each round.
func gensimSkipGram(t *testing.T) (all []float64) {
	ours, gensim := gensimRates(t, "xeon-2core-words")
	for i := range ours {
		all = append(all, ours[i]/max(gensim["LineSentence"][i], gensim["list"][i], gensim["corpus_file"][i]))
	}
	return append(spreadOf(all), 2)
}

func gensimSpeed(t *testing.T) []float64 {
	ours, gensim := gensimRates(t, "zen3-2core-threads")
	list := spreadOf(gensim["list"])[0]
	if list < spreadOf(gensim["LineSentence"])[0] || list < spreadOf(gensim["corpus_file"])[0] {
		t.Error("gensim is faster in another way than from memory")
	}
	return []float64{spreadOf(ours)[0] / list}
}

func gensimScores(t *testing.T) (all []float64) {
	var r struct {
		Quality map[string]struct{ Runs []struct{ Wordsim float64 } }
	}
	load(t, "zen5-2core-words", &r)
	for _, name := range []string{"hogwild, 2 workers", "gensim, 2 workers"} {
		var scores []float64
		for _, run := range r.Quality[name].Runs {
			scores = append(scores, run.Wordsim)
		}
		all = append(all, spreadOf(scores)[0])
	}
	return all
}

// rules is how many the experiment of the papers compares at each spread of speeds.
func rules(t *testing.T) []float64 {
	return []float64{float64(len(Clocked(result(t, "zen5-2core-asgd.json"))[0].Cases))}
}

func statements(t *testing.T) []float64 {
	n := map[Agreement]float64{}
	list := result(t, "zen5-2core-asgd.json").Findings()
	for _, f := range list {
		n[f.Verdict]++
	}
	return []float64{float64(len(list)), n[Agrees], n[Differs], n[Undecided]}
}

// clockSync is the median of the times to the loss of plain SGD over synchronous SGD's, by seed.
func clockSync(t *testing.T) []float64 {
	for _, r := range Clocked(result(t, "zen5-2core-asgd.json")) {
		if r.Group == "exp" {
			var all []float64
			late, early := r.Times(r.Of("minibatch")), r.Times(r.Of(plain))
			for i := range late {
				all = append(all, float64(early[i])/float64(late[i])) // NaN, which is no figure, if one has missed it
			}
			return spreadOf(all)
		}
	}
	return nil
}

// asyncSync compares the test losses of two workers in the file that docs/results/experiments.md names, and their
// times to the loss that the README has, seed by seed: the geometric means of the ratios and their 95% intervals.
func asyncSync(t *testing.T) []float64 {
	page, err := os.ReadFile("../docs/results/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Async against sync by workers\n")
	link := regexp.MustCompile(`bench/results/([^)]+)\.json\)`).FindStringSubmatch(section)
	if link == nil {
		t.Fatal("docs/results/experiments.md names no results file")
	}
	var r struct {
		Cases []struct {
			Mode     string
			Workers  int
			TestLoss []*float64 `json:"test_loss"`
			Further  []struct {
				Target  float64    `json:"target_loss"`
				Seconds []*float64 `json:"seconds_to_target"`
			} `json:"further_targets"`
		}
	}
	load(t, link[1], &r)
	losses, times := map[string][]*float64{}, map[string][]*float64{}
	target := math.NaN()
	readme, _ := os.ReadFile("../README.md")
	for _, c := range r.Cases {
		for _, to := range c.Further {
			loss := strconv.FormatFloat(to.Target, 'f', 4, 64)
			if c.Workers == 2 && strings.Contains(string(readme), "as long to one of "+loss) {
				losses[c.Mode], times[c.Mode], target = c.TestLoss, to.Seconds, to.Target
			}
		}
	}
	ratio := func(of map[string][]*float64) []float64 {
		var logs []float64
		for i, s := range of["sync"] {
			if a := of["async"]; i >= len(a) || s == nil || a[i] == nil {
				t.Fatalf("%s: not all runs are at the loss of the README, which the README has to say", link[1])
			}
			logs = append(logs, math.Log(*s / *of["async"][i]))
		}
		if len(logs) < 5 {
			t.Fatalf("%s: %d rounds to a test loss that the README has", link[1], len(logs))
		}
		s := stats.Sample{Xs: logs}
		half := stats.InvCDF(stats.TDist{V: float64(len(logs) - 1)})(0.975) * s.StdDev() / math.Sqrt(float64(len(logs)))
		if math.Abs(s.Mean()) > half {
			t.Errorf("%s: a difference is shown: %.3f ± %.3f of the logarithm", link[1], s.Mean(), half)
		}
		return []float64{math.Exp(s.Mean()), math.Exp(s.Mean() - half), math.Exp(s.Mean() + half)}
	}
	return slices.Concat([]float64{2}, ratio(losses), ratio(times), []float64{target})
}

// speedrunTimes is the accuracy and the median time of two workers for both goals, their cores and seeds. A goal that
// not all reach by the mean, or by the seeds, would not be called reached.
func speedrunTimes(t *testing.T) (all []float64) {
	e := result(t, "zen3-2core-speedrun.json")
	for _, goal := range []string{"98", "99"} {
		for _, c := range e.of(goal) {
			if c.Workers == 2 {
				percent, _ := strconv.ParseFloat(goal, 64)
				if low := slices.Min(TestAccuracy.Of(c)); 100*low < percent {
					t.Errorf("a seed of %s ended at %v", c.Name, low)
				}
				all = append(all, percent, Summarize(Seconds.Of(c)).Median)
			}
		}
	}
	return append(all, float64(e.Machine.Cores), float64(len(e.Seeds)))
}
