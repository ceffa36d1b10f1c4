package format

import "testing"

// TestNPYLabelNames: labels lie next to the inputs, under a name like theirs.
func TestNPYLabelNames(t *testing.T) {
	for name, want := range map[string]string{
		"X.npy": "y.npy", "x.npy.gz": "y.npy", "iris_X.npy": "iris_y.npy", "X_train.npy": "y_train.npy",
		"x_train.npy": "y_train.npy", "train_images.npy": "train_y.npy", "xor.npy": "y.npy",
	} {
		if got := labelNames("dir/" + name)[0]; got != "dir/"+want {
			t.Errorf("labels of %s are in %s, want %s", name, got, want)
		}
	}
}
