package schema

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// What a reference to a secret looks like, as in Juju: secret: and an id.
const (
	referencePrefix = "secret:"
	referenceLength = 20
)

// Reference returns the id in a reference to a secret, secret:<id>, whose id is
// 20 characters of [a-z0-9].
func Reference(value string) (id string, ok bool) {
	id, ok = strings.CutPrefix(value, referencePrefix)
	if !ok || len(id) != referenceLength || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return "", false
	}
	return id, true
}

// inPlainText refuses a secret field's value that is not a reference, with the commands that do it right
// (RELATIONS.md P5). Neither the value nor its length is in it.
func inPlainText(place Place, field string) Violation {
	flag := ""
	if place == ProviderApplication || place == RequirerApplication {
		flag = " --app"
	}
	return Violation{
		Path:   field,
		Reason: "the field is secret and its value is not a reference to a secret",
		Expected: fmt.Sprintf("secret:<id>: run id=$(secret-add %[1]s#file=FILE), secret-grant $id -r RELATION, then relation-set%[2]s %[1]s=$id",
			field, flag),
		Schema: pointer("properties", field),
		Secret: true,
	}
}

// Declared returns a violation in the declared data of an endpoint, with the cure of declarations.
func (v Violation) Declared(endpoint string) Violation {
	if v.Secret {
		v.Expected = fmt.Sprintf("the annotation %s%s instead, with the name of the Secret to grant", application.PrefixSecret, endpoint)
	}
	return v
}

// pointer returns the JSON pointer made of these tokens (RFC 6901).
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
}
