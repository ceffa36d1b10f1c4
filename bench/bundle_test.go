package bench

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/internal/check"
)

// page returns what report.py makes of a folder of results.
func page(t *testing.T, folder string) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	text, err := exec.Command(python, "bundle/report.py", folder).Output()
	return string(text), err
}

// TestPage holds the page to testdata/results.md, which -update writes.
func TestPage(t *testing.T) {
	got, err := page(t, "testdata/results")
	if err != nil {
		t.Fatal(err)
	}
	check.Golden(t, "results.md", got)
}

// TestPageOfStandIn: no time, and nothing made of one, is on a page that no GPU had a part in.
func TestPageOfStandIn(t *testing.T) {
	folder := t.TempDir()
	err := os.CopyFS(folder, os.DirFS("testdata/results"))
	bench, _ := os.ReadFile("testdata/results/microbench.txt")
	bench = bytes.Replace(bench, []byte("gpu: NVIDIA H200"), []byte("gpu: NVIDIA H200 (stand-in)"), 1)
	if err = errors.Join(err, os.WriteFile(filepath.Join(folder, "microbench.txt"), bench, 0o644)); err != nil {
		t.Fatal(err)
	}
	got, err := page(t, folder)
	if err != nil || !strings.Contains(got, "stand-in driver, without a GPU") {
		t.Errorf("%v: the page does not say that there was no GPU:\n%s", err, got)
	}
	for _, time := range []string{`\| 0\.75 \|`, `320 M`, `120 k`, `\| 1\.25 \|`, `2540`, `13\.7`, `400 k`, `0\.0075`, `1\.50 M`,
		`\| 60\.0 \|`} {
		if found := regexp.MustCompile(time).FindString(got); found != "" {
			t.Errorf("the page has the time or rate %q:\n%s", found, got)
		}
	}
}

