package ability

import (
	"cmp"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// ownPatience is the Patience of a network that stops by itself. The best weights are kept, so that much of it costs
// time and little of it a model: with 5 to 10, convnet on 2,000 digits stopped at 1.3 to 1.6 times the test loss that
// it reached with 20.
const ownPatience = 20

// Stop ends a run early: when its last epoch has reached a target, or when the loss on rows held out has not improved
// for some epochs. Without it a run trains all of its epochs. A network holds out such rows by itself.
func Stop() core.Ability { return &stop{} }

type stop struct {
	holdsOut bool // rows, by itself
}

// Handle has the run hold out rows, wait for the scores that may end it, and end by them.
func (a *stop) Handle(r *core.Run, e core.Event) error {
	c := &r.Job.Asked
	switch e := e.(type) {
	case *core.Read:
		a.holdsOut = holdOut(c, e.HeldOut)
	case *core.Settled:
		if a.holdsOut {
			e.Auto = append(e.Auto, holdOutNote(c, r.Task.Validation.Rows))
		}
	case *core.Begins:
		if name, p := stopSetting(c), r.Hooks.Program; name != "" && p != nil && !p.Scores() {
			return config.Usage("%s needs scores: mark a function of the program with @job.evaluate, and give "+
				"hogwild.join a test set if it has a dataset", name)
		}
	case *core.Resumes:
		if e.Reported {
			return checkPatience(c, e.At.History)
		}
		e.Over = reached(c, e.At.History)
	case *core.Completed:
		e.Await = e.Await || stopSetting(c) != ""
	case *core.Evaluated:
		if why := reached(c, r.Position.History); why != "" && e.Err == nil {
			return r.Stop(why) // what was not saved is, at the end
		}
	}
	return nil
}

// setting returns the name of a setting that lets scores end the run; "": there is none.
func stopSetting(c *config.Config) string {
	switch {
	case c.TargetLoss > 0:
		return "target-loss"
	case c.TargetAccuracy > 0:
		return "target-accuracy"
	case c.TargetGap > 0:
		return "target-gap"
	case c.Patience > 0:
		return "patience"
	}
	return ""
}

// reached returns why a run ends after the epochs so far: a target that the last one has reached, or
// patience that is over. "": it goes on.
func reached(c *config.Config, history []rundir.EpochResult) string {
	if len(history) == 0 {
		return ""
	}
	last := &history[len(history)-1]
	if gap, ok := last.TrainMetrics["relative_gap"]; ok && c.TargetGap > 0 && gap <= c.TargetGap {
		return fmt.Sprintf("target gap %g", c.TargetGap)
	}
	s := last.Judged()
	if t := c.TargetLoss; t > 0 && s.Loss <= t {
		return fmt.Sprintf("target loss %g", t)
	}
	if t := c.TargetAccuracy; t > 0 && s.Accuracy != nil && *s.Accuracy >= t {
		return fmt.Sprintf("target accuracy %g", t)
	}
	why, _ := impatient(history, c.Patience)
	return why
}

// checkPatience refuses to resume a run whose patience is over.
func checkPatience(c *config.Config, history []rundir.EpochResult) error {
	if why, epochs := impatient(history, c.Patience); why != "" {
		return config.Usage("resume %s: %s; give --patience %d or more to continue, or 0 for no limit", c.Resume, why,
			epochs+1)
	}
	return nil
}

// impatient returns, once patience is over, since when the validation loss has not improved, and how many epochs that
// are. All that it needs is the history, which a snapshot has.
func impatient(history []rundir.EpochResult, patience int) (why string, epochs int) {
	best := rundir.Best(history)
	if patience == 0 || best == nil { // of words without pairs there is no loss
		return "", 0
	}
	since := best.Epoch
	if epochs = history[len(history)-1].Epoch - since; epochs < patience {
		return "", epochs
	}
	return fmt.Sprintf("patience %d: no better validation loss since epoch %d", patience, since), epochs
}

// holdOut makes settings of what follows for a run that holds out rows by itself from the share that was, "" for none:
// its config.yaml has them, and a resumed run holds out the same rows. It reports whether the run holds out rows by
// itself.
func holdOut(c *config.Config, share string) bool {
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

// holdOutNote says what a run does with the rows that it holds out by itself.
func holdOutNote(c *config.Config, rows int) string {
	note := fmt.Sprintf("keeps the best epoch by %s rows held out (--validation none trains on all)",
		human.Count(int64(rows)))
	if c.Epochs > c.Patience {
		note = fmt.Sprintf("stops after %d without a better loss, ", c.Patience) + note
	}
	return note
}
