package model

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
type Query struct {
	Node     uint32 // the user, or the entity that is known
	Relation uint32 // of a fact, from 0
	Head     bool   // of a fact: its head is asked for, and Node is the tail
}
