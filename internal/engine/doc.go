// Package engine turns what a serving engine says about itself (logs, connector audits, metric scrapes,
// serve lines, KV events) into evidence records. It assumes nothing about who wrote the text: a user
// prompt may quote any line, so a marker counts only at the start of a message, after the wrappers and
// the logger header came off. It resolves request ids to candidates and leaves joining rows, deciding
// mechanism and hit, and the semantic proof to judge.
//
// Formats and their versions are described where they are read. Three classes of evidence never mix:
// exact reuse, semantic candidate, semantic materialization.
package engine
