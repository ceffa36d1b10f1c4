package main

import (
	"github.com/urfave/cli/v2"

	"hogwild/hogwild/words"
)

const analogiesHelp = `Usage: hogwild analogies RUN|VECTORS FILE [--restrict N] [--json]

Asks the vectors of words the questions of FILE:

  analogies  ": section", and below it "athens greece baghdad iraq" in each line, as in word2vec's
             questions-words.txt: how many are answered, and how many correctly, by section
  pairs      "tiger cat 7.35" in each line, separated by blanks or tabs, as in wordsim353.tsv: how the
             cosines agree with these numbers, as Spearman's rank correlation and Pearson's

Case does not count. Results are those of gensim's evaluate_word_analogies and evaluate_word_pairs.
RUN and VECTORS are as for hogwild nearest.

FLAGS

Examples:
  hogwild analogies runs/news questions-words.txt
  hogwild analogies vectors.bin wordsim353.tsv --restrict 30000
`

func analogiesCommand() *cli.Command {
	restrict, json := 300_000, false
	l := flagList{category: "Flags"}
	l.int(&restrict, "restrict", "`N` know the N most frequent words only")
	l.bool(&json, "json", "print the result as JSON")
	return verb(cli.Command{Name: "analogies", Usage: "ask vectors of words standard questions",
		ArgsUsage: "RUN|VECTORS FILE", Description: analogiesHelp, Flags: l.flags},
		func(c *cli.Context, _ *settings, args []string) error {
			if len(args) != 2 {
				return usagef("analogies takes a run, or a file of vectors, and a file of questions: hogwild " +
					"analogies runs/news questions-words.txt")
			}
			if restrict < 1 {
				return usagef("--restrict %d: want 1 or more", restrict)
			}
			v, err := words.Open(args[0])
			if err != nil {
				return err
			}
			answers, err := v.Ask(args[1], restrict)
			if err != nil {
				return err
			}
			return report(c.App.Writer, answers, json)
		})
}
