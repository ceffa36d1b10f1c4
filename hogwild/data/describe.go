package data

import (
	"bytes"
	"path/filepath"
	"strings"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
)

// kindOfText returns text.Words or text.Labels if the file is text: somebody or its name says so, and it begins like
// one.
func (o Options) kindOfText(src *source) string {
	ending := filepath.Ext(strings.TrimSuffix(src.Path, ".gz"))
	switch {
	case o.Task == text.Words || o.Task == text.Labels:
		return o.Task
	case src.Text == nil || o.Target != "":
		return ""
	case o.Format != "text" && (o.Format != "" && o.Format != "auto" || ending != ".txt" || !src.LooksLikeText()):
		return ""
	}
	head, kind := src.Text[:min(len(src.Text), 1<<16)], text.Words
	(&text.Options{Label: text.LabelPrefix}).EachLabel(head, func([]byte) { kind = text.Labels })
	return kind
}

// looksLike returns the task: as it was asked for, or facts or likes if the file looks so and nothing else was said of
// it. Facts are OpenKE's, or three cells between tabs in a folder that has validation facts.
func looksLike(o *Options, src *source) string {
	first := src.Text[:format.LineEnd(src.Text, 0)]
	switch {
	case o.Task != "" || o.Target != "" || src.Text == nil:
	case o.Format == "lists":
		return likesTask
	case o.Format != "" && o.Format != "auto" || o.Columns != "":
	case strings.HasSuffix(strings.TrimSuffix(filepath.Base(src.Path), ".txt"), "2id"),
		ValidationOf(factsTask, "", o.Path) != "" && bytes.Count(first, []byte{'\t'}) == 2:
		return factsTask
	case src.LooksLikeLists():
		return likesTask
	}
	return o.Task
}

// describeFacts says what a file of facts holds, and how many entities are in others alone.
func describeFacts(path string, src *source, test string) (Meta, error) {
	g := newGraph()
	f, err := g.read(src, true)
	for _, other := range []string{ValidationOf(factsTask, "", path), test} {
		if err != nil || other == "" || other == src.Path {
			continue
		}
		var also *source
		if also, err = read(other, src.Budget); err == nil {
			_, err = g.read(also, false)
		}
	}
	if err != nil {
		return Meta{}, err
	}
	g.finish(path, f)
	f.meta.Nonzeros = 3 * int64(f.meta.Rows)
	return f.meta, nil
}

// describeText says what a text holds, read as by the options or else by the model that is for it.
func (o Options) describeText(src *source, path, kind string) (m Meta, err error) {
	if o.Text == nil {
		o.Text = &text.Options{Kind: kind, MinCount: 5}
		if kind == text.Labels {
			o.Text = &text.Options{Kind: kind, MinCount: 1, NGrams: 1, Label: text.LabelPrefix}
		}
	}
	if kind == text.Words {
		src.Done()
		c, err := text.ReadCorpus(path, src.Budget, func(int64) int { return forTraining })
		if err != nil {
			return m, err
		}
		if m, err = o.corpus(c); err == nil {
			noteCorpus(&m, c)
		}
		return m, err
	}
	l, err := o.readLines(src, nil)
	if err == nil {
		err = l.number(allRows(len(l.first)))
	}
	if err != nil {
		return m, err
	}
	l.noteLines()
	m = l.meta
	m.Name, m.Rows, m.Kind, m.Scale = o.Path, len(l.first), Sparse, "none"
	return m, nil
}
