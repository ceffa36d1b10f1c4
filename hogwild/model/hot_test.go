package model

import (
	"slices"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
)

// TestTables: together the tables are all that steps write, each once; a table that is hot as a whole is one.
func TestTables(t *testing.T) {
	words, labels := &text.Options{Kind: text.Words}, &text.Options{Kind: text.Labels}
	for _, c := range []struct {
		name string
		meta data.Meta
		rows int
		want []Table
	}{
		{"word2vec:5", data.Meta{Kind: data.Tokens, Features: 100, Text: words}, 10, []Table{
			{"in.weight, first 10 rows", Range{0, 50}},
			{"in.weight, other rows", Range{50, 500}},
			{"out.weight, first 10 rows", Range{500, 550}},
			{"out.weight, other rows", Range{550, 1000}}}},
		{"text:5", data.Meta{Kind: data.Sparse, Features: 100, Text: labels, Classes: []string{"a", "b"}}, 10, []Table{
			{"in.weight, first 10 rows", Range{0, 50}},
			{"in.weight, other rows", Range{50, 500}},
			{"out.weight", Range{500, 510}}}},
		{"factor:2", data.Meta{Kind: data.Pairs, Features: 7, Shape: []int{3, 4}}, 1, []Table{
			{"user.weight", Range{0, 6}}, {"item.weight", Range{6, 14}}}},
		{"kge:complex:4", data.Meta{Kind: data.Facts, Features: 9, Shape: []int{6, 3}}, 4, []Table{
			{"entity.weight", Range{0, 24}},
			{"relation.weight, first 4 rows", Range{24, 40}},
			{"relation.weight, other rows", Range{40, 48}}}},
		{"linear", data.Meta{Kind: data.Sparse, Features: 7}, 10, nil},
	} {
		m, err := New(Options{Name: c.name, Bias: true}, c.meta)
		if err != nil {
			t.Fatal(err)
		}
		if got := Tables(m, &data.Set{Meta: c.meta}, c.rows); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
