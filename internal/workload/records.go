package workload

import (
	"io"
	"iter"

	"sembench/internal/workload/dataset"
)

// Record is one record of a foreign file; see Records.
type Record = dataset.Record

// BadRecord is a record that does not fit its format.
type BadRecord = dataset.BadRecord

// Records yields the records of a file in one of Formats, "" to recognise it. name is for messages. A bad record yields an
// error and reading goes on.
func Records(r io.Reader, name, format string) iter.Seq2[Record, error] {
	return dataset.Read(r, name, format)
}

// Formats are the names of the formats that Records and FromSource read.
func Formats() []string { return dataset.Formats() }

// Decompress gives a file's text, whether or not it is compressed; see dataset.Decompress.
func Decompress(r io.Reader) (io.ReadCloser, error) { return dataset.Decompress(r) }
