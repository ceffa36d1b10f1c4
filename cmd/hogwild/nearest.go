package main

import (
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/words"
)

const nearestHelp = `Usage: hogwild nearest RUN|VECTORS WORD... [--top N] [--json]

Prints the words whose vectors are nearest to those of the given words, by the cosine. RUN is a run of
the model word2vec or text; VECTORS is a .vec or .bin file as word2vec, gensim and fastText (.vec) write
them, packed by gzip or not. - reads the words from standard input.

FLAGS

Examples:
  hogwild nearest runs/news paris good
  hogwild nearest vectors.bin paris --top 3 --json
`

func nearestCommand() *cli.Command {
	top, json := 10, false
	l := flagList{category: "Flags"}
	l.add(&top, "top", "`N` neighbours of each word")
	l.add(&json, "json", "print the result as JSON")
	return verb(cli.Command{Name: "nearest", Usage: "the nearest neighbours of words", ArgsUsage: "RUN|VECTORS WORD...",
		Description: nearestHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) < 2 {
			return usagef("nearest takes a run, or a file of vectors, and words: hogwild nearest runs/news paris")
		}
		if top < 1 {
			return usagef("--top %d: want 1 or more", top)
		}
		asked := args[1:]
		if len(asked) == 1 && asked[0] == "-" {
			text, err := io.ReadAll(os.Stdin)
			if err != nil {
				return err
			}
			asked = strings.Fields(string(text))
		}
		v, err := words.Open(args[0])
		if err != nil {
			return err
		}
		near, err := v.Nearest(asked, top)
		if err != nil {
			return err
		}
		return report(c.App.Writer, near, json)
	})
}
