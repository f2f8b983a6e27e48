package tool

import "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

// secretInfoGet tells what is known of a secret but for its content.
type secretInfoGet struct {
	id    *SecretID
	label string
}

func (t *secretInfoGet) declare(f *flags) {
	f.prints(asYAML)
	f.StringVar(&t.label, "label", "", "the owner's `name` for the secret")
}

func (t *secretInfoGet) take(args []string) error {
	if len(args) > 0 {
		id, rest, err := takeSecretID(args)
		if err != nil {
			return err
		}
		t.id, args = &id, rest
	}
	switch {
	case t.id == nil && t.label == "":
		return misuse("write secret-info-get ID or --label L", "require either a secret URI or label")
	case t.id != nil && t.label != "":
		return misuse("", "specify either a secret URI or label but not both")
	}
	return tooMany("secret-info-get", args)
}

func (t *secretInfoGet) run(s session) (any, error) {
	all, err := s.Secrets.List()
	if err != nil {
		return nil, err
	}
	for _, secret := range all {
		if t.id != nil && secret.ID.ID == t.id.ID || t.id == nil && secret.Label == t.label {
			return fields{{key: secret.ID.ID, value: secretInfo(secret)}}, nil
		}
	}
	wanted := t.label
	if t.id != nil {
		wanted = t.id.String()
	}
	return nil, refuse(conversation.Gone, "secret-ids lists those of this unit", "secret %.80q not found", wanted)
}

// secretInfo leaves out what is not set, but for the label.
func secretInfo(s Secret) fields {
	info := fields{{key: "revision", value: s.Revision}, {key: "label", value: s.Label}, {key: "owner", value: string(s.Owner)}}
	if s.Description != "" {
		info = append(info, field{key: "description", value: s.Description})
	}
	if s.Rotation != "" {
		info = append(info, field{key: "rotation", value: string(s.Rotation)})
	}
	if !s.Expires.IsZero() {
		info = append(info, field{key: "expiry", value: s.Expires.UTC()})
	}
	if !s.Rotates.IsZero() {
		info = append(info, field{key: "rotates", value: s.Rotates.UTC()})
	}
	access := make(list, len(s.Access))
	for i, a := range s.Access {
		access[i] = fields{{key: "target", value: a.Target}, {key: "scope", value: a.Scope}, {key: "role", value: "view"}}
	}
	if len(access) > 0 {
		info = append(info, field{key: "access", value: access})
	}
	return info
}
