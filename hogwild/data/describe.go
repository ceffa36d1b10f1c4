package data

import (
	"path/filepath"
	"strings"

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
