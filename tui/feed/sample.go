package feed

import "boost-tui/profiler/record"

const (
	// sampleRecords and sampleColumns bound what an overlay needs of a run.
	sampleRecords = 600
	sampleColumns = 512
)

// Sample draws step time and loss of a whole run from some hundred of its
// steps: enough for an overlay, and as fast for a million steps as for a
// thousand. A run without steps has no columns.
func Sample(dir string) ([]record.Column, error) {
	series, err := record.OpenSeries(dir)
	if err != nil {
		return nil, err
	}
	if err := series.Sample(sampleRecords); err != nil {
		return nil, err
	}
	first, last, ok := series.Range()
	if !ok {
		return nil, nil
	}
	return series.Columns(first, last, sampleColumns), nil
}
