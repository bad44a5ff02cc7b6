package sembench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// MaxLine is the longest line that a reader of records accepts, in bytes. It bounds memory on hostile
// input; a 32k-token prompt with 16 donors of the same size is under 4 MB.
const MaxLine = 64 << 20

// ErrLineTooLong is given for a line above MaxLine. The rest of the line is passed over.
var ErrLineTooLong = fmt.Errorf("line is longer than %d MiB", MaxLine>>20)

// Line is one line of a file of records, without its line end. Number counts from 1. Torn is true for a last
// line without a line end: what a killed writer leaves.
type Line struct {
	Number int
	Text   []byte
	Torn   bool
}

// Lines splits r at \n (and \r\n); blank lines are passed over and a leading byte order mark is dropped. Text is
// valid until the next step. A line above MaxLine yields ErrLineTooLong and reading goes on after it; an error of
// r ends the sequence.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 1<<20)
		var long []byte
		for number := 1; ; number++ {
			text, err := in.ReadSlice('\n')
			tooLong := false
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long[:0], text...)
				for errors.Is(err, bufio.ErrBufferFull) {
					text, err = in.ReadSlice('\n')
					if tooLong = tooLong || len(long)+len(text) > MaxLine; !tooLong {
						long = append(long, text...)
					}
				}
				text = long
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{Number: number}, err)
				return
			}
			torn := err != nil && len(text) > 0
			text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
			if number == 1 {
				text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			}
			switch {
			case tooLong:
				if !yield(Line{Number: number, Torn: torn}, ErrLineTooLong) {
					return
				}
			case len(bytes.TrimSpace(text)) > 0:
				if !yield(Line{number, text, torn}, nil) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// Digest hashes everything that is read through it. Sum gives the SHA-256 so far in lower-case hex: the
// identity of a file once it was read to its end.
type Digest struct {
	from io.Reader
	hash hash.Hash
}

// NewDigest wraps r.
func NewDigest(r io.Reader) *Digest { return &Digest{r, sha256.New()} }

func (d *Digest) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	d.hash.Write(p[:n])
	return n, err
}

// Sum gives the digest of the bytes read so far.
func (d *Digest) Sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// SHA256 gives the digest of some bytes in lower-case hex.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// WriteFile gives path its final name only when all of it is on disk: it writes beside it, syncs and
// renames. Missing folders are made. On an error nothing of that name is left or changed. A link is followed; a device or
// pipe is written to as it is, never replaced.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeThrough(path, write)
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	out := bufio.NewWriterSize(file, 1<<16)
	if err = write(out); err != nil {
		return err
	}
	if err = out.Flush(); err != nil {
		return err
	}
	if err = file.Chmod(0o644); err != nil {
		return err
	}
	if err = file.Sync(); err != nil {
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// writeThrough writes to what is no regular file.
func writeThrough(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	out := bufio.NewWriterSize(file, 1<<16)
	if err := errors.Join(write(out), out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteDocument writes a record as an indented document (see MarshalIndent), atomically.
func WriteDocument(path string, record any) error {
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(MarshalIndent(record))
		return err
	})
}

// ReadDocument reads a whole document into a record. Errors name the file, and the line or the field.
func ReadDocument(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if err := Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// ReadLines reads a file of records, one a line. A bad line yields an error that names file, line and field, and reading
// goes on; the caller decides whether that is fatal.
func ReadLines[T any](r io.Reader, name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for line, err := range Lines(r) {
			var record T
			if err == nil {
				err = Unmarshal(line.Text, &record)
			}
			if !yield(record, atLine(name, line.Number, err)) {
				return
			}
		}
	}
}

// atLine says in which file and line an error stands; nil stays nil.
func atLine(name string, number int, err error) error {
	var syntax *SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("reading %s: %w", name, &SyntaxError{number, syntax.Column, syntax.Problem})
	}
	return fmt.Errorf("reading %s: line %d: %w", name, number, err)
}
