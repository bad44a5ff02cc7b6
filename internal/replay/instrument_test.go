package replay

import "testing"

func TestInstrument(t *testing.T) {
	i, err := Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Bounds are wide: the machine may be busy. What must hold anywhere is that stamps follow writes.
	if i.AddedTTFTP50MS <= 0 || i.AddedTTFTP50MS > 50 || i.AddedTTFTP99MS < i.AddedTTFTP50MS || i.StreamsPerSecond < 50 || i.ClockStepNS <= 0 || i.ClockStepNS > 1e6 {
		t.Errorf("%+v", i)
	}
	t.Logf("%+v", i)
}
