package page

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// FuzzRun: the page of any run folder is written, or its files are an error of the user's. Nothing in them
// becomes markup.
func FuzzRun(f *testing.F) {
	f.Add([]byte(runConfig), []byte(metrics()), []byte(result))
	f.Add([]byte(runConfig), []byte(metrics()), []byte{})
	f.Add([]byte("workers: 2\nmode: sync\nlr: .inf\n"), []byte("{}\n"),
		[]byte(`{"classes":[{"class":"<script>","rows":1}],"confusion":[[1,0],[0]]}`))
	f.Add([]byte("mode: delayed:geometric:4\n"),
		[]byte(`{"kind":"epoch","epoch":1,"test_loss":null,"train_loss":1e300}`+"\n"),
		[]byte(`{"stopped":"diverged","test_r2":-1e300}`))
	f.Add([]byte("a: &a [*a, *a]\n"), []byte("\n"), []byte("null"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, settings, metrics, result []byte) {
		for name, text := range map[string][]byte{rundir.ConfigFile: settings, rundir.MetricsName: metrics,
			rundir.ResultFile: result} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if len(result) == 0 {
			os.Remove(filepath.Join(dir, rundir.ResultFile))
		}
		check.Bounded(t, 256<<20, func() {
			r, err := rundir.ReadRun(dir)
			if err != nil {
				if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), dir) {
					t.Errorf("the error %v is not the user's, or does not name the file", err)
				}
				return
			}
			r.State()
			for _, runs := range [][]*rundir.Recorded{{r}, {r, r}} {
				p := OfRuns(runs)
				var b strings.Builder
				if err := p.WriteHTML(&b); err != nil {
					t.Errorf("a page: %v", err)
				}
				if strings.Contains(b.String(), "<script") {
					t.Error("the page has a script")
				}
				for _, figure := range p.Figures() {
					if err := figure.SVG(io.Discard); err != nil {
						t.Errorf("the figure %s: %v", figure.Name, err)
					}
				}
			}
		})
	})
}
