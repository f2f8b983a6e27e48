// Package agent is the loop of a machine that carries out runs elsewhere: it joins by an invitation, renews its
// certificate, and has the attempts that are offered to it carried out (JOBS.md J13, JOBS-DESIGN.md 16).
//
//	Identity    key and certificate, in a file of the agent's own
//	Connection  HTTP/2 and TLS to the controller, also through a proxy
//	Agent       call, carry out, report
//
// What the agent does with an attempt follows from the controller's list and from what the executor has: an agent that is
// killed goes on where it was.
//
// What must not come in: how an attempt is carried out, and a rule about nodes.
package agent
