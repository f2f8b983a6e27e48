package bundle

import "fmt"

// AccountRole is the ClusterRole that permits to act as the accounts of a namespace. A namespace lets the bundle
// controller in by binding it.
const AccountRole = "orcon-bundle-account"

// LetIn returns the command by which a namespace lets the bundle controller act as its accounts, also where it has let in
// another one before. controller is the controller's own account as namespace:name.
func LetIn(namespace, controller string) string {
	return fmt.Sprintf("kubectl create rolebinding %s -n %s --clusterrole=%[1]s --serviceaccount=%[3]s --dry-run=client -o yaml | "+
		"kubectl apply -f -", AccountRole, namespace, controller)
}
