package rundir

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/internal/check"
)

const fuzzAlloc = 64 << 20

// FuzzMetrics: a line of metrics that is read is written and read again, the same.
func FuzzMetrics(f *testing.F) {
	for _, line := range []string{`{"kind":"epoch","epoch":1,"seconds":1.5,"examples":60000,"lr":0.05,"train_loss":0.8,"test_loss":0.7,"test_accuracy":0.9}`,
		`{"kind":"epoch","epoch":2,"train_loss":null,"test_loss":null,"validation_loss":0.5,"validation_r2":-1e300}`,
		`{"kind":"second","epoch":1,"epochs":3,"seconds":1,"examples":40000,"examples_per_second":null,"workers":[{"rank":0,"state":"training","examples":1,"examples_per_second":10000}]}`,
		`{"kind":"third"}`, `{"kind":"epoch","epoch":1e99}`, `{}`, `null`, ``, `{"Kind":"epoch","EPOCH":3}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		check.Bounded(t, fuzzAlloc, func() {
			e, s, err := ReadMetric(line)
			if err != nil {
				return
			}
			var was any = e
			if e == nil {
				was = s
			}
			again, err := json.Marshal(was)
			if err != nil {
				t.Fatalf("%q was read and cannot be written: %v", line, err)
			}
			e2, s2, err := ReadMetric(again)
			nan := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
			if err != nil || !cmp.Equal(e, e2, nan) || !cmp.Equal(s, s2, nan) {
				t.Errorf("%q came back as %s: %v", line, again, err)
			}
		})
	})
}

// FuzzResult: a result that is read is written and read again, the same.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"mode":"async","workers":2,"epochs":2,"train_loss":0.38,"test_loss":null,"test_accuracy":0.91,"machine":{"cpu":"A","cores":2},"per_worker":[{"rank":0,"examples_per_second":null}],
"classes":[{"class":"u","rows":1,"precision":0.5}],"confusion":[[1,0],[0,1]],"staleness_histogram":[[0,1],[2,3]],"notes":["a"],"time":"2026-11-22T21:03:10Z"}`))
	f.Add([]byte(`{"stopped":"diverged","test_rmse":1e300}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		check.Bounded(t, fuzzAlloc, func() {
			r, again := &Result{}, &Result{}
			if json.Unmarshal(text, r) != nil {
				return
			}
			written, err := json.Marshal(r)
			if err != nil {
				t.Fatalf("%q was read and cannot be written: %v", text, err)
			}
			if err := json.Unmarshal(written, again); err != nil {
				t.Fatalf("%s cannot be read again: %v", written, err)
			}
			if twice, err := json.Marshal(again); err != nil || string(twice) != string(written) {
				t.Errorf("%s came back as %s: %v", written, twice, err)
			}
		})
	})
}
