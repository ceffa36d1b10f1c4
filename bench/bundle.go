package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// Results is what run.sh of make gpu-bundle has found, its archive unpacked in a folder.
type Results struct {
	Device     string           `json:"device"`
	StandIn    bool             `json:"stand_in"` // there was no GPU: times say nothing
	Machine    []string         `json:"machine"`  // lines of nvidia-smi and others
	Card       *Card            `json:"card,omitempty"`
	Commit     string           `json:"commit"`
	Date       string           `json:"date"`
	Parts      []Part           `json:"parts"`
	Checks     []Check          `json:"checks"`
	Skipped    []Skipped        `json:"skipped"`
	Microbench []Microbenchmark `json:"microbench"`
	Runs       []Run            `json:"runs"`
	Rivals     []Rival          `json:"rivals"`
	Kernels    []string         `json:"kernels"` // lines of ncu
}

// Part is a part of the script: how it ended, and how long it took, in seconds.
type Part struct {
	Name    string  `json:"name"`
	Status  string  `json:"status"` // a number (124: it took longer than the limit), "running", or "skipped" and why
	Seconds float64 `json:"seconds"`
	Limit   float64 `json:"limit"`
}

// Check is something that holds (ok), does not (FAIL), was not tried (skipped), or is told
// without a judgement (info).
type Check struct {
	Part   string `json:"part"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Text   string `json:"text"`
}

// Skipped is tests that were, and why.
type Skipped struct {
	Part  string   `json:"part"`
	Why   string   `json:"why"`
	Tests []string `json:"tests"`
}

// Microbenchmark is a figure of hogwild bench --microbench.
type Microbenchmark struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Means string  `json:"means"`
}

// Run is a report of hogwild train --json, as far as the page shows it. The names of its
// fields are those of rundir.Result.
type Run struct {
	Group             string      `json:"group"` // agree, rates, flight, mps ...
	Name              string      `json:"name"`
	Flags             string      `json:"flags"`
	Device            string      `json:"device"`
	Workers           int         `json:"workers"`
	Batch             int         `json:"batch"`
	LR                float64     `json:"lr_used"`
	Examples          int64       `json:"examples"`
	Seconds           float64     `json:"seconds"`
	ExamplesPerSecond float64     `json:"examples_per_second"`
	WallSeconds       float64     `json:"wall_seconds,omitempty"` // boundaries between epochs included
	WallRate          float64     `json:"wall_examples_per_second,omitempty"`
	Notes             []string    `json:"notes,omitempty"`
	TrainLoss         *float64    `json:"train_loss"` // nil: it was not finite
	TestLoss          *float64    `json:"test_loss"`
	TestAccuracy      *float64    `json:"test_accuracy,omitempty"`
	Stopped           string      `json:"stopped,omitempty"`
	StalenessMean     float64     `json:"staleness_mean"`
	StalenessP50      int64       `json:"staleness_p50"`
	StalenessP99      int64       `json:"staleness_p99"`
	StalenessMax      int64       `json:"staleness_max"`
	Histogram         [][2]uint64 `json:"staleness_histogram"`  // least delay in updates, samples
	Passes            []Pass      `json:"passes,omitempty"`     // after each epoch
	HostCores         *float64    `json:"host_cores,omitempty"` // that the run's processes kept busy
}

// Pass is what a run's metrics.jsonl says of an epoch.
type Pass struct {
	Seconds  float64  `json:"seconds"` // since training began
	TestLoss *float64 `json:"test_loss"`
}

// mostResult is more than run.sh writes to one file.
const mostResult = 1 << 28

// Collect reads a folder of results. What is not there was not measured.
func Collect(folder string) (*Results, error) {
	r := &Results{}
	if _, err := os.Stat(filepath.Join(folder, "parts.tsv")); err != nil {
		return nil, usage("%s has no results of run.sh, which make gpu-bundle packs: %v", folder, err)
	}
	read := func(name string) string {
		text, err := atomicfile.Read(filepath.Join(folder, name), mostResult)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err.Error()
		}
		return strings.TrimSpace(string(text))
	}
	r.Commit, r.Date = strings.ReplaceAll(read("commit.txt"), "\n", ", "), read("date.txt")
	r.Machine = lines(read("machine.txt"))
	for _, f := range fields(read("parts.tsv"), "\t", 4) {
		s := Part{Name: f[0], Status: f[1]}
		s.Seconds, _ = strconv.ParseFloat(f[2], 64) // run.sh wrote them
		s.Limit, _ = strconv.ParseFloat(f[3], 64)
		r.Parts = append(r.Parts, s)
	}
	for _, f := range fields(read("checks.tsv"), "\t", 4) {
		r.Checks = append(r.Checks, Check{f[0], f[1], f[2], strings.Join(strings.Fields(f[3]), " ")})
	}
	if text := read("microbench.json"); text != "" {
		p := struct {
			Device  *string
			StandIn *bool `json:"stand_in"`
			Figures *[]Microbenchmark
		}{&r.Device, &r.StandIn, &r.Microbench}
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, fmt.Errorf("bench: microbench.json: %w", err)
		}
	}
	for _, line := range lines(read("rivals.jsonl")) {
		var v Rival
		if err := json.Unmarshal([]byte(line), &v); err == nil { // else it was cut off
			r.Rivals = append(r.Rivals, v)
			r.StandIn = r.StandIn || strings.Contains(v.Device, "stand-in")
		}
	}
	for _, kernel := range []string{"linear", "mlp", "conv"} {
		for _, line := range lines(read("ncu." + kernel + ".txt")) {
			if ncuLine.MatchString(line) {
				r.Kernels = append(r.Kernels, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	r.Card = cardOf(fields(read("smi.csv"), ", ", 6), read("uuid.txt"))
	if err := r.runs(folder); err != nil {
		return nil, err
	}
	r.agree()
	r.rates()
	if err := r.tests(folder); err != nil {
		return nil, err
	}
	part := func(c Check) int { return slices.IndexFunc(r.Parts, func(p Part) bool { return p.Name == c.Part }) }
	slices.SortStableFunc(r.Checks, func(a, b Check) int { return part(a) - part(b) })
	return r, nil
}

// ncuLine matches what the page shows of ncu's report: of each kernel how it was launched, and what
// held it back.
var ncuLine = regexp.MustCompile(`Context \d|Duration|Registers Per|Shared Memory Per|Waves Per|Achieved|Theoretical Occ|Throughput|Stall|Warp Cycles|No Eligible|ERR`)

// runs reads trained/GROUP.NAME.json, sorted as people count: 8 before 64.
func (r *Results) runs(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "trained", "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := atomicfile.Read(file, mostResult)
		if err != nil {
			return err
		}
		run := Run{}
		if err := json.Unmarshal(text, &run); err != nil {
			continue // the run was cut off
		}
		run.Group, run.Name, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		flags, _ := atomicfile.Read(strings.TrimSuffix(file, ".json")+".flags", mostResult)
		run.Flags = strings.TrimSpace(string(flags))
		metrics, _ := atomicfile.Read(strings.TrimSuffix(file, ".json")+".metrics", mostResult)
		run.Passes = passes(string(metrics))
		host, _ := atomicfile.Read(strings.TrimSuffix(file, ".json")+".host", mostResult)
		run.HostCores = number(strings.TrimSpace(string(host)))
		r.Runs = append(r.Runs, run)
		if strings.HasPrefix(run.Device, "cuda") && r.Device == "" {
			r.Device = run.Device
		}
		r.StandIn = r.StandIn || strings.Contains(run.Device, "stand-in")
	}
	slices.SortFunc(r.Runs, func(a, b Run) int { return byNumber(a.Group+"."+a.Name, b.Group+"."+b.Name) })
	return nil
}

// passes are the epochs of a run's metrics; a line that was cut off is none.
func passes(text string) (all []Pass) {
	for _, line := range lines(text) {
		var v struct {
			Kind string
			Pass
		}
		if json.Unmarshal([]byte(line), &v) == nil && v.Kind == "epoch" {
			all = append(all, v.Pass)
		}
	}
	return all
}

// byNumber compares names whose last part, behind a dot or a dash, may be a number.
func byNumber(a, b string) int {
	i, j := strings.LastIndexAny(a, ".-"), strings.LastIndexAny(b, ".-")
	m, errA := strconv.Atoi(a[i+1:])
	n, errB := strconv.Atoi(b[j+1:])
	if errA == nil && errB == nil && a[:i] == b[:j] {
		return m - n
	}
	return strings.Compare(a, b)
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// number is the one that a text is, or nil.
func number(text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &v
}

// fields are those of a table; lines with fewer than n are left out.
func fields(text, between string, n int) (all [][]string) {
	for _, line := range lines(text) {
		if f := strings.SplitN(line, between, n); len(f) == n {
			all = append(all, f)
		}
	}
	return all
}

// WriteJSON writes the results as one JSON object.
func (r *Results) WriteJSON(w io.Writer) error { return human.WriteJSON(w, r) }
