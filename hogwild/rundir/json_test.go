package rundir

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestJSONForm: results, epochs and moments stand in JSON in this form, with null for numbers that are not finite, and
// are read as they were written.
func TestJSONForm(t *testing.T) {
	nan, half := math.NaN(), 0.5
	for _, c := range []struct {
		value, back any
		want        string
	}{
		{&Result{Mode: "async", Workers: 2, ExamplesPerSecond: nan, TrainLoss: nan, LRUsed: 0.1,
			Tested: Tested{TestLoss: nan, TestRMSE: &half}, Validation: Validation{ValidationLoss: &nan}}, &Result{},
			`{"mode":"async","device":"","cpu":"","workers":2,"model":"","data":"","batch":0,"epochs":0,"examples":0,` +
				`"seconds":0,"startup_seconds":0,"restarts":0,"lost_examples":0,"seed":0,"parameters":0,` +
				`"values_per_example":0,"flops_per_example":0,"machine":{"cpu":"","cores":0,"memory":0,"kernel":"",` +
				`"go":""},"version":"","commit":"","run":"","lr_used":0.1,"lr_capped":false,"centered":false,` +
				`"bias_step":0,"examples_per_second":null,"train_loss":null,"test_loss":null,"test_rmse":0.5,` +
				`"validation_loss":null}`},
		{&EpochResult{Kind: "epoch", Epoch: 1, TrainLoss: 0.25, Tested: Tested{TestLoss: 0.5, TestAccuracy: &half,
			TestRMSE: &nan, TestR2: &nan}, Validation: Validation{&half, &nan, &nan, &nan}}, &EpochResult{}, `{"kind":"epoch","epoch":1,"seconds":0,"examples":0,"lr":0,"train_loss":0.25,"test_loss":0.5,` +
			`"test_accuracy":0.5,"test_rmse":null,"test_r2":null,"validation_loss":0.5,` +
			`"validation_accuracy":null,"validation_rmse":null,"validation_r2":null}`},
		{&Status{Kind: "second", Rate: nan, TrainLoss: &nan, Workers: []WorkerStatus{{Rank: 1, Rate: nan},
			{Rank: 2, Rate: 3}}}, &Status{}, `{"kind":"second","epoch":0,"epochs":0,"seconds":0,"examples":0,"workers":[{"rank":1,"pid":0,` +
			`"state":"","examples":0,"restarts":0,"examples_per_second":null},{"rank":2,"pid":0,"state":"",` +
			`"examples":0,"restarts":0,"examples_per_second":3}],"examples_per_second":null,"train_loss":null}`},
		{&Status{Kind: "second", Rate: 1e6, TrainLoss: &half}, &Status{}, `{"kind":"second","epoch":0,"epochs":0,` +
			`"seconds":0,"examples":0,"workers":null,"examples_per_second":1000000,"train_loss":0.5}`},
	} {
		text, err := json.Marshal(c.value)
		if err != nil || string(text) != c.want {
			t.Errorf("%T (%v):\n%s\nwant\n%s", c.value, err, text, c.want)
		}
		if err := json.Unmarshal(text, c.back); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(c.value, c.back, cmpopts.EquateNaNs()); d != "" {
			t.Error(d)
		}
	}
}
