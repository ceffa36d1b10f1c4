package run

import (
	"fmt"
	"math"

	"hogwild/hogwild/data"
	"hogwild/internal/human"
)

// warning is what a user should know of a result that looks like success and is none: the model is
// no better than the constant predictor, or its training loss rose. "" of a good one.
func (r *coordinator) warning() string {
	last := r.epochs.last
	if last == nil || r.job.Sample > 0 || r.epochs.stopped != "" {
		return ""
	}
	history := r.epochs.position.History
	rose := ""
	if len(history) > 1 && last.TrainLoss > history[0].TrainLoss {
		rose = fmt.Sprintf("the train loss rose from %s in the first epoch to %s", human.Loss(history[0].TrainLoss), human.Loss(last.TrainLoss))
	}
	worse := ""
	if best := r.constant(r.test); best != nil {
		worse = worseThan(*best, score{loss: last.TestLoss, accuracy: last.TestAccuracy, rmse: last.TestRMSE, r2: last.TestR2}, r.test.Rows)
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
func worseThan(best, s score, n int) string {
	switch {
	case s.accuracy != nil:
		p := *best.accuracy
		chance := 2 * math.Sqrt(p*(1-p)/float64(n))
		if *s.accuracy < p-chance || *s.accuracy <= p && s.loss > best.loss {
			return fmt.Sprintf("accuracy %s, but always predicting the most common class has %s", human.Accuracy(*s.accuracy), human.Accuracy(p))
		}
	case s.loss > best.loss && s.r2 != nil:
		return fmt.Sprintf("R2 %.4f: always predicting the mean of the training values has a smaller loss, %s", *s.r2, human.Loss(best.loss))
	}
	return ""
}

// remedy is what to try, the likeliest first.
func (r *coordinator) remedy(rose bool) string {
	switch scaled := r.train.Kind != data.Floats || r.train.Scale != "none"; {
	case !scaled:
		return "; try --scale standard"
	case rose:
		return fmt.Sprintf("; try a smaller --lr than %.2g, or --tune", r.job.Config.LR)
	}
	return fmt.Sprintf("; try --tune, or more --epochs than %d", r.job.Epochs)
}
