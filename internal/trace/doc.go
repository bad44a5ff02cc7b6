// Package trace tells what KV-cache reuse a production trace has to offer, as a function of cache size
// (workloads.md, section 5). It reads hash-id traces and logs with text, in one pass, in memory bounded by the
// number of unique blocks, and gives a [sembench.TraceCurve].
//
// The order of things is fixed: a request is evaluated against the state before it; then its blocks are touched
// tail first, so that the head survives longest; then the cache is evicted to capacity. A cached block counts as a prefix
// hit when all blocks before it are cached as well.
package trace
