package ability_test

import (
	"testing"

	"hogwild/hogwild/run/runtest"
)

func TestMain(m *testing.M) { runtest.Main(m) }
