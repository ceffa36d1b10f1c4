package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

// Pages are Markdown. In the README and in docs/ an indented block whose first line begins
// with a command is for a shell; a fenced block without a language is its output, shortened by
// lines of three dots. Everything else is prose to these tests.

// notRun are the beginnings of commands that this test leaves out, and what checks them.
var notRun = map[string]string{
	"make ":                   "CI, which runs make test; make help lists the rest",
	"export PATH":             "nothing",
	"mkdir -p $CUDA_MPS_":     "nothing: it starts NVIDIA's daemon; TestServiceCommands compares it with the doctor's",
	"echo quit | nvidia-cuda": "nothing: it stops the daemon",
	"bench/rivals/":           "they take hours, and gigabytes",
	"python3 bench/":          "nothing: rivals are built by hand",
	"HOGWILD_LIMIT=":          "nothing: it takes minutes; TestLimit runs a part of it",
	"HOGWILD_BINARY=":         "nothing: it takes minutes, and scikit-learn",
	"CGO_ENABLED=0 GOARC":     "make emulated",
	"go mod edit ":            "TestLibrarySnippet",
	"go run ./examples/":      "the test of the example",
	"hogwild data get mnist":  "TestDataGet: tests have no internet; stage has what it would write",
	"hogwild data get https":  "TestDataGetEnds",
	"hogwild train --program": "TestPyTorchExamples",
	"hogwild reproduce ":      "TestReproduce",
	"hogwild bench   ":        "TestBenchPlan and the script bench.txt: without flags it takes a minute",
	"hogwild sweep examp":     "TestSweep",
	"hogwild top ":            "the script live.txt: they are for a run that goes on meanwhile",
	"hogwild scale ":          "the same",
	"hogwild pause ":          "the same",
	"hogwild continue ":       "the same",
	"hogwild stop ":           "the same",
	"until ":                  "TestKilledWorkers: times of a kill would differ from machine to machine",
	"kill ":                   "the same",
	"sleep ":                  "the same",
}

// fewDigits are read by experiments in place of 60,000. Outputs call them digits here, as pages do.
const fewDigits = "digits:1000"

// instead are the commands that are run in another way here, by their beginnings: smaller, or
// so that they end.
var instead = []struct{ from, to string }{
	{"go run ./cmd/hogwild ", "hogwild "},
	{"bin/hogwild ", "hogwild "},
	// The one on digits searches rates.
	{"hogwild bench --data mnist/ ", "hogwild bench --repeat 1 --same-lr --data mnist/ "},
	{" --epochs 5 --nodes 1,2,4 ", " --epochs 1 --nodes 1,2 "},
	{" --epochs 5 --modes async,sync --workers 1,2,4", " --epochs 1 --modes async,sync --workers 1,2"},
	{"hogwild bench --data mnist ", "hogwild bench --repeat 1 --same-lr --data mnist "},
	{"hogwild bench --data digits --model mlp:128 --lr 0.8 --epochs 5 ",
		"hogwild bench --data " + fewDigits + " --model mlp:128 --lr 0.8 --epochs 2 "},
	{"--model convnet --optimizer momentum ", "--model convnet --epochs 1 --optimizer momentum "},
	{"--model mlp:256,128 --lr 0.05 --epochs 40 ", "--model mlp:256,128 --lr 0.05 --epochs 3 "},
	{"--patience 5 --epochs 100 --lr 0.1 --run", "--patience 5 --epochs 8 --lr 0.1 --run"},
	{"hogwild train --resume runs/killed", "hogwild train --resume runs/killed --epochs 4"},
	{"hogwild train --resume runs/patient", "hogwild train --resume runs/patient --epochs 10"},
	{"hogwild train --data synth:rcv1 ", "hogwild train --data synth:rcv1:0.01 "},
	{"hogwild train ...", "hogwild train --data " + fewDigits},
}

// block is commands of a page and what they print.
type block struct {
	line     int
	commands []string
	output   []string // nil: the page does not show it
}

var command = regexp.MustCompile(
	`^(?:[A-Z_]+=\S+ )*(?:hogwild|bin/hogwild|go|make|git|export|sleep|python3|for)(?: |$)`)

