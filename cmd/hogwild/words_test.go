package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/saved"
	"hogwild/hogwild/words"
	"hogwild/internal/check"
)

// wordFiles writes text of several topics: a corpus, lines with labels and the same without.
func wordFiles(t *testing.T) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 9))
	word := func(topic int) string { // some of them in two cases, some not ASCII
		name := fmt.Sprintf("w%d_%d", topic, int(20*math.Pow(r.Float64(), 2)))
		if r.IntN(30) == 0 {
			name = strings.ToUpper(name)
		}
		return strings.Replace(name, "w3", "ü", 1)
	}
	var corpus, lines, several, bare strings.Builder
	for line := range 1500 {
		topic := r.IntN(4)
		var text []string
		for range 3 + r.IntN(20) {
			if r.IntN(3) == 0 {
				text = append(text, word(r.IntN(4)))
			} else {
				text = append(text, word(topic))
			}
		}
		sentence := strings.Join(text, " ")
		fmt.Fprintln(&corpus, sentence)
		fmt.Fprintf(&lines, "__label__t%d %s\n", topic, sentence)
		fmt.Fprintln(&bare, sentence)
		labels := fmt.Sprintf("__label__t%d ", topic)
		if other := (line + line/4) % 4; other != topic {
			labels += fmt.Sprintf("__label__t%d ", other)
		}
		fmt.Fprintln(&several, labels+sentence)
	}
	for name, text := range map[string]*strings.Builder{"corpus.txt": &corpus, "lines.txt": &lines,
		"several.txt": &several, "unlabelled.txt": &bare} {
		if err := os.WriteFile(name, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOthersLoadWords: gensim loads vectors to the bit and finds the neighbours that hogwild finds, and fastText
// predicts with a model of text what hogwild predicts.
func TestOthersLoadWords(t *testing.T) {
	script, err := os.ReadFile("testdata/words.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	wordFiles(t)
	call(t, "train", "--data", "corpus.txt", "--model", "word2vec:13", "--epochs", "3", "--lr", ".1", "--run", "words",
		"--quiet", "--json")
	call(t, "export", "words", "--to", "vec")
	call(t, "export", "words", "--to", "bin")
	for _, loss := range []string{"cross-entropy", "logistic"} {
		run := "lines-" + loss
		call(t, "train", "--data", "lines.txt", "--model", "text:9", "--loss", loss, "--word-ngrams", "3", "--buckets",
			"1000", "--min-count", "4", "--epochs", "3", "--run", run, "--quiet", "--json")
		call(t, "export", run, "--to", "fasttext")
		var theirs struct {
			Bin, Vec      bool
			Nearest       [][2]any
			Labels        []string
			Test          [3]float64
			Several       [][3]float64 // lines, precision and recall of 1, 2 and 9 labels
			Probabilities []map[string]float64
		}
		out := check.Python(t, "gensim, fasttext, safetensors", string(script), "words", run)
		if err := json.Unmarshal(out, &theirs); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !theirs.Bin || !theirs.Vec {
			t.Errorf("gensim's vectors are other bits: bin %v, vec %v", theirs.Bin, theirs.Vec)
		}
		known, err := os.ReadFile("words/words.txt")
		if err != nil {
			t.Fatal(err)
		}
		word := strings.Fields(string(known))[6]
		for _, vectors := range []string{"words", "words/weights.vec", "gensim.bin"} {
			var near words.Neighbours
			decode(t, call(t, "nearest", vectors, word, "--top", "5", "--json"), &near)
			for i, n := range near[0].Near {
				want := theirs.Nearest[i]
				if n.Word != want[0] || math.Abs(float64(n.Cosine)-want[1].(float64)) > 1e-5 {
					t.Errorf("%s: neighbour %d is %+v, gensim has %v", vectors, i, n, want)
				}
			}
		}
		ties := comparePredictions(t, run, theirs.Probabilities, theirs.Test[1])
		compareTop(t, run, theirs.Several, 2*ties)
	}
}

func decode(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// compareTop holds precision and recall on lines with several labels against fastText's, but for a share of lines that
// may be ties.
func compareTop(t *testing.T, run string, theirs [][3]float64, ties float64) {
	t.Helper()
	near := ties + 1e-9
	for i, k := range []string{"1", "2", "9"} {
		var result saved.EvalResult
		decode(t, call(t, "eval", run, "--data", "several.txt", "--top", k, "--json"), &result)
		top, want := result.Top, theirs[i]
		if top == nil || float64(top.Lines) != want[0] || math.Abs(top.Precision-want[1]) > near ||
			math.Abs(top.Recall-want[2]) > near {
			t.Errorf("%s: top %s is %+v, fastText has %v", run, k, top, want)
		}
	}
}

// comparePredictions holds predictions of a run against fastText's, and its accuracy. It returns the share of lines
// that may be ties for fastText: it adds 1e-5 to a probability before it takes the logarithm, and looks sigmoids up in
// a table with steps of 1/32.
func comparePredictions(t *testing.T, run string, theirs []map[string]float64, precision float64) (ties float64) {
	t.Helper()
	near := 2e-5
	if strings.HasSuffix(run, "logistic") {
		near = 1. / 128
	}
	rows := strings.Split(strings.TrimSpace(call(t, "predict", run, "--data", "unlabelled.txt", "--proba")), "\n")
	head := strings.Split(rows[0], ",")[1:]
	if len(rows)-1 != len(theirs) {
		t.Fatalf("%s: %d predictions, want %d", run, len(rows)-1, len(theirs))
	}
	worst := 0.0
	for i, row := range rows[1:] {
		cells, sum := strings.Split(row, ","), 0.0
		for _, p := range theirs[i] {
			sum += p
		}
		var all []float64
		for c, name := range head {
			p, err := strconv.ParseFloat(cells[c+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			want := theirs[i]["__label__"+strings.TrimPrefix(name, "p_")]
			if strings.HasSuffix(run, "logistic") { // hogwild's probabilities sum to 1
				want /= sum
			}
			all, worst = append(all, p), max(worst, math.Abs(p-want))
		}
		if at := slices.Index(head, "p_"+cells[0]); at < 0 || all[at] != slices.Max(all) {
			t.Fatalf("line %d is taken for %q, and the probabilities of %q are %v", i, cells[0], head, all)
		}
		if slices.Sort(all); all[len(all)-1]-all[len(all)-2] <= 2*near {
			ties += 1 / float64(len(theirs))
		}
	}
	if worst > near {
		t.Errorf("%s: probabilities differ by %.2g", run, worst)
	}
	var result struct{ Accuracy float64 }
	decode(t, call(t, "eval", run, "--data", "lines.txt", "--json"), &result)
	if math.Abs(result.Accuracy-precision) > ties+1e-9 {
		t.Errorf("%s: accuracy %v, fastText has %v; %.2f%% of the lines may be ties", run, result.Accuracy, precision,
			100*ties)
	}
	return ties
}

// TestLearnsAsGensim: vectors that one worker trains are as large as gensim's to 5%, and predict lines that neither
// has seen as well to 1%. Sizes differ by more than seeds do, up to .7%: gensim reads its table of sigmoids .03 too far
// to the left, since C divides 1000/6/2 as whole numbers, and takes words in their order, where hogwild shuffles them.
func TestLearnsAsGensim(t *testing.T) {
	script, err := os.ReadFile("testdata/alike.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	wordFiles(t)
	all, err := os.ReadFile("corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(all), "\n")
	for name, part := range map[string][]string{"fit.txt": lines[:1400], "held.txt": lines[1400:]} {
		if err := os.WriteFile(name, []byte(strings.Join(part, "")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"skip-gram", "cbow"} {
		args := []string{"fit.txt", "held.txt", "20", ".05", "10", mode}
		for seed := range 4 {
			run := fmt.Sprint(mode, seed)
			call(t, "train", "--data", "fit.txt", "--test", "held.txt", "--model", "word2vec:20", "--epochs", "10",
				"--lr", ".05", "--workers", "1", "--seed", fmt.Sprint(seed), "--run", run, "--quiet", "--json",
				fmt.Sprintf("--cbow=%v", mode == "cbow"))
			args = append(args, run)
		}
		var found struct{ Theirs, Ours []map[string]float64 }
		out := check.Python(t, "gensim, safetensors", string(script), args...)
		if err := json.Unmarshal(out, &found); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for what, most := range map[string]float64{"loss": .01, "in": .05, "out": .05} {
			var means, spread [2]float64
			for side, runs := range [][]map[string]float64{found.Theirs, found.Ours} {
				for _, r := range runs {
					means[side] += r[what] / float64(len(runs))
				}
				for _, r := range runs {
					spread[side] += (r[what] - means[side]) * (r[what] - means[side]) / float64(len(runs)-1)
				}
			}
			t.Logf("%s, %s: %.4f, gensim %.4f, seeds differ by %.4f and %.4f", mode, what, means[1], means[0],
				math.Sqrt(spread[1]), math.Sqrt(spread[0]))
			if off := math.Abs(means[1]/means[0] - 1); !(off <= most) {
				t.Errorf("%s: %s is %.4f, gensim has %.4f", mode, what, means[1], means[0])
			}
		}
	}
}

// answered returns the status of a command and what it says, unless it waits for something.
func answered(t *testing.T, line string) (status int, said string) {
	t.Helper()
	done := make(chan string, 1)
	go func() {
		var out, err bytes.Buffer
		status = execute(strings.Fields(line), &out, &err)
		done <- err.String()
	}()
	select {
	case said = <-done:
		return status, said
	case <-time.After(2 * time.Minute):
		t.Fatalf("hogwild %s: it waits", line)
		return 0, ""
	}
}

// TestReadersOfWordsOpenFiles: all that reads words, vectors or a trace refuses a pipe without a writer, and a device
// without an end. A run is resumed: its snapshot has the words.
func TestReadersOfWordsOpenFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	wordFiles(t)
	call(t, "train", "--data", "lines.txt", "--model", "text:3", "--epochs", "1", "--run", "run", "--quiet", "--json")
	for what, put := range map[string]func(path string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		err := errors.Join(os.RemoveAll("bad"), os.CopyFS("bad", os.DirFS("run")), os.Remove("bad/words.txt"),
			os.Remove("bad/result.json"), put("bad/words.txt"), put("bad/result.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"nearest bad/words.txt a", "nearest bad a", "eval bad --data lines.txt", "predict bad --data lines.txt",
			"export bad --to vec", "export bad --to fasttext",
			"train --data lines.txt --model text:3 --init bad --run none",
			"train --data digits:300 --model softmax --mode clock:trace:bad --run none",
		} {
			if status, said := answered(t, line); status != 2 || !strings.Contains(said, what) ||
				!strings.Contains(said, ", not a file") {
				t.Errorf("%s of a %s: status %d, %s", line, what, status, said)
			}
		}
		if status, said := answered(t, "train --resume bad --epochs 2 --quiet --json"); status != 0 {
			t.Errorf("resumed beside a %s: %s", what, said)
		}
		if info, err := os.Lstat(filepath.Join("bad", "words.txt")); err != nil || !info.Mode().IsRegular() {
			t.Errorf("words.txt of the resumed run: %v", err)
		}
	}
}

// TestLongWordsAreReadBack: a word of megabytes, such as a picture in base64, trains, so all else takes it too.
func TestLongWordsAreReadBack(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("aGVsbG8", 200_000)
	text := strings.Repeat("__label__a the cat sat\n__label__b the dog ran\n", 40) + "__label__a " + long + " cat\n"
	err := errors.Join(os.WriteFile("l.txt", []byte(text), 0o666),
		os.WriteFile("t.txt", []byte("__label__a cat\n"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	call(t, "train", "--data", "l.txt", "--test", "t.txt", "--model", "text:4", "--epochs", "1", "--run", "r",
		"--quiet", "--json")
	call(t, "eval", "r", "--data", "l.txt", "--json")
	call(t, "predict", "r", "--data", "l.txt")
	call(t, "train", "--resume", "r", "--epochs", "2", "--quiet", "--json")
	for _, kind := range []string{"vec", "bin"} {
		call(t, "export", "r", "--to", kind, "--out", "v."+kind)
		if near := call(t, "nearest", "v."+kind, "cat", "--top", "20"); !strings.Contains(near, long) {
			t.Errorf("the %s has no long word", kind)
		}
	}
}
