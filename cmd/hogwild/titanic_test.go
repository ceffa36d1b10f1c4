package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// titanic returns the rows of a table with the columns, and the holes, of the passengers of the Titanic, made up.
func titanic(seed uint64, rows int) [][]string {
	r := rand.New(rand.NewPCG(seed, 891))
	one := func(share float64, yes, no string) string {
		if r.Float64() < share {
			return yes
		}
		return no
	}
	table := [][]string{strings.Split("PassengerId Survived Pclass Name Sex Age SibSp Parch Ticket Fare Cabin Embarked",
		" ")}
	for i := range rows {
		class := 1 + []int{0, 0, 1, 2, 2}[r.IntN(5)]
		sex := one(.65, "male", "female")
		age := math.Max(.4, 42-4.5*float64(class)+13*r.NormFloat64())
		siblings, parents := int(r.ExpFloat64()*.6), int(r.ExpFloat64()*.5)
		fare := math.Exp(5.1 - .75*float64(class) + .6*r.NormFloat64())
		logit := 1.4 - float64(class) - .035*(age-30) - .3*float64(siblings) + .003*fare
		if sex == "female" {
			logit += 2.6
		}
		hidden := .1
		if class == 1 {
			hidden = .6
		}
		table = append(table, []string{strconv.Itoa(i + 1), one(1/(1+math.Exp(-logit)), "1", "0"), strconv.Itoa(class),
			fmt.Sprintf("Name%d, %s Given", i, one(.5, "Mr.", "Dr.")), sex,
			one(.2, "", strconv.FormatFloat(age, 'f', 1, 64)),
			strconv.Itoa(siblings), strconv.Itoa(parents), one(.3, "A/5 ", "") + strconv.Itoa(1000+r.IntN(400_000)),
			strconv.FormatFloat(fare, 'f', 4, 64),
			one(hidden, one(.5, "C", "B")+strconv.Itoa(r.IntN(200)), ""),
			one(.002, "", one(.72, "S", one(.7, "C", "Q")))})
	}
	return table
}

func writeTable(t *testing.T, path string, table [][]string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := csv.NewWriter(f).WriteAll(table); err != nil {
		t.Fatal(err)
	}
}

// pipelineScript prints the accuracy of scikit-learn's usual pipeline on the second of two tables, trained on the
// first; the mean of several pairs.
const pipelineScript = `import csv, sys
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
def read(path):
    rows = list(csv.DictReader(open(path)))
    number = lambda cell: float(cell) if cell else np.nan
    x = np.array([[number(r[c]) for c in ("Pclass", "Age", "SibSp", "Parch", "Fare")] + [r["Sex"], r["Embarked"] or None] for r in rows], dtype=object)
    return x, np.array([int(r["Survived"]) for r in rows])
numbers = make_pipeline(SimpleImputer(), StandardScaler())
texts = make_pipeline(SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
model = make_pipeline(ColumnTransformer([("n", numbers, [0, 1, 2, 3, 4]), ("t", texts, [5, 6])]), LogisticRegression(max_iter=1000))
files = sys.argv[1:]
print(np.mean([model.fit(*read(train)).score(*read(test)) for train, test in zip(files[::2], files[1::2])]))
`

// TestTitanic: a table as people have them is trained on by one command, and predicted as well as by scikit-learn.
func TestTitanic(t *testing.T) {
	dir := t.TempDir()
	ours, files := 0.0, []string(nil)
	const splits = 6
	for split := range splits {
		run := filepath.Join(dir, strconv.Itoa(split))
		train, test := run+".csv", run+"-new.csv"
		files = append(files, train, test)
		table := titanic(uint64(split), 891+300)
		writeTable(t, train, table[:892])
		writeTable(t, test, append(table[:1:1], table[892:]...))
		call(t, "train", "--data", train, "--target", "Survived", "--test", test, "--workers", "1", "--run",
			run, "--quiet")
		var r struct {
			Accuracy float64
			Notes    []string
		}
		if err := json.Unmarshal([]byte(call(t, "eval", run, "--data", test, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		ours += r.Accuracy / splits
		if lines := strings.Count(call(t, "predict", run, "--data", test), "\n"); lines != 301 { // and a header
			t.Errorf("%d lines of predictions of 300 rows", lines)
		}
		if says := strings.Join(r.Notes, "\n"); !strings.Contains(says, "Age (") {
			t.Errorf("notes %q", says)
		}
	}
	theirs, err :=
		strconv.ParseFloat(strings.TrimSpace(string(check.Python(t, "numpy, sklearn", pipelineScript, files...))), 64)
	if err != nil {
		t.Fatal(err)
	}
	// Of 1,800 predictions; half of them alike, both accuracies are known to a hundredth.
	if t.Logf("accuracy %.4f, of scikit-learn %.4f", ours, theirs); ours < theirs-.015 || ours < .7 {
		t.Errorf("accuracy %.4f, of scikit-learn %.4f", ours, theirs)
	}
}
