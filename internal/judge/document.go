package judge

import (
	"fmt"
	"slices"
	"strings"

	"sembench"
)

// Result versions that are read. The older one is of producers before this program: it knows no checks, no isolation and no embedded
// engine, and what it does not say is unmeasured.
var resultVersions = []string{sembench.ResultVersion, olderResult}

const olderResult = "sembench.result.v1"

// Keys that gates read and that hold no null: where a document lacks one, its zero value is no measurement.
var (
	gateKeys = []string{keySimulated, keyContaminated, "paired.contamination_judged", keyPairsUsed, "paired.negative_control_pairs",
		"paired.warm_vs_cold_output_rouge_l_hit_only_n", "aggregate.negative_control_count"}
	// wholeKeys are what a document of this version always has.
	wholeKeys = []string{"run", "aggregate", "paired", "checks"}
	// pairKeys sum up to pairs_total (contract, section 7); pairs_excluded stands beside them.
	pairKeys = []string{"pairs_used", "negative_control_pairs", "wrong_reuse_pairs", "pairs_contaminated", "pairs_errored", "pairs_unpaired"}
)

const (
	keySimulated    = "run.simulated"
	keyContaminated = "paired.pairs_contaminated"
	keyPairsUsed    = "paired.pairs_used"
	keyErrorCount   = "evidence.error_count"
)

// Document is a result as its text states it.
type Document struct {
	sembench.Result
	// Absent names the keys that gates read, that hold no null, and that the text lacks: what GateOptions.Absent takes.
	Absent []string
}

// ReadResult reads a result document. It is an error when the text is no such document, of an unknown version, without what its version
// always has, or when its counts of pairs contradict each other.
func ReadResult(text []byte) (Document, error) {
	var out Document
	tree, err := sembench.ParseJSON(text)
	if err != nil {
		return out, err
	}
	if err := sembench.FromTree(tree, &out.Result); err != nil {
		return out, err
	}
	if !slices.Contains(resultVersions, out.ResultVersion) {
		return out, fmt.Errorf("result_version is %q, want one of %q", out.ResultVersion, resultVersions)
	}
	document := tree.(map[string]any)
	if out.ResultVersion == sembench.ResultVersion {
		for _, key := range wholeKeys {
			if !has(document, key) {
				return out, fmt.Errorf("%s is missing: every %s has it", key, sembench.ResultVersion)
			}
		}
	}
	for _, key := range gateKeys {
		if section, name, _ := strings.Cut(key, "."); !has(object(document[section]), name) {
			out.Absent = append(out.Absent, key)
		}
	}
	return out, pairsAddUp(object(document["paired"]), out.Paired)
}

// pairsAddUp tells an error when counts of pairs are negative, or all there and not their total.
func pairsAddUp(stated map[string]any, p *sembench.Paired) error {
	if p == nil {
		return nil
	}
	sum := 0
	for i, n := range []int{p.PairsUsed, p.NegativeControlPairs, p.WrongReusePairs, p.PairsContaminated, p.PairsErrored, p.PairsUnpaired} {
		if n < 0 {
			return fmt.Errorf("paired.%s is %d, want 0 or more", pairKeys[i], n)
		}
		sum += n
	}
	for reason, n := range p.PairsExcluded {
		if n < 0 {
			return fmt.Errorf("paired.pairs_excluded.%s is %d, want 0 or more", reason, n)
		}
		sum += n
	}
	complete := has(stated, "pairs_total") && has(stated, "pairs_excluded")
	for _, key := range pairKeys {
		complete = complete && has(stated, key)
	}
	switch {
	case complete && sum != p.PairsTotal:
		return fmt.Errorf("paired.pairs_total is %d, its parts sum up to %d", p.PairsTotal, sum)
	case has(stated, "pairs_total") && sum > p.PairsTotal:
		return fmt.Errorf("paired.pairs_total is %d, the parts that are there sum up to %d", p.PairsTotal, sum)
	}
	return nil
}

// ReadEvidence reads an evidence document, and names the keys that gates read and that it lacks.
func ReadEvidence(text []byte) (out sembench.Evidence, absent []string, err error) {
	tree, err := sembench.ParseJSON(text)
	if err == nil {
		err = sembench.FromTree(tree, &out)
	}
	if err == nil && !has(object(tree), "error_count") {
		absent = append(absent, keyErrorCount)
	}
	return out, absent, err
}

func object(tree any) map[string]any {
	o, _ := tree.(map[string]any)
	return o
}

func has(o map[string]any, key string) bool {
	_, ok := o[key]
	return ok
}
