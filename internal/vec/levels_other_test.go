//go:build !amd64 || noasm

package vec

import "testing"

// atLevels runs f with plain Go, which is all there is here.
func atLevels(t *testing.T, f func(t *testing.T)) { t.Run("go", f) }