// TestPageOfNothing: a folder without results is refused; a pipe in the place of a result is not waited for.
func TestPageOfNothing(t *testing.T) {
	folder := t.TempDir()
	var failed *exec.ExitError
	if _, err := page(t, folder); !errors.As(err, &failed) ||
		!strings.Contains(string(failed.Stderr), "no results of run.sh") {
		t.Errorf("an empty folder: %v", err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "parts.tsv"), nil, 0o600),
		syscall.Mkfifo(filepath.Join(folder, "a.test"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := page(t, folder); err != nil {
		t.Error(err)
	}
}

// The programs of the bundle, played: runs that end at once with a loss, or not at all in the place that
// PLAYED_HANG names, which may be mps: under a service. A microbenchmark hangs after its first figure.
const (
	playedCUDA = `#!/bin/bash
[ -z "$CUDA_MPS_PIPE_DIRECTORY" ] || [ "$PLAYED_HANG" != mps ] || sleep 60
[ "$1" = train ] || { [ "$1" != "$PLAYED_HANG" ] || sleep 60; echo "$1 is fine"; exit "${PLAYED_STATUS:-0}"; }
while [ $# -gt 1 ]; do [ "$1" != --run ] || run=$2; [ "$1" != --save-every ] || long=${2%0}; [ "$1" != --stop-after ] || busy=$2; [ "$1" != --in-flight ] || steps=$2; shift; done
case $run in */kills.*) trap 'status=143' TERM; if [ -n "$long" ]; then sleep 9 & fi ;; esac # its worker
mkdir -p "$run" && printf '{"kind":"epoch","test_loss":0.01,"seconds":1,"examples":60}\n{"kind":"second","examples":5}\n' >"$run/metrics.jsonl"
printf '\0\0\0\0\0\0\0\0bits' | tee "$run/weights.safetensors" >"$run/snapshot.safetensors"
while [ "${run##*/}" = "$PLAYED_HANG" ] && [ -d "$run" ]; do sleep 0.1; done
until=$((${EPOCHREALTIME/./} + 2000000))
while [ -n "$busy" ] && ((${EPOCHREALTIME/./} < until)); do :; done
case $run in */kills.*)
	while [ -z "$status" ] && [ -n "$long" ] && [ -d "$run" ]; do wait $! || true; [ -n "$status" ] || { sleep 9 & }; done
	kill $! 2>/dev/null ;;
esac
printf '{\n  "device": "cuda:0 (played)",\n  "workers": 4,\n  "examples": 5,\n  "restarts": 1,\n  "notes": ["%d steps of 1 example in flight: 7 CTAs in one worker"],\n  "test_loss": 0.5\n}\n' "$steps"
exit ${status:-0}
`
	playedTests = `#!/bin/sh
case $* in *-test.bench*) printf 'gpu: played\nBenchmarkMicro/launch,_queued-2 \t 100\t 2540 ns/op\nBenchmarkMicro/add'; exec sleep 60 ;;
*'-test.run Chosen'*) echo '=== RUN   TestChosen
--- PASS: TestChosen (0.1s)
PASS'; exit ;;
esac
echo '=== RUN   TestOne
--- PASS: TestOne (0.1s)
=== RUN   TestSets
=== RUN   TestSets/imdb
    sets_test.go:9: imdb is not here
--- PASS: TestSets (0.0s)
    --- SKIP: TestSets/imdb (0.0s)
PASS'
`
	playedCard = "#!/bin/sh\ncase $* in *timestamp*) echo '2026/01/02, GPU-1, 1980, 400.5, 97, 1024'; while [ -d " +
		"\"$TMPDIR\" ]; do sleep 0.1; done ;; *) echo 0 ;; esac\n"
	// ncu does not find mlp's kernel, and would find none if it might change the card.
	playedNCU = `#!/bin/sh
case $* in
*--page' 'details*) echo '  linear_step, Context 1' ;;
*--page' 'raw*) echo '    smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio     inst     3.25' ;;
*'regex:mlp_(step|one|whole)'*) echo No kernels were profiled ;;
*'--clock-control none --cache-control none'*) while [ "$1" != --export ]; do shift; done; : >"$2" ;;
esac
`
	playedParts = "machine:60 driver:60 microbench:1 agree:90 kernels:60 rates:90 flight:90 rivals:60 training:60 " +
		"programs:60 tools:60 sanitizer:60 kills:90 mps:90"
)

// playedBundle is a folder as make gpu-bundle makes one.
func playedBundle(t *testing.T) string {
	for _, tool := range []string{"bash", "timeout", "tar", "gzip", "awk", "od", "cmp", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	folder := t.TempDir()
	write := func(name string, text []byte) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755),
			os.WriteFile(filepath.Join(folder, name), text, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{"run.sh": "bundle/run.sh", "report.py": "bundle/report.py",
		"rivals/gpu.py": "rivals/gpu.py", "rivals/gpu_jobs.py": "rivals/gpu_jobs.py"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(name, text)
	}
	write("COMMIT", []byte("0123abcd\n"))
	for name, text := range map[string]string{"hogwild-cuda": playedCUDA, "cuda.test": playedTests} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); errors.Join(err, z.Close()) != nil {
			t.Fatal(err)
		}
		write("bin/"+name+".gz", packed.Bytes())
	}
	return folder
}

// toolsWithoutPS is a folder of what PATH has, but for ps and the tools of a GPU (three are played), and Python without
// the packages that it has here.
func toolsWithoutPS(t *testing.T) string {
	folder := t.TempDir()
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	bare := fmt.Sprintf("#!/bin/bash\nexec '%s' -S \"$@\"\n", bytes.TrimSpace(python))
	for name, text := range map[string]string{"nvidia-smi": playedCard, "ncu": playedNCU,
		"nvidia-cuda-mps-control": playedControl, "python3": bare} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		programs, _ := os.ReadDir(from) // PATH may name what is not there
		for _, p := range programs {
			if !slices.Contains([]string{"ps", "compute-sanitizer"}, p.Name()) {
				// the first of a name counts
				_ = os.Symlink(filepath.Join(from, p.Name()), filepath.Join(folder, p.Name()))
			}
		}
	}
	return folder
}

// played is run.sh under way.
type played struct {
	*exec.Cmd
	t              *testing.T
	log, temp, out string
}

