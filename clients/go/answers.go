package tenure

import (
	"fmt"
	"sort"
	"strconv"
	"time"
	"unicode/utf8"
)

// Answer is what a handler answers: Done, Retry, Reject or Skip. Nil is Done without effects.
type Answer interface {
	head(*encoder) head
}

// Done says that the message is done, and all of this is committed with it, or none.
type Done struct {
	SQL        []Statement
	Send       []Send
	Cancel     []Cancel
	Reschedule []Reschedule
	Put        map[string][]byte // values to keep under keys of the handlers' state
	Erase      []string          // keys of the handlers' state
}

// Retry says: again later, in its place. It is no failed attempt.
type Retry struct {
	After time.Duration // 0: as Tenure chooses
	Why   string
}

// Reject makes the message a dead letter at once: no attempt could help.
type Reject struct{ Why string }

// Skip says that there is nothing to do for the message.
type Skip struct{ Why string }

// failed is a failed attempt: what an error of the handler becomes.
type failed struct{ why string }

// Params are the values of a statement's parameters, by name: nil, bool, integers of 64 bits, finite floats, string,
// []byte, what marshals itself to text (time.Time), what is a driver.Valuer, and slices, maps and structs, which are
// sent as text of JSON. A string that is no UTF-8 is sent as bytes.
type Params map[string]any

// Statement is one statement of SQL, see SQL.
type Statement struct {
	Text   string
	Params Params
	Rows   *int64 // how many it has to touch, where that is given; another number is a failed attempt
}

// SQL makes a statement: tenure.SQL("insert into ledger values(:id)", tenure.Params{"id": m.ID})
func SQL(text string, params Params) Statement { return Statement{Text: text, Params: params} }

// WithRows says how many rows the statement has to touch.
func (s Statement) WithRows(rows int64) Statement {
	s.Rows = &rows
	return s
}

// Send is a message to a queue of the same store.
type Send struct {
	Queue     string
	Body      []byte
	Group     string
	ID        string // empty: one of the message that is handled
	Headers   map[string]string
	DeliverAt time.Time     // zero: at once
	Delay     time.Duration // 0: none
}

// Cancel takes back a message that waits for its time.
type Cancel struct {
	ID    string
	Queue string
}

// Reschedule gives a message that waits another time.
type Reschedule struct {
	ID    string
	At    time.Time
	Queue string
}

const longestReason = 4096

// encoder gathers the body of a frame, and keeps the first complaint.
type encoder struct {
	body []byte
	err  error
}

func (e *encoder) fail(format string, arguments ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, arguments...)
	}
}

// piece adds bytes to the body, and returns where they are.
func (e *encoder) piece(bytes []byte) [2]int {
	place := [2]int{len(e.body), len(bytes)}
	e.body = append(e.body, bytes...)
	return place
}

// text is for what has to be UTF-8: package json would replace other bytes without a word.
func (e *encoder) text(what, text string) string {
	if !utf8.ValidString(text) {
		e.fail("%s %q is no UTF-8", what, text)
	}
	return text
}

func (d Done) head(e *encoder) head {
	effects := []head{}
	for _, statement := range d.SQL {
		effect := head{"sql": e.text("the statement", statement.Text), "parameters": e.values(statement.Params)}
		if statement.Rows != nil {
			effect["rows"] = strconv.FormatInt(*statement.Rows, 10)
		}
		effects = append(effects, effect)
	}
	for _, sent := range d.Send {
		effects = append(effects, head{"send": sent.head(e)})
	}
	for _, cancel := range d.Cancel {
		effects = append(effects, head{"cancel": head{"id": e.text("id", cancel.ID), "queue": e.text("queue", cancel.Queue)}})
	}
	for _, moved := range d.Reschedule {
		effects = append(effects, head{"reschedule": head{
			"id": e.text("id", moved.ID), "queue": e.text("queue", moved.Queue), "at": timeText(moved.At)}})
	}
	for _, key := range sortedKeys(d.Put) {
		effects = append(effects, head{"put": head{"key": e.text("key", key), "value": e.piece(d.Put[key])}})
	}
	for _, key := range d.Erase {
		effects = append(effects, head{"erase": head{"key": e.text("key", key)}})
	}
	return head{"outcome": "done", "effects": effects}
}

func (s Send) head(e *encoder) head {
	sent := head{"queue": e.text("queue", s.Queue), "group": e.text("group", s.Group), "body": e.piece(s.Body)}
	if s.ID != "" {
		sent["id"] = e.text("id", s.ID)
	}
	headers := [][2]string{}
	for _, name := range sortedKeys(s.Headers) {
		headers = append(headers, [2]string{e.text("header", name), e.text("header", s.Headers[name])})
	}
	sent["headers"] = headers
	if !s.DeliverAt.IsZero() {
		sent["deliver_at"] = timeText(s.DeliverAt)
	}
	if s.Delay != 0 {
		sent["delay_ms"] = milliseconds(s.Delay)
	}
	return sent
}

func (r Retry) head(*encoder) head {
	return head{"outcome": "retry", "why": reason(r.Why), "after_ms": milliseconds(r.After)}
}
func (r Reject) head(*encoder) head { return head{"outcome": "reject", "why": reason(r.Why)} }
func (s Skip) head(*encoder) head   { return head{"outcome": "skip", "why": reason(s.Why)} }
func (f failed) head(*encoder) head { return head{"outcome": "failed", "why": reason(f.why)} }

func reason(why string) string {
	if len(why) > longestReason {
		why = why[:longestReason]
	}
	return why // bytes that are no UTF-8 are replaced by package json
}

func timeText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func milliseconds(duration time.Duration) string {
	return strconv.FormatInt(duration.Round(time.Millisecond).Milliseconds(), 10)
}

// sortedKeys makes the order of effects the same each time.
func sortedKeys[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
