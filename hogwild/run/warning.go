package run

import (
	"fmt"
	"math"

	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// warning is what a user should know of a result that looks like success and is none: the model is
// no better than the constant predictor, its training loss rose, or it overfits. "" of a good one.
func (r *coordinator) warning() string {
	last := r.epochs.last
	history := r.epochs.position.History
	if last == nil || r.job.Sample > 0 || r.epochs.ended != nil {
		return ""
	}
	tested := last
	if best := rundir.Best(history); best != nil {
		tested = best
	}
	judged := tested.Judged()
	rose := ""
	if len(history) > 1 && last.TrainLoss > history[0].TrainLoss {
		rose = fmt.Sprintf("the train loss rose from %s in the first epoch to %s", human.Loss(history[0].TrainLoss), human.Loss(last.TrainLoss))
	}
	worse, byHeart := "", true
	_, set := r.judges()
	if best := r.constant(set); best != nil {
		worse, byHeart = worseThan(*best, judged, set.Rows), tested.TrainLoss*2 < best.Loss && set.Rows >= fewRows
	}
	switch {
	case worse != "" && rose != "":
		return worse + ", and " + rose + r.remedy(true)
	case byHeart && overfits(tested, history, worse != ""):
		if worse != "" {
			worse += "; "
		}
		return fmt.Sprintf("%sthe run overfits, train loss %s, %s loss %s; try %s--l2, or fewer columns",
			worse, human.Loss(tested.TrainLoss), judged.Set, human.Loss(judged.Loss), r.earlyStop())
	case worse != "":
		return worse + r.remedy(false)
	case rose != "":
		return rose + r.remedy(true)
	}
	return ""
}

// overfits tells whether the tested epoch predicts its training rows far better than others, and those others worse than it
// might: than an earlier epoch did, or than the constant predictor.
func overfits(tested *rundir.EpochResult, history []rundir.EpochResult, worse bool) bool {
	loss := tested.Judged().Loss
	for i := range history {
		worse = worse || history[i].Judged().Loss*1.1 < loss
	}
	return worse && tested.TrainLoss*2 < loss
}

// earlyStop is what stops a run before it overfits, if it has not been tried.
func (r *coordinator) earlyStop() string {
	switch {
	case r.job.Patience > 0:
		return ""
	case r.validation != nil:
		return "--patience 5, "
	}
	return "--validation 0.1 --patience 5, "
}

// fewRows are too few to judge a model by.
const fewRows = 10

// worseThan says that a score on n rows is no better than that of the constant predictor. An accuracy may fall
// short of it by chance, by two standard errors, as long as the loss is the smaller one. A few rows, or no mistake, say nothing.
func worseThan(best, s rundir.Scores, n int) string {
	switch {
	case n < fewRows || s.Accuracy != nil && *s.Accuracy == 1:
	case s.Accuracy != nil:
		p := *best.Accuracy
		chance := 2 * math.Sqrt(p*(1-p)/float64(n))
		if *s.Accuracy < p-chance || *s.Accuracy <= p && s.Loss > best.Loss {
			return fmt.Sprintf("accuracy %s, but always predicting the most common class has %s", human.Accuracy(*s.Accuracy), human.Accuracy(p))
		}
	case s.Loss > best.Loss && s.R2 != nil:
		return fmt.Sprintf("R2 %.4f: always predicting the mean of the training values has a smaller loss, %s", *s.R2, human.Loss(best.Loss))
	}
	return ""
}

// remedy is what to try, the likeliest first.
func (r *coordinator) remedy(rose bool) string {
	switch scaled := r.train.Kind != data.Floats || r.train.Scale != "none"; {
	case !scaled:
		return "; try --scale standard"
	case r.ownRate():
		return fmt.Sprintf("; try another learning rate in the program's optimizer, or more --epochs than %d", r.job.Epochs)
	case rose:
		return fmt.Sprintf("; try a smaller --lr than %.2g, or --tune", r.job.Config.LR)
	}
	return fmt.Sprintf("; try --tune, or more --epochs than %d", r.job.Epochs)
}
