// Package tenuretest hands a handler a message and returns its answer, without a server.
package tenuretest

import tenure "github.com/tenure/tenure/clients/go"

// Handle returns the handler's answer. Of state, the message has the keys that the worker names.
//
//	answer, err := tenuretest.Handle(worker, tenure.Message{ID: "o-1", Body: []byte("17 EUR")},
//		map[string][]byte{"total:": []byte("3")})
func Handle(worker *tenure.Worker, message tenure.Message, state map[string][]byte) (tenure.Answer, error) {
	if message.ID == "" {
		message.ID = "m-1"
	}
	if message.Attempt == 0 {
		message.Attempt = 1
	}
	message.State = map[string][]byte{}
	if worker.State != nil {
		for _, key := range worker.State(&message) {
			if value, isThere := state[key]; isThere {
				message.State[key] = value
			}
		}
	}
	return worker.Handle(&message)
}
