// Package replay turns items into observations: it decides what is sent to a live engine, in which order and from which
// cache state, sends it through wire, and writes every request, and every planned request that was not made, to a journal.
//
// A step is one arm of one item: isolate, probe, donors, settle, recipient. A pair is the steps of one item; it is the unit of
// resume and never mixes two engine processes. Canary passes before, between and after the pairs show whether isolation
// works. The journal keeps what was done and seen; whether a step counts as cold is judge's decision.
//
// What it costs to run without a reset endpoint: a text nonce changes the prompts by a few tokens, keeps whatever the chat template
// puts ahead of it shared, and does nothing to a tier that ignores it, such as a semantic donor store.
package replay
