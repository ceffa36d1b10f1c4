package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"hogwild/hogwild/data/format"
	"hogwild/shm"
)

// LoadIndices makes the sets of a program that has a data set of its own: numbers of its examples. The
// training examples lie in an order drawn from the seed, as in LoadSets, the test examples in theirs. limit is
// the most training examples, 0 for all. Without test examples the set has one, which no process reads.
func LoadIndices(train, test, limit int, seed uint64, maxMemory int64) (s Sets, err error) {
	defer s.closeOn(&err)
	if err = format.Countable("of the program", max(train, test), 0); err != nil {
		return s, err
	}
	budget := format.NewBudget(maxMemory)
	order := shuffled(allRows(train), seed, drawRows)
	if limit > 0 {
		order = order[:min(limit, train)]
	}
	if s.Train, err = indices(order, budget); err == nil {
		s.Test, err = indices(allRows(max(1, test)), budget)
	}
	return s, err
}

// indexRows are numbers of examples, which have neither inputs nor labels here.
type indexRows struct{ bare }

func init() { layouts[Indices] = indexRows{} }

func (indexRows) inputs(s *Set, _ int) []array {
	return []array{ofRows("idx", shm.U32, &s.Idx, s.Rows)}
}

// indices makes a set of these numbers.
func indices(rows []int32, budget *format.Budget) (*Set, error) {
	sum := sha256.Sum256(fmt.Append(nil, "indices ", len(rows)))
	s, err := create(Meta{Name: None, Format: None, Rows: len(rows), Features: 1, Kind: Indices,
		Checksum: hex.EncodeToString(sum[:])}, 0, budget)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		s.Idx[i] = uint32(row)
	}
	return sealed(s)
}

// None is the name of the data of a program that has its own.
const None = "none"
