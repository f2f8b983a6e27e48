package application_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// The table of declarations, and RELATIONS.md M5.
func TestParseConsumes(t *testing.T) {
	requirer := func(name, iface string) application.Endpoint {
		return application.Endpoint{Name: name, Interface: iface, Role: application.Requirer}
	}
	full := requirer("db", "postgresql")
	full.Version, full.Optional, full.Limit = 2, true, 3
	limited := requirer("db", "db")
	limited.Limit = 1
	tests := map[string]struct {
		why    string
		text   string
		want   []application.Endpoint
		wrong  string
		reason string
	}{
		"Prototype":       {why: "the short form works for ever", text: "sse,db", want: []application.Endpoint{requirer("sse", "sse"), requirer("db", "db")}},
		"Spaces":          {why: "people write them", text: " sse , db ", want: []application.Endpoint{requirer("sse", "sse"), requirer("db", "db")}},
		"Full":            {why: "every part", text: "db:postgresql@2?!3", want: []application.Endpoint{full}},
		"LimitAlone":      {why: "the mark is optional", text: "db!1", want: []application.Endpoint{limited}},
		"Underscore":      {why: "interfaces have them", text: "web:http_proxy", want: []application.Endpoint{requirer("web", "http_proxy")}},
		"Empty":           {why: "a typing error", text: "", wrong: "", reason: "empty"},
		"TrailingComma":   {why: "the right one works", text: "sse,", want: []application.Endpoint{requirer("sse", "sse")}, reason: "empty"},
		"UpperCase":       {why: "files and labels are lower case", text: "DB", wrong: "DB", reason: "lower-case"},
		"LeadingDigit":    {why: "would be no variable", text: "1db", wrong: "1db", reason: "begins with a letter"},
		"TrailingDash":    {why: "looks like a typing error", text: "db-", wrong: "db-", reason: "does not end"},
		"Space":           {why: "two names?", text: "sse db", wrong: "sse db", reason: "lower-case"},
		"Path":            {why: "names are folders", text: "../etc", wrong: "../etc", reason: "lower-case"},
		"Juju":            {why: "M5", text: "juju", wrong: "juju", reason: "reserved"},
		"JujuDash":        {why: "M5", text: "juju-info", wrong: "juju-info", reason: "reserved"},
		"JujuInterface":   {why: "M5", text: "x:juju-info", wrong: "x:juju-info", reason: "reserved"},
		"Twice":           {why: "M5", text: "db,db:x", want: []application.Endpoint{requirer("db", "db")}, wrong: "db:x", reason: "twice"},
		"NoInterface":     {why: "said to be there, and is not", text: "db:", wrong: "db:", reason: "missing"},
		"NoEndpoint":      {why: "the same", text: ":db", wrong: ":db", reason: "missing"},
		"VersionOfNone":   {why: "of which interface?", text: "db@1", wrong: "db@1", reason: "belongs to an interface"},
		"VersionZero":     {why: "from 1", text: "db:x@0", wrong: "db:x@0", reason: "whole number"},
		"VersionWord":     {why: "a number", text: "db:x@v1", wrong: "db:x@v1", reason: "whole number"},
		"VersionHuge":     {why: "does not overflow", text: "db:x@99999999999999999999", wrong: "db:x@99999999999999999999", reason: "whole number"},
		"LimitZero":       {why: "would never relate", text: "db!0", wrong: "db!0", reason: "limit"},
		"LimitMissing":    {why: "a number", text: "db!", wrong: "db!", reason: "limit"},
		"MarksSwapped":    {why: "one order", text: "db!1?", wrong: "db!1?", reason: "limit"},
		"TwoMarks":        {why: "once", text: "db??", wrong: "db??", reason: "lower-case"},
		"LongestName":     {why: "fits a label", text: strings.Repeat("a", 63), want: []application.Endpoint{requirer(strings.Repeat("a", 63), strings.Repeat("a", 63))}},
		"TooLong":         {why: "does not", text: strings.Repeat("a", 64), wrong: strings.Repeat("a", 64), reason: "63"},
		"ControlChars":    {why: "end up in a terminal", text: "d\x1bb", wrong: "d\x1bb", reason: "lower-case"},
		"LookalikeLetter": {why: "not the same name", text: "dаtabase", wrong: "dаtabase", reason: "lower-case"},
		"TooMany":         {why: "every admission reads the list", text: "a" + strings.Repeat(",a", application.MaxEntries), reason: "at most 128 entries"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := application.ParseConsumes(tc.text)
			assert.Equal(t, tc.want, got, tc.why)
			checkOne(t, problems, application.KeyConsumes, tc.wrong, tc.reason, tc.why)
		})
	}
}