// play starts run.sh into a folder that has a file already, as one that is mounted may have.
func play(t *testing.T, bundle, tools string, env ...string) *played {
	parent, err := os.MkdirTemp("", "hogwild-bundle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the part that it was at goes on for a moment
		for until := time.Now().Add(20 * time.Second); os.RemoveAll(parent) != nil && time.Now().Before(until); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	p := &played{t: t, log: filepath.Join(parent, "log"), temp: filepath.Join(parent, "temp"),
		out: filepath.Join(parent, "out")}
	log, err := os.Create(p.log)
	if err = errors.Join(err, os.Mkdir(p.temp, 0o755), os.Mkdir(p.out, 0o755),
		os.WriteFile(filepath.Join(p.out, "other"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.Cmd = exec.Command("bash", filepath.Join(bundle, "run.sh"), p.out)
	p.Env = append(append(os.Environ(), "QUICK=1", "EVERY=1", "PARTS="+playedParts, "TMPDIR="+p.temp, "PATH="+tools),
		env...)
	p.Stdout, p.Stderr = log, log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// printed returns what the script has printed, and the page.
func (p *played) printed() string {
	log, _ := os.ReadFile(p.log)
	page, _ := os.ReadFile(filepath.Join(p.out, "report.md")) // none yet
	return string(log) + "\n" + string(page)
}

// want fails unless it printed all these, the page included.
func (p *played) want(all ...string) {
	p.t.Helper()
	text := p.printed()
	for _, want := range all {
		if !strings.Contains(text, want) {
			p.t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// cleared fails unless only the results are left, and the file that was there before.
func (p *played) cleared() {
	p.t.Helper()
	left, _ := filepath.Glob(filepath.Join(p.out, "*"))
	temp, _ := filepath.Glob(filepath.Join(p.temp, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if want := []string{"other", "report.md", "results.tar.gz", "rows.txt"}; !slices.Equal(left, want) ||
		len(temp) > 0 {
		p.t.Errorf("it leaves %v and %v, want %v", left, temp, want)
	}
}

// archived is the text of each file in the archive.
func archived(t *testing.T, path string) map[string]string {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if err == io.EOF {
			return texts
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(head.Name, "./")] = string(text)
	}
}

// ofPart is what a part leaves: a line of the page, and a file of the archive.
var ofPart = map[string][2]string{
	"machine":    {"| machine | doctor | ok |", "machine.txt"},
	"driver":     {"| driver | hogwild-cuda --version | ok | --version is fine", "driver.log"},
	"microbench": {"| launch, queued | 2540 | ns/op |", "microbench.txt"},
	"kernels":    {"| kernels | tests | ok | 1 passed, 1 skipped |", "kernels.test"},
	"training":   {"| training | imdb is not here | TestSets/imdb |", "training.test"},
	"agree":      {"| agree | softmax as on the CPU | ok |", "trained/agree.softmax.cpu.json"},
	"kills":      {"| kills | a worker is killed |", "trained/kills.worker.json"},
	"rates":      {"| factor128 | 2112 |", "trained/rates.factor128.2112.json"},
	"flight":     {"| softmax | --in-flight 32 --batch 8 | 0.01 |", "rivals.jsonl"},
	"mps":        {"| MPS | mlp128-b8 | 4 | 132 |", "mps/control.log"},
	"sanitizer":  {"| sanitizer | compute-sanitizer | skipped | not installed |", "sanitizer.log"},
	"tools":      {"| tools | ncu mlp | FAIL | no kernel was profiled: No kernels", "ncu.linear.ncu-rep"},
	"rivals":     {"| softmax | 0.285 | hogwild, GPU 0 |", "rivals.jsonl"},
	"programs":   {"| programs | PyTorch | info |", "programs.log"},
}

var partDone = regexp.MustCompile(`(?m)^== (\w+): status`)

// TestRunScript runs it whole, a part of it hanging, where there is no ps.
func TestRunScript(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: TestRunScriptBudget plays it")
	}
	t.Parallel()
	p := play(t, playedBundle(t), toolsWithoutPS(t))
	_ = p.Wait() // some checks fail
	var done, want []string
	for _, m := range partDone.FindAllStringSubmatch(p.printed(), -1) {
		done = append(done, m[1])
	}
	files := archived(t, filepath.Join(p.out, "results.tar.gz"))
	for _, part := range strings.Fields(playedParts) {
		name, _, _ := strings.Cut(part, ":")
		want = append(want, name)
		p.want(ofPart[name][0])
		if _, there := files[ofPart[name][1]]; !there || !strings.Contains(files["report.md"], ofPart[name][0]) {
			t.Errorf("%s ended, but %q is not in the archived page, or %s not there", name, ofPart[name][0],
				ofPart[name][1])
		}
	}
	if !slices.Equal(done, want) {
		t.Errorf("it went through %v, want %v:\n%s", done, want, p.printed())
	}
	p.want("| microbench | cut off: out of time |", "| kills | a worker is killed | ok |", "workers left; GPU memory",
		"clock 1980 to 1980 MHz", "\nlinear_step, Context 1\n", "| linear | barrier 3.25 |",
		"| no MPS | mlp128-b8 | 4 | 132 |", "| mps | a program under MPS | ok | --version is fine")
	p.cleared()
}

// TestRunScriptStopped: in the middle of a part, by kill -9 or TERM, and all that was measured is there.
func TestRunScriptStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: TestRunScriptBudget plays it")
	}
	t.Parallel()
	bundle, tools := playedBundle(t), toolsWithoutPS(t)
	for _, c := range []struct {
		at, quick, parts string   // it hangs at this run
		before           []string // runs
		page             []string
	}{
		{"agree.factor.cpu", "1", playedParts, []string{"agree.softmax.cpu", "agree.mlp.cpu", "agree.factor.gpu"},
			[]string{"| agree | mlp as on the CPU | ok |", "| agree | running when"}},
		{"rates.mlp128-b1.132", "", "machine:60 rates:90", []string{"rates.softmax-b8.132"},
			[]string{"| softmax-b8 | 132 |", "| rates | running when"}},
		{"mps.mlp128-b8.4", "1", "training:60 mps:90", []string{"mps.mlp128-b8.1", "mps.mlp128-b8.2"},
			[]string{"| MPS | mlp128-b8 | 2 |", "| training | tests | ok |", "| mps | running when"}},
	} {
		for name, signal := range map[string]os.Signal{"KILL": os.Kill, "TERM": syscall.SIGTERM} {
			t.Run(c.at+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := play(t, bundle, tools, "PLAYED_HANG="+c.at, "QUICK="+c.quick, "PARTS="+c.parts,
					"RATES=b8.[124]$|(softmax-b8|mlp128-b1).132")
				last := "trained/" + c.before[len(c.before)-1] + ".json"
				if c.quick == "" {
					last = strings.Replace(last, ".json", ".host", 1) // which comes after it
				}
				var files map[string]string
				known := func() bool { return files[last] != "" && strings.Contains(files["report.md"], c.page[0]) }
				for until := time.Now().Add(time.Minute); !known() &&
					time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
					files = archived(t, filepath.Join(p.out, "results.tar.gz"))
				}
				if err := p.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				_ = p.Wait()
				files = archived(t, filepath.Join(p.out, "results.tar.gz"))
				rows, _ := os.ReadFile(filepath.Join(p.out, "rows.txt"))
				for _, run := range c.before {
					if files["trained/"+run+".json"] == "" || !strings.Contains(string(rows), run+"\t{ \"device\"") {
						t.Errorf("%s is lost: archived are %v, rows\n%s", run, slices.Sorted(maps.Keys(files)), rows)
					}
				}
				p.want(c.page...)
				if cores, _ := strconv.ParseFloat(strings.TrimSpace(files["trained/rates.softmax-b8.132.host"]),
					64); c.quick == "" && cores <= 0 {
					t.Errorf("a run that kept a core busy kept %v busy", cores)
				}
				if name == "TERM" {
					p.cleared()
				}
			})
		}
	}
}
