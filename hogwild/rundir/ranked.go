package rundir

import (
	"fmt"
	"strings"

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

// Figure is a figure with its name.
type Figure struct {
	Name  string
	Value float64
}

// Figures returns the figures in the order of reports.
func (r *Ranked) Figures() []Figure {
	if i := r.Items; i != nil {
		return []Figure{{fmt.Sprintf("precision at %d", i.At), i.Precision}, {"recall", i.Recall}, {"NDCG", i.NDCG},
			{"hit rate", i.HitRate}, {"AUC", i.AUC}}
	}
	f := r.Facts
	return []Figure{{"MRR", f.MRR}, {"hits at 1", f.Hits1}, {"at 3", f.Hits3}, {"at 10", f.Hits10},
		{"mean rank", f.MeanRank}}
}

// About says what is ranked for how many.
func (r *Ranked) About() string {
	n := func(n int) string { return human.Count(int64(n)) }
	about := fmt.Sprintf("%s answers among %s entities, filtered", n(r.Answers), n(r.Candidates))
	if r.Items != nil {
		about = fmt.Sprintf("%s users, %s items, seen ones %s", n(r.Queries), n(r.Candidates), r.Items.Seen)
	}
	if r.NaN > 0 {
		about += fmt.Sprintf("; %s of %s queries have scores that are no numbers, which count as worst", n(r.NaN),
			n(r.Queries))
	}
	return about
}

// text returns the lines of the report.
func (r *Ranked) text() string {
	if r == nil {
		return ""
	}
	var words []string
	for _, f := range r.Figures() {
		words = append(words, fmt.Sprintf("%s %.4f", f.Name, f.Value))
	}
	text := fmt.Sprintf("ranking     %s\n            %s\n", strings.Join(words, ", "), r.About())
	if r.Note != "" {
		text += "            " + r.Note + "\n"
	}
	return text
}
