// Package judge turns observations, offline rows and evidence into rows, pairs, estimates, checks and gates: what a run
// showed, whether it may be believed, and whether it is good enough.
//
// The flow is Join (one row a recipient, with what every source says of it), pairing (each planned pair gets exactly one
// class), Build (estimates, checks, the result) and Gate (the verdict). MergeArms and Compare start from results instead;
// everything after Join works on rows alone, so that an old result can be judged by new code.
//
// What is assumed: records were read whole and their text is what the writer wrote. Parsing logs and resolving engine ids
// is engine's business, traffic is replay's, estimators are stat's; showing anything is report's.
//
// Unmeasured is null, measured nothing is 0, and nothing here turns the one into the other.
package judge
