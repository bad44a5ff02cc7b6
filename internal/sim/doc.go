// Package sim is the embedded engine: a server that speaks like a serving engine, whose block manager, prefix
// cache and donor store are real and whose timing law and answers are scripted, so that what a harness measures can
// be held against what is true ([sembench.SimTruth]).
//
// A request becomes token ids; ids alone decide what is reused. Model names, request ids and the words of a prompt
// reach the decisions only through those ids. The law then charges
//
//	ttft = queue + base + lookup + prefill x computed tokens + load x loaded tokens
//
// times a jitter that depends on the seed and the request's place in the order of arrival, and every chunk has an
// absolute deadline from the moment of arrival. Real work (tokenizing, planning) happens inside that time and
// is not added to it.
//
// What engines say about themselves (usage, log, audit, counters) is kept apart from what happened: a fault
// may change either. All faults are in one table, see [Faults].
//
// Tokenizing is left to token, finding donor spans to plan.
package sim
