// Package wire turns one planned request into one Observation: it sends it over net/http, reads the event stream with its
// own SSE reader and stamps every read before anything is decoded.
//
// It assumes that the caller decides what to send, when, and whether to send it again; nothing here retries. A request that did
// not end well is an Observation with status failed and one error class of formats.md section 2, never a short success.
// Secrets given to New occur in no Observation and no message.
package wire
