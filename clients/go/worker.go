// Package tenure has handlers in Go for Tenure.
//
// A worker is started by Tenure (tenure worker test './orders'). It is handed messages, one after the other, and
// answers each with values: what is to be written, sent and kept. Tenure applies them, under its fence.
//
//	func book(m *tenure.Message) (tenure.Answer, error) {
//		return tenure.Done{SQL: []tenure.Statement{tenure.SQL("insert into ledger values(:id, :body)",
//			tenure.Params{"id": m.ID, "body": m.Text()})}}, nil
//	}
//
//	func main() { (&tenure.Worker{Handle: book}).Run() }
package tenure

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Worker answers messages of Tenure with a handler.
type Worker struct {
	// Handle answers one message. An error or a panic is a failed attempt.
	Handle func(*Message) (Answer, error)
	// State names the keys of the handlers' state that Handle wants to know.
	State func(*Message) []string
	// OnStart is called before the first message (connections, models), and OnStop after the last one.
	OnStart, OnStop func() error
	// Ahead is how many messages may be in hand at a time, 1 when it is 0. Handle is called for one at a time all the
	// same. More than one is for handlers whose effects are all in their answers: what was answered behind a message that
	// is not done is thrown away, and given again later.
	Ahead int
	// Uses names the effects that answers will have: "sql", "send", "cancel", "reschedule", "put", "erase".
	Uses []string
}

// Run works until Tenure says that it is over, or until SIGTERM or SIGINT, and returns then. Where that is not
// possible, it says why and exits with 1.
func (w *Worker) Run() {
	if err := w.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (w *Worker) run() (err error) {
	path := os.Getenv("TENURE_WORKER_SOCKET")
	if path == "" {
		return errors.New("this is a worker: start it by `tenure worker test './…'`, which sets TENURE_WORKER_SOCKET")
	}
	if w.Handle == nil {
		return errors.New("the worker has no handler: give it Handle")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(stop)
	if w.OnStart != nil {
		if err := w.OnStart(); err != nil {
			return err
		}
	}
	wire, err := connect(path)
	if err != nil {
		return err
	}
	defer wire.connection.Close()
	if w.OnStop != nil {
		defer func() {
			if stopped := w.OnStop(); err == nil {
				err = stopped
			}
		}()
	}
	hello := head{"type": "hello", "wire": wireVersion, "ahead": 1,
		"language": "go " + strings.TrimPrefix(runtime.Version(), "go")}
	if w.Ahead > 1 {
		hello["ahead"] = w.Ahead
	}
	if w.Uses != nil {
		hello["uses"] = w.Uses
	}
	if err := wire.send(hello, nil); err != nil {
		return err
	}
	return (&session{Worker: w, wire: wire, stop: stop}).work()
}

// longestFarewell is from bye until each answer has its verdict.
const longestFarewell = 5 * time.Second

// session is the work over one connection.
type session struct {
	*Worker
	*wire
	stop      <-chan os.Signal
	later     []*frame // that came while the state was awaited
	unsettled int      // answers that are neither accepted nor refused yet
}

func (s *session) work() error {
	for {
		select {
		case <-s.stop:
			return s.end()
		default:
		}
		next, err := s.next()
		if err != nil || next == nil {
			return err
		}
		switch next.Type {
		case "message":
			if err := s.handle(next); err != nil {
				return err
			}
		case "refused":
			fmt.Fprintf(os.Stderr, "tenure refused the answer to %s: %s\n", next.Number, next.Why)
		case "stop":
			return s.end()
		case "hello", "accepted", "noted":
		default:
			fmt.Fprintf(os.Stderr, "a frame of the type %q is not known\n", next.Type)
		}
	}
}

// end says bye, and waits until each answer has its verdict: that must not meet a closed connection.
func (s *session) end() error {
	if err := s.send(head{"type": "bye"}, nil); err != nil {
		return err
	}
	s.stop = nil
	_ = s.connection.CloseWrite()
	_ = s.connection.SetReadDeadline(time.Now().Add(longestFarewell))
	for s.unsettled > 0 {
		if next, _ := s.next(); next == nil {
			break
		}
	}
	return nil
}

// next is nil when Tenure has closed.
func (s *session) next() (next *frame, err error) {
	if len(s.later) > 0 {
		next, s.later = s.later[0], s.later[1:]
	} else {
		select {
		case next = <-s.frames:
		case <-s.stop:
			return &frame{Type: "stop"}, nil
		}
	}
	if next == nil {
		return nil, s.err
	}
	if next.Type == "accepted" || next.Type == "refused" {
		s.unsettled--
	}
	return next, nil
}

// handle answers one message. It returns an error of the connection alone: one of the handler is a failed attempt.
func (s *session) handle(handed *frame) error {
	number := handed.Number
	message := messageOf(handed)
	s.begin(number)
	message.progress = func() { _ = s.send(head{"type": "progress", "number": number}, nil) }
	var answer Answer
	var broken error
	err := caught(func() (err error) {
		if broken = s.addState(message, number); broken == nil {
			answer, err = s.Handle(message)
		}
		return err
	})
	if broken != nil {
		return broken
	}
	if err != nil {
		answer = failed{err.Error()}
	} else if answer == nil {
		answer = Done{}
	}
	var said head
	var values encoder
	s.unsettled++
	err = caught(func() error {
		said = answer.head(&values)
		return values.err
	})
	if err == nil {
		said["type"], said["number"] = "answer", number
		err = s.send(said, values.body)
		if size := tooLarge(0); !errors.As(err, &size) {
			return err
		}
	}
	// a value that cannot be sent is a failed attempt that names it
	return s.send(head{"type": "answer", "number": number, "outcome": "failed", "why": reason(err.Error())}, nil)
}

// addState asks for the state of the keys that State names. It panics, as State may, where a key is no key.
func (s *session) addState(message *Message, number string) error {
	message.State = map[string][]byte{}
	if s.State == nil {
		return nil
	}
	keys := s.State(message)
	if len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		if !utf8.ValidString(key) {
			panic(fmt.Sprintf("the key %q is no UTF-8", key))
		}
		if len(key) < 1 || len(key) > 255 {
			panic(fmt.Sprintf("a key of the state is not 1 to 255 bytes: %.60q", key))
		}
	}
	if err := s.send(head{"type": "need", "number": number, "keys": keys}, nil); err != nil {
		return err
	}
	for next := range s.frames {
		if next.Type != "state" || next.Number != number {
			s.later = append(s.later, next)
			continue
		}
		for key, place := range next.Values {
			if place != nil {
				message.State[key] = next.piece(*place)
			}
		}
		return nil
	}
	if s.err != nil {
		return s.err
	}
	return errors.New("the connection ended before the state came")
}

// caught returns a panic as an error.
func caught(function func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", panicked, debug.Stack())
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return function()
}

func messageOf(handed *frame) *Message {
	headers := map[string]string{}
	for _, header := range handed.Headers {
		name := handed.string(header[0])
		if _, isThere := headers[name]; !isThere {
			headers[name] = handed.string(header[1])
		}
	}
	return &Message{
		ID:       handed.string(handed.ID),
		Group:    handed.string(handed.Group),
		Body:     handed.piece(handed.Body),
		Headers:  headers,
		Attempt:  handed.Attempt,
		Number:   handed.Sequence,
		Time:     handed.Time,
		Token:    handed.Token,
		Deadline: handed.Deadline,
	}
}
