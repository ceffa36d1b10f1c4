package page

import (
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

// TestDevices has a run of 3.25 s in which one GPU trained twice as much as the cores.
func TestDevices(t *testing.T) {
	shares := `"shares":[{"device":"cuda:0","examples":80000,"share":0.6666666},{"device":"cpu","examples":40000,"share":0.3333333}],`
	mixed := folder(t, "mixed", map[string]string{
		"config.yaml": runConfig, "metrics.jsonl": metrics(),
		"result.json": strings.Replace(result, "{", "{"+shares, 1),
	})
	p := OfRuns([]*rundir.Recorded{mixed})
	for column, want := range map[string]string{"examples": "80,000", "examples/s": "24.6 k",
		"share of the examples": "67%"} {
		if got := cell(t, p, "Devices", "cuda:0", column); got != want {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	if got := cell(t, p, "Devices", "cpu", "share of the examples"); got != "33%" {
		t.Errorf("share of the cores: %q", got)
	}

	alone := folder(t, "alone", map[string]string{"config.yaml": runConfig, "metrics.jsonl": metrics(),
		"result.json": result})
	if got := cell(t, OfRuns([]*rundir.Recorded{alone, mixed}), "Devices, mixed", "cuda:0",
		"share of the examples"); got != "67%" {
		t.Errorf("share of the second run's GPU: %q", got)
	}
	for _, s := range OfRuns([]*rundir.Recorded{alone}).Sections {
		if s.Title == "Devices" {
			t.Errorf("of a run on one device: %v", s.Table)
		}
	}
}
