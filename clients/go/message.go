package tenure

import "time"

// Message is one attempt at one message.
type Message struct {
	ID       string // any bytes, as Group and Headers
	Group    string
	Body     []byte
	Headers  map[string]string // of two with one name the first
	Attempt  int64             // 1 at the first
	Number   *int64            // within its group, where it has one
	Time     time.Time         // when it was sent; zero: not known
	Token    int64             // the term's fencing token
	Deadline time.Time         // until when it has to be answered; zero: no limit
	State    map[string][]byte // the values of the keys that Worker.State has named; without those that are not there

	progress func()
}

// Text is the body as a string.
func (m *Message) Text() string { return string(m.Body) }

// Progress says that the handler comes further: its deadline counts from here. It may be called from any goroutine, and
// does nothing after the answer.
func (m *Message) Progress() {
	if m.progress != nil {
		m.progress()
	}
}
