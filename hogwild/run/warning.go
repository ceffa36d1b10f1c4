package run

import (
	"fmt"
	"math"

	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// warning is what a user should know of a result that looks like success and is none: the model is
// no better than the constant predictor, or its training loss rose. "" of a good one.
func (r *coordinator) warning() string {
	last := r.epochs.last
	history := r.epochs.position.History
	if last == nil || r.job.Sample > 0 || r.epochs.ended != nil {
		return ""
	}
	judged := last.Judged()
	if best := rundir.Best(history); best != nil {
		judged = best.Judged() // the weights that are tested
	}
	rose := ""
	if len(history) > 1 && last.TrainLoss > history[0].TrainLoss {
		rose = fmt.Sprintf("the train loss rose from %s in the first epoch to %s", human.Loss(history[0].TrainLoss), human.Loss(last.TrainLoss))
	}
	worse := ""
	_, set := r.judges()
	if best := r.constant(set); best != nil {
		worse = worseThan(*best, judged, set.Rows)
	}
	switch {
	case worse != "" && rose != "":
		return worse + ", and " + rose + r.remedy(true)
	case worse != "":
		return worse + r.remedy(false)
	case rose != "":
		return rose + r.remedy(true)
	}
	return ""
}

// worseThan says that a score on n rows is no better than that of the constant predictor. An accuracy may fall
// short of it by chance, by two standard errors, as long as the loss is the smaller one.
func worseThan(best, s rundir.Scores, n int) string {
	switch {
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