// blocks reads a page. A line that ends with a backslash, and a loop, go on in the next.
func blocks(text string) (all []block) {
	lines := strings.Split(text, "\n")
	var now *block // the block that a fence would belong to
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "```"):
			for i++; lines[i] != "```"; i++ {
				if now != nil && line == "```" {
					now.output = append(now.output, lines[i])
				}
			}
			now = nil
		case strings.HasPrefix(line, "    ") && (now != nil && lines[i-1] != "" || command.MatchString(line[4:])):
			if i == 0 || !strings.HasPrefix(lines[i-1], "    ") {
				all = append(all, block{line: i + 1})
				now = &all[len(all)-1]
			}
			if now == nil { // an indented block that began with something else
				continue
			}
			for loop := strings.HasPrefix(line, "    for "); strings.HasSuffix(line, `\`) ||
				loop && !strings.HasSuffix(line, "done"); {
				i++
				line += "\n" + lines[i]
			}
			now.commands = append(now.commands, strings.TrimSpace(line))
		case line != "":
			now = nil
		}
	}
	return all
}

// TestDocs runs the commands of README.md and of the pages of docs/ and docs/results/, each page in a folder of its own
// with what a clone has and small data where `hogwild data get` writes, and looks for the output that it shows. A
// reader may walk through all pages in one folder: no two commands name the same run.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	results, _ := filepath.Glob("../../docs/results/*.md")
	if err != nil || len(pages) < 10 || len(results) < 10 {
		t.Fatalf("%d pages in docs, %d in docs/results (%v)", len(pages), len(results), err)
	}
	used, runs := map[string]bool{}, map[string]string{}
	for _, page := range slices.Concat(pages, results, []string{"../../README.md"}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all := blocks(string(text))
		for _, b := range all {
			for _, c := range b.commands {
				if from, left := leaveOut(c); left {
					used[from] = true
				}
				if m := runName.FindStringSubmatch(c); m != nil {
					if other := runs[m[1]]; other != "" {
						t.Errorf("%s:%d: the run %s is that of %s too", page, b.line, m[1], other)
					}
					runs[m[1]] = fmt.Sprintf("%s:%d", page, b.line)
				}
			}
		}
		if len(all) == 0 {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(page, "../../"), "docs/")
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "README.md" {
				t.Skip("-short: README.md alone")
			}
			t.Parallel()
			folder := stage(t)
			for _, b := range all {
				b.run(t, name, folder)
			}
		})
	}
	for from := range notRun {
		if !used[from] {
			t.Errorf("no page has a command that begins with %q: take it from the list", from)
		}
	}
}

func leaveOut(c string) (from string, left bool) {
	for from := range notRun {
		if strings.HasPrefix(c+" ", from) {
			return from, true
		}
	}
	return "", false
}

// run runs the commands of a block and compares what they print with what the page shows.
func (b block) run(t *testing.T, page, folder string) {
	t.Helper()
	var printed strings.Builder
	whole := true
	for _, c := range b.commands {
		if _, left := leaveOut(c); left {
			whole = false
			continue
		}
		c = strings.TrimSuffix(remark.ReplaceAllString(c, ""), "&")
		for _, i := range instead {
			c = strings.Replace(c, i.from, i.to, 1)
		}
		cmd := exec.Command("sh", "-c", c)
		cmd.Dir = folder
		cmd.Env = append(slices.DeleteFunc(os.Environ(),
			func(v string) bool { return strings.HasPrefix(v, "HOGWILD_") }), "HOGWILD_LIMIT=2000")
		out, err := cmd.CombinedOutput()
		printed.WriteString(strings.ReplaceAll(string(out), fewDigits, "digits"))
		gpu := strings.Contains(c, "--gpu") && strings.Contains(string(out), "hogwild-cuda")
		if err != nil && !(gpu && cmd.ProcessState.ExitCode() == 2) {
			t.Errorf("%s:%d: %s: %v\n%s", page, b.line, c, err, out)
		}
	}
	if !whole || b.output == nil {
		return
	}
	got := map[string]bool{}
	for line := range strings.Lines(printed.String()) {
		got[shape(line)] = true
	}
	for _, line := range b.output {
		if want := shape(line); want != "" && want != "..." && want != "restarts" && !got[want] {
			t.Errorf("%s:%d: %q is not what `%s` prints now:\n%s", page, b.line, line, b.commands[0], printed.String())
		}
	}
}

var (
	runName  = regexp.MustCompile(`--run (\S+)`)
	numbers  = regexp.MustCompile(`-?\d[\d,.:]*(e[-+]?\d+)?( ?([kMGT]|[KMGT]iB|ms|us|s|min|h|%)\b)?`)
	machines = regexp.MustCompile(
		`^(cpu|memory|gpu|processor|staleness|merge|restarts|auto:?) .*|^(fine|advice|wrong)( +[a-z ]+):.*`)
	paths   = regexp.MustCompile(`\S*/bin\b|/tmp/\S*|\(from .*\)| \(\d+ to \d+\)`)
	remark  = regexp.MustCompile(`\s+#.*`)
	columns = regexp.MustCompile(`\s{2,}.*\s{2,}.*\s{2,}.*`)
	spaces  = regexp.MustCompile(`\s+`)
)

