package saved

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/score"
	"hogwild/internal/human"
)

// Answer is the best candidates for a query, the best one first.
type Answer struct {
	Query  [2]string // a user and "", or the known entity and the relation
	Head   bool      // of a fact: its head was asked for
	Names  []string
	Scores []float32
}

// answersAtOnce is how many are made, and then written.
const answersAtOnce = 1 << 12

// Answers finds the best candidates for the queries in a file, - for standard input: a user a line, or the head and the
// relation of a fact, with ? for the head that a tail is to have. Without a file all users are asked about. What the
// run's data know is left out, unless seen is in; "": as in the run. do is called in the order of the file. The notes
// say which lines have no candidates, and why.
func Answers(s *Saved, path string, top int, seen config.Seen, do func(*Answer) error) (notes []string, err error) {
	if !s.ranks() {
		return nil, config.Usage("top %d has no effect with model %s, which ranks no candidates: leave top out", top,
			s.name)
	}
	if err := s.asks(top, seen); err != nil {
		return nil, err
	}
	known := data.AnswersIn()
	if s.config.Seen != config.SeenIn {
		own, err := s.readAgain()
		if err != nil {
			return nil, config.Usage("what users have seen cannot be left out, %s; rank all with --seen in",
				reason(err))
		}
		known = data.AnswersIn(own.Train, own.Validation)
		own.Close()
	}
	names := s.meta.Names()
	queries, notes, err := s.queries(path, names)
	if err != nil {
		return nil, err
	}
	models, err := s.models()
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(queries, answersAtOnce) {
		all := make([]Answer, len(some))
		score.Scores(models, s.w, some, func(_, i int, scores []float32) {
			q := some[i]
			b := &all[i]
			b.Query[0], b.Head = names.Node(q.Node), q.Head
			if s.meta.Facts() {
				b.Query[1] = names.Relation(q.Relation)
			}
			for _, c := range score.Best(scores, known.To(q), top) {
				b.Names, b.Scores = append(b.Names, names.Candidate(c)), append(b.Scores, scores[c])
			}
		})
		for i := range all {
			if err := do(&all[i]); err != nil {
				return notes, err
			}
		}
	}
	return notes, nil
}

// queries reads a file of queries. A first line that is about nothing known is a head.
func (s *Saved) queries(path string, names *data.Names) (all []model.Query, notes []string, err error) {
	if path == "" {
		if s.meta.Facts() {
			return nil, nil, config.Usage("top: name a file with a head and a relation in each line, or ?, relation " +
				"and tail: --data FILE")
		}
		for u := range s.meta.Shape[0] {
			all = append(all, model.Query{Node: uint32(u)})
		}
		return all, nil, nil
	}
	in := io.ReadCloser(os.Stdin)
	if path != "-" {
		if in, err = os.Open(path); err != nil {
			return nil, nil, config.Usage("%w", err)
		}
	}
	defer in.Close()
	lines, missed, first := 0, 0, ""
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		line := strings.TrimRight(scan.Text(), "\r")
		if lines++; strings.TrimSpace(line) == "" {
			continue
		}
		q, ok := s.query(names, line)
		switch {
		case ok:
			all = append(all, q)
		case lines == 1:
			notes = append(notes, fmt.Sprintf("%s:1: %s is taken for a head: the training data do not have it", path,
				human.Quote(line)))
		default:
			if missed++; missed == 1 {
				first = fmt.Sprintf("%s:%d: the training data do not have all of %s", path, lines, human.Quote(line))
			}
		}
	}
	if missed > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s lines have no candidates, the first at %s",
			human.Count(int64(missed)), human.Count(int64(lines)), first))
	}
	if err = scan.Err(); err != nil {
		err = config.Usage("%s:%d: %w", path, lines+1, err)
	} else if len(all) == 0 {
		err = config.Usage("%s: no line is about what is in the training data", path)
	}
	return all, notes, err
}

// query reads a line: cells between tabs, or else commas.
func (s *Saved) query(names *data.Names, line string) (model.Query, bool) {
	cells := strings.Split(line, "\t")
	if len(cells) == 1 {
		r := csv.NewReader(strings.NewReader(line))
		r.LazyQuotes = true
		if read, err := r.Read(); err == nil {
			cells = read
		}
	}
	switch known := cells[0]; {
	case !s.meta.Facts():
		return names.Query(known, "", false)
	case len(cells) == 1:
		return model.Query{}, false
	case known == "?":
		return names.Query(cells[len(cells)-1], cells[1], true)
	default:
		return names.Query(known, cells[1], false)
	}
}
