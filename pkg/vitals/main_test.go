package vitals_test

import (
	"testing"

	"daybreak/pkg/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
