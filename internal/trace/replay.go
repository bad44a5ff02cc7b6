package trace

import (
	"bufio"
	"bytes"
	"io"
	"slices"

	"sembench"
	"sembench/internal/workload"
)

// FromSource makes a manifest of any file: traces become stream workloads of their shape (workload.FromTrace), everything
// else is for workload.FromSource. A line that cannot be read is an error.
func FromSource(r io.Reader, name, format string, o workload.Options) ([]sembench.Item, sembench.BuildReport, error) {
	in := bufio.NewReaderSize(r, peeked)
	if format == "" || format == "auto" {
		if found := sniff(in); found != "text" {
			format = found
		}
	}
	if !slices.Contains(traceFormats, format) {
		return workload.FromSource(in, name, format, o)
	}
	digest := sembench.NewDigest(in)
	s, err := Open(digest, name, format)
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	requests := func(yield func(workload.TraceRequest, error) bool) {
		for q, err := range s.Requests() {
			t := workload.TraceRequest{
				ArrivalMS: q.ArrivalMS, InputTokens: q.InputTokens, OutputTokens: q.OutputTokens, IDs: q.IDs, Tenant: q.Tenant, Session: q.Session,
			}
			if !yield(t, err) {
				return
			}
		}
	}
	sum := func() string {
		_, _ = io.Copy(io.Discard, digest) // what is left after the last request; an error ended Requests already
		return digest.Sum()
	}
	return workload.FromTrace(requests, name, s.Format, max(1, s.BlockSize), sum, o)
}

// sniff recognises a file by its beginning without taking anything from it; "text" for what is no trace, or unreadable.
func sniff(in *bufio.Reader) string {
	raw, _ := in.Peek(peeked) // a short file is peeked whole
	plain, err := workload.Decompress(bytes.NewReader(raw))
	if err != nil {
		return "text"
	}
	defer plain.Close()
	head, _ := io.ReadAll(io.LimitReader(plain, peeked)) // compressed bytes end in the middle: what came out is enough
	return recognise(trimmed(head))
}
