package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"sembench"
)

// Journal is a run's observations on disk. A line is written through as soon as it is known, so that it survives a kill, and
// synced at the end of each pair, so that finished pairs survive a power cut. Lines are only ever appended; the two occasions
// that mark old lines superseded write the file anew beside itself and rename it. Safe for concurrent use.
type Journal struct {
	path string
	head sembench.JournalHead

	mu     sync.Mutex
	file   *os.File
	seq    int64
	done   map[string]map[string]bool // pair id → arms whose recipient is accounted for
	canary map[string]bool            // canary pass → it came to its end
	last   map[[2]string]lastStep     // pair id and arm → its recipient
	proven map[string]int64           // engine process → the last line of its last whole canary pass
	passes int                        // canary passes and prefix measurements begun
	resume int                        // how often the run was taken up again
}

// lastStep is where a recipient stands in a journal, and which engine process served it.
type lastStep struct {
	seq  int64
	boot *string
}

// resumesKey is where the head keeps how often the run was resumed: requests of a resumed run carry it in their ids, because
// nobody can know which request was on its way when the run was killed.
const resumesKey = "resumes"

// OpenJournal creates the journal of a new run, or takes one up again. A new run refuses a file that is there; a resumed
// one refuses a journal of another run, manifest, configuration or shard, cuts off a torn last line and goes on after the last
// whole one. Resuming a run that never began begins it.
func OpenJournal(path string, head sembench.JournalHead, resume bool) (*Journal, error) {
	head.Schema = sembench.ObservationsSchema
	j := &Journal{path: path, head: head, done: map[string]map[string]bool{}, canary: map[string]bool{}, last: map[[2]string]lastStep{}, proven: map[string]int64{}}
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = sembench.WriteFile(path, func(w io.Writer) error {
			_, err := w.Write(append(sembench.Marshal(head), '\n'))
			return err
		})
	case err == nil && !resume:
		err = fmt.Errorf("opening journal: %s is there already: resume it, or write elsewhere", path)
	case err == nil:
		err = j.load()
	}
	if err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	return j, nil
}

// load reads an existing journal and cuts its torn tail.
func (j *Journal) load() error {
	file, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening journal: %w", err)
	}
	defer file.Close()
	if err := cutTornTail(file); err != nil {
		return fmt.Errorf("opening journal: cutting the torn last line of %s: %w", j.path, err)
	}
	found, lines, err := sembench.ReadJournal(file, j.path)
	if err != nil {
		return err
	}
	for _, field := range []struct{ name, found, want string }{
		{"run id", found.RunID, j.head.RunID},
		{"manifest", found.ManifestSHA256, j.head.ManifestSHA256},
		{"configuration", found.ConfigSHA256, j.head.ConfigSHA256},
		{"shard", text(found.Shard), text(j.head.Shard)},
	} {
		if field.found != field.want {
			return fmt.Errorf("resuming %s: it has %s %q, this run has %q: they do not belong together", j.path, field.name, field.found, field.want)
		}
	}
	j.head = found
	if n, ok := found.Extra[resumesKey].(json.Number); ok {
		resumes, _ := n.Int64()
		j.resume = int(resumes)
	}
	for o, err := range lines {
		if err != nil {
			return err
		}
		j.note(o)
	}
	j.resume++
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// cutTornTail leaves the file positioned at its start, ending in a line end.
func cutTornTail(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(0, end-int64(len(block)))
		n, err := file.ReadAt(block[:end-start], start)
		if err != nil && err != io.EOF {
			return err
		}
		for i := n - 1; i >= 0; i-- {
			if block[i] == '\n' {
				if keep := start + int64(i) + 1; keep < size {
					if err := file.Truncate(keep); err != nil {
						return err
					}
				}
				_, err = file.Seek(0, io.SeekStart)
				return err
			}
		}
		end = start
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// note keeps what a line means for going on.
func (j *Journal) note(o sembench.Observation) {
	j.seq = max(j.seq, o.Seq+1)
	if (o.Arm == armCanary || o.Arm == armProbe) && o.Position+1 > j.passes {
		j.passes = o.Position + 1
	}
	if o.Arm == armCanary {
		j.canary[o.ItemID] = j.canary[o.ItemID] || o.Isolation != nil
		if o.Isolation != nil && !o.Superseded {
			j.proven[text(o.BootID)] = o.Seq
		}
	}
	if o.Superseded || o.Role != sembench.RoleRecipient || o.Status == sembench.StatusNotSent || o.PairID == "" {
		return
	}
	if j.done[o.PairID] == nil {
		j.done[o.PairID] = map[string]bool{}
	}
	j.done[o.PairID][o.Arm] = true
	j.last[[2]string{o.PairID, o.Arm}] = lastStep{o.Seq, o.BootID}
}

// open tells that no whole canary pass of its engine process follows a recipient, and which process that is.
func (j *Journal) open(pair, arm string) (boot *string, open bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s, ok := j.last[[2]string{pair, arm}]
	if !ok {
		return nil, false
	}
	at, judged := j.proven[text(s.boot)]
	return s.boot, !judged || at < s.seq
}

// Head is what the journal belongs to.
func (j *Journal) Head() sembench.JournalHead { return j.head }

// Resumes is how often the run was taken up again; 0 for a fresh one.
func (j *Journal) Resumes() int { return j.resume }

// complete tells that every arm of a pair is accounted for.
func (j *Journal) complete(pair string, arms []string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, arm := range arms {
		if !j.done[pair][arm] {
			return false
		}
	}
	return true
}

// nextPass numbers a canary pass or the measurement of a prefix.
func (j *Journal) nextPass() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.passes++
	return j.passes - 1
}

