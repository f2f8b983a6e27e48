package tool

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// tool is one tool with what one call says.
type tool interface {
	// declare names the flags.
	declare(f *flags)
	// take reads the arguments other than flags. It may look at the flags, and at nothing else.
	take(args []string) error
	// run does the work and returns what to print, or nil for nothing.
	run(s session) (any, error)
}

// reader is a tool that may need files or standard input.
type reader interface {
	// reads names them, after take.
	reads() []string
}

// tools makes each tool by its name.
func tools() map[string]func() tool {
	return map[string]func() tool{
		"relation-ids":       func() tool { return &relationIDs{} },
		"relation-list":      func() tool { return &relationList{} },
		"relation-get":       func() tool { return &relationGet{} },
		"relation-set":       func() tool { return &relationSet{} },
		"relation-model-get": func() tool { return &relationModelGet{} },
		"goal-state":         func() tool { return &goalState{} },
		"is-leader":          func() tool { return &isLeader{} },
		"network-get":        func() tool { return &networkGet{} },
		"status-set":         func() tool { return &statusSet{} },
		"status-get":         func() tool { return &statusGet{} },
		"secret-add":         func() tool { return &secretAdd{} },
		"secret-get":         func() tool { return &secretGet{} },
		"secret-set":         func() tool { return &secretSet{} },
		"secret-remove":      func() tool { return &secretRemove{} },
		"secret-ids":         func() tool { return &secretIDs{} },
		"secret-info-get":    func() tool { return &secretInfoGet{} },
		"secret-grant":       func() tool { return &secretGrant{} },
		"secret-revoke":      func() tool { return &secretRevoke{} },
	}
}

// Names lists all tools in order.
func Names() []string { return slices.Sorted(maps.Keys(tools())) }

// Is reports whether a program that was started by this name is a tool.
func Is(name string) bool {
	_, known := tools()[path.Base(name)]
	return known
}

// parse makes the tool of a call. Its error is pflag.ErrHelp where only help is
// wanted.
func parse(name string, args []string) (tool, *flags, error) {
	makeTool, known := tools()[name]
	if !known {
		cure := "the tools begin with relation-, secret-, status-, goal-, is- and network-"
		if nearest := spelling.Nearest(name, Names()); nearest != "" {
			cure = "did you mean " + nearest + "?"
		}
		return nil, nil, fmt.Errorf("unknown tool %.40q; %s", name, cure)
	}
	t, f := makeTool(), newFlags(name)
	t.declare(f)
	rest, err := f.parse(args)
	if err != nil {
		return t, f, err
	}
	return t, f, t.take(rest)
}
