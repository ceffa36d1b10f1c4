package model

import "hogwild/hogwild/data"

// pool is what negatives are drawn from: all entities, or in mode blocks some ranges of them.
type pool struct {
	ranges [][]uint32
	n      int // entities in them
	grid   *data.Grid
	set    *data.Set
}

// of chooses the ranges of the block of rows, and of its twin; of none all entities.
func (p *pool) of(set *data.Set, rows []int32, twin int) {
	if twin == 0 || len(rows) == 0 {
		return
	}
	if p.set != set {
		p.set, p.grid = set, data.NewGrid(set, set.Grid)
	}
	p.n = 0
	blocks := []int{p.grid.Of(set, int(rows[0])), twin - 1}
	if blocks[0] == blocks[1] {
		blocks = blocks[:1]
	}
	for _, block := range blocks {
		for _, r := range p.grid.Members(block) {
			p.ranges, p.n = append(p.ranges, r), p.n+len(r)
		}
	}
}

// at returns the entity of a random number.
func (p *pool) at(x uint64, entities int) uint32 {
	if p.ranges == nil {
		return uint32(x >> 32 * uint64(entities) >> 32)
	}
	i := int(x >> 32 * uint64(p.n) >> 32)
	for _, r := range p.ranges {
		if i < len(r) {
			return r[i]
		}
		i -= len(r)
	}
	return 0
}
