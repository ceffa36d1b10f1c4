package data

import "hogwild/hogwild/data/format"

// Names are what files call users and items, or entities and relations.
type Names struct {
	all       []string // users and then items; entities and then relations
	nodes     int      // users, or entities
	facts     bool
	numbers   bool              // ids are whole numbers
	node, rel map[string]uint32 // relations of facts
}

// Names returns the names in the training data of a model that ranks.
func (m *Meta) Names() *Names {
	n := &Names{all: m.Columns, nodes: m.Shape[0], facts: m.Facts(), node: map[string]uint32{},
		rel: map[string]uint32{}}
	if n.numbers = n.all == nil; n.numbers {
		for _, runs := range m.IDs {
			for _, id := range listed(runs) {
				n.all = append(n.all, idText(id))
			}
		}
	}
	for i, name := range n.all[:n.nodes] {
		n.node[name] = uint32(i)
	}
	for i := n.nodes; n.facts && i < len(n.all); i++ {
		n.rel[n.all[i]] = uint32(i - n.nodes)
	}
	return n
}

// Node returns the name of a user or an entity.
func (n *Names) Node(i uint32) string { return n.all[i] }

// Relation returns the name of a relation.
func (n *Names) Relation(i uint32) string { return n.all[n.nodes+int(i)] }

// Candidate returns the name of an item, or of an entity.
func (n *Names) Candidate(i uint32) string {
	if n.facts {
		return n.all[i]
	}
	return n.all[n.nodes+int(i)]
}

// Query returns the query about a user; or about an entity and a relation, for its tails or with head for its heads.
func (n *Names) Query(node, relation string, head bool) (q Query, ok bool) {
	if id, plain := format.PaddedID([]byte(node)); n.numbers && plain {
		node = idText(id)
	}
	q.Head = head
	if q.Node, ok = n.node[node]; ok && n.facts {
		q.Relation, ok = n.rel[relation]
	}
	return q, ok
}
