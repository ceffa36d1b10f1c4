package rundir

import (
	"encoding/json"
	"math"
)

// JSON has no NaN and no infinities, and a run may diverge, or no time have passed: a
// number that is not finite is written as null, and null is read as NaN. The types below
// are results as they stand in JSON: their fields stand in front of those, of the same
// names, of the embedded ones.

type (
	plainResult Result
	jsonResult  struct {
		*plainResult
		ExamplesPerSecond jsonNumber `json:"examples_per_second"`
		TrainLoss         jsonNumber `json:"train_loss"`
		jsonTested
		jsonValidation
	}

	plainEpoch EpochResult
	jsonEpoch  struct {
		*plainEpoch
		TrainLoss jsonNumber `json:"train_loss"`
		jsonTested
		jsonValidation
	}

	jsonTested struct {
		TestLoss     jsonNumber   `json:"test_loss"`
		TestAccuracy jsonOptional `json:"test_accuracy,omitzero"`
		TestRMSE     jsonOptional `json:"test_rmse,omitzero"`
		TestR2       jsonOptional `json:"test_r2,omitzero"`
	}

	jsonValidation struct {
		ValidationLoss     jsonOptional `json:"validation_loss,omitzero"`
		ValidationAccuracy jsonOptional `json:"validation_accuracy,omitzero"`
		ValidationRMSE     jsonOptional `json:"validation_rmse,omitzero"`
		ValidationR2       jsonOptional `json:"validation_r2,omitzero"`
	}

	plainStatus Status
	jsonStatus  struct {
		*plainStatus
		Rate      jsonNumber   `json:"examples_per_second"`
		TrainLoss jsonOptional `json:"train_loss,omitzero"`
	}

	plainWorker WorkerStatus
	jsonWorker  struct {
		*plainWorker
		Rate jsonNumber `json:"examples_per_second"`
	}
)

func (r *Result) asJSON() *jsonResult {
	return &jsonResult{(*plainResult)(r), jsonNumber{&r.ExamplesPerSecond}, jsonNumber{&r.TrainLoss},
		r.Tested.asJSON(), r.Validation.asJSON()}
}

func (e *EpochResult) asJSON() *jsonEpoch {
	return &jsonEpoch{(*plainEpoch)(e), jsonNumber{&e.TrainLoss}, e.Tested.asJSON(), e.Validation.asJSON()}
}

func (t *Tested) asJSON() jsonTested {
	return jsonTested{jsonNumber{&t.TestLoss}, jsonOptional{&t.TestAccuracy}, jsonOptional{&t.TestRMSE},
		jsonOptional{&t.TestR2}}
}

func (v *Validation) asJSON() jsonValidation {
	return jsonValidation{jsonOptional{&v.ValidationLoss}, jsonOptional{&v.ValidationAccuracy},
		jsonOptional{&v.ValidationRMSE}, jsonOptional{&v.ValidationR2}}
}

func (s *Status) asJSON() *jsonStatus {
	return &jsonStatus{(*plainStatus)(s), jsonNumber{&s.Rate}, jsonOptional{&s.TrainLoss}}
}

func (w *WorkerStatus) asJSON() *jsonWorker {
	return &jsonWorker{(*plainWorker)(w), jsonNumber{&w.Rate}}
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

// jsonNumber is a number that stands somewhere else.
type jsonNumber struct{ at *float64 }

// MarshalJSON writes the number, or null.
func (n jsonNumber) MarshalJSON() ([]byte, error) {
	if math.IsNaN(*n.at) || math.IsInf(*n.at, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(*n.at)
}

// UnmarshalJSON reads a number, or null.
func (n jsonNumber) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n.at = math.NaN()
		return nil
	}
	return json.Unmarshal(text, n.at)
}

// jsonOptional is one that need not be there.
type jsonOptional struct{ at **float64 }

// IsZero reports whether there is none.
func (o jsonOptional) IsZero() bool { return *o.at == nil }

// MarshalJSON writes the number, or null.
func (o jsonOptional) MarshalJSON() ([]byte, error) { return jsonNumber{*o.at}.MarshalJSON() }

// UnmarshalJSON reads a number, or null.
func (o jsonOptional) UnmarshalJSON(text []byte) error {
	*o.at = new(float64)
	return jsonNumber{*o.at}.UnmarshalJSON(text)
}
