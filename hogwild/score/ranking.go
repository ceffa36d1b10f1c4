package score

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
)

// RankSet ranks the candidates for the queries of a set, as settings ask for; nil where they do not, or the model does
// not rank. What other sets know is left out.
func RankSet(models []model.Model, w []float32, set *data.Set, c *config.Config, others ...*data.Set) *rundir.Ranked {
	k := c.RanksAt(&set.Meta)
	if _, ranks := models[0].(model.Ranker); !ranks || k == 0 || !set.Ranks() {
		return nil
	}
	facts := set.Facts()
	if facts {
		others = append(others, set)
	} else if c.Seen == config.SeenIn {
		others = nil
	}
	r := Rank(models, w, data.Questions(set, data.AnswersIn(others...)), facts, k)
	if r != nil && !facts {
		r.Items.Seen = string(c.Seen)
	}
	return r
}

// Rank has models that rank, as many as there are cores, answer questions, and says how high the right candidates are:
// about facts, or of items among the k best. It is nil without questions. The figures do not depend on the number of
// models.
func Rank(models []model.Model, w []float32, questions []data.Question, facts bool, k int) *rundir.Ranked {
	if len(questions) == 0 {
		return nil
	}
	r := &rundir.Ranked{Queries: len(questions), Candidates: models[0].(model.Ranker).Candidates()}
	gain, queries := []float64{0}, make([]model.Query, len(questions))
	for i := range k {
		gain = append(gain, gain[i]+1/math.Log2(float64(i)+2))
	}
	for i, q := range questions {
		queries[i] = q.Query
		r.Answers += len(q.Answers)
	}
	figures, places := make([]figures, len(questions)), make([]places, len(models))
	Scores(models, w, queries, func(goroutine, i int, scores []float32) {
		q, p := &questions[i], &places[goroutine]
		p.find(q, scores)
		figures[i] = p.figures(q, len(scores), gain)
	})
	var sum [len(figures[0].of)]float64
	undecided := 0
	for i := range figures {
		for j, v := range figures[i].of {
			if v == v {
				sum[j] += v
			} else {
				undecided++
			}
		}
		if figures[i].nan {
			r.NaN++
		}
	}
	users, answers := float64(len(questions)), float64(r.Answers)
	if facts {
		r.Facts = &rundir.FactRanks{MRR: sum[ofMRR] / answers, Hits1: sum[ofHits1] / answers,
			Hits3: sum[ofHits3] / answers, Hits10: sum[ofHits10] / answers, MeanRank: sum[ofRank] / answers}
		return r
	}
	r.Items = &rundir.ItemRanks{At: k, Precision: sum[ofPrecision] / users, Recall: sum[ofRecall] / users,
		NDCG: sum[ofNDCG] / users, HitRate: sum[ofHitRate] / users, AUC: sum[ofAUC] / max(users-float64(undecided), 1)}
	return r
}

// Scores are made for as many queries at once as stay in a cache, if these are enough for a product of matrices.
const (
	atOnce               = 1 << 19 // scores
	leastBlock, maxBlock = 16, 256 // queries
)

// Scores calls do with the scores of all candidates for each query, from a goroutine for each of the models.
func Scores(models []model.Model, w []float32, queries []model.Query, do func(goroutine, i int, scores []float32)) {
	n := models[0].(model.Ranker).Candidates()
	block := min(max(atOnce/n, leastBlock), maxBlock, len(queries))
	var taken atomic.Int64
	var busy sync.WaitGroup
	for g, m := range models {
		busy.Go(func() {
			scores := make([]float32, block*n)
			for b := int(taken.Add(1)) - 1; b < plan.CeilDiv(len(queries), block); b = int(taken.Add(1)) - 1 {
				from, to := b*block, min((b+1)*block, len(queries))
				m.(model.Ranker).Scores(w, queries[from:to], scores[:(to-from)*n])
				for i := from; i < to; i++ {
					do(g, i, scores[(i-from)*n:(i-from+1)*n])
				}
			}
		})
	}
	busy.Wait()
}

// Best returns the k best candidates that are not known, the best one first, of equal ones the first. known is
// ascending. A score that is no number is the worst.
func Best(scores []float32, known []uint32, k int) (best []uint32) {
	above := func(a, b float32) bool { return a > b || a == a && b != b }
	for c, v := range scores {
		if len(known) > 0 && known[0] == uint32(c) {
			known = known[1:]
			continue
		}
		if len(best) == k {
			if !above(v, scores[best[k-1]]) {
				continue
			}
			best = best[:k-1]
		}
		i := len(best)
		for best = append(best, 0); i > 0 && above(v, scores[best[i-1]]); i-- {
			best[i] = best[i-1]
		}
		best[i] = uint32(c)
	}
	return best
}

