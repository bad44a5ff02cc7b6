// Package lab puts the harness itself on trial: it runs the whole protocol (workload, offline rows, pre-flight, calibration, paired
// run, evidence, judgement, gates) against the embedded engine, honest and with every scripted fault, and says of each fault
// whether the check that is named for it failed, and what a naive harness would have reported.
//
//	corpus    items and their offline rows        ->  what is sent
//	world     an engine and the way to it         ->  virtual time, or HTTP on loopback
//	trial     one run of the protocol in a world  ->  result, verdict, truth
//	claims    naive numbers of a trial            ->  how far off they are
//	coverage  many judged runs                    ->  how often intervals cover the truth
//	mutation  one check off at a time             ->  which faults then pass
//
// The harness meets the engine only as a server; its truth is asked for afterwards, to compare.
package lab
