package data

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// liked reads files of what users liked.
func liked(t *testing.T, o Options, train, test string) (Sets, error) {
	t.Helper()
	dir := t.TempDir()
	o.Path, o.Task, o.Seed = filepath.Join(dir, "train.txt"), likesTask, 1
	if err := os.WriteFile(o.Path, []byte(train), 0o600); err != nil {
		t.Fatal(err)
	}
	if test != "" {
		o.Test = filepath.Join(dir, "held.txt")
		if err := os.WriteFile(o.Test, []byte(test), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := LoadSets(o)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// seen returns what is known of the users, by ids.
func seen(s *Set) map[uint32][]uint32 {
	users, items := listed(s.IDs[0]), listed(s.IDs[1])
	all := map[uint32][]uint32{}
	for u, id := range users {
		for _, j := range s.Liked(uint32(u)) {
			all[id] = append(all[id], items[j])
		}
	}
	return all
}

func wantSeen(t *testing.T, what string, s *Set, want map[uint32][]uint32) {
	t.Helper()
	if got := seen(s); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: users are known to like %v, want %v", what, got, want)
	}
}

// TestLikes: pairs, ratings above a threshold and lists tell the same.
func TestLikes(t *testing.T) {
	train := map[uint32][]uint32{1: {10, 11, 14}, 2: {10, 12}, 7: {13}}
	both := map[uint32][]uint32{1: {10, 11, 12, 14}, 2: {10, 12, 13}, 7: {13}}
	for name, f := range map[string]struct {
		o           Options
		train, test string
	}{
		"pairs": {Options{}, "1\t14\n1\t10\n1\t11\n2\t12\n2\t10\n7\t13\n", "1\t12\n2\t13\n9\t10\n"},
		"twice": {Options{}, "1\t14\n1\t10\n1\t11\n2\t12\n1\t14\n2\t10\n7\t13\n", "1\t12\n2\t13\n2\t13\n9\t10\n"},
		"ratings": {Options{Positive: 4}, "1,14,5\n1,10,4\n1,11,4.5\n2,12,5\n2,10,4\n2,14,3\n7,13,4\n8,10,1\n",
			"1,12,4\n1,13,2\n2,13,5\n8,10,5\n"},
		"lists": {Options{}, "1 14 10 11\n2 12 10\n7 13\n8\n", "1 12\n2 13\n9 10\n"},
		"asked": {Options{Format: "lists"}, "1 14 10 11\n2 12 10\n7 13\n", "1 12\n2 13\n9 10\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := liked(t, f.o, f.train, f.test)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Train.Implicit || !s.Test.Implicit || !slices.Equal(s.Train.Shape, []int{3, 5}) {
				t.Fatalf("implicit %v and %v, shape %v", s.Train.Implicit, s.Test.Implicit, s.Train.Shape)
			}
			wantSeen(t, "training", s.Train, train)
			wantSeen(t, "test", s.Test, both)
			if notes := strings.Join(s.Test.Notes, "\n"); !strings.Contains(notes, "left out 1 of ") {
				t.Errorf("notes of the test set: %q", notes)
			}
			for _, set := range []*Set{s.Train, s.Test} {
				for u := range 3 {
					for j := range 5 {
						got := set.Likes(uint32(u), uint32(j))
						if got != slices.Contains(set.Liked(uint32(u)), uint32(j)) {
							t.Errorf("user %d, item %d: likes is %v", u, j, got)
						}
					}
				}
			}
		})
	}
}

// TestLikesByName: ids that are texts, in lists and in pairs.
func TestLikesByName(t *testing.T) {
	for name, o := range map[string]Options{"lists": {Format: "lists"}, "pairs": {}} {
		train, test := "ann tea milk\nbob tea\ncid rum\n", "bob milk\ndan tea\n"
		if name == "pairs" {
			train, test = "ann,tea\nann,milk\nbob,tea\ncid,rum\n", "bob,milk\ndan,tea\n"
		}
		s, err := liked(t, o, train, test)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"ann", "bob", "cid", "tea", "milk", "rum"}; !slices.Equal(s.Train.Columns, want) {
			t.Errorf("%s: columns %v, want %v", name, s.Train.Columns, want)
		}
		if got := s.Test.Liked(1); !slices.Equal(got, []uint32{0, 1}) {
			t.Errorf("%s: bob likes %v", name, got)
		}
	}
}