// checkOne checks that there is one problem with that entry and reason, or none
// for no reason.
func checkOne(t *testing.T, problems []application.Problem, key, entry, reason, why string) {
	t.Helper()
	if reason == "" {
		assert.Empty(t, problems, why)
		return
	}
	require.Len(t, problems, 1, why)
	assert.Equal(t, key, problems[0].Key, why)
	assert.Equal(t, entry, problems[0].Entry, why)
	assert.Contains(t, problems[0].Reason, reason, why)
	assert.NotEmpty(t, problems[0].Cure, "a refusal says what to write")
}

func TestParseProvidesAndPeers(t *testing.T) {
	endpoints, problems := application.ParseProvides("sse,db:postgresql@1")
	assert.Empty(t, problems)
	assert.Equal(t, []application.Endpoint{
		{Name: "sse", Interface: "sse", Role: application.Provider},
		{Name: "db", Interface: "postgresql", Version: 1, Role: application.Provider},
	}, endpoints)
	for _, marked := range []string{"db?", "db!1"} {
		_, problems = application.ParseProvides(marked)
		checkOne(t, problems, application.KeyProvides, marked, "tengu.io/consumes only", "marks are the consumer's")
		assert.Equal(t, "write db", problems[0].Cure)
	}
	endpoints, problems = application.ParsePeers("ring:gossip")
	assert.Empty(t, problems)
	assert.Equal(t, []application.Endpoint{{Name: "ring", Interface: "gossip", Role: application.Peer}}, endpoints)
	_, problems = application.ParsePeers("ring")
	checkOne(t, problems, application.KeyPeers, "ring", "names its interface", "a list of endpoint:interface")
}

func TestParseRelations(t *testing.T) {
	tests := map[string]struct {
		why    string
		text   string
		want   []application.Reference
		wrong  string
		reason string
	}{
		"Prototype":     {why: "the short form works for ever", text: "sse-endpoint,db-endpoint", want: []application.Reference{{Application: "sse-endpoint"}, {Application: "db-endpoint"}}},
		"Full":          {why: "every part", text: "db=pg.data:primary", want: []application.Reference{{Endpoint: "db", Application: "pg", Namespace: "data", RemoteEndpoint: "primary"}}},
		"Digits":        {why: "Services may begin with one", text: "3scale", want: []application.Reference{{Application: "3scale"}}},
		"Empty":         {why: "a typing error", reason: "empty"},
		"NoApplication": {why: "whom?", text: "db=", wrong: "db=", reason: "missing"},
		"NoNamespace":   {why: "said to be there, and is not", text: "pg.", wrong: "pg.", reason: "namespace after"},
		"TwoDots":       {why: "names with a dot take no part", text: "pg.data.svc", wrong: "pg.data.svc", reason: "namespace after"},
		"LocalEndpoint": {why: "named on both sides", text: "D=pg", wrong: "D=pg", reason: "before '='"},
		"Remote":        {why: "named on both sides", text: "pg:", wrong: "pg:", reason: "after ':'"},
		"UpperCase":     {why: "no Service is called so", text: "PG", wrong: "PG", reason: "lower-case"},
		"Twice":         {why: "M3: the same pair is one relation", text: "pg,pg", want: []application.Reference{{Application: "pg"}}, wrong: "pg", reason: "twice"},
		"TooMany":       {why: "every admission reads the list", text: "a" + strings.Repeat(",a", application.MaxEntries), reason: "at most 128 entries"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := application.ParseRelations(tc.text)
			assert.Equal(t, tc.want, got, tc.why)
			checkOne(t, problems, application.KeyRelations, tc.wrong, tc.reason, tc.why)
		})
	}
}

