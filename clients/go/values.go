package tenure

import (
	"bytes"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (e *encoder) values(params Params) head {
	values := head{}
	for _, name := range sortedKeys(params) {
		values[e.text("parameter", name)] = e.value(name, params[name])
	}
	return values
}

// value is one parameter as the wire has it. A complaint names it.
func (e *encoder) value(name string, value any) any {
	of := reflect.ValueOf(value)
	switch of.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if of.IsNil() {
			return nil
		}
	}
	switch given := value.(type) {
	case *big.Int:
		if !given.IsInt64() {
			return e.tooLarge(name)
		}
		return head{"int": given.String()}
	case driver.Valuer:
		driven, err := given.Value()
		if err != nil {
			e.fail("parameter %s: %w", name, err)
			return nil
		}
		return e.value(name, driven)
	case encoding.TextMarshaler:
		text, err := given.MarshalText()
		if err != nil {
			e.fail("parameter %s: %w", name, err)
		}
		return e.textOrBytes(string(text))
	}
	switch of.Kind() {
	case reflect.Bool:
		if of.Bool() {
			return head{"int": "1"}
		}
		return head{"int": "0"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return head{"int": strconv.FormatInt(of.Int(), 10)}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if of.Uint() > math.MaxInt64 {
			return e.tooLarge(name)
		}
		return head{"int": strconv.FormatUint(of.Uint(), 10)}
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(of.Float()) || math.IsInf(of.Float(), 0) {
			e.fail("parameter %s: %v is no finite number", name, of.Float())
			return nil
		}
		return head{"real": of.Float()}
	case reflect.String:
		return e.textOrBytes(of.String())
	case reflect.Pointer:
		return e.value(name, of.Elem().Interface())
	case reflect.Slice:
		if _, isJSON := value.(json.RawMessage); !isJSON && of.Type().Elem().Kind() == reflect.Uint8 {
			return head{"bytes": e.piece(of.Bytes())}
		}
		return e.json(name, value)
	case reflect.Array, reflect.Map, reflect.Struct:
		return e.json(name, value)
	}
	e.fail("parameter %s: %T is no value of SQL", name, value)
	return nil
}

func (e *encoder) tooLarge(name string) any {
	e.fail("parameter %s: an integer of more than 64 bits", name)
	return nil
}

func (e *encoder) textOrBytes(text string) any {
	if utf8.ValidString(text) {
		return head{"text": text}
	}
	return head{"bytes": e.piece([]byte(text))}
}

func (e *encoder) json(name string, value any) any {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		e.fail("parameter %s: %w", name, err)
	}
	return head{"text": strings.TrimSuffix(text.String(), "\n")}
}