// TestLikesKept: in a cache, block by block and with rows held out they are the same.
func TestLikesKept(t *testing.T) {
	var text strings.Builder
	for u := range 40 {
		for j := range 1 + (u*7)%11 {
			fmt.Fprintf(&text, "%d %d\n", u, (u*13+j*j*3)%50)
		}
	}
	plain, err := liked(t, Options{Validation: "0.2"}, text.String(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []*Set{plain.Validation, plain.Test} {
		for i := range set.Rows {
			if u, j := set.Idx[2*i], set.Idx[2*i+1]-uint32(set.Shape[0]); !set.Likes(u, j) {
				t.Errorf("entry %d (%d, %d) is not liked", i, u, j)
			}
		}
		for u := range plain.Train.Shape[0] {
			for _, j := range plain.Train.Liked(uint32(u)) {
				if !set.Likes(uint32(u), j) {
					t.Errorf("user %d liked %d in training, and not in another set", u, j)
				}
			}
		}
	}
	grid, err := liked(t, Options{Validation: "0.2", Grid: 2}, text.String(), "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(grid.Train.Seen, plain.Train.Seen) || !slices.Equal(grid.Train.SeenPtr, plain.Train.SeenPtr) {
		t.Error("block by block other items are known")
	}
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.txt"), Task: likesTask, Seed: 1, Validation: "0.2"}
	if err := os.WriteFile(o.Path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is made, and then mapped
		kept, err := LoadKept(o, dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, pair := range [][2]*Set{{plain.Train, kept.Train}, {plain.Validation, kept.Validation},
			{plain.Test, kept.Test}} {
			if a, b := pair[0], pair[1]; !slices.Equal(a.Seen, b.Seen) || !slices.Equal(a.SeenPtr, b.SeenPtr) ||
				!slices.Equal(a.Idx, b.Idx) {
				t.Errorf("set %d of the cache is another one", i)
			}
		}
		kept.Close()
	}
}

// TestLikesRefused: what is wrong is said in one line.
func TestLikesRefused(t *testing.T) {
	for want, f := range map[string]struct {
		o     Options
		train string
	}{
		"all values are from 1 to 3, so nothing is liked": {Options{Positive: 4}, "1,2,3\n1,3,1\n2,2,3\n"},
		"no column of values, which --positive 4":         {Options{Positive: 4}, "1,2\n1,3\n2,2\n"},
		"every user likes every item (2)":                 {Options{Test: None}, "1 2\n1 3\n2 2\n2 3\n"},
		"no entries in the file":                          {Options{Format: "lists"}, "1\n2\n"},
	} {
		_, err := liked(t, f.o, f.train, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", f.train, err, want)
		}
	}
	s, err := liked(t, Options{Test: None}, "1 2\n1 3\n2 2\n", "")
	if err != nil || !strings.Contains(strings.Join(s.Train.Notes, "\n"), "no negatives: 1 of 2") {
		t.Errorf("a user who likes all: %v", err)
	}
}

// TestDraws: negatives are functions of seed, epoch and row, and drawn as often as asked.
func TestDraws(t *testing.T) {
	var text strings.Builder
	for u := range 60 {
		text.WriteString(decimal(float64(u)) + " 1\n") // one item is in half of the entries
		text.WriteString(decimal(float64(u)) + " " + decimal(float64(2+u%10)) + "\n")
	}
	s, err := liked(t, Options{Test: None}, text.String(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, uniform := range []bool{false, true} {
		d, counts := NewDraws(s.Train, 3, uniform), make([]float64, s.Train.Shape[1])
		const n = 20_000
		for i := range n {
			row, epoch := int32(i%s.Train.Rows), i/s.Train.Rows
			j, next := d.Next(row, d.Of(row, epoch), 0)
			again, _ := d.Next(row, d.Of(row, epoch), 0)
			k, _ := d.Next(row, next, 0)
			if counts[j]++; j != again {
				t.Fatalf("row %d, epoch %d: %d, and then %d", row, epoch, j, again)
			}
			counts[k]++
		}
		want := 0.5
		if uniform {
			want = 1.0 / 11
		}
		if got := counts[0] / (2 * n); got < want-0.02 || got > want+0.02 {
			t.Errorf("uniform %v: the first item is drawn in %.3f of all, want %.3f", uniform, got, want)
		}
	}
}