// RELATIONS.md P3, P6: a static bag is text, bounded, and refused whole.
func TestParseData(t *testing.T) {
	const key = "data.tengu.io/db"
	tests := map[string]struct {
		why    string
		text   string
		want   map[string]string
		wrong  string
		reason string
	}{
		"Map":         {why: "scalars are the text they were written as", text: "host: db\nport: 5432\nratio: 1.50\ntls: yes\nyear: 2020-01-01", want: map[string]string{"host": "db", "port": "5432", "ratio": "1.50", "tls": "yes", "year": "2020-01-01"}},
		"JSON":        {why: "is YAML", text: `{"a": "b", "n": 1}`, want: map[string]string{"a": "b", "n": "1"}},
		"Lines":       {why: "a value may have several", text: "cert: |\n  a\n  b\n", want: map[string]string{"cert": "a\nb\n"}},
		"Null":        {why: "P3: an empty value deletes a derived key", text: "port:\nhost: ~", want: map[string]string{"port": "", "host": ""}},
		"NotYAML":     {why: "said as such", text: "a: [", reason: "not YAML"},
		"Empty":       {why: "a typing error", text: "# nothing", reason: "empty"},
		"List":        {why: "not a map", text: "[a]", reason: "not a map"},
		"Text":        {why: "not a map", text: "host", reason: "not a map"},
		"Nested":      {why: "a bag is flat", text: "a: {b: c}", wrong: "a", reason: "not a list or a map"},
		"Alias":       {why: "bombs are made of them", text: "a: &x b\nc: *x", wrong: "c", reason: "not a list or a map"},
		"Merge":       {why: "no magic", text: "<<: {a: b}", wrong: "<<", reason: "not a list or a map"},
		"KeyIsList":   {why: "a key is a word", text: "[a]: b", reason: "must be a string"},
		"KeyIsEmpty":  {why: "a key is a word", text: "'': b", reason: "must be a string"},
		"Twice":       {why: "which one?", text: "a: b\na: c", wrong: "a", reason: "twice"},
		"LongKey":     {why: "P6", text: strings.Repeat("k", 254) + ": a", wrong: strings.Repeat("k", 40) + "…", reason: "253"},
		"LongValue":   {why: "P6", text: "a: " + strings.Repeat("v", 64<<10+1), wrong: "a", reason: "65536"},
		"LargeBag":    {why: "P6: no annotation is as large as a bag may be", text: large(), reason: "an annotation has at most 262144 bytes"},
		"Documents":   {why: "what is in the second would be lost", text: "a: b\n---\nc: d", reason: "not one YAML document"},
		"BinaryValue": {why: "a value is UTF-8", text: "a: !!binary /w==", want: map[string]string{"a": "/w=="}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := application.ParseData(key, tc.text)
			assert.Equal(t, tc.want, got, tc.why)
			checkOne(t, problems, key, tc.wrong, tc.reason, tc.why)
		})
	}
}

// large is a bag of nine values of nearly the largest size.
func large() string {
	var b strings.Builder
	for key := range strings.SplitSeq("abcdefghi", "") {
		b.WriteString(key + ": " + strings.Repeat("v", 64<<10) + "\n")
	}
	return b.String()
}

