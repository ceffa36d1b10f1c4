package bench

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The programs of the bundle, played: runs that end at once with a loss, and a microbenchmark
// that hangs.
const (
	playedCUDA = `#!/bin/bash
[ "$1" != bench ] || exec sleep 60
[ "$1" = train ] || { echo "$1 is fine"; exit; }
while [ $# -gt 1 ]; do [ "$1" != --run ] || run=$2; [ "$1" != --save-every ] || long=${2%0}; shift; done
mkdir -p "$run" && echo '{"kind":"epoch","test_loss":0.01,"seconds":1,"examples":60}' >"$run/metrics.jsonl"
printf '\0\0\0\0\0\0\0\0bits' | tee "$run/weights.safetensors" >"$run/snapshot.safetensors"
case $run in */kills.*)
	trap 'status=143' TERM
	sleep 9 &
	while [ -z "$status" ] && [ -n "$long" ] && [ -d "$run" ]; do sleep 0.1; done
	kill $! 2>/dev/null ;;
esac
printf '{\n  "device": "cuda:0 (played)",\n  "workers": 4,\n  "restarts": 1,\n  "test_loss": 0.5\n}\n'
exit ${status:-0}
`
	playedTests = "#!/bin/sh\necho '=== RUN   TestOne'; echo '--- PASS: TestOne (0.1s)'; echo PASS\n"
	playedPage  = "#!/bin/sh\nHOGWILD_PAGE_OF=$3 exec PROGRAM -test.run '^TestPageOf$'\n"
	playedParts = "machine:9 driver:9 microbench:1 kernels:9 training:9 agree:20 kills:12 rates:20 flight:20 mps:20 tools:9 rivals:9 programs:9"
)

// TestPageOf writes the page in the place of hogwild bench --report.
func TestPageOf(t *testing.T) {
	folder := os.Getenv("HOGWILD_PAGE_OF")
	if folder == "" {
		t.Skip("it is for TestRunScript")
	}
	r, err := Collect(folder)
	if err == nil {
		err = r.WriteText(os.Stdout)
	}
	if err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// playedBundle is a folder as make gpu-bundle makes one.
func playedBundle(t *testing.T) string {
	for _, tool := range []string{"bash", "timeout", "ps", "tar", "gzip", "awk", "od", "cmp", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("bundle/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	rivals, err := os.ReadFile("rivals/gpu.py")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string, text []byte) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755), os.WriteFile(filepath.Join(folder, name), text, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	write("run.sh", script)
	write("rivals/gpu.py", rivals)
	write("COMMIT", []byte("0123abcd\n"))
	for name, text := range map[string]string{"hogwild": strings.Replace(playedPage, "PROGRAM", self, 1), "hogwild-cuda": playedCUDA, "cuda.test": playedTests} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); errors.Join(err, z.Close()) != nil {
			t.Fatal(err)
		}
		write("bin/"+name+".gz", packed.Bytes())
	}
	return folder
}

// playScript starts run.sh, kills it after that time (0: never), and returns what it printed and the
// folder of its results.
func playScript(t *testing.T, bundle string, after time.Duration) (printed, out string) {
	parent, err := os.MkdirTemp("", "hogwild-bundle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the part that it was at goes on for a moment
		for until := time.Now().Add(20 * time.Second); os.RemoveAll(parent) != nil && time.Now().Before(until); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	log, err := os.Create(filepath.Join(parent, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	out = filepath.Join(parent, "out")
	c := exec.Command("bash", filepath.Join(bundle, "run.sh"), out)
	c.Env = append(os.Environ(), "QUICK=1", "PARTS="+playedParts)
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		time.Sleep(after)
		c.Process.Kill() // SIGKILL; it may have ended
	}
	c.Wait()
	text, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), out
}

// archived is the text of each file in the archive.
func archived(t *testing.T, path string) map[string]string {
	f, err := os.Open(path)
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
	"microbench": {"| microbench | cut off: out of time |", "microbench.log"},
	"kernels":    {"| kernels | tests | ok | 1 passed", "kernels.test"},
	"training":   {"| training | tests | ok | 1 passed", "training.test"},
	"agree":      {"| agree | softmax as on the CPU | ok |", "trained/agree.softmax.cpu.json"},
	"kills":      {"| kills | a worker is killed |", "trained/kills.worker.json"},
	"rates":      {"| factor128 | 8448 |", "trained/rates.factor128.8448.json"},
	"flight":     {"| softmax | 8 | capped |", "trained/flight.softmax.capped-8.json"},
	"mps":        {"| plain | 4 |", "trained/mps.plain-4.json"},
	"tools":      {"| tools | ncu |", "tools.log"},
	"rivals":     {"| softmax | 0.285 | hogwild, GPU 0 |", "rivals.jsonl"},
	"programs":   {"| programs | PyTorch | info |", "programs.log"},
}

var partDone = regexp.MustCompile(`(?m)^== (\w+): status`)

// TestRunScript runs it whole, and kills it at some moments: what the parts that had ended left is
// in the page and in the archive.
func TestRunScript(t *testing.T) {
	bundle := playedBundle(t)
	began := time.Now()
	held := func(t *testing.T, printed, out string) (done []string) {
		for _, m := range partDone.FindAllStringSubmatch(printed, -1) {
			done = append(done, m[1])
		}
		if len(done) == 0 {
			return nil
		}
		page, err := os.ReadFile(filepath.Join(out, "report.md"))
		if err != nil {
			t.Fatal(err)
		}
		files := archived(t, filepath.Join(out, "results.tar.gz"))
		for _, part := range done {
			want := ofPart[part]
			if _, there := files[want[1]]; !there || !strings.Contains(string(page), want[0]) || !strings.Contains(files["report.md"], want[0]) {
				t.Errorf("%s ended, but %q is not in the page or %s not in the archive:\n%s", part, want[0], want[1], page)
			}
		}
		return done
	}
	printed, out := playScript(t, bundle, 0)
	var want []string
	for _, part := range strings.Fields(playedParts) {
		name, _, _ := strings.Cut(part, ":")
		want = append(want, name)
	}
	if done := held(t, printed, out); !slices.Equal(done, want) {
		t.Fatalf("it went through %v, want %v:\n%s", done, want, printed)
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != 2 {
		t.Errorf("it leaves %v, want the page and the archive (%v)", left, err)
	}
	whole := time.Since(began)
	for range 4 {
		after := time.Duration(rand.Int64N(int64(whole)))
		t.Run("", func(t *testing.T) {
			t.Parallel()
			printed, out := playScript(t, bundle, after)
			t.Logf("killed after %v: %v", after, held(t, printed, out))
		})
	}
}
