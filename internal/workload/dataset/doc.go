// Package dataset reads text records out of files that others made: questions over passages, conversations, prompt
// logs (formats.md, section 6). It streams: one record is in memory at a time. It takes readers, never file names to
// open; what is compressed is decompressed by its first bytes; a format is recognised from the first record or forced.
//
// A record that does not fit its format is an error that names file, line and field, and reading goes on, so that a
// caller can show all problems and count them; nothing is passed over in silence.
package dataset
