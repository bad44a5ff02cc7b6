package workload

import (
	"strings"
	"unicode/utf8"
)

// instructions are personas and standing orders that open a prompt. No two share a run of a block's length (tested),
// so that an item whose donor has another one starts with nothing in common.
var instructions = []string{
	"You are a careful analyst. Read everything that follows before you reply, and rely on nothing else.",
	"Act as a librarian at a busy reference desk: short replies, exact figures, no guesses.",
	"Assume the role of an investigator who checks each claim against the papers on the table.",
	"As an experienced editor you value precision over style. Below is your material.",
	"Imagine that a colleague rings you up and needs one detail from these notes right now.",
	"Your job is quality control. Whatever is not written here does not exist for you.",
	"Serve as the archive's night clerk; visitors want plain facts and dislike waiting.",
	"Consider yourself a translator of dry paperwork into direct answers for a hurried manager.",
	"Play the part of a tutor whose pupil must learn to look things up rather than to remember them.",
	"In this conversation you support an auditor. Quote names and numbers exactly as they appear.",
	"Take the view of a newcomer who reads all passages once and then has to pass a quiz on them.",
	"We built you to search long texts. Ignore rhetoric, find the sentence that matters.",
	"Pretend to be the duty officer: people call, you consult the file, you respond in one line.",
	"Someone will act upon what you say, so do not embellish; a wrong figure costs money.",
	"Here is a bundle of documents from several desks. Treat all of them as equally reliable.",
	"Think of yourself as a witness under oath who may only repeat what the record contains.",
	"The assistant works for a newspaper's checking department and trusts written sources alone.",
	"Keep calm, stay brief: this is a help line, and the caller sees the same pages as you.",
	"Every passage underneath was approved by its author. Combine them where it is necessary.",
	"Work like a detective with a magnifying glass; small differences between similar entries count.",
	"Follow house rules: no opinions, no summaries unless requested, always the original wording.",
	"Suppose you train a search engine and must produce the gold answer by hand for once.",
	"On behalf of the records office, reply to an enquiry from the public using this extract.",
	"Being a patient reader, go through the whole excerpt from top to bottom, then speak.",
}

// requests are tasks that stand before the question.
var requests = []string{
	"Reply to the following with the shortest phrase that is correct.",
	"Give the answer in a single sentence taken from the text.",
	"State what was asked for, and say where it was found if that helps.",
	"Respond in plain words; leave out anything that nobody wanted to know.",
	"Locate the relevant statement and repeat its key part.",
	"Write one line that would satisfy a strict examiner.",
	"Decide which passage is decisive and answer from it.",
	"Extract the requested detail without changing its spelling.",
	"Summarise in your head, then tell only what the last line asks.",
	"Look up the missing piece of information and hand it over.",
	"Check the material twice; afterwards name the fact in question.",
	"Turn to the point at once: no greeting, no closing remark.",
}

// prompt is a text under construction that remembers which parts are declared boilerplate.
type prompt struct {
	text   strings.Builder
	runes  int
	shared []span
}

// span is a range of characters (code points).
type span struct{ start, length int }

// own appends text that belongs to this item alone.
func (p *prompt) own(text string) *prompt {
	p.text.WriteString(text)
	p.runes += utf8.RuneCountInString(text)
	return p
}

// boilerplate appends text that other items may contain too.
func (p *prompt) boilerplate(text string) *prompt {
	p.shared = append(p.shared, span{p.runes, utf8.RuneCountInString(text)})
	return p.own(text)
}

func (p *prompt) String() string { return p.text.String() }

// declared is metadata.boilerplate.
func (p *prompt) declared() []any {
	out := make([]any, len(p.shared))
	for i, s := range p.shared {
		out[i] = map[string]any{"start": s.start, "length": s.length}
	}
	return out
}

// base is the ordinary prompt: instruction, evidence, request and, as its last line, the question.
func base(instruction, evidence, request, question string) *prompt {
	p := new(prompt)
	return p.boilerplate(instruction).own("\n\n" + evidence + "\n\n").boilerplate(request).own("\n" + question)
}
