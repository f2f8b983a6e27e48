// Package aggregation joins an API to that of the cluster: the API server passes requests on, by a certificate of its own,
// with the identity of their sender in headers. It is the ports of controller/job/people that concern the cluster.
//
// The server asks each caller for a certificate and verifies none (tls.RequestClientCert): kubelets and the API server's
// checks of availability have none, and FrontProxy verifies the others.
//
// What must not come in: what is served, and how the APIService is registered.
package aggregation
