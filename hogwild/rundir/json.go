package rundir

import (
	"encoding/json"

	"hogwild/internal/human"
)

// A run may diverge, or no time have passed. The types below are results as they stand in JSON, where null is
// written for numbers that are not finite: their fields hide the embedded ones of the same names.

type (
	plainResult Result
	jsonResult  struct {
		*plainResult
		ExamplesPerSecond human.At `json:"examples_per_second"`
		TrainLoss         human.At `json:"train_loss"`
		jsonTested
		jsonValidation
	}

	plainEpoch EpochResult
	jsonEpoch  struct {
		*plainEpoch
		TrainLoss human.At `json:"train_loss"`
		jsonTested
		jsonValidation
	}

	jsonTested struct {
		TestLoss     human.At         `json:"test_loss"`
		TestAccuracy human.OptionalAt `json:"test_accuracy,omitzero"`
		TestRMSE     human.OptionalAt `json:"test_rmse,omitzero"`
		TestR2       human.OptionalAt `json:"test_r2,omitzero"`
	}

	jsonValidation struct {
		ValidationLoss     human.OptionalAt `json:"validation_loss,omitzero"`
		ValidationAccuracy human.OptionalAt `json:"validation_accuracy,omitzero"`
		ValidationRMSE     human.OptionalAt `json:"validation_rmse,omitzero"`
		ValidationR2       human.OptionalAt `json:"validation_r2,omitzero"`
	}

	plainStatus Status
	jsonStatus  struct {
		*plainStatus
		Rate      human.At         `json:"examples_per_second"`
		TrainLoss human.OptionalAt `json:"train_loss,omitzero"`
	}

	plainWorker WorkerStatus
	jsonWorker  struct {
		*plainWorker
		Rate human.At `json:"examples_per_second"`
	}
)

func (r *Result) asJSON() *jsonResult {
	return &jsonResult{(*plainResult)(r), human.At{P: &r.ExamplesPerSecond}, human.At{P: &r.TrainLoss},
		r.Tested.asJSON(), r.Validation.asJSON()}
}

func (e *EpochResult) asJSON() *jsonEpoch {
	return &jsonEpoch{(*plainEpoch)(e), human.At{P: &e.TrainLoss}, e.Tested.asJSON(), e.Validation.asJSON()}
}

func (t *Tested) asJSON() jsonTested {
	return jsonTested{human.At{P: &t.TestLoss}, human.OptionalAt{P: &t.TestAccuracy}, human.OptionalAt{P: &t.TestRMSE},
		human.OptionalAt{P: &t.TestR2}}
}

func (v *Validation) asJSON() jsonValidation {
	return jsonValidation{human.OptionalAt{P: &v.ValidationLoss}, human.OptionalAt{P: &v.ValidationAccuracy},
		human.OptionalAt{P: &v.ValidationRMSE}, human.OptionalAt{P: &v.ValidationR2}}
}

func (s *Status) asJSON() *jsonStatus {
	return &jsonStatus{(*plainStatus)(s), human.At{P: &s.Rate}, human.OptionalAt{P: &s.TrainLoss}}
}

func (w *WorkerStatus) asJSON() *jsonWorker {
	return &jsonWorker{(*plainWorker)(w), human.At{P: &w.Rate}}
}

// MarshalJSON writes null for numbers that are not finite.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.asJSON()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Result) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, r.asJSON()) }

// MarshalJSON writes null for numbers that are not finite.
func (e EpochResult) MarshalJSON() ([]byte, error) { return json.Marshal(e.asJSON()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (e *EpochResult) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, e.asJSON()) }

// MarshalJSON writes null for numbers that are not finite.
func (s Status) MarshalJSON() ([]byte, error) { return json.Marshal(s.asJSON()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Status) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, s.asJSON()) }

// MarshalJSON writes null for a rate that is not finite.
func (w WorkerStatus) MarshalJSON() ([]byte, error) { return json.Marshal(w.asJSON()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (w *WorkerStatus) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, w.asJSON()) }