// SAFETY.md P7: the consumer names further keys.
func TestParseEnv(t *testing.T) {
	tests := map[string]struct {
		why    string
		text   string
		want   map[string][]string
		wrong  string
		reason string
	}{
		"One":      {why: "an endpoint and its keys", text: "db=user,password", want: map[string][]string{"db": {"user", "password"}}},
		"Several":  {why: "';' or a new line between them", text: "db=user;cache=token\nx=y", want: map[string][]string{"db": {"user"}, "cache": {"token"}, "x": {"y"}}},
		"Spaces":   {why: "people write them", text: " db = user , password ", want: map[string][]string{"db": {"user", "password"}}},
		"Empty":    {why: "a typing error", want: map[string][]string{}, reason: "empty"},
		"NoKeys":   {why: "an entry without '='", text: "db", want: map[string][]string{}, wrong: "db", reason: "endpoint=KEY"},
		"EmptyKey": {why: "a typing error; the other works", text: "db=user,", want: map[string][]string{"db": {"user"}}, wrong: "db=user,", reason: "missing"},
		"Endpoint": {why: "a name", text: "D B=user", want: map[string][]string{}, wrong: "D B=user", reason: "lower-case"},
		"Twice":    {why: "once", text: "db=a;db=b", want: map[string][]string{"db": {"a"}}, wrong: "db=b", reason: "twice"},
		"LongKey":  {why: "no bag has it", text: "db=" + strings.Repeat("k", 254), want: map[string][]string{"db": nil}, wrong: "db=" + strings.Repeat("k", 254), reason: "too long"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := application.ParseEnv(tc.text)
			assert.Equal(t, tc.want, got, tc.why)
			checkOne(t, problems, application.KeyEnv, tc.wrong, tc.reason, tc.why)
		})
	}
}

