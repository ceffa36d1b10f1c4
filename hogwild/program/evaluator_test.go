package program

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"hogwild/hogwild/data"
	"hogwild/internal/check"
)

func evaluator(t *testing.T, tricks ...string) *Evaluator {
	t.Helper()
	p, err := Start(t.Context(), Command{Line: own(tricks...), Workers: 2, Rank: Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEvaluator(p, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// losses returns what the score of weights is to be on a set.
func losses(set *data.Set, w []float32) (loss, absolute float64) {
	for i := range set.Rows {
		e := float64(w[3]) - float64(set.Y[i])
		for j, x := range set.X[3*i : 3*i+3] {
			e += float64(w[j]) * float64(x)
		}
		loss += e * e / 2
		absolute += math.Abs(e)
	}
	return loss, absolute
}

// The program gives the first weights, and scores each set, also after it has died.
func TestEvaluator(t *testing.T) {
	sets := linear(t, 2000, 0.3)
	died := filepath.Join(t.TempDir(), "died")
	e := evaluator(t, "once="+died+"@score")
	var why error
	e.Restarted = func(err error) { why = err }
	w := make([]float32, 5)
	if err := e.Welcome(sets, true, w); err != nil {
		t.Fatal(err)
	}
	if !e.Evaluates() || w[0] != 0.01 || w[3] != 0.04 || w[4] != 0 {
		t.Errorf("the first weights are %v", w)
	}
	w = []float32{1, -1, 0, 0.5, 7}
	for name, set := range map[string]*data.Set{"train": sets.Train, "test": sets.Test} {
		s, err := e.Score(w, set)
		if err != nil {
			t.Fatal(err)
		}
		loss, absolute := losses(set, w)
		if s.N != set.Rows || math.Abs(s.Loss-loss) > 1e-6*loss ||
			math.Abs((*s.Metrics)["mae"]-absolute) > 1e-6*absolute ||
			float64(s.Correct) != (*s.Metrics)["accuracy"] || s.Correct <= set.Rows/2 {
			t.Errorf("%s: %+v, %v; want loss %v, mae %v", name, s, *s.Metrics, loss, absolute)
		}
	}
	check.Error(t, why, "was killed by SIGKILL")
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	noChildren(t)
}

// A program that dies again and again, or answers something else, is an error of the score.
func TestScoreFails(t *testing.T) {
	sets := linear(t, 400, 0.3)
	for trick, says := range map[string][]string{
		"exit=5@score":    {"evaluating: the program exited with status 5: the last line before the exit"},
		"kill=score":      {"evaluating: the program was killed by SIGKILL"},
		"line=none@score": {"evaluating: program ", `"none"`},
		"line={}@score":   {"its answer to score is not scored, with 256 examples"},
		"close=score":     {"it has closed its socket"},
		`line={"scored":{"examples":256,"loss":1,"metrics":{"accuracy":[]}}}@score`: {"[] is not a number"},
	} {
		e := evaluator(t, trick)
		if err := e.Welcome(sets, false, nil); err != nil {
			t.Fatal(err)
		}
		_, err := e.Score(make([]float32, 5), sets.Test)
		check.Error(t, err, says...)
		_ = e.Close()
	}
	e := evaluator(t)
	if err := e.Welcome(data.Sets{Train: sets.Train}, false, nil); err != nil {
		t.Fatal(err)
	}
	_, err := e.Score(make([]float32, 5), sets.Test)
	check.Error(t, err, "a set that the program does not know")
	_ = e.Close()
	noChildren(t)
}

// Kill ends the wait for a score that does not come.
func TestKill(t *testing.T) {
	sets := linear(t, 400, 0.3)
	hung := errors.New("it had not moved for a minute")
	for _, trick := range []string{"busy=score", "sleep=score"} {
		e := evaluator(t, trick)
		if err := e.Welcome(sets, false, nil); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, func() { e.Kill(hung) })
		if _, err := e.Score(make([]float32, 5), sets.Test); !errors.Is(err, hung) {
			t.Errorf("%s: %v", trick, err)
		}
		_ = e.Close()
	}
	e := evaluator(t, "sleep=score")
	if err := e.Welcome(sets, false, nil); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = e.Close() })
	_, err := e.Score(make([]float32, 5), sets.Test)
	check.Error(t, err)
	noChildren(t)
}

// NaN and infinity come as texts.
func TestScoreOfOverflownWeights(t *testing.T) {
	sets := linear(t, 400, 0.3)
	e := evaluator(t, `line={"scored":{"examples":256,"loss":"nan","metrics":{"top5":"-inf","accuracy":"inf"}}}@score`)
	if err := e.Welcome(sets, false, nil); err != nil {
		t.Fatal(err)
	}
	s, err := e.score(score{"test", 0, 256})
	if err != nil || !math.IsNaN(s.Loss) || !math.IsInf((*s.Metrics)["top5"], -1) || s.Correct != 0 {
		t.Errorf("%+v: %v", s, err)
	}
}
