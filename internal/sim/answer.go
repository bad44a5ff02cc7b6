package sim

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// windowWords is the longest answer in words: with the usual limit of 64 tokens a fact in it is not cut off.
const windowWords = 40

// reply is the sentence of text that is nearest to question: the one whose words, weighted by how rare they are among the
// sentences, overlap most with the question's. Of a very long sentence it is the nearest stretch. Text
// without any other sentence is answered with itself, empty text with a full stop: an answer is never empty.
func reply(text, question string) string {
	sentences := split(text)
	asked := words(question)
	weights := rarity(sentences)
	var near, first string
	best := 0.0
	for _, s := range sentences {
		if s == question || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || asks(s) {
			continue
		}
		if first == "" {
			first = s
		}
		if score := overlap(s, asked, weights); score > best {
			near, best = s, score
		}
	}
	for _, s := range []string{near, first, question, strings.TrimSpace(text)} {
		if s != "" {
			return stretch(s, asked, weights)
		}
	}
	return "."
}

// ask finds what a prompt asks: its last sentence that ends in a question mark, else its last line that says
// something. A closing cue such as "Answer:" is passed over.
func ask(prompt string) string {
	lines := split(prompt)
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasSuffix(lines[i], "?") || strings.HasSuffix(lines[i], "？") {
			return lines[i]
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if !asks(lines[i]) {
			return lines[i]
		}
	}
	return ""
}

// asks tells a cue that stands before an answer or a question.
func asks(line string) bool {
	return utf8.RuneCountInString(line) <= 16 && (strings.HasSuffix(line, ":") || strings.HasSuffix(line, "："))
}

// split cuts text into trimmed, non-empty sentences: at line ends, and after . ! ? and their wide forms where white
// space or a wide character follows.
func split(text string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	start := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case utf8.RuneError:
			continue
		case '\n', '\r':
			add(text[start:i])
			start = end
		case '.', '!', '?':
			if end == len(text) || unicode.IsSpace(rune(text[end])) {
				add(text[start:end])
				start = end
			}
		case '。', '！', '？':
			add(text[start:end])
			start = end
		}
	}
	add(text[start:])
	return out
}

// words is the set of words of s as overlap compares them: lower case, at most six letters of each, so that
// "measured" meets "measures"; ideographs one by one.
func words(s string) map[string]bool {
	set := map[string]bool{}
	eachWord(s, func(w string) { set[w] = true })
	return set
}

func eachWord(s string, do func(word string)) {
	word := make([]rune, 0, 6)
	flush := func() {
		if len(word) > 0 {
			do(string(word))
			word = word[:0]
		}
	}
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			flush()
			do(string(r))
		case unicode.IsLetter(r):
			if len(word) < 6 {
				word = append(word, unicode.ToLower(r))
			}
		case unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
	}
	flush()
}

// rarity is the squared inverse sentence frequency of every word.
func rarity(sentences []string) map[string]float64 {
	count := map[string]int{}
	for _, s := range sentences {
		for w := range words(s) {
			count[w]++
		}
	}
	out := make(map[string]float64, len(count))
	for w, n := range count {
		idf := math.Log(1 + float64(len(sentences))/float64(n))
		out[w] = idf * idf
	}
	return out
}

// overlap scores a sentence; longer ones have more words by chance and are held back a little.
func overlap(sentence string, asked map[string]bool, weights map[string]float64) float64 {
	sum, n := 0.0, 0
	seen := map[string]bool{}
	eachWord(sentence, func(w string) {
		n++
		if asked[w] && !seen[w] {
			seen[w] = true
			sum += weights[w]
		}
	})
	return sum / math.Pow(float64(n+8), 0.25)
}

// stretch is the part of s with the most weight of asked words, at most windowWords words.
func stretch(s string, asked map[string]bool, weights map[string]float64) string {
	fields := strings.Fields(s)
	if len(fields) <= windowWords {
		return s
	}
	score := make([]float64, len(fields)+1)
	for i, f := range fields {
		score[i+1] = score[i]
		for w := range words(f) {
			if asked[w] {
				score[i+1] += weights[w]
			}
		}
	}
	at := 0
	for i := range len(fields) - windowWords + 1 {
		if score[i+windowWords]-score[i] > score[at+windowWords]-score[at] {
			at = i
		}
	}
	return strings.Join(fields[at:at+windowWords], " ")
}
