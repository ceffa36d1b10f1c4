// Package words is what can be asked of the vectors of words: their neighbours, and how well they answer standard
// questions. The vectors come from a run, or from files of word2vec.
//
//	questions.go  analogies, and pairs of words with a similarity
//	rank.go       rank correlation
//	nearest.go    neighbours
//	open.go       the vectors of a run or a file
//	read.go       files of word2vec
//	vectors.go    the vectors
package words

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
)

// Section is the analogies of one kind. Those with a word that the vectors lack are not answered.
type Section struct {
	Name     string `json:"name"`
	Asked    int    `json:"asked"`
	Answered int    `json:"answered"`
	Correct  int    `json:"correct"`

	questions [][4]int
}

// Accuracy is the share of correct answers; 0 if there are none.
func (s *Section) Accuracy() float64 { return float64(s.Correct) / max(1, float64(s.Answered)) }

// Pairs is how the cosines of pairs of words agree with how similar people find them.
type Pairs struct {
	Asked    int     `json:"asked"`
	Answered int     `json:"answered"`
	Spearman float64 `json:"spearman"` // correlation of ranks; equal values share the mean of theirs
	Pearson  float64 `json:"pearson"`
}

// Answers is what became of a file of questions: of analogies, or of pairs.
type Answers struct {
	Vectors  string     `json:"vectors"`
	File     string     `json:"file"`
	Sections []*Section `json:"sections,omitempty"`
	Total    *Section   `json:"total,omitempty"`
	Pairs    *Pairs     `json:"pairs,omitempty"`
}

// Ask answers a file of questions. Analogies, "a b c d" in each line below a line ": section", ask for the word that
// is to c as b is to a (Mikolov et al. 2013, "Efficient estimation of word representations", section 4.1): the one
// whose vector is nearest to b - a + c, all of length 1, and none of the three. Pairs, "a b similarity", are compared
// by their rank. Only the most frequent words, so many, are known, and case does not count, as in gensim's
// evaluate_word_analogies and evaluate_word_pairs, with which the results agree. Errors match config.ErrUsage.
func (v *Vectors) Ask(path string, most int) (*Answers, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	q := &questions{v: v.first(most), a: &Answers{Vectors: v.Path, File: path}}
	q.index()
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		if err := q.line(lines.Text()); err != nil {
			return nil, config.Usage("%s:%d: %w", path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, config.Usage("%s: %w", path, err)
	}
	switch {
	case len(q.gold) > 0 && q.a.Sections == nil:
		q.a.Pairs.Answered = len(q.gold)
		q.a.Pairs.Spearman, q.a.Pairs.Pearson = pearson(ranks(q.gold), ranks(q.own)), pearson(q.gold, q.own)
		return q.a, nil
	case q.a.Pairs != nil && q.a.Sections == nil:
		return nil, config.Usage("%s: none of the %d pairs has both words in %s", path, q.a.Pairs.Asked, v.Path)
	case q.a.Sections == nil:
		return nil, config.Usage("%s has no questions: want analogies, four words in each line below \": name\", or "+
			"pairs, two words and a number", path)
	}
	q.answer()
	return q.a, nil
}

// questions are those of a file.
type questions struct {
	v         *Vectors
	ids       map[string]int // by words in upper case: of several that are equal then the most frequent
	upper     []string
	a         *Answers
	gold, own []float64 // similarities of pairs
}

func (q *questions) index() {
	q.ids, q.upper = make(map[string]int, len(q.v.Words)), make([]string, len(q.v.Words))
	for i, w := range q.v.Words {
		q.upper[i] = strings.ToUpper(w)
		if _, there := q.ids[q.upper[i]]; !there {
			q.ids[q.upper[i]] = i
		}
	}
}

// line reads a line.
func (q *questions) line(text string) error {
	if name, ok := strings.CutPrefix(text, ":"); ok {
		q.a.Sections = append(q.a.Sections, &Section{Name: strings.TrimSpace(name)})
		return nil
	}
	words := strings.Fields(strings.ToUpper(text))
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	if len(words) == 3 && q.a.Sections == nil {
		gold, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return fmt.Errorf("want two words and their similarity, a number, not %s", human.Quote(words[2]))
		}
		if q.a.Pairs == nil {
			q.a.Pairs = &Pairs{}
		}
		q.a.Pairs.Asked++
		a, ok1 := q.ids[words[0]]
		b, ok2 := q.ids[words[1]]
		if ok1 && ok2 {
			q.gold, q.own = append(q.gold, gold), append(q.own, float64(vec.Dot(q.v.unit(a), q.v.unit(b))))
		}
		return nil
	}
	if len(words) != 4 || q.a.Pairs != nil {
		return fmt.Errorf("want four words, or two words and a number, as in the lines before, not %s",
			human.Quote(human.Brief(text)))
	}
	if q.a.Sections == nil {
		q.a.Sections = append(q.a.Sections, &Section{Name: "all"})
	}
	s, ids := q.a.Sections[len(q.a.Sections)-1], [4]int{}
	s.Asked++
	for i, w := range words {
		id, ok := q.ids[w]
		if !ok {
			return nil
		}
		ids[i] = id
	}
	s.questions = append(s.questions, ids)
	return nil
}

