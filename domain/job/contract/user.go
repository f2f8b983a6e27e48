package contract

import "fmt"

// name is the name of User and of its group.
const name = "orcon"

// Passwd returns the file passwd of a template: User, whose home is Home, and the users of its image. Programs such as
// ssh do not run as a user without an entry, and look for their files in the home that the first entry names.
func Passwd(image string) string {
	return fmt.Sprintf("%s:x:%d:%[2]d::%s:/bin/sh\n%s", name, User, Home, image)
}

// Group returns the file group of a template: that of User, and those of its image.
func Group(image string) string { return fmt.Sprintf("%s:x:%d:\n%s", name, User, image) }
