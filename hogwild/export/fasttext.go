package export

import (
	"bufio"
	"encoding/binary"
	"io"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/text"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// What fastText's model.bin begins with, and its names of what a model is: src/fasttext.cc and src/args.h of version
// 0.9.2.
const (
	fastTextMagic, fastTextVersion = 793712314, 12

	fastTextSoftmax, fastTextOVA = 3, 4
	fastTextSupervised           = 3
)

// FastText writes a model of text as fastText's model.bin, with the words that lie next to the weights. FastText, and
// whatever loads its files, predicts with it. How often a label occurs is not in it. Errors match config.ErrUsage, but
// for to's.
func FastText(to io.Writer, s *saved.Saved) error {
	meta, spec := s.Meta(), s.Spec()
	if spec.Family().Reads != text.Labels {
		return config.Usage("fasttext: the model is %s, and fastText's classifier is the model text:100; use --to bin "+
			"for vectors of words", s.Model())
	}
	o, v, k := meta.Text, meta.Text.Vocabulary, spec.Widths[0]
	if v == nil {
		return config.Usage("fasttext: the words of the model are missing: keep %s of the run beside the weights",
			rundir.WordsFile)
	}
	loss := fastTextSoftmax
	if spec.Loss == model.Logistic {
		loss = fastTextOVA
	}
	w := bufio.NewWriterSize(to, 1<<20)
	put := func(values ...any) {
		for _, x := range values { // the error of a bufio.Writer stays until Flush
			_ = binary.Write(w, binary.LittleEndian, x)
		}
	}
	put(int32(fastTextMagic), int32(fastTextVersion))
	// dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate; what only training
	// needs has fastText's defaults
	for _, x := range []int{k, 5, 5, o.MinCount, 5, o.NGrams, loss, fastTextSupervised, o.Buckets, 0, 0, 100} {
		put(int32(x))
	}
	tokens := int64(0)
	for _, n := range v.Counts {
		tokens += n
	}
	put(float64(1e-4), int32(len(v.Words)+len(meta.Classes)), int32(len(v.Words)), int32(len(meta.Classes)), tokens,
		int64(-1)) // t, entries, words, labels, tokens, none pruned
	for i, word := range v.Words {
		put([]byte(word+"\x00"), v.Counts[i], int8(0))
	}
	for _, label := range meta.Classes {
		put([]byte(o.Label+label+"\x00"), int64(0), int8(1))
	}
	for _, t := range s.Tensors() {
		put(false, int64(t.Shape[0]), int64(t.Shape[1])) // not quantized
		put(t.Values)
	}
	return w.Flush()
}