// Append gives a line its number and writes it.
func (j *Journal) Append(o sembench.Observation) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	o.Seq = j.seq
	j.note(o)
	if _, err := j.file.Write(append(sembench.Marshal(o), '\n')); err != nil {
		return fmt.Errorf("writing journal: %w", err)
	}
	return nil
}

// Sync makes everything written so far survive a power cut.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("writing journal: %w", err)
	}
	return nil
}

// Close syncs and closes.
func (j *Journal) Close() error {
	return errors.Join(j.Sync(), j.file.Close())
}

// unfinished tells that a line belongs to a canary pass that was cut off: nobody can judge it, and the next pass stands
// for it.
func (j *Journal) unfinished(o sembench.Observation) bool {
	return o.Arm == armCanary && !j.canary[o.ItemID]
}

// supersede marks the lines for which again is true as superseded and notes the number of resumes in the head.
func (j *Journal) supersede(again func(o sembench.Observation) bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.resume > 0 {
		if j.head.Extra == nil {
			j.head.Extra = sembench.Extra{}
		}
		j.head.Extra[resumesKey] = json.Number(fmt.Sprint(j.resume))
	}
	// Closed while it is replaced: not every system renames over an open file.
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("superseding lines: %w", err)
	}
	fresh := Journal{head: j.head, path: j.path, done: map[string]map[string]bool{}, canary: map[string]bool{}, last: map[[2]string]lastStep{}, proven: map[string]int64{}}
	if err := sembench.WriteFile(j.path, func(w io.Writer) error { return fresh.copyMarked(w, again) }); err != nil {
		return fmt.Errorf("superseding lines: %w", err)
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("superseding lines: %w", err)
	}
	j.file, j.done, j.last = file, fresh.done, fresh.last
	return nil
}

// copyMarked writes j's head and its file's lines, marked where again is true, and notes them in j.
func (j *Journal) copyMarked(w io.Writer, again func(o sembench.Observation) bool) error {
	old, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer old.Close()
	_, lines, err := sembench.ReadJournal(old, j.path)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(sembench.Marshal(j.head), '\n')); err != nil {
		return err
	}
	for o, err := range lines {
		if err != nil {
			return err
		}
		o.Superseded = o.Superseded || again(o)
		j.note(o)
		if _, err := w.Write(append(sembench.Marshal(o), '\n')); err != nil {
			return err
		}
	}
	return nil
}
