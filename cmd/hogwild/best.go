package main

import (
	"bufio"
	"io"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/saved"
)

// predictor writes predictions, and says how many there are and what is to be known of them.
type predictor func(s *saved.Saved, w io.Writer) (rows int, notes []string, err error)

// predictBest returns the predictor of the best candidates for the queries in a file: see saved.Answers.
func predictBest(path string, top int, seen config.Seen) predictor {
	return func(s *saved.Saved, to io.Writer) (rows int, notes []string, err error) {
		w, meta := bufio.NewWriterSize(to, 1<<16), s.Meta()
		head := "user,item,score\n"
		if meta.Facts() {
			head = "head,relation,tail,score\n"
		}
		notes, err = saved.Answers(s, path, top, seen, func(b *saved.Answer) error {
			for i, name := range b.Names {
				cells := []string{b.Query[0], name}
				if meta.Facts() && b.Head {
					cells = []string{name, b.Query[1], b.Query[0]}
				} else if meta.Facts() {
					cells = []string{b.Query[0], b.Query[1], name}
				}
				if rows++; rows == 1 { // nothing is printed above an error
					w.WriteString(head)
				}
				w.WriteString(format.CSVLine(cells...) + ",")
				w.Write(append(appendFloat(nil, b.Scores[i]), '\n'))
			}
			_, err := w.Write(nil) // of a bufio.Writer the first error stays
			return err
		})
		if err == nil {
			err = w.Flush()
		}
		return rows, notes, err
	}
}
