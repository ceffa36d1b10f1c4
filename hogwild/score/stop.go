package score

import (
	"cmp"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Early stopping is this file: a run without it trains all of its epochs. It ends when the last one has reached a target, or when
// the loss on rows held out has not improved for some epochs. A network holds out such rows by itself.

// ownPatience is the Patience of a network that stops by itself. The best weights are kept, so that much of it costs time
// and little of it a model: with 5 to 10, convnet on 2,000 digits stopped at 1.3 to 1.6 times the test loss that it reached with 20.
const ownPatience = 20

// StopSetting returns the name of a setting that lets scores end the run; "": there is none.
func StopSetting(c *config.Config) string {
	switch {
	case c.TargetLoss > 0:
		return "target-loss"
	case c.TargetAccuracy > 0:
		return "target-accuracy"
	case c.Patience > 0:
		return "patience"
	}
	return ""
}

// Stop returns why a run ends after the epochs so far: a target that the last one has reached, or
// patience that is over. "": it goes on.
func Stop(c *config.Config, history []rundir.EpochResult) string {
	if len(history) == 0 {
		return ""
	}
	s := history[len(history)-1].Judged()
	if t := c.TargetLoss; t > 0 && s.Loss <= t {
		return fmt.Sprintf("target loss %g", t)
	}
	if t := c.TargetAccuracy; t > 0 && s.Accuracy != nil && *s.Accuracy >= t {
		return fmt.Sprintf("target accuracy %g", t)
	}
	why, _ := impatient(history, c.Patience)
	return why
}

// CheckPatience refuses to resume a run whose patience is over.
func CheckPatience(c *config.Config, history []rundir.EpochResult) error {
	if why, epochs := impatient(history, c.Patience); why != "" {
		return config.Usage("resume %s: %s; give --patience %d or more to continue, or 0 for no limit", c.Resume, why, epochs+1)
	}
	return nil
}

// impatient returns, once patience is over, since when the validation loss has not improved, and how many epochs that are. All
// that it needs is the history, which a snapshot has.
func impatient(history []rundir.EpochResult, patience int) (why string, epochs int) {
	if patience == 0 || len(history) == 0 {
		return "", 0
	}
	since := 0
	if best := rundir.Best(history); best != nil {
		since = best.Epoch
	}
	if epochs = history[len(history)-1].Epoch - since; epochs < patience {
		return "", epochs
	}
	return fmt.Sprintf("patience %d: no better validation loss since epoch %d", patience, since), epochs
}

// HoldOut makes settings of what follows for a run that holds out rows by itself from the share that was, "" for none:
// its config.yaml has them, and a resumed run holds out the same rows. It reports whether the run holds out rows by itself.
func HoldOut(c *config.Config, share string) bool {
	switch {
	case !c.HoldsOut():
		return false
	case share == "":
		c.Validation = config.NoValidation
		return false
	}
	c.Validation, c.Patience = share, cmp.Or(c.Patience, ownPatience)
	return true
}

// HoldOutNote says what a run does with the rows that it holds out by itself.
func HoldOutNote(c *config.Config, rows int) string {
	note := fmt.Sprintf("keeps the best epoch by %s rows held out (--validation none trains on all)", human.Count(int64(rows)))
	if c.Epochs > c.Patience {
		note = fmt.Sprintf("stops after %d without a better loss, ", c.Patience) + note
	}
	return note
}
