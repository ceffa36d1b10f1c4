package data

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
)

// triplesOf returns the ids and values of a set, in some order.
func triplesOf(sets ...*Set) (all [][3]float64) {
	for _, s := range sets {
		get := s.triple()
		for i := range s.Rows {
			all = append(all, [3]float64(get(i)))
		}
	}
	slices.SortFunc(all, func(a, b [3]float64) int { return slices.Compare(a[:], b[:]) })
	return all
}

var ratings = [][3]float64{{3, 70, 4.5}, {3, 900, 1}, {17, 70, 3}, {17, 71, -2.25}, {2000000, 5, 5},
	{2000000, 900, 3e-3}, {2000000, 901, 2}}

// TestRatingsFormats: the same ratings in every format that is recognised by itself,
// and in others when it is said what they are.
func TestRatingsFormats(t *testing.T) {
	var npy strings.Builder
	npy.WriteString("\x93NUMPY\x01\x00\x3b\x00{'descr': '<f8', 'fortran_order': False, 'shape': (7, 3), }")
	for _, r := range ratings {
		for _, v := range r {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			npy.Write(b[:])
		}
	}
	tab := "17\t70\t3\t881250949\n3\t70\t4.5\t881250950\n3\t900\t1\t881250951\n17\t71\t-2.25\t881250952\n" +
		"2000000\t5\t5\t881250953\n2000000\t900\t3e-3\t881250954\n2000000\t901\t2\t881250955\n"
	for _, c := range []struct{ name, text, task, format string }{
		{"u.data", tab, "", ""},
		{"ratings.csv", "userId,movieId,rating,timestamp\r\n" + strings.ReplaceAll(strings.ReplaceAll(tab, "\t", ","),
			"\n", "\r\n"), "", "auto"},
		{"ratings.dat", strings.ReplaceAll(tab, "\t", "::"), "", ""},
		{"plain.txt", "# three numbers\n\n" + strings.ReplaceAll(tab, "\t", "  "), "", "ratings"},
		{"semicolons", strings.TrimSuffix(strings.ReplaceAll(tab, "\t", ";"), "\n"), "triples", ""},
		{"coo.npy", npy.String(), "triples", ""},
	} {
		train, test := mustLoad(t, Options{Path: file(t, "", c.name, c.text), Task: c.task, Format: c.format, Seed: 1})
		if train.Kind != Pairs || !slices.Equal(train.Shape, []int{3, 5}) || train.Features != 8 ||
			train.Classes != nil {
			t.Errorf("%s: %s of shape %v with %d features", c.name, train.Kind, train.Shape, train.Features)
		}
		all := triplesOf(train, test)
		for i := range all {
			all[i][2] = math.Round(1e6*all[i][2]) / 1e6
		}
		if !slices.Equal(all, ratings) {
			t.Errorf("%s: %v, want %v", c.name, all, ratings)
		}
		if test.Rows == 0 || train.Rows == 0 || train.Y[0] == 0 {
			t.Errorf("%s: %d entries for training, %d for testing", c.name, train.Rows, test.Rows)
		}
	}
}

