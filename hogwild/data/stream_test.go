package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/data/format"
)

// streamed returns every row that Stream reads, expanded; nil where there is a gap.
func streamed(t *testing.T, in Inputs) (x [][]float32, notes []string) {
	t.Helper()
	var err error
	if in.Places, err = in.Like.Places(nil); err != nil {
		t.Fatal(err)
	}
	notes, err = Stream(in, func(p *Piece) error {
		rows := p.Batch.Rows
		for _, gap := range p.Gaps {
			if gap {
				x = append(x, nil)
				continue
			}
			x = append(x, slices.Clone(expand(t, rows[0], p.Batch.Features)))
			rows = rows[1:]
		}
		if len(rows) > 0 || p.IDs != nil && len(p.IDs) != len(p.Gaps) {
			t.Errorf("%d rows too many, %d ids of %d", len(rows), len(p.IDs), len(p.Gaps))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x, notes
}

// npyOf returns a float64 array.
func npyOf(columns int, v ...float64) string {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", len(v)/columns, columns)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	b = append(b, head...)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return string(b)
}

// TestStreamReadsAsEvalDoes: each form of a file, with labels or without, has the rows that
// LoadLike makes of the labelled file.
func TestStreamReadsAsEvalDoes(t *testing.T) {
	for name, c := range map[string]struct {
		train    string
		file     string // of train and of labelled
		options  Options
		labelled string
		others   map[string]string // by name: the same rows otherwise
		target   string
	}{
		"names": {"a,s,y,b\n1,red,0,2\n3,blue,1,7\n5,red,1,1.5\n2,green,0,4\n", "t.csv",
			Options{Scale: "standard", Target: "y"},
			"a,s,y,b\n7,green,1,-1\n2,red,0,9\n", map[string]string{
				"x.csv":        "a,s,b\n7,green,-1\n2,red,9\n",
				"permuted.csv": "\ufeffb;more;s;a\r\n-1;?;green;7\r\n9;;red;2\r\n",
				"labels.csv":   "a,s,y,b\n7,green,,-1\n2,red,unknown,9"}, ""},
		"names that were equal signs": {"a=b,y\nu,0\nv,1\nu,1\n", "t.csv", Options{}, "a=b,y\nv,1\nu,0\n",
			map[string]string{"x.csv": "a=b\nv\nu\n"}, ""},
		"numbers, the target first": {"0,5,x,2\n1,6,z,3\n1,7,x,1\n0,9,z,5\n", "t.csv", Options{Target: "1"},
			"1,4,z,6\n0,3,x,2\n", map[string]string{
				"x.csv": "4,z,6\n3,x,2\n", "head.csv": "y,b,c,d\n1,4,z,6\n0,3,x,2\n"}, ""},
		"numbers, the target last": {"5,2,0\n6,3,1\n7,1,1\n9,5,0\n", "t.csv", Options{}, "4,6,1\n3,2,0\n",
			map[string]string{
				"x.csv": "4,6\n3,2\n", "head.csv": "b,c\n4,6\n3,2\n"}, ""},
		"numbers that are names": {"2,1,y\n1,5,0\n6,3,1\n7,1,1\n9,5,0\n", "t.csv", Options{}, "2,1,y\n4,6,1\n3,2,0\n",
			map[string]string{
				"x.csv": "2,1\n4,6\n3,2\n", "permuted.csv": "1,2\n6,4\n2,3\n"}, ""},
		"pandas' numbers": {"0,1,2,3\n0,5,6,7\n1,4,3,3\n1,5,3,1\n0,2,2,5\n", "t.csv", Options{Target: "0"},
			"0,1,2,3\n1,4,5,6\n0,3,2,1\n", map[string]string{
				"x.csv": "1,2,3\n4,5,6\n3,2,1\n"}, ""},
		"sparse": {"0 1:1 9:2\n1 2:3\n1 4:1 5:2\n0 1:4\n", "t.svm", Options{Scale: "unit"}, "1 9:1\n0\n0 2:2 4:5\n",
			map[string]string{
				"x.svm": "9:1\n\n# nothing\n0\n2:2 4:5 10:7\n", "any.svm": "? 9:1\n0 \nunknown 2:2 4:5\n"}, ""},
		"dense LIBSVM": {"0 1:1 2:2\n1 1:2 2:3\n1 2:2\n0 1:4 2:1\n", "t.svm", Options{Scale: "standard"},
			"1 1:1\n0 2:2\n0 1:3 2:1\n", map[string]string{
				"x.svm": "1:1\n2:2\n1:3 2:1\n", "x.csv": "u,v\n1,0\n0,2\n3,1\n", "y.csv": "1,0,9\n0,2,9\n3,1,9\n",
				"x.npy": npyOf(2, 1, 0, 0, 2, 3, 1)}, ""},
		"array, the target first": {npyOf(3, 0, 1, 2, 1, 2, 3, 0, 5, 2, 1, 9, 8), "t.npy",
			Options{Target: "1", Scale: "unit"}, npyOf(3, 1, 7, 6, 0, 3, 2), map[string]string{
				"x.npy": npyOf(2, 7, 6, 3, 2), "x.csv": "7,6\n3,2\n", "y.csv": "1,7,6\n0,3,2\n"}, ""},
		"array, another target": {npyOf(3, 0, 1, 2, 1, 2, 3, 0, 5, 2, 1, 9, 8), "t.npy", Options{Target: "1"},
			npyOf(3, 1, 7, 6, 0, 3, 2), map[string]string{
				"x.npy": npyOf(3, 7, 6, 5, 3, 2, 5), "x.csv": "7,6,5\n3,2,5\n"}, "3"},
		"many texts": {manyTexts(150, 700), "t.csv", Options{}, "n,level,y\n,t7,1\n5,,0\n0,never,1\n2,t149,1\n",
			map[string]string{
				"x.csv":        "n,level\n,t7\n5,\n0,never\n2,t149\n",
				"permuted.csv": "level;n\nt7;\n;5\nnever;0\nt149;2\n"}, ""},
		"ratings": {strings.Repeat("1 5 2\n1 6 3\n2 5 1\n2 6 4\n", 4), "t.txt", Options{Task: "triples"},
			"2 5 1\n1 6 1\n", map[string]string{
				"x.txt": "2 5\n1 6\n", "x.csv": "user,item\n2,5\n1,6\n", "x.npy": npyOf(2, 2, 5, 1, 6),
				"y.npy": npyOf(3, 2, 5, 0, 1, 6, 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Path, c.options.Seed = file(t, "", c.file, c.train), 1
			c.options.Test, c.options.Unjudged = c.options.Path, true
			train, _ := mustLoad(t, c.options)
			labelled := file(t, "", c.file, c.labelled)
			like, err := LoadLike(labelled, "", c.options.Target, train.Meta)
			if err != nil {
				t.Fatal(err)
			}
			defer like.Close()
			want, _ := rowsOf(t, like)
			in := Inputs{Like: train.Meta, Was: c.options.Target}
			check := func(form string) {
				if got, _ := streamed(t, in); !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s: %v, want %v", form, got, want)
				}
			}
			in.Path = labelled
			check("labelled")
			in.Path = file(t, "", c.file, packed(t, c.labelled))
			check("packed")
			in.Target = c.target
			for name, text := range c.others {
				in.Path = file(t, "", name, text)
				check(name)
			}
		})
	}
}

// TestStreamKeepsRows: rows that miss an input stay, as gaps, and it is said why.
func TestStreamKeepsRows(t *testing.T) {
	train, _ := mustLoad(t, Options{Path: file(t, "", "t.csv", "a,s,y\n1,u,0\n2,v,1\n3,u,1\n4,v,0\n"), Seed: 1,
		Missing: format.Drop})
	in := Inputs{Path: file(t, "", "x.csv", "a,s\n1,u\n,v\n3,w\nNA,u\n5,v\n"), Like: train.Meta}
	got, notes := streamed(t, in)
	want := [][]float32{{1, 1, 0}, nil, {3, 0, 0}, nil, {5, 0, 1}}
	for i := range want {
		if want[i] != nil {
			want[i][0] = train.scaled(0, want[i][0])
		}
	}
	if !slices.EqualFunc(got, want, slices.Equal) || len(notes) != 2 ||
		!strings.Contains(notes[0], `2 of 5 rows have no prediction`) ||
		!strings.Contains(notes[0], `x.csv:3: column "a"`) || !strings.Contains(notes[1], `in 1 of 5 rows column "s"`) {
		t.Errorf("%v, %q", got, notes)
	}

	pairs, _ := mustLoad(t, Options{Path: file(t, "", "t.txt", strings.Repeat("1 5 2\n1 6 3\n2 5 1\n2 6 4\n", 4)),
		Task: "triples", Seed: 1})
	got, notes = streamed(t, Inputs{Path: file(t, "", "x.txt", "1 5\n7 5\n2 6\n"), Like: pairs.Meta})
	if len(got) != 3 || got[0] == nil || got[1] != nil || got[2] == nil || len(notes) != 1 ||
		!strings.Contains(notes[0], "x.txt:2: ") {
		t.Errorf("%v, %q", got, notes)
	}
}

// TestStreamRefuses files that are not what the model takes.
func TestStreamRefuses(t *testing.T) {
	named, _ := mustLoad(t, Options{Path: file(t, "", "t.csv", "a,b,y\n1,2,0\n2,3,1\n3,1,1\n4,1,0\n"), Seed: 1})
	sparse, _ := mustLoad(t, Options{Path: file(t, "", "t.svm", "0 1:1 9:2\n1 2:3\n1 4:1 5:2\n0 1:4\n"), Seed: 1})
	for _, c := range []struct {
		name, text, target, what string
		like                     Meta
	}{
		{"x.csv", "a,c\n1,2\n", "", `"b"`, named.Meta},
		{"x.csv", "a,b\n1,2\n1,two\n", "", `x.csv:3: column "b": "two"`, named.Meta},
		{"x.csv", "a,b\n1,2\n1\n", "", "x.csv:3: 1 cell", named.Meta},
		{"x.csv", "a,b\n", "", "no rows", named.Meta},
		{"x.csv", "", "", "empty", named.Meta},
		{"x.csv", "a,b\n1,2\n", "c", `"c"`, named.Meta},
		{"x.csv", "a,b\n1,2\n", "b", `"b"`, named.Meta},
		{"x.csv", packed(t, "a,b\n1,2\n")[:20], "", "gzip", named.Meta},
		{"x.npy", npyOf(3, 1, 2, 3), "", "--target", named.Meta},
		{"x.npy", npyOf(4, 1, 2, 3, 4), "", "4 features", named.Meta},
		{"x.svm", "1 2:x\n", "", `x.svm:1:5: value "x"`, sparse.Meta},
		{"x.svm", "1 0:1\n", "", "count from 1", sparse.Meta},
		{"x.csv", "1,2,3\n", "", "columns", sparse.Meta},
	} {
		in := Inputs{Path: file(t, "", c.name, c.text), Target: c.target, Like: c.like}
		if strings.HasPrefix(c.what, "x.svm") {
			in.Format = "libsvm"
		}
		_, err := Stream(in, func(*Piece) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.what) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one that speaks of %s", c.text, err, c.what)
		}
	}
	if _, err := Stream(Inputs{Path: "nowhere.csv", Like: named.Meta}, nil); err == nil {
		t.Error("a file that is not there")
	}
}

// TestStreamDoesNotWait: a row that has arrived is handed over before the next one is sent.
func TestStreamDoesNotWait(t *testing.T) {
	train, _ := mustLoad(t, Options{Path: file(t, "", "t.csv", "a,b,y\n1,2,0\n2,3,1\n3,1,1\n4,1,0\n"), Seed: 1})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdin
	defer func() { os.Stdin = was }()
	os.Stdin = r
	arrived, done := make(chan int), make(chan error)
	go func() {
		_, err := Stream(Inputs{Path: format.StdinName, Like: train.Meta}, func(p *Piece) error {
			arrived <- len(p.Gaps)
			return nil
		})
		done <- err
	}()
	fmt.Fprintln(w, "a,b")
	for range 3 {
		fmt.Fprintln(w, "7,8")
		select {
		case n := <-arrived:
			if n != 1 {
				t.Errorf("%d rows at once", n)
			}
		case <-time.After(time.Minute):
			t.Fatal("the row waits for more input")
		}
	}
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMemoryLoadsAsFilesDo: a set in memory is the set that a file of the same numbers makes.
func TestMemoryLoadsAsFilesDo(t *testing.T) {
	dense, sparse, pairs := &Memory{Name: "m", Features: 2}, &Memory{Features: 9}, &Memory{}
	var csv, svm, triples strings.Builder
	csv.WriteString("u,v,y\n")
	for i := range 60 {
		x, y := []float32{float32(i%7) + .5, float32(i * i % 11)}, i%3
		dense.Rows, dense.Y = append(dense.Rows, Row{Val: x}), append(dense.Y, float32(y))
		fmt.Fprintf(&csv, "%g,%g,%d\n", x[0], x[1], y)
		row := Row{Idx: []uint32{uint32(i % 4), uint32(4 + i%5)}, Val: []float32{x[0], 2}}
		sparse.Rows, sparse.Y = append(sparse.Rows, row), append(sparse.Y, float32(y))
		fmt.Fprintf(&svm, "%d %d:%g %d:2\n", y, i%4+1, x[0], 5+i%5)
		pairs.Pairs, pairs.Y = append(pairs.Pairs, [2]uint32{uint32(i % 8), 100 + uint32(i%9)}), append(pairs.Y, x[0])
		fmt.Fprintf(&triples, "%d %d %g\n", i%8, 100+i%9, x[0])
	}
	for _, c := range []struct {
		memory *Memory
		file   string
		o      Options
	}{
		{dense, file(t, "", "t.csv", csv.String()), Options{Scale: "standard"}},
		{dense, file(t, "", "t.csv", csv.String()), Options{Scale: "unit", Task: "values"}},
		{sparse, file(t, "", "t.svm", svm.String()), Options{Scale: "standard"}},
		{pairs, file(t, "", "t.txt", triples.String()), Options{Task: "triples"}},
	} {
		c.o.Seed, c.o.Limit = 3, 40
		fromFile, fromMemory := c.o, c.o
		fromFile.Path, fromMemory.Path, fromMemory.Memory = c.file, "m", c.memory
		for _, test := range []bool{false, true} {
			if test {
				fromFile.Test, fromFile.Unjudged, fromMemory.TestMemory = c.file, true, c.memory
				fromFile.Validation, fromMemory.Validation = "0.2", "0.2"
			}
			file, memory := mustLoadSets(t, fromFile), mustLoadSets(t, fromMemory)
			pairs := [][2]*Set{{file.Train, memory.Train}, {file.Test, memory.Test}}
			if test {
				pairs = append(pairs, [2]*Set{file.Validation, memory.Validation})
			}
			for _, pair := range pairs {
				want, wantY := rowsOf(t, pair[0])
				x, y := rowsOf(t, pair[1])
				if !slices.EqualFunc(x, want, slices.Equal) || !slices.Equal(y, wantY) ||
					!slices.Equal(pair[0].Classes, pair[1].Classes) {
					t.Errorf("%s, test %v: not the rows of the file", c.file, test)
				}
			}
		}
	}
}

// TestMemoryNamesClasses, and refuses what is no data set.
func TestMemoryNamesClasses(t *testing.T) {
	row := func(v ...float32) Row { return Row{Val: v} }
	m := Memory{Rows: []Row{row(1, 2), row(3, 4), row(5, 6), row(7, 8)}, Y: []float32{1, 0, 1, 2},
		Classes: []string{"no", "yes", "perhaps"}}
	train, test := mustLoad(t, Options{Path: "m", Memory: &m, TestMemory: &m, Seed: 1})
	if !slices.Equal(train.Classes, m.Classes) || !slices.Equal(test.Y, m.Y) || train.Features != 2 {
		t.Errorf("classes %q, labels %v", train.Classes, test.Y)
	}
	if again := m.checksum(); train.Checksum != again || test.Name != "memory" {
		t.Errorf("checksum %s, then %s; test set %q", train.Checksum, again, test.Name)
	}
	other := m
	other.Y = []float32{1, 0, 1, 1}
	if other.checksum() == m.checksum() {
		t.Error("other labels, the same checksum")
	}
	for what, edit := range map[string]func(m *Memory){
		"3 labels":  func(m *Memory) { m.Y = m.Y[:3] },
		"label 3":   func(m *Memory) { m.Y = []float32{1, 0, 1, 3} },
		"label 0.5": func(m *Memory) { m.Y = []float32{1, 0, 1, .5} },
		"1 inputs":  func(m *Memory) { m.Rows = []Row{row(1, 2), row(3), row(5, 6), row(7, 8)} },
		"NaN": func(m *Memory) {
			m.Rows = []Row{row(1, 2), row(3, float32(math.NaN())),
				row(5, 6), row(7, 8)}
		},
		"0 indices": func(m *Memory) {
			m.Rows = []Row{row(1, 2), {Idx: []uint32{1}, Val: []float32{1}},
				row(1), row(2)}
		},
		"ascending": func(m *Memory) {
			m.Rows = slices.Repeat([]Row{{Idx: []uint32{1, 1}, Val: []float32{1, 2}}},
				4)
		},
		"names":          func(m *Memory) { m.Columns = []string{"a"} },
		"no rows":        func(m *Memory) { m.Rows, m.Y = nil, nil },
		"4 values for 1": func(m *Memory) { m.Rows, m.Pairs = nil, make([][2]uint32, 1) },
	} {
		bad := m
		edit(&bad)
		if _, _, err := Load(Options{Path: "m", Memory: &bad, Seed: 1}); err == nil ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one that speaks of %q", err, what)
		}
	}
}
