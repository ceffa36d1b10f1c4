package rundir

import (
	"fmt"

	"hogwild/internal/human"
)

// Ranked is how a model ranks all candidates for queries of a set: docs/rankings.md defines the figures. Equal scores
// count by the mean of all orders that they may have.
type Ranked struct {
	Queries    int        `json:"queries"`
	Candidates int        `json:"candidates"`
	Answers    int        `json:"answers"` // right candidates, of all queries
	Items      *ItemRanks `json:"items,omitempty"`
	Facts      *FactRanks `json:"facts,omitempty"`
	NaN        int        `json:"nan,omitempty"` // queries with scores that are no numbers: these count as worst
	Note       string     `json:"note,omitempty"`
}

// ItemRanks are means over users.
type ItemRanks struct {
	At        int     `json:"at"`   // k
	Seen      string  `json:"seen"` // out: what users have in the training rows is no candidate; in
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	NDCG      float64 `json:"ndcg"`
	HitRate   float64 `json:"hit_rate"`
	AUC       float64 `json:"auc"`
}

// FactRanks are means over facts and both sides of each, filtered.
type FactRanks struct {
	MRR      float64 `json:"mrr"`
	Hits1    float64 `json:"hits_1"`
	Hits3    float64 `json:"hits_3"`
	Hits10   float64 `json:"hits_10"`
	MeanRank float64 `json:"mean_rank"`
}

// text returns the lines of the report.
func (r *Ranked) text() (text string) {
	if r == nil {
		return ""
	}
	row := func(label, format string, args ...any) {
		text += fmt.Sprintf("%-11s "+format+"\n", append([]any{label}, args...)...)
	}
	if i := r.Items; i != nil {
		row("ranking", "at %d: precision %.4f, recall %.4f, NDCG %.4f, hit rate %.4f; AUC %.4f", i.At, i.Precision,
			i.Recall, i.NDCG, i.HitRate, i.AUC)
		row("", "%s users, %s items, seen ones %s", count(r.Queries), count(r.Candidates), i.Seen)
	}
	if f := r.Facts; f != nil {
		row("ranking", "MRR %.4f; hits at 1 %.4f, at 3 %.4f, at 10 %.4f; mean rank %.1f", f.MRR, f.Hits1, f.Hits3,
			f.Hits10, f.MeanRank)
		row("", "filtered, %s answers among %s entities", count(r.Answers), count(r.Candidates))
	}
	if r.NaN > 0 {
		row("", "scores that are no numbers count as worst: %s of %s queries have some", count(r.NaN), count(r.Queries))
	}
	if r.Note != "" {
		row("", "%s", r.Note)
	}
	return text
}

func count(n int) string { return human.Count(int64(n)) }