// TestRatingsLike: other ratings are read with the ids of the training data; ratings
// of other ids are left out, and counted.
func TestRatingsLike(t *testing.T) {
	train, _ := mustLoad(t, Options{Path: file(t, "", "u.data", "8 1 1\n8 5 2\n9 5 3\n12 1 4\n12 9 5\n"),
		Task: "triples", Seed: 1})
	s, err := LoadLike(file(t, "", "more", "12 5 1.5\n10 5 1\n8 9 2.5\n8 2 1\n"), "auto", "", train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := []uint32{2, 3 + 1, 0, 3 + 2}; !slices.Equal(s.Idx, want) || !slices.Equal(s.Y, []float32{1.5, 2.5}) {
		t.Errorf("nodes %v, values %v, want %v and 1.5, 2.5", s.Idx, s.Y, want)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "left out 2 of 4 entries") {
		t.Errorf("notes %q", s.Notes)
	}
	if _, err := LoadLike(file(t, "", "none", "1 1 1\n"), "auto", "", train.Meta); err == nil {
		t.Error("ratings of unknown ids alone: no error")
	}
}

// TestEdges: nodes have one numbering, an edge goes from the smaller to the larger, and
// the graph is its own test.
func TestEdges(t *testing.T) {
	train, test := mustLoad(t, Options{Path: file(t, "", "g.txt", "30 10 2\n10 20\n20 20 5\n20 30 0.5\n"),
		Task: "edges", Seed: 1})
	want := [][3]float64{{10, 20, 1}, {10, 30, 2}, {20, 30, 0.5}}
	if got := triplesOf(train); !slices.Equal(got, want) || train.Features != 3 || train.Shape != nil {
		t.Errorf("%v with %d nodes, want %v", got, train.Features, want)
	}
	if !slices.Equal(test.Idx, train.Idx) || test.Rows != 3 {
		t.Errorf("the test set has the nodes %v, want those of the graph", test.Idx)
	}
}

// TestRatingsHoldOut: about a sixth of many entries, another one with another seed, and no
// entry twice or lost; --limit cuts the training entries.
func TestRatingsHoldOut(t *testing.T) {
	var text strings.Builder
	for i := range 6000 {
		text.WriteString(strings.Join([]string{decimal(float64(i % 77)), decimal(float64(i / 77)), decimal(float64(i))},
			","))
		text.WriteByte('\n')
	}
	path := file(t, "", "m.csv", text.String())
	train, test := mustLoad(t, Options{Path: path, Task: "triples", Seed: 1})
	if n := test.Rows; n < 900 || n > 1100 || train.Rows+n != 6000 {
		t.Errorf("%d for training, %d for testing of 6,000", train.Rows, n)
	}
	if all := triplesOf(train, test); len(slices.Compact(all)) != 6000 {
		t.Error("an entry is there twice")
	}
	_, other := mustLoad(t, Options{Path: path, Task: "triples", Seed: 2})
	if slices.Equal(test.Y, other.Y) {
		t.Error("another seed held out the same entries")
	}
	if slices.IsSorted(train.Y) {
		t.Error("the training entries lie in the order of the file")
	}
	few, _ := mustLoad(t, Options{Path: path, Task: "triples", Seed: 1, Limit: 100})
	if few.Rows != 100 || few.Features != train.Features {
		t.Errorf("limit 100: %d entries of %d nodes, want %d nodes", few.Rows, few.Features, train.Features)
	}
}

// TestRatingsErrors: each says where, and what is wanted.
func TestRatingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1 2 3\n1 2 x\n":                              "m:2:5",
		"1 2 3\n1 2 nan\n":                            "missing",
		"1 2 3\n1 2 inf\n":                            "finite",
		"1 2 3\n1 2 1e99\n":                           "finite",
		"user item rating\n":                          "no entries",
		"1 2.5 3\n":                                   "m:1:3: \"2.5\": the item is a number with decimals",
		"1 2 3\n1 7.6e16 3\n":                         "m:2:3",
		"1,2,3\n1,,3\n":                               "m:2:1: \"\": the item is missing",
		"1,2,3\n1,nan,3\n":                            "m:2:3",
		"1,2,3\n1,2\n":                                "the value is missing",
		"1,2,3\n1,2,3_0\n":                            "m:2:5",
		"1,2,3\n1,2,0x1p4\n":                          "m:2:5",
		"1,2,3\n4,5,6\n1,\"2,3\n":                     "m:3:8: extraneous or missing",
		"1,2,3\n4,5,6\n\"1\"0,2,3\n":                  "double the quotes",
		"1;2;3\n1;2;1,234\n":                          "m: column \"3\": 1,234 may be 1.234 or 1234, as far as",
		"user,item,rating\n1,2,\"3,5\"\n3,4,4.5\n":    "m: column \"rating\": some of its numbers have decimal",
		"1,2,3\n1,2,None\n":                           "m:2:5: \"None\": the value is missing",
		"1,2,3\n4,5,6\n<NA>,2,3\n":                    "m:3:1: \"<NA>\": the user is missing",
		"user,item,rating\nuser,item,rating\n1,2,3\n": "m:2:11: value \"rating\"",
		"a,b,c\n1,2,3\n4,5,6\n":                       "--columns user=a,item=b,value=c",
		"user,user_id,rating\n1,2,3\n4,5,6\n":         "not clear",
		"c a graph\np edge 3 2\ne 1 2\ne 2 3\n":       "DIMACS",
		"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n":     "coordinates",
		"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n":   "promises 2",
		"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n":   "from 1 to 2",
		"%%MatrixMarket matrix coordinate real general\n2 2 1 4\n1 1 5\n": "line of sizes",
		"1 2 3\n":              "too few",
		"+1 1:2 3:4\n-1 2:1\n": "libsvm",
	} {
		_, _, err := Load(Options{Path: file(t, "", "m", text), Task: "triples", Seed: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestIDs holds the numbering against a sorted list.
func TestIDs(t *testing.T) {
	s, err := newIDs(&source{Source: &format.Source{}}, 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	d, want := draws(7), []uint32{0, 63, 64, 65, 1 << 24}
	for range 500 {
		want = append(want, uint32(d.below(3000)))
	}
	for _, id := range want {
		s.add(id)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if n := s.count(); n != len(want) {
		t.Fatalf("%d ids, want %d", n, len(want))
	}
	again := idsOf(s.runs())
	for i, id := range want {
		a, ok := s.place(id)
		b, also := again.place(id)
		if !ok || !also || a != uint32(i) || b != a {
			t.Fatalf("id %d is number %d and %d, want %d", id, a, b, i)
		}
	}
	if _, ok := s.place(4000); ok || !slices.Equal(listed(s.runs()), want) {
		t.Error("an id that is not there, or a list that is not the ids")
	}
}

// entriesOf returns the ids and values of sets as lines, in some order, with the names that ids have.
func entriesOf(sets ...*Set) (lines []string) {
	for _, s := range sets {
		get := s.triple()
		for i := range s.Rows {
			t := get(i)
			a, b := decimal(t[0]), decimal(t[1])
			if s.Columns != nil {
				a, b = s.Columns[s.Idx[2*i]], s.Columns[s.Idx[2*i+1]]
			}
			lines = append(lines, a+" "+b+" "+decimal(t[2]))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestRatingsAsFound: the same entries from files as other programs write them.
func TestRatingsAsFound(t *testing.T) {
	entries := []struct{ user, item, value string }{
		{"7", "101", "3.5"}, {"12", "101", "5"}, {"7", "103", "2"}, {"9", "104", "2.5e-06"}, {"9", "101", "4"}}
	var want []string
	for _, e := range entries {
		want = append(want, e.user+" "+e.item+" "+e.value)
	}
	slices.Sort(want)
	lines := func(head, row string) string {
		for i, e := range entries {
			head += strings.NewReplacer("N", decimal(float64(i)), "U", e.user, "I", e.item, "V", e.value, "C",
				strings.ReplaceAll(e.value, ".", ",")).Replace(row)
		}
		return head
	}
	for name, c := range map[string]struct{ text, columns string }{
		"pandas' index":       {lines(",userId,movieId,rating\n", "N,U,I,V\n"), ""},
		"an index with tabs":  {lines("\tuser\titem\trating\n", "N\tU\tI\tV\n"), ""},
		"R's row names":       {lines("user item rating\n", "\"N\" U I V\n"), ""},
		"another order":       {lines("rating,timestamp,itemID,userID\n", "V,88N,I,U\n"), ""},
		"one name unknown":    {lines("stars;user_id;what\n", "C;U;I\n"), ""},
		"quotes":              {lines("\"User-ID\";\"ISBN\";\"Book-Rating\"\n", "\"U\";\"I\";\"V\"\n"), ""},
		"quotes alone":        {lines("", "\"U\",\"I\",\"V\"\n"), ""},
		"a comma in quotes":   {lines("", "\"U\",\"I\",\"C\"\n"), ""},
		"decimal commas":      {lines("user;item;rating\n", "U;I;C\n"), ""},
		"commas and tabs":     {lines("", "U\tI\tC\t88N\n"), ""},
		"commas and blanks":   {lines("# a comment\n\n", "U   I C\n"), ""},
		"commas with blanks":  {lines("", "U, I, V\r\n"), ""},
		"bars":                {lines("", "U|I|V|12:30:0N\n"), ""},
		"floats":              {lines("user,item,rating\n", "U.0,I.0,V\n"), ""},
		"zeros":               {lines("", "00U,000I,V\n"), ""},
		"columns by name":     {lines("v,who,what\n", "V,U,I\n"), "user=who,item=what,value=v"},
		"columns by number":   {lines("", "V I N U\n"), "source=4,target=2,weight=1"},
		"head and tail":       {lines("h,r,t,w\n", "U,knows,I,V\n"), "head=h,tail=t,weight=w"},
		"general":             {lines("%%MatrixMarket matrix coordinate Real General\n%\n20 200 5\n", "U I V\n"), ""},
		"a comma at the end":  {lines("user,item,rating\n", "U,I,V,\n"), ""},
		"a title before tabs": {lines("", "U\tI\tV\t1, 2; 3: 4\n"), ""},
		"quotes in a title":   {lines("", "U,I,V,5'4\" tall\n"), ""},
		"lines in quotes":     {lines("user,item,rating,review\n", "U,I,V,\"good,\nnot \"\"bad\"\"\"\n"), ""},
		"blanks at quotes":    {lines("", "\"U\" ; \"I\";  \"V\"\n"), ""},
		"double colons":       {lines("", "U::I::V::12:30:0N\n"), ""},
		"colons":              {lines("", "U:I:V\n"), ""},
		"uneven blanks":       {lines("", "  U \tI   V # rated\r\n"), ""},
		"Excel's separator":   {lines("\ufeffsep=;\r\nuser;item;rating\r\n", "U;I;C\r\n"), ""},
		"R's with commas":     {lines("\"user\",\"item\",\"rating\"\n", "\"N\",U,I,V\n"), ""},
		"ends with bars":      {lines("user|item|rating|\n", "U|I|V|\n"), ""},
	} {
		train, test := mustLoad(t, Options{Path: file(t, "", "m", c.text), Task: "triples", Columns: c.columns,
			Seed: 1})
		if got := entriesOf(train, test); !slices.Equal(got, want) || train.Columns != nil {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestKONECT: the first line of KONECT's files says what they are, so that the user need not.
func TestKONECT(t *testing.T) {
	for _, head := range []string{"% bip weighted\n", "% asym posweighted\n% 3 2 3\n", "%sym\tweighted\n"} {
		path := file(t, "", "out.set", head+"1 2 5 1012345678\n2  3 4\n1\t3 1\n")
		train, test := mustLoad(t, Options{Path: path, Seed: 1})
		if want := []string{"1 2 5", "1 3 1", "2 3 4"}; !slices.Equal(entriesOf(train, test), want) {
			t.Errorf("%q: %q, want %q", head, entriesOf(train, test), want)
		}
	}
}

// TestRatingsNamed: ids of any kind are numbered as they come, and other files are read by their names.
func TestRatingsNamed(t *testing.T) {
	path := file(t, "", "a.csv", "A1,007,5\n76561197960287930,7,1\n7,\"b, c\",2\nA1,7,3\n-3,007,4\n")
	train, test := mustLoad(t, Options{Path: path, Task: "triples", Seed: 1})
	want := []string{"-3 007 4", "7 b, c 2", "76561197960287930 7 1", "A1 007 5", "A1 7 3"}
	if !slices.Equal(entriesOf(train, test), want) {
		t.Errorf("%q, want %q", entriesOf(train, test), want)
	}
	if !slices.Equal(train.Columns, []string{"A1", "76561197960287930", "7", "-3", "007", "7", "b, c"}) ||
		!slices.Equal(train.Shape, []int{4, 3}) {
		t.Errorf("ids %q of %v", train.Columns, train.Shape)
	}
	other := "item,user,rating\n7,76561197960287930,1\n7,7.0,2\n7,76561197960287931,3\n"
	s, err := LoadLike(file(t, "", "b.csv", other), "", "", train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := []string{"7 7 2", "76561197960287930 7 1"}; !slices.Equal(entriesOf(s), want) ||
		!strings.Contains(s.Notes[0], "left out 1 of 3") {
		t.Errorf("%q, notes %q, want %q", entriesOf(s), s.Notes, want)
	}
	graph, _ := mustLoad(t, Options{Path: file(t, "", "g", "bob alice\nalice 12\n12 bob 2\n"), Task: "edges", Seed: 1})
	if want := []string{"alice 12 1", "bob 12 2", "bob alice 1"}; !slices.Equal(entriesOf(graph), want) {
		t.Errorf("edges %q, want %q", entriesOf(graph), want)
	}
}

// TestMatrixMarketHalves: what SciPy's mmread makes of a half that is stored, and one edge for it in a graph.
func TestMatrixMarketHalves(t *testing.T) {
	for kind, want := range map[string][]string{
		"real symmetric":         {"1 1 2", "1 2 3", "2 1 3", "2 3 4", "3 2 4"},
		"integer skew-symmetric": {"1 1 2", "1 2 -3", "2 1 3", "2 3 -4", "3 2 4"},
		"pattern symmetric":      {"1 1 1", "1 2 1", "2 1 1", "2 3 1", "3 2 1"},
	} {
		path := file(t, "", "m.mtx", "%%MatrixMarket matrix coordinate "+kind+"\n3 3 3\n1 1 2\n2 1 3\n3 2 4\n")
		train, test := mustLoad(t, Options{Path: path, Task: "triples", Seed: 1})
		if got := entriesOf(train, test); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
		if graph, _ := mustLoad(t, Options{Path: path, Task: "edges", Seed: 1}); graph.Rows != 2 {
			t.Errorf("%s: %d edges, want 2", kind, graph.Rows)
		}
	}
}

// TestRatingsNotes: values that teach nothing, and entries that are there twice, are told.
func TestRatingsNotes(t *testing.T) {
	var once, twice strings.Builder
	for i := range 600 {
		line := decimal(float64(i%30)) + "\t" + decimal(float64(i/30))
		once.WriteString(line + "\n")
		twice.WriteString(line + "\t3\n" + line + "\t4\n")
	}
	train, _ := mustLoad(t, Options{Path: file(t, "", "m", once.String()), Task: "triples", Seed: 1})
	if notes := strings.Join(train.Notes, "\n"); !strings.Contains(notes, "nothing to learn") ||
		strings.Contains(notes, "duplicates") {
		t.Errorf("pairs without values: notes %q", notes)
	}
	twice.WriteString("\n# 7 7 1\n1\t2\t3\n\n")
	train, _ = mustLoad(t, Options{Path: file(t, "", "m", twice.String()), Task: "triples", Seed: 1})
	if notes := strings.Join(train.Notes, "\n"); !strings.Contains(notes, "duplicates") ||
		!strings.Contains(notes, "passed over 2 lines between the entries") ||
		strings.Contains(notes, "nothing to learn") {
		t.Errorf("entries that are there twice: notes %q", notes)
	}
	if n := copiesNoted(t, twice.String()); n != "601 of 1,201" {
		t.Errorf("copies: %s", n)
	}
	if n := copiesNoted(t, once.String()); n != "" {
		t.Errorf("no copies: %s", n)
	}
}