// Parse reads an object whole: what no key can know by itself, and typing
// errors in keys (INJECTION.md I1).
func TestParse(t *testing.T) {
	tests := map[string]struct {
		why                 string
		labels, annotations map[string]string
		key, entry, reason  string
		cure                string
		warning             bool
	}{
		"Prototype":         {why: "a label and nothing else", labels: map[string]string{"tengu.io/provides": "sse"}},
		"PrototypeWorkload": {why: "all its keys", labels: map[string]string{"tengu.io/relationships": "full"}, annotations: map[string]string{"tengu.io/consumes": "sse", "tengu.io/relations": "sse-endpoint"}},
		"Foreign":           {why: "not ours", annotations: map[string]string{"example.org/consumes": "A B", "consumes": "x", "orcon.tengu.io/anything": "x"}},
		"LabelAndAnnotation": {
			why: "which one counts?", labels: map[string]string{"tengu.io/provides": "sse"}, annotations: map[string]string{"tengu.io/provides": "sse"},
			key: "tengu.io/provides", reason: "both a label and an annotation",
		},
		"RolesShareAName": {why: "M5", annotations: map[string]string{"tengu.io/provides": "db", "tengu.io/consumes": "db", "tengu.io/relations": "x"}, key: "tengu.io/provides", entry: "db", reason: "another role"},
		"EnvOfNobody":     {why: "asks of what is not consumed", annotations: map[string]string{"tengu.io/env": "db=user"}, key: "tengu.io/env", entry: "db", reason: "no such endpoint"},
		"EnvOfProvider":   {why: "one's own endpoint has no variables", annotations: map[string]string{"tengu.io/provides": "db", "tengu.io/env": "db=user"}, key: "tengu.io/env", entry: "db", reason: "no such endpoint"},
		"UnknownEndpoint": {why: "names an endpoint that is not declared", annotations: map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": "dv=pg"}, key: "tengu.io/relations", entry: "dv=pg", reason: "no endpoint"},
		"RelatesOther":    {why: "I27: another object of the application may declare db", annotations: map[string]string{"tengu.io/provides": "web", "tengu.io/relations": "db=pg"}, key: "tengu.io/relations", entry: "db=pg", reason: "no endpoint", warning: true},
		"RelatesPeers":    {why: "M4: nobody relates them by hand", annotations: map[string]string{"tengu.io/peers": "ring:gossip", "tengu.io/relations": "ring=pg"}, key: "tengu.io/relations", entry: "ring=pg", reason: "no endpoint"},
		"RelatesEmpty":    {why: "it is there, so that it is not called missing", annotations: map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": ""}, key: "tengu.io/relations", reason: "an entry is empty"},
		"VersionByColon":  {why: "db-1 would be an interface that no one provides", annotations: map[string]string{"tengu.io/provides": "store:db:1"}, key: "tengu.io/provides", entry: "store:db:1", reason: "a version stands after '@'", cure: "write store:db@1"},
		"RelatesToNobody": {why: "I22: never a guess", annotations: map[string]string{"tengu.io/consumes": "db"}, key: "tengu.io/consumes", reason: "tengu.io/relations is missing", warning: true},
		"OnChange":        {why: "a word of few", annotations: map[string]string{"tengu.io/on-change": "reboot"}, key: "tengu.io/on-change", entry: "reboot", reason: "action is unknown", cure: "write files, restart, signal:NAME"},
		"OnChangeTypo":    {why: "I1: the nearest is offered", annotations: map[string]string{"tengu.io/on-change": "htpp::8080/x"}, key: "tengu.io/on-change", entry: "htpp::8080/x", reason: "action is unknown", cure: "did you mean http?"},
		"OnChangeBare":    {why: "which signal?", annotations: map[string]string{"tengu.io/on-change": "signal"}, key: "tengu.io/on-change", entry: "signal", reason: "action is unknown", cure: "signal:NAME"},
		"OnChangeOfPod":   {why: "what follows is read where the pod is injected", annotations: map[string]string{"tengu.io/on-change": "http::8080/x"}},
		"Gate":            {why: "a word of three", annotations: map[string]string{"tengu.io/gate": "open"}, key: "tengu.io/gate", entry: "open", reason: "must be wait, stale or none"},
		"Retain":          {why: "a duration", annotations: map[string]string{"tengu.io/retain": "1 day"}, key: "tengu.io/retain", entry: "1 day", reason: "not a duration"},
		"RetainNegative":  {why: "L5: never shorter than nothing", annotations: map[string]string{"tengu.io/retain": "-1h"}, key: "tengu.io/retain", entry: "-1h", reason: "not a duration"},
		"Application":     {why: "A1: no dot", annotations: map[string]string{"tengu.io/application": "a.b"}, key: "tengu.io/application", entry: "a.b", reason: "lower-case"},
		"TypoInKey":       {why: "I1: the nearest known key is offered", annotations: map[string]string{"tengu.io/consume": "db"}, key: "tengu.io/consume", reason: "this key is unknown", cure: "tengu.io/consumes", warning: true},
		"TypoInLabel":     {why: "the same", labels: map[string]string{"tengu.io/provide": "db"}, key: "tengu.io/provide", reason: "this key is unknown", cure: "tengu.io/provides", warning: true},
		"WrongPrefix":     {why: "the same", annotations: map[string]string{"injector.tengu.io/injekt": "false"}, key: "injector.tengu.io/injekt", reason: "this key is unknown", cure: "injector.tengu.io/inject", warning: true},
		"NothingNear":     {why: "no guess", annotations: map[string]string{"tengu.io/colour": "red"}, key: "tengu.io/colour", reason: "this key is unknown", cure: "docs/reference/annotations.md", warning: true},
		"ConsumesAsLabel": {why: "labels cannot hold a list, so it would do nothing", labels: map[string]string{"tengu.io/consumes": "db"}, key: "tengu.io/consumes", reason: "it has no effect as a label", cure: "annotation", warning: true},
		"SecretAsLabel":   {why: "its value could be a label, and would do nothing", labels: map[string]string{"secret.tengu.io/main": "db-admin"}, key: "secret.tengu.io/main", reason: "it has no effect as a label", cure: "annotation", warning: true},
		"DataAsLabel":     {why: "the same", labels: map[string]string{"data.tengu.io/main": "x"}, key: "data.tengu.io/main", reason: "it has no effect as a label", cure: "annotation", warning: true},
		"RequiredAsLabel": {why: "pods would start without an agent", labels: map[string]string{"injector.tengu.io/inject": "required"}, key: "injector.tengu.io/inject", entry: "required", reason: "it has no effect as a label", cure: "annotation", warning: true},
		"OutByLabel":      {why: "pods would be injected", labels: map[string]string{"injector.tengu.io/inject": "False"}, key: "injector.tengu.io/inject", entry: "False", reason: "it has no effect as a label", cure: "write false", warning: true},
		"FalseAsLabel":    {why: "opts out", labels: map[string]string{"injector.tengu.io/inject": "false"}},
		"DataOfJuju":      {why: "no endpoint can be called so", annotations: map[string]string{"data.tengu.io/juju": "a: b"}, key: "data.tengu.io/juju", reason: "reserved"},
		"Secret":          {why: "SAFETY.md S1", annotations: map[string]string{"tengu.io/provides": "main", "secret.tengu.io/main": "db-admin.v2"}},
		"SecretOfNobody":  {why: "another object may declare the endpoint", annotations: map[string]string{"tengu.io/provides": "main", "secret.tengu.io/mian": "db"}, key: "secret.tengu.io/mian", reason: "declares no endpoint", cure: "did you mean secret.tengu.io/main?", warning: true},
		"SecretAlone":     {why: "the workload declares it", annotations: map[string]string{"secret.tengu.io/main": "db"}},
		"SecretNoName":    {why: "a typing error", annotations: map[string]string{"secret.tengu.io/main": ""}, key: "secret.tengu.io/main", reason: "missing"},
		"SecretPath":      {why: "of this namespace only", annotations: map[string]string{"secret.tengu.io/main": "other/db"}, key: "secret.tengu.io/main", entry: "other/db", reason: "lower-case"},
		"SecretTooLong":   {why: "Kubernetes allows no more", annotations: map[string]string{"secret.tengu.io/main": strings.Repeat("a", 254)}, key: "secret.tengu.io/main", entry: strings.Repeat("a", 254), reason: "253"},
		"SecretOfJuju":    {why: "no endpoint can be called so", annotations: map[string]string{"secret.tengu.io/juju": "db"}, key: "secret.tengu.io/juju", reason: "reserved"},
		"SecretOfPeers":   {why: "they have it already", annotations: map[string]string{"tengu.io/peers": "ring:gossip", "secret.tengu.io/ring": "db"}, key: "secret.tengu.io/ring", reason: "one application", cure: "mount"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := application.Parse(tc.labels, tc.annotations)
			if tc.reason == "" {
				assert.Empty(t, problems, tc.why)
				return
			}
			require.Len(t, problems, 1, tc.why)
			p := problems[0]
			assert.Equal(t, tc.key, p.Key, tc.why)
			assert.Equal(t, tc.entry, p.Entry, tc.why)
			assert.Contains(t, p.Reason, tc.reason, tc.why)
			assert.Contains(t, p.Cure, tc.cure, tc.why)
			assert.Equal(t, tc.warning, p.Warning, tc.why)
			if tc.warning {
				require.NoError(t, application.Refusals(problems))
			} else {
				require.ErrorContains(t, application.Refusals(problems), tc.key)
			}
		})
	}
}

func TestParseGivesAll(t *testing.T) {
	d, problems := application.Parse(map[string]string{"tengu.io/provides": "web"}, map[string]string{
		"tengu.io/consumes": "db:postgresql", "tengu.io/relations": "db=pg", "tengu.io/peers": "ring:gossip", "tengu.io/env": "db=user",
		"tengu.io/on-change": "restart", "tengu.io/gate": "none", "tengu.io/retain": "1h", "tengu.io/application": "shop",
		"data.tengu.io/web": "path: /x", "secret.tengu.io/web": "credentials",
	})
	assert.Empty(t, problems)
	assert.Equal(t, application.Declaration{
		Endpoints: []application.Endpoint{
			{Name: "web", Interface: "web", Role: application.Provider},
			{Name: "db", Interface: "postgresql", Role: application.Requirer},
			{Name: "ring", Interface: "gossip", Role: application.Peer},
		},
		Relations: []application.Reference{{Endpoint: "db", Application: "pg"}},
		Data:      map[string]map[string]string{"web": {"path": "/x"}},
		Secrets:   map[string]string{"web": "credentials"},
		Env:       map[string][]string{"db": {"user"}},
		OnChange:  application.Restart, Ungated: true, Retain: time.Hour, Application: "shop",
	}, d)
	empty, problems := application.Parse(nil, nil)
	assert.Empty(t, problems)
	assert.True(t, empty.Empty())
	assert.Equal(t, application.Declaration{OnChange: application.Files, Retain: application.DefaultRetain}, empty, "the defaults")
}

// References are read as they are written.
func TestReferenceProperty(t *testing.T) {
	name := rapid.StringMatching(`[a-z][a-z0-9]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		want := application.Reference{Application: name.Draw(t, "application")}
		if rapid.Bool().Draw(t, "local") {
			want.Endpoint = name.Draw(t, "endpoint")
		}
		if rapid.Bool().Draw(t, "elsewhere") {
			want.Namespace = name.Draw(t, "namespace")
		}
		if rapid.Bool().Draw(t, "named") {
			want.RemoteEndpoint = name.Draw(t, "remote")
		}
		got, problems := application.ParseRelations(want.String())
		if strings.HasPrefix(want.Endpoint, "juju") || strings.HasPrefix(want.RemoteEndpoint, "juju") {
			return
		}
		require.Empty(t, problems)
		require.Equal(t, []application.Reference{want}, got)
	})
}

// What is right is read whatever stands beside it, and every entry is either
// read or a problem.
func TestParseConsumesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9:@?!. -]{0,6}`), 1, 6).Draw(t, "entries")
		text := strings.Join(entries, ",")
		endpoints, problems := application.ParseConsumes(text)
		again, _ := application.ParseConsumes(text)
		require.Equal(t, endpoints, again)
		require.Len(t, entries, len(endpoints)+len(problems))
		seen := map[string]bool{}
		for _, e := range endpoints {
			require.False(t, seen[e.Name])
			seen[e.Name] = true
		}
	})
}

