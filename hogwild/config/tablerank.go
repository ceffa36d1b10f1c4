package config

// ranking is what a setting needs that has an effect only on models that rank.
var ranking = []need{{"model", "use model bpr:64 or warp:64", false, func(k known) bool {
	return k.family().Ranks || k.Model == "" && k.data != nil && k.data.Implicit
}}}

// ofItems is what rankings of items need.
var ofItems = []need{{"model", "use model factor:32 or bpr:64", false, func(k known) bool {
	return k.Model == "" || k.family().Entries
}}}

var ofGraphs = []need{{"model", "use model kge:complex:128", false, func(k known) bool { return k.family().Chunks }}}

// tableOfRanks is the part of the table for models that rank.
var tableOfRanks = Group{"Rankings", []Setting{
	{Name: "positive", Usage: "`X` bpr, warp: a user likes what has a value of at least X, and entries of lower " +
		"values are left out (default: all are liked)", most: 1e30, needs: ranking},
	{Name: "sampling", Usage: "`HOW` bpr, warp: items that are drawn as not liked: popularity (as often as they are " +
		"liked), uniform, or once (as popularity; bpr takes no step if the user likes it); auto: once for bpr, with " +
		"row-optimizer adagrad popularity; uniform for warp",
		Words: words(Auto, Once, Popularity, Uniform), needs: ranking},
	{Name: "row-optimizer", Usage: "`NAME` bpr, warp, kge: sgd, or adagrad: steps of a row are divided by the root " +
		"of the sum of its squared gradients; auto: sgd for bpr, else adagrad",
		Words: words(Auto, RowSGD, RowAdaGrad),
		needs: []need{
			{"optimizer", "use optimizer sgd, batch 1, and mode async, blocks, or sync with average weights", false,
				func(k known) bool { return k.RowOptimizer != RowAdaGrad || k.stepsByRow() }},
			{"model", "use model bpr:64, warp:64 or kge:complex:128", false, func(k known) bool {
				return ranking[0].met(k) || k.family().Chunks
			}},
		}},
	{Name: "n3", Usage: "`X` kge: add X/3 times the cubes of the numbers in a fact's rows to its loss; auto: 0.15 " +
		"for complex and distmult, else 0", Zero: "auto",
		most: 1e6, needs: ofGraphs},
	{Name: "l2-parts", Usage: "`LIST` bpr, warp: l2 of rows and biases apart: user=X,item=X,negative=X,bias=X " +
		"(default: l2 for each)",
		check: (*Config).checkL2Parts, needs: ranking},
	{Name: "top", Usage: "`K` rankings: figures of the K best items for each user; auto: 10 for what users liked, " +
		"none for ratings", Zero: "auto",
		most: 1 << 20, needs: ofItems},
	{Name: "seen", Usage: "`HOW` rankings: items that a user has in the training rows: out (no candidates) or in",
		Words: words(SeenOut, SeenIn), needs: ofItems},
}}
