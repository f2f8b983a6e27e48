package relation

// Databag is the application bag of one endpoint.
type Databag struct {
	Application string
	Endpoint    string
	Data        map[string]string
}
