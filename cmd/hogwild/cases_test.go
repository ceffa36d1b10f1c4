package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/data"
)

// foundFile is a file as other programs write it, made of rows whose right values are known.
type foundFile struct {
	head          string
	rows          int
	row           func(r *rand.Rand, i int) string
	target, flags string // of train

	features, classes string    // those that data info gives; empty: not looked at
	least             float64   // accuracy on the test rows, or without classes R2
	note              string    // of the report of train
	inputs            string    // rows to be predicted
	outputs           []float64 // their values
	near              float64   // how far from them predictions may be
}

// grouped writes a whole number with a mark between thousands.
func grouped(n int, mark string) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return grouped(n/1000, mark) + mark + fmt.Sprintf("%03d", n%1000)
}

// wide returns a whole number below 60,000; two in five are below 1,000.
func wide(r *rand.Rand) int { return int(60 * math.Pow(1000, r.Float64())) }

func comma(v float64) string { return strings.Replace(fmt.Sprintf("%.2f", v), ".", ",", 1) }

// groupsOf makes rows of two numbers and one of the labels, each around a point of its own.
func groupsOf(labels ...string) func(*rand.Rand, int) string {
	return func(r *rand.Rand, _ int) string {
		k := r.IntN(len(labels))
		at := 3 * float64(k)
		return fmt.Sprintf("%.3f,%.3f,%s", at+.15*r.NormFloat64(), .15*r.NormFloat64()-at, labels[k])
	}
}

// halfDays makes rows of times and whether they are before noon.
func halfDays(layout string) func(*rand.Rand, int) string {
	return func(r *rand.Rand, i int) string {
		at := time.Date(2021, 3, 1+i, r.IntN(24), 30, 0, 0, time.UTC)
		return fmt.Sprintf("%s,%.3f,%s", at.Format(layout), r.NormFloat64(), strings.ToLower(at.Format("PM")))
	}
}

// ratingsOf makes ratings of 40 users and 30 films, which have two factors. The format takes user, film, rating and
// number of the line.
func ratingsOf(format string) func(*rand.Rand, int) string {
	return func(r *rand.Rand, i int) string {
		u, m := 1+r.IntN(40), 1+r.IntN(30)
		v := 3 + math.Sin(float64(u))*math.Cos(float64(m)) + .5*math.Cos(float64(2*u))
		return fmt.Sprintf(format, u, 100+m, fmt.Sprintf("%.1f", v), i)
	}
}

