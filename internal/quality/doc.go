// Package quality turns two texts, or two token streams with their top-k log probabilities, into agreement measures: ROUGE-L, token F1,
// answer recall, stated values and leaks, multiple-choice letters, first divergence, KL (contract, section 8).
//
// It assumes complete outputs as the engine sent them. Which outputs are compared, what agreement counts as noise and what
// as damage is judge's business. All measures are in [0,1] except KL, which is in nats. Inputs are never changed.
package quality