// places are where the answers to a question stand among the candidates that are not known. It serves one goroutine.
type places struct {
	groups []group // of equal scores, from the worst
	nan    int     // candidates whose score is no number: they are equal, and the worst
}

// group is answers of equal scores.
type group struct {
	score         float32
	answers       int
	above, equal  int // candidates; the answers are among the equal ones
	between, same int // candidates above it and below the next group, and of its score
}

// find finds the places.
func (p *places) find(q *data.Question, scores []float32) {
	p.groups, p.nan = p.groups[:0], 0
	low := float32(math.Inf(1))
	lost := 0
	for _, c := range q.Answers {
		if v := scores[c]; v == v {
			low = min(low, v)
			p.groups = append(p.groups, group{score: v})
		} else {
			lost++
		}
	}
	p.merge()
	for _, v := range scores {
		if v >= low {
			p.count(v, 1)
		} else if v != v {
			p.nan++
		}
	}
	left := len(scores) - len(q.Known)
	for _, c := range q.Known {
		if v := scores[c]; v >= low {
			p.count(v, -1)
		} else if v != v {
			p.nan--
		}
	}
	above := 0
	for j := len(p.groups) - 1; j >= 0; j-- {
		g := &p.groups[j]
		g.above, g.equal = above+g.between, g.same
		above = g.above + g.same
	}
	if lost > 0 {
		p.groups = slices.Insert(p.groups, 0, group{answers: lost, above: left - p.nan, equal: p.nan})
	}
}

// merge sorts answers, and makes equal scores a group.
func (p *places) merge() {
	slices.SortFunc(p.groups, func(a, b group) int {
		switch {
		case a.score < b.score:
			return -1
		case a.score > b.score:
			return 1
		}
		return 0
	})
	kept := p.groups[:0]
	for _, g := range p.groups {
		if n := len(kept); n == 0 || kept[n-1].score != g.score {
			kept = append(kept, g)
		}
		kept[len(kept)-1].answers++
	}
	p.groups = kept
}

// count counts a candidate that is not below all groups, or takes it back.
func (p *places) count(v float32, by int) {
	at, end := 0, len(p.groups)-1 // the last group that is not above it
	for at < end {
		if middle := (at + end + 1) / 2; p.groups[middle].score <= v {
			at = middle
		} else {
			end = middle - 1
		}
	}
	if g := &p.groups[at]; g.score == v {
		g.same += by
	} else {
		g.between += by
	}
}

// figures are what the places of the answers to a question come to.
type figures struct {
	of  [10]float64 // NaN: the answers do not say
	nan bool        // a score is no number
}

// The figures: of an item's question means, of a fact's sums over answers.
const (
	ofPrecision = iota
	ofRecall
	ofNDCG
	ofHitRate
	ofAUC
	ofMRR
	ofHits1
	ofHits3
	ofHits10
	ofRank
)

// figures returns the figures of a question about n candidates. gain[i] is what right candidates in the first i places
// are worth. Where candidates are equal, each order of theirs is as probable.
func (p *places) figures(q *data.Question, n int, gain []float64) figures {
	f := figures{nan: p.nan > 0}
	k, answers := len(gain)-1, len(q.Answers)
	wrong := n - len(q.Known) - answers
	hits, missed, before := 0.0, 1.0, 0 // before: answers in better groups
	for _, g := range slices.Backward(p.groups) {
		a, share := float64(g.answers), float64(g.answers)/float64(g.equal)
		within := min(max(k-g.above, 0), g.equal)
		hits += share * float64(within)
		f.of[ofNDCG] += share * (gain[min(g.above+g.equal, k)] - gain[min(g.above, k)]) / gain[min(k, answers)]
		for i := 0; i < within && missed > 0; i++ {
			missed *= float64(g.equal-g.answers-i) / float64(g.equal-i)
		}
		// wrong ones that are better, and half of the equal ones
		worse := float64(g.above-before) + float64(g.equal-g.answers)/2
		f.of[ofAUC] += a * (1 - worse/float64(wrong)) / float64(answers)
		f.of[ofMRR] += a / (1 + worse)
		f.of[ofRank] += a * (1 + worse)
		for i, most := range [...]float64{1, 3, 10} {
			if 1+worse <= most {
				f.of[ofHits1+i] += a
			}
		}
		before += g.answers
	}
	f.of[ofPrecision], f.of[ofRecall], f.of[ofHitRate] = hits/float64(k), hits/float64(answers), 1-missed
	if wrong == 0 {
		f.of[ofAUC] = math.NaN()
	}
	return f
}
