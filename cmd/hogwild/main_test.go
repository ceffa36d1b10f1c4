package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestLongWords: whatever a user writes, and however long it is, an error repeats 300 bytes of it at most.
func TestLongWords(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("x", 50000)
	for name, text := range map[string]string{
		"cell.csv":     "a,b,y\n1,2,3\n1," + long + ",4\n",
		"head.csv":     "a," + long + "," + long + "\n1,2,3\n2,3,4\n",
		"label.csv":    "a,b,y\n1,2," + long + "\n1,2," + long + "\n",
		"rows.libsvm":  "1 1:2 2:3\n-1 1:" + long + "\n",
		"label.libsvm": long + " 1:2\n" + long + " 1:3\n",
		"key.yaml":     long + ": 1\n",
		"value.yaml":   "lr: " + long + "\n",
		"ratings.csv":  "user,item,rating\n1,2," + long + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"LONG", "LONG --help", "--LONG", "train LONG", "train --LONG", "train --LONG=1", "train --lr LONG",
		"train --model LONG",
		"train --model mlp:LONG", "train --model conv:LONG", "train --mode LONG", "train --optimizer LONG",
		"train --data LONG",
		"train --data digits:LONG", "train --data synth:LONG", "train --test LONG", "train --scale LONG",
		"train --format LONG",
		"train --workers LONG", "train --gpu LONG", "train --run LONG", "train --resume LONG", "train --config LONG",
		"train --cpuprofile LONG", "train --trace LONG", "train --dashboard LONG", "train --schedule LONG",
		"train --average-every LONG",
		"train --save-every LONG", "train --seed LONG", "train --center LONG", "train --merge-every LONG",
		"train --partition LONG",
		"train --data cell.csv --workers 2", "train --data head.csv --target LONG --workers 2",
		"train --data head.csv --target nosuch", "train --data label.csv",
		"train --data rows.libsvm", "train --data label.libsvm", "train --config key.yaml", "train --config value.yaml",
		"train --data ratings.csv --format ratings --model factor:2", "train --data ratings.csv --target LONG",
		"eval LONG", "eval key.yaml --data LONG", "data info LONG", "data info cell.csv --target LONG",
		"data make LONG x.csv",
		"data make dense:3x3 LONG", "report LONG", "sweep LONG", "bench --modes LONG", "bench --workers LONG",
		"bench --out LONG/LONG",
		"reproduce LONG", "doctor LONG",
	} {
		var stdout, stderr bytes.Buffer
		status := execute(strings.Fields(strings.ReplaceAll(line, "LONG", long)), &stdout, &stderr)
		said := stderr.String()
		if status == 0 || said == "" {
			t.Errorf("%s: status %d, %q", line, status, said)
		}
		if n := strings.Count(said, "\n"); n > 4 || len(said) > 2000 {
			t.Errorf("%s: %d lines, %d bytes: %.300q", line, n, len(said), said)
		}
		if strings.Contains(said, strings.Repeat("x", 301)) {
			t.Errorf("%s: more than 300 bytes of what was written: %.400q", line, said)
		}
	}
	t.Setenv("HOGWILD_LR", long)
	var stdout, stderr bytes.Buffer
	if execute([]string{"train"}, &stdout, &stderr); strings.Contains(stderr.String(), strings.Repeat("x", 301)) {
		t.Errorf("the environment: %.400q", stderr.String())
	}
}
