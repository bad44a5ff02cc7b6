package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// setting is one field of a Scenario seen through its tags. It is a pflag.Value and the one place where text becomes a
// setting, whether it comes from a flag or from sembench.yaml.
type setting struct {
	name, def, help string
	hashed          bool
	value           reflect.Value
	replaced        bool // a list flag's first use replaces the default, later ones add
}

// settings lists the fields of s in order.
func (s *Scenario) settings() []*setting {
	v := reflect.ValueOf(s).Elem()
	out := make([]*setting, 0, v.NumField())
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		out = append(out, &setting{
			name: tag.Get("flag"), def: tag.Get("default"), help: tag.Get("help"), hashed: tag.Get("hash") != "-", value: v.Field(i),
		})
	}
	return out
}

func (s *Scenario) setting(name string) *setting {
	for _, f := range s.settings() {
		if f.name == name {
			return f
		}
	}
	return nil
}

// Default is a Scenario with every default in place.
func Default() *Scenario {
	s := &Scenario{}
	for _, f := range s.settings() {
		if f.def == "" {
			continue
		}
		if err := f.Set(f.def); err != nil {
			panic("scenario: default of --" + f.name + ": " + err.Error())
		}
	}
	return s
}

// Bind makes flags of the named settings, in the given order. An unknown name is a bug of the caller and panics.
func (s *Scenario) Bind(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := s.setting(name)
		if f == nil {
			panic("scenario: no setting " + name)
		}
		flag := flags.VarPF(f, f.name, "", f.help)
		if f.value.Kind() == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
	}
}

func (f *setting) Type() string {
	switch k := f.value.Type(); {
	case k.Kind() == reflect.Bool:
		return "bool"
	case k.Kind() == reflect.Slice:
		return "list"
	case k.Kind() == reflect.String:
		return "string"
	case k.Kind() == reflect.Int || k.Kind() == reflect.Int64:
		return "int"
	}
	return "number"
}

// String is the setting as a flag would spell it, "" for one not asked for.
func (f *setting) String() string {
	if !f.value.IsValid() {
		return ""
	}
	switch v := f.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case []int:
		words := make([]string, len(v))
		for i, n := range v {
			words[i] = strconv.Itoa(n)
		}
		return strings.Join(words, ",")
	case *float64:
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Set reads a setting from its text. Lists split at commas, but not headers, commands and URLs, which may hold some.
func (f *setting) Set(text string) error {
	switch f.value.Interface().(type) {
	case string:
		f.value.SetString(text)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("want true or false, got %q", text)
		}
		f.value.SetBool(b)
	case int, int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("want a whole number, got %q", text)
		}
		if n < 0 && f.name != "seed" {
			return fmt.Errorf("want 0 or more, got %d", n)
		}
		f.value.SetInt(n)
	case float64:
		x, err := number(text)
		if err != nil {
			return err
		}
		if x < 0 {
			return fmt.Errorf("want 0 or more, got %v", x)
		}
		f.value.SetFloat(x)
	case *float64:
		x, err := number(text)
		if err != nil {
			return err
		}
		f.value.Set(reflect.ValueOf(&x))
	case []string:
		// A planner's command is one member to its end, commas and all; repeat the flag for another.
		list, command := text, ""
		if i := strings.Index(text, "exec:"); i >= 0 {
			list, command = text[:i], text[i:]
		}
		members := strings.FieldsFunc(list, f.splits)
		if command != "" {
			members = append(members, command)
		}
		return f.add(members)
	case []int:
		return f.addInts(strings.FieldsFunc(text, f.splits))
	default:
		panic("scenario: no text form for " + f.value.Type().String())
	}
	return nil
}

func number(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != x || x-x != 0 { // NaN and infinities decide nothing
		return 0, fmt.Errorf("want a finite number, got %q", text)
	}
	return x, nil
}

// splits reports whether r separates members of this list.
func (f *setting) splits(r rune) bool {
	return r == ',' && !slices.Contains([]string{"header", "reset-url", "worker-url", "engine-summary"}, f.name)
}

func (f *setting) add(members []string) error {
	for i := range members {
		members[i] = strings.TrimSpace(members[i])
	}
	old := f.value.Interface().([]string)
	if !f.replaced {
		old = nil
	}
	f.replaced = true
	f.value.Set(reflect.ValueOf(append(slices.Clone(old), members...)))
	return nil
}

func (f *setting) addInts(members []string) error {
	var out []int
	for _, m := range members {
		n, err := strconv.Atoi(strings.TrimSpace(m))
		if err != nil {
			return fmt.Errorf("want whole numbers, got %q", m)
		}
		out = append(out, n)
	}
	f.value.Set(reflect.ValueOf(out))
	return nil
}

// Gate tells whether the named gate was asked for, and its threshold (0 for one that has none).
func (s *Scenario) Gate(name string) (threshold float64, asked bool) {
	f := s.setting(name)
	if f == nil {
		return 0, false
	}
	switch v := f.value.Interface().(type) {
	case *float64:
		if v != nil {
			return *v, true
		}
	case bool:
		return 0, v
	}
	return 0, false
}
