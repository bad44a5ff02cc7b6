// Package stat turns paired numbers into estimates with intervals, tests and power statements.
//
// A value is usually one pair's ratio cold/warm (contract, section 7), so resampling values resamples pairs
// as units. The package knows nothing of arms, rows or gates: which pairs enter, and what a bound decides, is
// judge's business.
//
// Every estimate is an Interval: the point, its bounds, the confidence that was asked for, the method, n and
// what a reader should distrust. The default method of each estimate is the one that the project's own coverage
// study favours (docs/statistics.md, `make coverage`).
//
// What holds everywhere:
//
//   - Inputs are never changed.
//   - The same values, options and seed give the same bytes; nothing depends on GOMAXPROCS.
//   - No value (n = 0): point and bounds are NaN, with a warning.
//   - One value: the point stands, the bounds are NaN, with a warning.
//   - A NaN or infinite value makes point and bounds NaN, with a warning that names its index. It is never dropped:
//     which pairs leave an estimate is decided, and counted, before this package is called.
//   - All values equal: both bounds are the point, with the warning no_variation.
package stat
