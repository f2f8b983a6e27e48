package tool

import (
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Hook names the executable that handles an event, as Juju names hooks.
func Hook(e conversation.Event) string {
	switch {
	case e.Kind == conversation.Elected:
		return "leader-elected"
	case e.Secret != "":
		return string(e.Kind)
	}
	return e.Endpoint + "-relation-" + string(e.Kind)
}

// Misnamed returns the event name that the file of a handlers folder was probably meant
// for, and whether the file runs for no event because of its name. Helpers with names of
// their own, such as lib.sh, are none. The endpoint is not looked at.
func Misnamed(file string) (meant string, misnamed bool) {
	const relation = "-relation-"
	named := []conversation.Kind{conversation.SecretChanged, conversation.SecretRotate, conversation.SecretExpired}
	prefix, rest := "", file
	if at := strings.LastIndex(file, relation); at > 0 {
		prefix, rest = file[:at]+relation, file[at+len(relation):]
		named = []conversation.Kind{conversation.Created, conversation.Joined, conversation.Changed, conversation.Departed, conversation.Broken}
	}
	words := make([]string, 0, len(named)+1)
	for _, kind := range named {
		words = append(words, string(kind))
	}
	if prefix == "" {
		words = append(words, Hook(conversation.Event{Kind: conversation.Elected}))
	}
	if slices.Contains(words, rest) {
		return "", false
	}
	if nearest := spelling.Nearest(rest, words); nearest != "" {
		return prefix + nearest, true
	}
	return "", prefix != ""
}

// maxUnits is how long ORCON_JOINED_UNITS may be, in bytes: the kernel starts no
// process with a longer variable than twice that. Handlers of larger joins ask
// relation-list.
const maxUnits = 64 << 10

// Environment returns what the handler of an event finds in its environment
// (RELATIONS.md, "Tools in the workload"), but for what only its process knows: the
// context, the model and the attempt.
func Environment(unit conversation.Unit, e conversation.Event) map[string]string {
	env := map[string]string{"JUJU_UNIT_NAME": unit.String(), "JUJU_HOOK_NAME": Hook(e)}
	if e.Relation != "" {
		env["JUJU_RELATION"] = e.Endpoint
		env[RelationID] = e.Endpoint + ":" + strconv.Itoa(e.ID)
		env[RelationUID] = e.Relation
		env[RemoteApp] = e.Application
	}
	if e.Secret != "" {
		env["JUJU_SECRET_ID"] = SecretID{ID: e.Secret}.String()
		env["JUJU_SECRET_LABEL"] = e.Label
		env["JUJU_SECRET_REVISION"] = strconv.Itoa(e.Revision)
	}
	if e.Unit != nil {
		env[RemoteUnit] = e.Unit.String()
	}
	if e.Departing != nil {
		env["JUJU_DEPARTING_UNIT"] = e.Departing.String()
	}
	if all := strings.Join(unitNames(e.Joined), " "); all != "" && len(all) <= maxUnits {
		env["ORCON_JOINED_UNITS"] = all
	}
	if e.Reason != "" {
		env["ORCON_REASON"] = string(e.Reason)
	}
	if e.Kind == conversation.Broken {
		env["ORCON_FINAL"] = strconv.FormatBool(e.Final)
	}
	return env
}