// SAFETY.md I23: what runs in a pod and where data is sent is its own to say; and
// RELATIONS.md L4: what hears of events must hear of the end.
func TestOfPod(t *testing.T) {
	tests := map[string]struct {
		why        string
		key, value string
		ofPod      bool
		hears      bool
	}{
		"Files":     {why: "a workload's too", key: "tengu.io/on-change", value: "files"},
		"Restart":   {why: "the controller's work", key: "tengu.io/on-change", value: "restart"},
		"HTTP":      {why: "where data is sent", key: "tengu.io/on-change", value: "http::8080/x", ofPod: true, hears: true},
		"Exec":      {why: "what runs", key: "tengu.io/on-change", value: "exec:reload", ofPod: true, hears: true},
		"Signal":    {why: "of the pod, and a signal tells of no event", key: "tengu.io/on-change", value: "signal:HUP", ofPod: true},
		"Handlers":  {why: "what runs", key: "tengu.io/handlers", value: "/handlers", ofPod: true, hears: true},
		"Batch":     {why: "how they hear", key: "tengu.io/batch", value: "true", ofPod: true},
		"Injectors": {why: "how a pod is injected", key: "injector.tengu.io/mode", value: "init", ofPod: true},
		"OptOut":    {why: "may stand on the workload", key: "injector.tengu.io/inject", value: "false"},
		"Consumes":  {why: "is copied", key: "tengu.io/consumes", value: "db"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.ofPod, application.OfPod(tc.key, tc.value), tc.why)
			assert.Equal(t, tc.hears, application.HearsOfEvents(map[string]string{tc.key: tc.value}), tc.why)
		})
	}
}
