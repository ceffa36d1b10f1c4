package data

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// fuzzModels returns training sets, each with what predict would know of it.
func fuzzModels(f *testing.F) (models []Inputs) {
	dir := f.TempDir()
	for i, m := range []struct {
		text string
		o    Options
	}{
		{"a,s,y,b\n1,red,0,2\n3,blue,1,7\n5,red,1,1.5\n2,green,0,4\n", Options{Target: "y"}},
		{"0,5,x,2\n1,6,z,3\n1,7,x,1\n0,9,z,5\n", Options{Target: "1"}},
		{"5,2,0\n6,3,1\n7,1,1\n9,5,0\n", Options{}},
		{"0 1:1 9:2\n1 2:3\n1 4:1 5:2\n0 1:4\n", Options{}},
		{"0 1:1 2:2\n1 1:2 2:3\n1 2:2\n0 1:4 2:1\n", Options{Scale: "standard"}},
		{"0 0:1 9:2\n1 2:3\n1 4:1 5:2\n0 1:4\n", Options{Scale: "unit"}},
		{npyOf(3, 0, 1, 2, 1, 2, 3, 0, 5, 2, 1, 9, 8), Options{Target: "1"}},
		{"1 31 2.5\n1 1029 3\n2 31 4\n", Options{Task: "triples"}},
		{"1 2 1\n2 3 .5\n3 1 1\n", Options{Task: "edges"}},
		{"day,s,y\n2026-03-31,u,1\n4/1/2026,v,0\n,u,1\n", Options{}},
		{"3/31/2026 1:05 PM,u,1\n4/1/2026,u,0\n,v,1\n5/30/2026,v,1\n5/31/2026,v,0\n", Options{Missing: format.Drop}},
	} {
		m.o.Path, m.o.Seed = filepath.Join(dir, strconv.Itoa(i)), 1
		tree(f, dir, map[string]string{strconv.Itoa(i): m.text})
		m.o.Test, m.o.Unjudged = m.o.Path, true
		s, err := LoadSets(m.o)
		if err != nil {
			f.Fatal(err)
		}
		places, err := s.Train.Places(nil)
		if err != nil {
			f.Fatal(err)
		}
		models = append(models, Inputs{Like: s.Train.Meta, Was: m.o.Target, Places: places})
		s.Close()
	}
	return models
}

// FuzzStream: what predict reads, for models of each kind of data.
func FuzzStream(f *testing.F) {
	models := fuzzModels(f)
	for i, texts := range [][]string{
		{"a,s,b\n7,green,-1\n2,red,9\n", "\ufeffb;more;s;a\r\n-1;?;green;7\r\n9;;red;2\r\n",
			"a,s,y,b\n7,green,,-1\n2,red,unknown,9", "a,s\n1,2\n"},
		{"4,x,6\n3,z,2\n", "1,4,x,6\n", "y,b,c,d\n1,4,z,6\n"},
		{"4,6\n3,2\n", "4,6,1\n", "b,c\n4,6\n", "4\r3\r", "4,NA\n", "4,\"6\n"},
		{"9:1\n\n# nothing\n0\n2:2 4:5 10:7\n", "? 9:1\n0 \nunknown 2:2 4:5\n", "1 0:1\n"},
		{"1:1\n2:2\n1:3 2:1\n", "u,v\n1,0\n", npyOf(2, 1, 0, 0, 2)},
		{"0:1\n", "1 99999999999:1\n"}, {npyOf(2, 7, 6, 3, 2), npyOf(3, 1, 7, 6, 0, 3, 2), images3x2x2, "7,6\n"},
		{"1,31\n1,1029,5\n9,9\n", "user,item\n2,31\n", npyOf(2, 1, 31), npyOf(3, 1, .5, 1)},
		{"1 2\n2 3\n", "% c\n1 1\n"},
		{"day,s\n2026-03-31,u\n,v\n", "s,day\nu,4/1/2026\n"}, {"4/1/2026,u\n,\n", "4/1/2026 13:05,u,1\nsoon,u,1\n"},
	} {
		for _, text := range texts {
			f.Add(byte(i), []byte(text), "auto", "")
			f.Add(byte(i), []byte(packed(f, text)), "auto", "")
		}
		f.Add(byte(i), []byte(texts[0]), "csv", "1")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, which byte, text []byte, format, target string) {
		in := models[int(which)%len(models)]
		tree(t, dir, map[string]string{"rows": string(text)})
		in.Path, in.Format, in.Target, in.MaxMemory = filepath.Join(dir, "rows"), format, target, fuzzMemory
		rows, gaps := 0, 0
		check.Bounded(t, fuzzAlloc, func() {
			notes, err := Stream(in, func(p *Piece) error {
				there := 0
				for _, gap := range p.Gaps {
					if !gap {
						there++
					}
				}
				rows, gaps = rows+len(p.Gaps), gaps+len(p.Gaps)-there
				if len(p.Batch.Rows) != there || len(p.Batch.Y) != there || p.IDs != nil && len(p.IDs) != len(p.Gaps) {
					t.Errorf("%d rows and %d labels, %d ids, of %d without a gap, %d in all", len(p.Batch.Rows),
						len(p.Batch.Y), len(p.IDs), there, len(p.Gaps))
				}
				for _, row := range p.Batch.Rows {
					if in.Like.Kind != Pairs {
						expand(t, row, in.Like.Features)
					}
				}
				return nil
			})
			switch {
			case err != nil && !strings.HasPrefix(err.Error(), "data: format"):
				aboutFile(t, err, dir)
			case err == nil && rows == 0:
				t.Error("no rows, and no error")
			case err == nil &&
				gaps > 0 != slices.ContainsFunc(notes,
					func(n string) bool { return strings.Contains(n, "no prediction") }):
				t.Errorf("%d gaps, and the notes %q", gaps, notes)
			}
		})
	})
}