// foundFiles: what is predicted is the value of the formula by which the rows were made.
var foundFiles = map[string]foundFile{
	"European thousands.csv": {head: "einwohner;quote;index\n", rows: 400, row: func(r *rand.Rand, _ int) string {
		n, q := wide(r), 10*r.Float64()
		return grouped(n, ".") + ";" + comma(q) + ";" + comma(.002*float64(n)-5*q+.1*r.NormFloat64())
	}, target: "index", flags: "--model linear", features: "einwohner quote", least: .99,
		note: "points between thousands: einwohner", inputs: "einwohner;quote\n12.345;2,00\n500;2,00\n50.000;2,00\n",
		outputs: []float64{14.69, -9, 90}, near: .2},
	"American thousands.tsv": {head: "population\trooms\tprice\n", rows: 400, row: func(r *rand.Rand, _ int) string {
		n, rooms := wide(r), 2+r.IntN(8)
		return fmt.Sprintf("%s\t%d\t%.0f", grouped(n, ","), rooms, float64(3*n+500*rooms)+50*r.NormFloat64())
	}, target: "price", flags: "--model linear", features: "population rooms", least: .99,
		note: "commas between thousands: population", inputs: "population\trooms\n12,345\t2\n500\t2\n",
		outputs: []float64{38035, 2500}, near: 60},
	"separators in a quoted header.csv": {head: "\"weight (kg; dry; net; mean of 3)\",kind,y\n", rows: 200,
		row: func(r *rand.Rand, _ int) string {
			weight, kind := 40+40*r.Float64(), r.IntN(2)
			return fmt.Sprintf("%.2f,%c,%.2f", weight, 'a'+kind, 2*weight+7*float64(kind))
		}, target: "y", flags: "--model linear", least: .99,
		features: "weight (kg; dry; net; mean of 3) kind=a kind=b"},
	"messages without quoting.tsv": {rows: 301, row: func(r *rand.Rand, i int) string {
		end := fmt.Sprintf(" %d", r.IntN(99))
		if i%20 == 19 {
			end += ", a \"5\" inch disk"
		}
		if i%3 == 0 {
			return "spam\t" + []string{"WIN a prize, call", "Free entry, txt", "You won, call now:"}[r.IntN(3)] + end
		}
		return "ham\t" + []string{"ok, see you at", "going home, crazy.. wat", "and you, mum"}[r.IntN(3)] + end
	}, target: "1", flags: "--model text:10 --epochs 20", classes: "ham spam", least: .99},
	"row names of R.csv": {head: "\"a\",\"b\",\"y\"\n", rows: 100, row: func(r *rand.Rand, i int) string {
		return fmt.Sprintf("%q,", fmt.Sprint(i+1)) + groupsOf(`"no"`, `"yes"`)(r, i)
	}, target: "y", features: "a b", classes: "no yes", least: .95},
	"first line of Excel.csv": {head: "sep=;\r\nhoehe;gewicht;y\r\n", rows: 150, row: func(r *rand.Rand, i int) string {
		return strings.NewReplacer(",", ";", ".", ",").Replace(groupsOf("ja", "nein")(r, i)) + "\r"
	}, target: "y", features: "hoehe gewicht", classes: "ja nein", least: .93,
		note: "decimal commas: hoehe, gewicht"},
	"missing.csv": {head: "a,b,y\n", rows: 200, row: func(r *rand.Rand, i int) string {
		missing := []string{"None", "<NA>", "#N/A", "-nan", "nan", "NULL", "N/A", "NaN", "1.#IND", "n/a"}
		row := groupsOf("0", "1")(r, i)
		if i%10 == 0 {
			return missing[i/10%10] + row[strings.IndexByte(row, ','):]
		}
		return row
	}, target: "y", features: "a b", classes: "0 1", least: .95, note: "filled 20 missing values"},
	"large classes.csv": {head: "a,b,code\n", rows: 300, row: groupsOf("90210", "1000000", "1234567", "20250101"),
		target: "code", flags: "--model softmax", features: "a b", classes: "90210 1000000 1234567 20250101", least: 1,
		inputs:  "a,b\n0,0\n3,-3\n6,-6\n9,-9\n",
		outputs: []float64{90210, 1e6, 1234567, 20250101}},
	"large ids.csv": {head: "a,b,segment\n", rows: 300,
		row:    groupsOf("9007199254740993", "144115188075856001", "144115188075856002", "144115188075856003"),
		target: "segment", flags: "--model softmax", features: "a b",
		classes: "144115188075856001 144115188075856002 144115188075856003 9007199254740993", least: 1},
	"dates of ISO.csv": {head: "when,x,y\n", rows: 400, row: halfDays("2006-01-02T15:04:05Z"), target: "y",
		classes: "am pm", least: .97, note: `"when" holds dates`},
	"dates of pandas.csv": {head: "when,x,y\n", rows: 400, row: halfDays("2006-01-02 15:04:05 UTC"), target: "y",
		classes: "am pm", least: .97, note: `"when" holds dates`},
	"dates of America.csv": {head: "when,x,y\n", rows: 400, row: halfDays("01/02/2006 03:04 pm"), target: "y",
		classes: "am pm", least: .97, note: "taken as month/day/year"},
	"codes with underscores.csv": {head: "code,x,y\n", rows: 200, row: func(r *rand.Rand, i int) string {
		return []string{"20_1,", "2_01,", "20_2,", "19_12,"}[i%4] + fmt.Sprintf("%.3f,%c", r.NormFloat64(), "abbb"[i%4])
	}, target: "y", features: "code=19_12 code=20_1 code=20_2 code=2_01 x", classes: "a b", least: .99},
	"lists in cells.csv": {rows: 100, row: func(r *rand.Rand, i int) string {
		return fmt.Sprintf("%.3f,a|b|c|d%d,%d", r.Float64(), i%3, i%2)
	}, features: "1 2=a|b|c|d0 2=a|b|c|d1 2=a|b|c|d2", classes: "0 1", least: 0},
	"messages with quotes and commas.tsv": {rows: 300, row: func(r *rand.Rand, i int) string {
		label, word := []string{"spam", "ham"}[i%2], []string{"prize", "home"}[i%2]
		return fmt.Sprintf("%s\t%s, at \"%d\" or so", label, word, r.IntN(60))
	}, target: "1", flags: "--model text:10 --epochs 20", classes: "ham spam", least: .99},
	"names with blanks.tsv": {rows: 2000, row: ratingsOf("user %[1]d\tfilm %[2]d\t%[3]s"), flags: "--model factor:8",
		least: .9},
	"Amazon.csv": {head: "user_id,parent_asin,rating,timestamp\n", rows: 2000,
		row: ratingsOf("AE%[1]dX,B00%[2]d,%[3]s,17000%04[4]d"), least: .9},
	"reviews.tsv": {head: "reviewerID\tasin\toverall\tunixReviewTime\n", rows: 2000,
		row: ratingsOf("A%[1]dX\t000%[2]d\t%[3]s\t17000%04[4]d"), least: .9},
	"RecBole.inter": {head: "item_id:token\tuser_id:token\trating:float\ttimestamp:float\n", rows: 2000,
		row: ratingsOf("%[2]d\t%[1]d\t%[3]s\t17000%04[4]d"), least: .9},
	"Gephi.csv": {head: "Source,Target,Type,Weight\n", rows: 200, row: func(_ *rand.Rand, i int) string {
		return fmt.Sprintf("n%d,n%d,Undirected,%d", i%20, i%7, i%3)
	}, classes: "n0 n1 n2 n3 n4 n5 n6", note: "--model cut:10"},
	"ids as floats.csv": {head: "user,item,rating\n", rows: 2000, row: ratingsOf("%[1]d.0,%[2]d.0,%[3]s"),
		flags: "--model factor:8", least: .9},
}