// shape returns what of a line is the same on all machines and in all runs: its words, without numbers and their units;
// of a row of a table its first cell; of a line about the machine its subject.
func shape(line string) string {
	line = strings.TrimSpace(line)
	if m := machines.FindStringSubmatch(line); m != nil {
		return m[1] + m[3]
	}
	line = paths.ReplaceAllString(line, "")
	line = columns.ReplaceAllString(line, "")
	line = numbers.ReplaceAllString(line, "#")
	return spaces.ReplaceAllString(line, " ")
}

// stage makes a folder with links to a clone's, with small data sets where `hogwild data get` writes them, and the
// net.pt of runs.md.
func stage(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	write := func(name string, rows int, row func() string) {
		var text strings.Builder
		for range rows {
			text.WriteString(row() + "\n")
		}
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sparse := func() string {
		label, a, b := 2*r.IntN(2)-1, 1+r.IntN(40), 50+r.IntN(70)
		return fmt.Sprintf("%+d %d:1 %d:1 %d:1", label, a, b, 122+label)
	}
	write("a9a/a9a", 600, sparse)
	write("a9a/a9a.t", 200, sparse)
	write("movielens-100k/u.data", 2000,
		func() string { return fmt.Sprintf("%d\t%d\t%d\t881250949", 1+r.IntN(60), 1+r.IntN(80), 1+r.IntN(5)) })
	write("users.txt", 20, func() string { return fmt.Sprint(1 + r.IntN(60)) })
	for name, rows := range map[string]int{"train": 400, "valid": 40, "test": 40} {
		write("WN18RR/"+name+".txt", rows, func() string {
			return fmt.Sprintf("%08d\t_hypernym\t%08d", 260881+r.IntN(40), 260881+r.IntN(40))
		})
		first := fmt.Sprintln(rows)
		write("FB15K237/"+name+"2id.txt", rows, func() string {
			row := first + fmt.Sprintf("%d %d %d", r.IntN(40), r.IntN(40), r.IntN(3))
			first = ""
			return row
		})
	}
	head := "listener,date,plays,song\n"
	write("plays.csv", 500, func() string {
		row := head + fmt.Sprintf("ann%d,2026-03-31,%d,s%d", r.IntN(40), 1+r.IntN(9), r.IntN(50))
		head = ""
		return row
	})
	write("links.tsv", 500, func() string { return fmt.Sprintf("n%d\tn%d", r.IntN(60), r.IntN(60)) })
	digitsAsMNIST(t, filepath.Join(folder, "mnist"), r)
	weightsOfPyTorch(t, filepath.Join(folder, "net.pt"))
	for _, name := range []string{"examples", "docs", "bench"} {
		from, err := filepath.Abs("../../" + name)
		if err == nil {
			err = os.Symlink(from, filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// weightsOfPyTorch writes weights of mlp:128 on MNIST as any program could. They are safetensors: the reader looks at
// what is in a file, not at its name.
func weightsOfPyTorch(t *testing.T, path string) {
	t.Helper()
	tensor := func(name string, shape ...int) rundir.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		return rundir.FloatTensor(name, shape, make([]float32, n))
	}
	err := rundir.WriteTensors(path, nil, []rundir.Tensor{tensor("0.weight", 128, 784), tensor("0.bias", 128),
		tensor("2.weight", 10, 128), tensor("2.bias", 10)})
	if err != nil {
		t.Fatal(err)
	}
}

// digitsAsMNIST writes the four IDX files of MNIST with few images: bright squares in one of ten places.
func digitsAsMNIST(t *testing.T, folder string, r *rand.Rand) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"train": 600, "t10k": 200} {
		images, labels := []byte{0, 0, 8, 3, 0, 0, byte(n >> 8), byte(n), 0, 0, 0, 28, 0, 0, 0, 28},
			[]byte{0, 0, 8, 1, 0, 0, byte(n >> 8), byte(n)}
		for range n {
			label := r.IntN(10)
			labels = append(labels, byte(label))
			image := make([]byte, 28*28)
			for i := range 25 {
				image[28*(3+12*(label/5)+i/5)+1+5*(label%5)+i%5] = byte(150 + r.IntN(100))
			}
			images = append(images, image...)
		}
		for kind, bytes := range map[string][]byte{"images-idx3": images, "labels-idx1": labels} {
			if err := os.WriteFile(filepath.Join(folder, name+"-"+kind+"-ubyte"), bytes, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
