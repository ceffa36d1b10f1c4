package data

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// entries is a set of users and items, without memory of its own.
func entries(users, items int, pairs ...[2]uint32) *Set {
	s := &Set{Meta: Meta{Kind: Pairs, Shape: []int{users, items}, IDs: [][]uint32{{1}, {1}}, Rows: len(pairs),
		Features: users + items}}
	for _, p := range pairs {
		s.Idx = append(s.Idx, p[0], p[1]+uint32(users))
	}
	return s
}

// triples is a set of heads, relations and tails.
func triples(entities, relations int, triples ...[3]uint32) *Set {
	s := &Set{Meta: Meta{Kind: "facts", Shape: []int{entities, relations}, Rows: len(triples),
		Features: entities + relations}}
	for _, t := range triples {
		s.Idx = append(s.Idx, t[0], t[1]+uint32(entities), t[2])
	}
	return s
}

// TestQuestions: by hand, with doubles, an item that is known, and a user without a test entry.
func TestQuestions(t *testing.T) {
	train := entries(4, 5, [2]uint32{0, 3}, [2]uint32{0, 1}, [2]uint32{1, 4}, [2]uint32{0, 3}, [2]uint32{3, 0})
	test := entries(4, 5, [2]uint32{1, 2}, [2]uint32{0, 1}, [2]uint32{0, 4}, [2]uint32{0, 2}, [2]uint32{0, 4},
		[2]uint32{3, 0})
	wantQuestions(t, Questions(test, AnswersIn(train, nil)),
		Question{Query{Node: 0}, []uint32{2, 4}, []uint32{1, 3}}, Question{Query{Node: 1}, []uint32{2}, []uint32{4}})
	wantQuestions(t, Questions(test, AnswersIn()), Question{Query{Node: 0}, []uint32{1, 2, 4}, nil},
		Question{Query{Node: 1}, []uint32{2}, nil}, Question{Query{Node: 3}, []uint32{0}, nil})

	known := triples(3, 2, [3]uint32{0, 0, 1}, [3]uint32{0, 1, 1}, [3]uint32{2, 0, 1}, [3]uint32{0, 0, 2})
	asked := triples(3, 2, [3]uint32{0, 0, 1}, [3]uint32{0, 0, 0}, [3]uint32{2, 1, 1})
	wantQuestions(t, Questions(asked, AnswersIn(known, asked)),
		Question{Query{0, 0, false}, []uint32{0, 1}, []uint32{2}}, Question{Query{2, 1, false}, []uint32{1}, nil},
		Question{Query{0, 0, true}, []uint32{0}, nil}, Question{Query{1, 0, true}, []uint32{0}, []uint32{2}},
		Question{Query{1, 1, true}, []uint32{2}, []uint32{0}})
}

func wantQuestions(t *testing.T, got []Question, want ...Question) {
	t.Helper()
	same := func(a, b Question) bool {
		return a.Query == b.Query && slices.Equal(a.Answers, b.Answers) && slices.Equal(a.Known, b.Known)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("questions %v, want %v", got, want)
	}
}

// TestQuestionsOfRandomFacts: against maps.
func TestQuestionsOfRandomFacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) (all [][3]uint32) {
		for range n {
			all = append(all, [3]uint32{r.Uint32N(20), r.Uint32N(3), r.Uint32N(20)})
		}
		return all
	}
	train, valid, test := draw(300), draw(50), draw(60)
	type lists = map[Query]map[uint32]bool
	collect := func(triples ...[3]uint32) lists {
		all := lists{}
		add := func(q Query, c uint32) {
			if all[q] == nil {
				all[q] = map[uint32]bool{}
			}
			all[q][c] = true
		}
		for _, f := range triples {
			add(Query{f[0], f[1], false}, f[2])
			add(Query{f[2], f[1], true}, f[0])
		}
		return all
	}
	own, known := collect(test...), collect(slices.Concat(train, valid, test)...)
	sets := []*Set{triples(20, 3, train...), triples(20, 3, valid...), triples(20, 3, test...)}
	got := Questions(sets[2], AnswersIn(sets...))
	if len(got) != len(own) {
		t.Errorf("%d questions, want %d", len(got), len(own))
	}
	for _, q := range got {
		others := maps.Clone(known[q.Query])
		for c := range own[q.Query] {
			delete(others, c)
		}
		if !slices.Equal(q.Answers, slices.Sorted(maps.Keys(own[q.Query]))) ||
			!slices.Equal(q.Known, slices.Sorted(maps.Keys(others))) {
			t.Errorf("%v: answers %v, known %v", q.Query, q.Answers, q.Known)
		}
	}
}

// BenchmarkQuestions sorts ten million entries, and asks about a tenth of them.
func BenchmarkQuestions(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) *Set {
		all := make([][2]uint32, n)
		for i := range all {
			all[i] = [2]uint32{r.Uint32N(100_000), r.Uint32N(20_000)}
		}
		return entries(100_000, 20_000, all...)
	}
	train, test := draw(9_000_000), draw(1_000_000)
	for b.Loop() {
		Questions(test, AnswersIn(train))
	}
}