// atOnce is how many questions are one matrix product.
const atOnce = 64

// answer answers the analogies, and adds them up.
func (q *questions) answer() {
	q.a.Total = &Section{Name: "total"}
	for _, s := range q.a.Sections {
		right := make([]int, (len(s.questions)+atOnce-1)/atOnce)
		machine.Each(len(right), func(i int) {
			right[i] = q.correct(s.questions[i*atOnce : min((i+1)*atOnce, len(s.questions))])
		})
		for _, n := range right {
			s.Correct += n
		}
		s.Answered = len(s.questions)
		q.a.Total.Asked += s.Asked
		q.a.Total.Answered += s.Answered
		q.a.Total.Correct += s.Correct
	}
}

// correct counts the right answers.
func (q *questions) correct(all [][4]int) (n int) {
	var work vec.Workspace
	k, words := q.v.K, len(q.v.Words)
	x, z := make([]float32, len(all)*k), make([]float32, len(all)*words)
	for i, ids := range all {
		for j, sign := range [3]float32{-1, 1, 1} {
			vec.Axpy(sign, q.v.unit(ids[j]), x[i*k:(i+1)*k])
		}
	}
	work.MulT(x, q.v.units, k, z)
	for i, ids := range all {
		// gensim takes the best five, and passes over those that are one of the three in another case
		for _, near := range best(z[i*words:(i+1)*words], 5, ids[:3]) {
			if own := q.upper[near.id]; own != q.upper[ids[0]] && own != q.upper[ids[1]] && own != q.upper[ids[2]] {
				if own == q.upper[ids[3]] {
					n++
				}
				break
			}
		}
	}
	return n
}

// WriteText writes a table of the sections, or a line of the pairs.
func (a *Answers) WriteText(w io.Writer) error {
	if p := a.Pairs; p != nil {
		_, err := fmt.Fprintf(w, "%s: Spearman %.4f, Pearson %.4f; %d of %d pairs answered\n", a.File, p.Spearman,
			p.Pearson, p.Answered, p.Asked)
		return err
	}
	t := human.TableOf(append(a.Sections[:len(a.Sections):len(a.Sections)], a.Total),
		human.Col("section", func(s *Section) string { return s.Name }),
		human.Col("asked", func(s *Section) string { return human.Count(int64(s.Asked)) }),
		human.Col("answered", func(s *Section) string { return human.Count(int64(s.Answered)) }),
		human.Col("correct", func(s *Section) string { return human.Count(int64(s.Correct)) }),
		human.Col("share", func(s *Section) string { return human.Accuracy(s.Accuracy()) }))
	_, err := io.WriteString(w, t.Text(100))
	return err
}
