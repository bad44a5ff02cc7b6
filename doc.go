// Package sembench holds the records that the tool's steps hand to each other, and their codec.
//
// sembench tells what KV-cache reuse an LLM serving workload offers, what an engine really reused and what that
// bought. Steps are joined by files, so that any number can be recomputed from the journal:
//
//	corpus ──workload──▶ manifest ──token──▶ ids ──block, plan──▶ offline rows ───────────┐
//	                         │                                                            ▼
//	                         └──replay over wire──▶ observations (journal) ──▶ rows ──judge──▶ result ──gates──▶ verdict ──▶ report
//	                                    engine logs, audits, counters ──engine──▶ evidence ──┘  ▲
//	                                                                 calibration ───────────────┘
//
// # Records
//
//	Item         manifest.go     written by workload; read by offline, replay, judge. Ids are unique.
//	Plan         plan.go         written by plan; read by offline. Spans ascend and do not overlap.
//	Observation  observation.go  written by replay, append-only; read by judge. One request, or why it was not made.
//	Row          row.go          written by offline (rungs) and judge (evidence, times); read by report.
//	Evidence     evidence.go     written by engine from logs, audits, counters; read by judge.
//	Calibration  calibration.go  written by judge from cold/cold twins; read by judge for runs of the same protocol.
//	Result       result.go       written by judge and offline; read by judge (gates, merge, compare) and report.
//	Verdict      verdict.go      written by judge; read by report and CI.
//	SimTruth     truth.go        written by sim; read by tests and lab.
//	TraceCurve   curve.go        written by trace; read by report.
//	Throughput   throughput.go   written by judge from observations; read by report.
//	Selftest     selftest.go     written by lab.
//	BuildReport, ManifestAudit, FreezeRecipe   manifestaudit.go   written by workload: what was built, and whether its guards hold.
//	Returns      returns.go      written by trace: what a cache gives back on a trace.
//	Comparison   compare.go      written by judge: two results, pair by pair.
//
// # Words
//
//	item       one line of a manifest: donors and the recipient that is measured
//	donor      a prompt sent before, whose KV may be reused
//	recipient  the measured prompt
//	arm        what was done to the cache before the recipient: cold, warm, exact, sham, aa
//	block      block-size consecutive prompt tokens; only full ones count
//	span       a run of recipient tokens that a planner would copy from a donor
//	plan       all spans of one planner for one recipient
//	step       isolate, probe, donors, settle, recipient: one arm of one item
//	pair       the steps of one item that are compared
//	canary     a prompt whose only use is to show that isolation works
//	evidence   what the engine itself says it reused
//	gate       a threshold on a metric; verdict: all gates together
//
// Everywhere null is unmeasured and 0 is measured nothing.
package sembench
