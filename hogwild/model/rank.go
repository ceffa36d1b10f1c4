package model

import (
	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// Ranker is a model that ranks: for a query it scores all candidates.
type Ranker interface {
	Model
	// Candidates returns how many there are.
	Candidates() int
	// Scores sets scores[q*n+c] to the score of candidate c, the n of them in their order, as an answer to queries[q].
	// The higher one is the better one.
	Scores(w []float32, queries []Query, scores []float32)
}

// Query asks for items for a user, or for the entity that a fact lacks.
type Query = data.Query

// dots has the products of vectors that score candidates. It serves one goroutine.
type dots struct {
	x    []float32
	work *vec.Workspace
}

// scores sets scores to the products of the vectors of queries, rows of nodes, and of all candidates: both have k
// numbers a row.
func (d *dots) scores(queries []Query, nodes, candidates []float32, k int, scores []float32) {
	if d.work == nil {
		d.work = &vec.Workspace{}
	}
	d.x = d.x[:0]
	for _, q := range queries {
		d.x = append(d.x, nodes[int(q.Node)*k:(int(q.Node)+1)*k]...)
	}
	d.work.MulT(d.x, candidates, k, scores)
}
