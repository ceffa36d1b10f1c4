//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
)

// skipGram is word2vec without CBOW: kernels/skipgram.cu.
var skipGram = family{fill: fillSkipGram, step: always("skipgram_step"), evaluate: "skipgram_evaluate",
	scratch: func(*job) int64 { return 0 }, plans: true}

const longestVector = 512 // numbers; a lane keeps 16

// fillSkipGram brings what windows are drawn by to memory of the job's own, which freePlan gives back.
func fillSkipGram(j *job, s *device.Setup, _ *memory) error {
	if err := refuseWords(s); err != nil {
		return err
	}
	j.Width[0], j.Teams = int64(s.Spec.Widths[0]), warpsOfCTA
	base, keep, alias := data.NewWindows(s.Set).Tables()
	head := []int64{int64(base), int64(s.Set.Rows), int64(s.Set.Text.Window), int64(s.Set.Text.Negatives)}
	text := slices.Concat(raw(head), raw(alias), raw(keep))
	at, err := cu.MemAlloc(int64(len(text)))
	if err != nil {
		return failed(err, "allocating %d bytes for the tables of %s", len(text), s.Job.Asked.Model)
	}
	j.Plan = uint64(at)
	return upload(at, text)
}

// refuseWords says what the kernels cannot do.
func refuseWords(s *device.Setup) error {
	c, k, batch := &s.Job.Asked, s.Spec.Widths[0], s.Job.Used.Batch
	for _, no := range []struct {
		it            bool
		what, instead string
	}{
		{c.CBOW, "cbow", "leave cbow out"},
		{c.ShareNegatives, "share-negatives", "leave share-negatives out"},
		{k > longestVector, fmt.Sprintf("vectors of %d numbers", k), fmt.Sprintf("choose %d or fewer", longestVector)},
		{c.Optimizer != config.SGD, "optimizer " + string(c.Optimizer), "use sgd"},
		{c.AveragesGradients(), "averaged gradients", "use average weights"},
		{batch != 1, fmt.Sprintf("batch %d", batch), "use batch 1"},
		{!c.Mode.Traits().Fused, fmt.Sprintf("mode %s", c.Mode),
			"use async, which loses no update on a GPU, or sync"},
	} {
		if no.it {
			return fmt.Errorf("gpu: %s with %s trains in host memory only; %s, or leave --gpu out", c.Model, no.what,
				no.instead)
		}
	}
	return nil
}
