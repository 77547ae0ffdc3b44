// The handler of clients_test.cpp in Go: what it does follows from the message's body.
package main

import (
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	tenure "github.com/tenure/tenure/clients/go"
	"github.com/tenure/tenure/clients/go/tenuretest"
)

var at = time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC)

var wrong = map[string]any{
	"large":  uint64(1 << 63),
	"nan":    math.NaN(),
	"odd":    make(chan int),
	"nested": map[string]any{"a": []float64{math.Inf(1)}},
}

func statement(text string, params tenure.Params) tenure.Done {
	return tenure.Done{SQL: []tenure.Statement{tenure.SQL(text, params)}}
}

func keys(m *tenure.Message) []string {
	if strings.HasPrefix(m.Text(), "add ") {
		return []string{"total:" + m.Group}
	}
	return nil
}

func add(m *tenure.Message) (tenure.Answer, error) {
	key := "total:" + m.Group
	total := 0
	if value, isThere := m.State[key]; isThere {
		total, _ = strconv.Atoi(string(value))
	}
	more, err := strconv.Atoi(m.Text()[4:])
	return tenure.Done{Put: map[string][]byte{key: []byte(strconv.Itoa(total + more))}}, err
}

func everyEffect(m *tenure.Message) tenure.Answer {
	return tenure.Done{
		SQL: []tenure.Statement{
			tenure.SQL("insert into ledger values(:id, :body)", tenure.Params{"id": m.ID, "body": m.Text()}).WithRows(1),
			tenure.SQL("delete from open", nil).WithRows(0),
		},
		Send: []tenure.Send{
			{Queue: "invoices", Body: m.Body, Group: m.Group, Headers: map[string]string{"source": "shop"}},
			{Queue: "reminders", Body: []byte("x"), ID: "r-1", Delay: 2 * time.Hour},
			{Queue: "reminders", Body: []byte("é"), ID: "r-2", DeliverAt: at},
		},
		Cancel:     []tenure.Cancel{{ID: "o-1-timeout", Queue: "reminders"}},
		Reschedule: []tenure.Reschedule{{ID: "o-1-check", At: at}},
		Put:        map[string][]byte{"bytes": {1, 255}, "last": []byte(m.ID)},
		Erase:      []string{"old"},
	}
}

func handle(m *tenure.Message) (tenure.Answer, error) {
	body := m.Text()
	if value, isThere := wrong[body]; isThere {
		return statement("s", tenure.Params{body: value}), nil
	}
	if strings.HasPrefix(body, "add ") {
		return add(m)
	}
	switch body {
	case "done":
		return everyEffect(m), nil
	case "values":
		return statement("s", tenure.Params{"no": nil, "yes": true, "least": math.MinInt64, "most": uint64(math.MaxInt64),
			"real": 1.5, "text": "é \"quoted\"\n", "bytes": []byte{0, 255}, "empty": []byte{}, "json": []string{"é"},
			"at": at}), nil
	case "later":
		return tenure.Retry{After: 1500 * time.Millisecond, Why: "closed"}, nil
	case "bad":
		return tenure.Reject{Why: "no such order"}, nil
	case "none":
		return &tenure.Skip{Why: "nothing to do"}, nil
	case "nothing":
		return nil, nil
	case "raise":
		return nil, errors.New("no customer")
	case "panic":
		panic("no customer")
	case "nil":
		return (*tenure.Done)(nil), nil
	case "progress":
		m.Progress()
		m.Progress()
		return tenure.Done{}, nil
	case "refused":
		return tenure.Done{Send: []tenure.Send{{Queue: "no queue", Body: []byte("x")}}}, nil
	case "no text":
		return tenure.Done{Erase: []string{"\xff"}}, nil
	case "big":
		return tenure.Done{Put: map[string][]byte{"big": make([]byte, 16<<20)}}, nil
	case "stop":
		return tenure.Done{Put: map[string][]byte{"stopped": []byte("yes")}}, syscall.Kill(os.Getpid(), syscall.SIGTERM)
	case "pid":
		return statement("pid", tenure.Params{"pid": os.Getpid()}), nil
	}
	var source any
	if value, isThere := m.Headers["source"]; isThere {
		source = value
	}
	var deadline *time.Time
	if !m.Deadline.IsZero() {
		deadline = &m.Deadline
	}
	return statement("echo", tenure.Params{"id": m.ID, "group": m.Group, "body": m.Body, "source": source,
		"attempt": m.Attempt, "token": m.Token, "number": m.Number, "timed": !m.Time.IsZero(), "deadline": deadline}), nil
}

func main() {
	worker := &tenure.Worker{
		Handle:  handle,
		State:   keys,
		OnStart: func() error { fmt.Println("begins"); return nil },
		OnStop:  func() error { fmt.Println("ends"); return nil },
	}
	if len(os.Args) == 1 {
		worker.Run()
		return
	}
	answer, err := tenuretest.Handle(worker, tenure.Message{Body: []byte("add 2"), Group: "a"},
		map[string][]byte{"total:a": []byte("3"), "total:b": []byte("9")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.(tenure.Done).Put["total:a"]))
}
