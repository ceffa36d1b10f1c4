package score

import (
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Warning returns what a user should know of a result that looks like success and is none: the model is no better than
// the constant predictor, its training loss rose, or it overfits. "" of a good one. ownRate: a program's optimizer has
// the learning rate.
func (j *Judge) Warning(c *config.Config, history []rundir.EpochResult, last *rundir.EpochResult, ownRate bool) string {
	tested := last
	if best := rundir.Best(history); best != nil {
		tested = best
	}
	judged := tested.Judged()
	rose := ""
	if len(history) > 1 && !c.Ascends() && last.TrainLoss > history[0].TrainLoss {
		rose = fmt.Sprintf("the train loss rose from %s in the first epoch to %s", human.Loss(history[0].TrainLoss),
			human.Loss(last.TrainLoss))
	}
	worse, byHeart := "", true
	if best := j.Constant(); best != nil {
		worse, byHeart = worseThan(*best, judged, j.Set.Rows), tested.TrainLoss*2 < best.Loss && j.Set.Rows >= fewRows
	}
	switch {
	case worse != "" && rose != "":
		return worse + ", and " + rose + j.remedy(c, ownRate, true)
	case byHeart && overfits(tested, history, worse != ""):
		if worse != "" {
			worse += "; "
		}
		return fmt.Sprintf("%sthe run overfits, train loss %s, %s loss %s; try %s--l2, or fewer columns",
			worse, human.Loss(tested.TrainLoss), judged.Set, human.Loss(judged.Loss), j.earlyStop(c))
	case worse != "":
		return worse + j.remedy(c, ownRate, false)
	case rose != "":
		return rose + j.remedy(c, ownRate, true)
	}
	return ""
}

// overfits reports whether the tested epoch predicts its training rows far better than others, and those others worse
// than it might: than an earlier epoch did, or than the constant predictor.
func overfits(tested *rundir.EpochResult, history []rundir.EpochResult, worse bool) bool {
	loss := tested.Judged().Loss
	for i := range history {
		worse = worse || history[i].Judged().Loss*1.1 < loss
	}
	return worse && tested.TrainLoss*2 < loss
}

// earlyStop names what stops a run before it overfits, if it has not been tried.
func (j *Judge) earlyStop(c *config.Config) string {
	switch {
	case c.Patience > 0:
		return ""
	case j.Name == "validation":
		return "--patience 5, "
	}
	return "--validation 0.1 --patience 5, "
}

// fewRows are too few to judge a model by.
const fewRows = 10

// worseThan says that a score on n rows is no better than the constant predictor's. An accuracy may fall short of it by
// chance, by two standard errors, as long as the loss is the smaller one. A few rows, or no mistake, say nothing.
func worseThan(best, s rundir.Scores, n int) string {
	switch {
	case n < fewRows || s.Accuracy != nil && *s.Accuracy == 1:
	case s.Accuracy != nil:
		p := *best.Accuracy
		chance := 2 * math.Sqrt(p*(1-p)/float64(n))
		if *s.Accuracy < p-chance || *s.Accuracy <= p && s.Loss > best.Loss {
			return fmt.Sprintf("accuracy %s, but always predicting the most common class has %s",
				human.Accuracy(*s.Accuracy), human.Accuracy(p))
		}
	case s.Loss > best.Loss && s.R2 != nil:
		return fmt.Sprintf("R2 %.4f: always predicting the mean of the training values has a smaller loss, %s", *s.R2,
			human.Loss(best.Loss))
	}
	return ""
}

// remedy says what to try, the likeliest first.
func (j *Judge) remedy(c *config.Config, ownRate, rose bool) string {
	switch scaled := !j.train.AnyScale() || j.train.Scale != config.NoScale; {
	case !scaled:
		return "; try --scale standard"
	case ownRate:
		return fmt.Sprintf("; try another learning rate in the program's optimizer, or more --epochs than %d", c.Epochs)
	case rose:
		return fmt.Sprintf("; try a smaller --lr than %.2g, or --tune", c.LR)
	}
	return fmt.Sprintf("; try --tune, or more --epochs than %d", c.Epochs)
}
