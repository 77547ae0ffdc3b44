package tenure

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Frames: two lengths of 32 bits in network order, a head in JSON, a raw body. The page of the wire tells the rest.
const (
	wireVersion  = 1
	largestFrame = 16 << 20 // head and body together
)

type head map[string]any

// frame is what Tenure says: the fields of all types.
type frame struct {
	Type     string
	Number   string
	ID       text
	Group    text
	Headers  [][2]text
	Attempt  int64  `json:",string"`
	Token    int64  `json:",string"`
	Sequence *int64 `json:",string"`
	Time     time.Time
	Deadline time.Time
	Body     place
	Values   map[string]*place
	Why      string

	body []byte
}

// place is where a piece of the body is: from, length.
type place [2]int

// text is a string, or the place of bytes that are no UTF-8.
type text struct {
	text  string
	bytes *place
}

func (t *text) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &t.text)
	}
	var raw struct{ Bytes *place }
	err := json.Unmarshal(data, &raw)
	t.bytes = raw.Bytes
	return err
}

func (f *frame) piece(at place) []byte { return f.body[at[0] : at[0]+at[1] : at[0]+at[1]] }

func (f *frame) string(of text) string {
	if of.bytes == nil {
		return of.text
	}
	return string(f.piece(*of.bytes))
}

// wire is one connection.
type wire struct {
	connection *net.UnixConn
	writing    sync.Mutex
	inHand     string      // the number of the message that is handled; under writing
	frames     chan *frame // closed when the other end has closed, or err is there
	err        error
}

func connect(path string) (*wire, error) {
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	w := &wire{connection: connection, frames: make(chan *frame)}
	go w.read()
	return w, nil
}

func (w *wire) send(head head, body []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(text)+len(body) > largestFrame {
		return tooLarge(len(text) + len(body))
	}
	bytes := make([]byte, 8, 8+len(text)+len(body))
	binary.BigEndian.PutUint32(bytes, uint32(len(text)))
	binary.BigEndian.PutUint32(bytes[4:], uint32(len(body)))
	w.writing.Lock()
	defer w.writing.Unlock()
	switch head["type"] {
	case "answer":
		w.inHand = ""
	case "progress":
		if head["number"] != w.inHand {
			return nil // Tenure ends a worker that speaks of a message which it has answered
		}
	}
	_, err = w.connection.Write(append(append(bytes, text...), body...))
	return err
}

func (w *wire) begin(number string) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.inHand = number
}

func (w *wire) read() {
	defer close(w.frames)
	reader := bufio.NewReaderSize(w.connection, 64<<10)
	for {
		next, err := readFrame(reader)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.err = err
			}
			return
		}
		w.frames <- next
	}
}

var errWithinFrame = errors.New("the connection ends within a frame")

// readFrame returns io.EOF where the other end has closed between two frames.
func readFrame(reader io.Reader) (*frame, error) {
	var lengths [8]byte
	if _, err := io.ReadFull(reader, lengths[:]); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errWithinFrame
	} else if err != nil {
		return nil, err
	}
	head, body := int(binary.BigEndian.Uint32(lengths[:])), int(binary.BigEndian.Uint32(lengths[4:]))
	if head+body > largestFrame {
		return nil, tooLarge(head + body)
	}
	bytes := make([]byte, head+body)
	if _, err := io.ReadFull(reader, bytes); err != nil {
		return nil, errWithinFrame
	}
	next := &frame{body: bytes[head:]}
	return next, json.Unmarshal(bytes[:head], next)
}

// tooLarge is the size of a frame that is refused.
type tooLarge int

func (size tooLarge) Error() string {
	return fmt.Sprintf("a frame of %d bytes: at most %d are allowed", int(size), largestFrame)
}
