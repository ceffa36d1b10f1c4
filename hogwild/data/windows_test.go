package data

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/text"
	"hogwild/internal/check"
)

// corpusSet returns the set of a text.
func corpusSet(t testing.TB, all string, o text.Options) *Set {
	path := corpusFile(t, "a.txt", all)
	s, err := LoadSets(Options{Path: path, Test: path, Unjudged: true, Task: text.Words, Text: &o, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.Train
}

// chiSquare fails unless counts could be draws from shares: the statistic has its degrees of freedom as its mean, and
// twice that as its variance.
func chiSquare(t *testing.T, what string, got []int, shares []float64) {
	t.Helper()
	total, sum, x, df := 0, 0.0, 0.0, float64(len(got)-1)
	for i, n := range got {
		total += n
		sum += shares[i]
	}
	for i, n := range got {
		want := shares[i] / sum * float64(total)
		x += (float64(n) - want) * (float64(n) - want) / want
	}
	if math.Abs(x-df) > 5*math.Sqrt(2*df) {
		t.Errorf("%s: chi-square %.1f of %g degrees of freedom", what, x, df)
	}
}

func TestNegativesByCount(t *testing.T) {
	all := zipfText(4000, 300, 5)
	for _, o := range []text.Options{{MinCount: 3, Window: 3, Negatives: 5, NoiseExponent: .75},
		{MinCount: 1, Window: 5, Negatives: 20, NoiseExponent: .5, OneGroup: true},
		{MinCount: 1, Window: 2, Negatives: 3, NoiseExponent: -.5, Sample: 1e-2}} {
		s := corpusSet(t, all, o)
		w, got, shares := NewWindows(s), make([]int, s.Features), make([]float64, s.Features)
		for j, n := range s.Vocabulary().Counts {
			shares[j] = math.Pow(float64(n), o.NoiseExponent)
		}
		for i := range s.Rows {
			x := w.At(int32(i), 3)
			word, groups := s.Idx[i]&^SentenceStart, len(x.Inputs)
			if o.OneGroup {
				groups = min(groups, 1)
			}
			if len(x.Targets) != groups*(1+o.Negatives) {
				t.Fatalf("%d targets of %d inputs", len(x.Targets), len(x.Inputs))
			}
			for k, id := range x.Targets {
				switch first := k%(1+o.Negatives) == 0; {
				case first && id != word, !first && id == word:
					t.Fatalf("target %d of the word %d is %d", k, word, id)
				case first:
				case id == NoTarget:
					got[word]++
				default:
					got[id]++
				}
			}
		}
		chiSquare(t, fmt.Sprintf("negatives, %+v", o), got, shares)
	}
}

func TestKeepShares(t *testing.T) {
	o := text.Options{MinCount: 1, Window: 5, Negatives: 1, Sample: 1e-3, NoiseExponent: .75}
	s := corpusSet(t, strings.ReplaceAll(zipfText(3000, 200, 6), "\n", " "), o)
	w, kept := NewWindows(s), make([]int, s.Features)
	const epochs = 30
	for i := range s.Rows {
		for e := range epochs {
			if len(w.At(int32(i), e).Targets) > 0 {
				kept[s.Idx[i]&^SentenceStart]++
			}
		}
	}
	total := 0.0
	for _, n := range s.Vocabulary().Counts {
		total += float64(n)
	}
	for j, n := range s.Vocabulary().Counts {
		f, draws := float64(n)/total, float64(n*epochs)
		p := min(1, (math.Sqrt(f/o.Sample)+1)*o.Sample/f) // word2vec.c: (sqrt(cn/(t T)) + 1) t T/cn
		if off := math.Abs(float64(kept[j]) - p*draws); off > 5*math.Sqrt(draws*p*(1-p)+1) {
			t.Errorf("word %d of the share %.4f: kept %d of %g, want %g", j, f, kept[j], draws, p*draws)
		}
	}
}

// A window has as many kept words to both sides as a number that is drawn from 1 to the largest, in the order of the
// text, and none of another sentence.
func TestWindowsAreDefined(t *testing.T) {
	all := &strings.Builder{}
	for i := range 4000 {
		for j := range i % 30 {
			fmt.Fprintf(all, "w%d ", (i*i+j*j*j)%50)
		}
		fmt.Fprintf(all, "s%d \n", i)
	}
	for _, sample := range []float64{0, 1e-2} {
		o := text.Options{MinCount: 1, Window: 5, Negatives: 2, Sample: sample, NoiseExponent: .75}
		s := corpusSet(t, all.String(), o)
		w, reached := NewWindows(s), make([]int, o.Window)
		kept := make([]bool, s.Rows)
		for i := range kept { // in windows of others, as words that are alone have none
			kept[i] = uint32(draw(w.key(2), i)>>32) <= w.keep[s.Idx[i]&^SentenceStart]
		}
		for i := range s.Rows {
			x := w.At(int32(i), 2)
			if !kept[i] {
				if len(x.Inputs)+len(x.Targets) > 0 {
					t.Fatalf("word %d was left out and has the window %v", i, x)
				}
				continue
			}
			var before, after []uint32
			for j := i; j > 0 && s.Idx[j]&SentenceStart == 0; j-- {
				if kept[j-1] {
					before = append([]uint32{s.Idx[j-1] &^ SentenceStart}, before...)
				}
			}
			for j := i + 1; j < s.Rows && s.Idx[j]&SentenceStart == 0; j++ {
				if kept[j] {
					after = append(after, s.Idx[j])
				}
			}
			var fits []int
			for r := 1; r <= o.Window; r++ {
				want := slices.Concat(before[max(0, len(before)-r):], after[:min(r, len(after))])
				if slices.Equal(x.Inputs, want) {
					fits = append(fits, r)
				}
			}
			if fits == nil {
				t.Fatalf("word %d has %v of %v and %v around it", i, x.Inputs, before, after)
			}
			if len(fits) == 1 && (len(before) >= o.Window || len(after) >= o.Window) {
				reached[fits[0]-1]++
			}
		}
		chiSquare(t, "reach", reached, []float64{1, 1, 1, 1, 1})
	}
}

// Any process, at any time, draws the same: as those that ran when this was written.
func TestWindowsStay(t *testing.T) {
	s := corpusSet(t, zipfText(100, 50, 9), *words(1))
	hash := func(epoch int, seed uint64) uint64 {
		h := fnv.New64a()
		SetWindows(s, s.Text, seed)
		for i := s.Rows - 1; i >= 0; i-- { // in any order
			fmt.Fprint(h, NewWindows(s).At(int32(i), epoch))
		}
		return h.Sum64()
	}
	want := hash(0, 1)
	for _, other := range []uint64{hash(1, 1), hash(0, 2), hash(Evaluation, 1)} {
		if other == want {
			t.Error("another epoch or seed has the same windows")
		}
	}
	mapped, err := Map(reopen(t, s.File()))
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	a, b := NewWindows(s), NewWindows(mapped)
	s.Seed = mapped.Seed
	for i := range s.Rows {
		if x, y := a.At(int32(i), 7), b.At(int32(i), 7); fmt.Sprint(x) != fmt.Sprint(y) {
			t.Fatalf("word %d has %v, as it is mapped %v", i, x, y)
		}
	}
	if got := fmt.Sprintf("%x", want); got != "6ba3b468ee5a93f9" {
		t.Errorf("the windows are %s", got)
	}
}

// TestWindowsAreGensims: gensim finds the same words and counts in a text, keeps each as often, and has as many words
// and pairs of words in a pass.
func TestWindowsAreGensims(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/windows.py")
	if err != nil {
		t.Fatal(err)
	}
	all := zipfText(3000, 400, 7)
	const passes = 20
	o := text.Options{Kind: text.Words, MinCount: 5, Window: 5, Negatives: 1, Sample: 1e-3, NoiseExponent: .75}
	s := corpusSet(t, all, o)
	var theirs struct {
		Words               []string
		Counts              []int64
		Keep                []float64
		Kept, Pairs, Spread float64
	}
	out := check.Python(t, "gensim", string(script), corpusFile(t, "b.txt", all), "5", "1e-3", "5", "20")
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v, w := s.Vocabulary(), NewWindows(s)
	if len(v.Words) != len(theirs.Words) || len(v.Words) < 100 {
		t.Fatalf("%d words, gensim has %d", len(v.Words), len(theirs.Words))
	}
	var variance float64
	for j, word := range theirs.Words { // gensim sorts words of one count in no order that it promises
		id, ok := v.ID(word)
		if !ok || v.Counts[id] != theirs.Counts[j] {
			t.Fatalf("%q: known %v, gensim counts %d", word, ok, theirs.Counts[j])
		}
		p := float64(w.keep[id]) / math.MaxUint32
		if math.Abs(p-theirs.Keep[j]) > 1e-5 {
			t.Errorf("%q is kept with the probability %.6f, by gensim with %.6f", word, p, theirs.Keep[j])
		}
		variance += float64(v.Counts[id]) * p * (1 - p)
	}
	var kept, pairs float64
	for e := range passes {
		key := w.key(e)
		for i := range s.Rows {
			if uint32(draw(key, i)>>32) <= w.keep[s.Idx[i]&^SentenceStart] {
				kept++
			}
			pairs += float64(len(w.At(int32(i), e).Inputs))
		}
	}
	kept, pairs = kept/passes, pairs/passes
	// Both sides are means over the passes.
	if off := math.Abs(kept - theirs.Kept); off > 5*math.Sqrt(2*variance/passes) {
		t.Errorf("%.1f words are kept in a pass, gensim keeps %.1f", kept, theirs.Kept)
	}
	if off := math.Abs(pairs - theirs.Pairs); off > 5*theirs.Spread*math.Sqrt(2./passes) {
		t.Errorf("%.1f pairs in a pass, with gensim's windows %.1f; passes differ by %.1f", pairs, theirs.Pairs,
			theirs.Spread)
	}
	t.Logf("%d words, kept %.1f and %.1f, pairs %.1f and %.1f", len(v.Words), kept, theirs.Kept, pairs, theirs.Pairs)
}
