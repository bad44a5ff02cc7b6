package dataset

// formats in the order in which they are tried. More specific ones stand first.
var formats = []format{
	{"rag-contexts", has("ctxs", "question"), readRAG},
}

// readRAG: MuSiQue and CacheBlend style, {ctxs [{title, text}], question, answers}.
func readRAG(f *fields) Record {
	r := Record{ID: f.label("id")}
	for c := range f.objects("ctxs", true) {
		r.Passages = append(r.Passages, Passage{c.text("title", false), c.text("text", true)})
	}
	r.Questions = []Question{{f.text("question", true), f.answers("answers")}}
	return r
}