// TestFoundFiles: each file is read by data info as what it holds, learned from, and predicted.
func TestFoundFiles(t *testing.T) {
	for name, f := range foundFiles {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, other, run := filepath.Join(dir, name), filepath.Join(dir, "new-"+name), filepath.Join(dir, "run")
			r, text := rand.New(rand.NewPCG(7, 11)), f.head
			for i := range f.rows {
				text += f.row(r, i) + "\n"
			}
			for path, text := range map[string]string{path: text, other: f.inputs} {
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var m data.Meta
			decode(t, call(t, "data", "info", path, "--target="+f.target, "--json"), &m)
			if m.Rows != f.rows || f.features != "" && strings.Join(m.Columns, " ") != f.features ||
				strings.Join(m.Classes, " ") != f.classes {
				t.Errorf("%d rows of %q, classes %q", m.Rows, m.Columns, m.Classes)
			}
			var result struct {
				Accuracy *float64 `json:"test_accuracy"`
				R2       float64  `json:"test_r2"`
				Notes    []string
			}
			args := append([]string{"train", "--data", path, "--run", run, "--target=" + f.target, "--workers", "1",
				"--json", "--quiet"}, strings.Fields(f.flags)...)
			decode(t, call(t, args...), &result)
			score := result.R2
			if result.Accuracy != nil {
				score = *result.Accuracy
			}
			if notes := strings.Join(result.Notes, "\n"); score < f.least || !strings.Contains(notes, f.note) {
				t.Errorf("accuracy or R2 %.4f, want %g or more; notes %s", score, f.least, notes)
			}
			if f.inputs == "" {
				return
			}
			predicted := strings.Fields(call(t, "predict", run, "--data", other))[1:]
			for i, text := range predicted {
				if v, err := strconv.ParseFloat(text, 64); err != nil || len(predicted) != len(f.outputs) ||
					math.Abs(v-f.outputs[i]) > f.near || f.near == 0 && fmt.Sprintf("%.0f", f.outputs[i]) != text {
					t.Errorf("predicted %s, want %.0f", predicted, f.outputs)
				}
			}
		})
	}
}
