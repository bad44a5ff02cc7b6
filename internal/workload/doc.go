// Package workload makes manifests: sets of donors and recipients of which it is known what they share and what is
// true of them (workloads.md). Documents come from a grammar of facts (corpus/) or from your own data; transforms
// turn a document into an item; audits say whether the guards hold.
//
// Everything is derived from a seed and from the tokenizer: the same options give the same bytes on every machine.
// Text comes in through io.Reader; opening and decompressing files, and writing manifests, is left to others.
package workload
