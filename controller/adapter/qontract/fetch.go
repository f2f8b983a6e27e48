package qontract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// attempts bounds how often a fetch begins, since the server may drop the data that it reads.
const attempts = 4

// Client reads from servers of Qontract.
type Client struct {
	web.Client
}

// sum matches the name of a server's data: the checksum of their bundle.
var sum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Fetch returns the data of the server at an address that ends with /graphql, as files by path, and their checksum.
// An answer that is not complete is an error, and nothing is returned. No error quotes an answer (TRUST.md R4).
func (c Client) Fetch(ctx context.Context, address string) (bundle.Tree, string, error) {
	root := strings.TrimSuffix(address, "/graphql")
	for attempt := 1; ; attempt++ {
		tree, digest, err := c.latest(ctx, root)
		switch {
		case err == nil:
			return tree, digest, nil
		case !errors.Is(err, errDropped):
			return bundle.Tree{}, "", err
		case attempt == attempts:
			return bundle.Tree{}, "", fmt.Errorf("%w, %d times: try again later, or check that it is a server of Qontract", err, attempts)
		}
		select {
		case <-ctx.Done():
			return bundle.Tree{}, "", context.Cause(ctx)
		case <-time.After(c.Pause):
		}
	}
}

// errDropped reports that the server no longer has the data that it named.
var errDropped = errors.New("the server dropped its data while they were read")

// latest returns the data that the server has now.
func (c Client) latest(ctx context.Context, root string) (bundle.Tree, string, error) {
	answer, err := c.Ask(ctx, root+"/sha256", nil)
	if err != nil {
		return bundle.Tree{}, "", fmt.Errorf("cannot ask which data the server has, at %s/sha256: %w", root, err)
	}
	name := strings.TrimSpace(string(answer))
	if !sum.MatchString(name) {
		return bundle.Tree{}, "", fmt.Errorf("cannot use what the server has at %s/sha256: it is not a checksum: check the address", root)
	}
	tree, err := c.named(ctx, root+"/graphqlsha/"+name)
	if errors.Is(err, web.ErrMissing) {
		err = errDropped
	}
	return tree, "sha256:" + name, err
}

// named returns the data at the address of one commit.
func (c Client) named(ctx context.Context, address string) (bundle.Tree, error) {
	known, err := c.schema(ctx, address)
	if err != nil {
		return bundle.Tree{}, err
	}
	var tree bundle.Tree
	for _, r := range roots() {
		var answer map[string][]map[string]any
		if err := c.query(ctx, address, r.field, "{"+r.field+" "+r.selection(known)+"}", &answer); err != nil {
			return bundle.Tree{}, err
		}
		if answer[r.field] == nil {
			return bundle.Tree{}, fmt.Errorf("cannot use the answer for %s: it has no list", r.field)
		}
		for i, found := range answer[r.field] {
			if err := addFile(&tree, r.schema, found); err != nil {
				return bundle.Tree{}, fmt.Errorf("cannot use object %d of %s: %w", i, r.field, err)
			}
		}
	}
	return tree, nil
}

// schema returns the fields that the server has of the types that are asked for.
func (c Client) schema(ctx context.Context, address string) (schema, error) {
	var types map[string]*struct{ Fields []described }
	if err := c.query(ctx, address, "its schema", introspection(), &types); err != nil {
		return nil, err
	}
	known := schema{}
	for i, kind := range kinds() {
		if t := types[fmt.Sprintf("t%d", i)]; t != nil {
			known.add(kind, t.Fields)
		}
	}
	for _, r := range roots() {
		if !known.has("Query", r.field) { // to have no shards would be to delete them
			return nil, fmt.Errorf("cannot use the server: its schema has no %s: check that it is a server of Qontract", r.field)
		}
	}
	return known, nil
}

// query reads the answer of a query. Data beside errors are incomplete, and not used.
func (c Client) query(ctx context.Context, address, what, text string, into any) error {
	request, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		return err
	}
	sent, err := c.Ask(ctx, address, request)
	if err != nil {
		return fmt.Errorf("cannot ask for %s: %w", what, err)
	}
	var answer struct {
		Data   json.RawMessage
		Errors []json.RawMessage
	}
	switch {
	case json.Unmarshal(sent, &answer) != nil:
		return fmt.Errorf("cannot use the answer for %s: it is not the JSON of a GraphQL server: check the address", what)
	case len(answer.Errors) > 0:
		return fmt.Errorf("cannot use the answer for %s: the server reports %d errors: see its log", what, len(answer.Errors))
	case answer.Data == nil, json.Unmarshal(answer.Data, into) != nil:
		return fmt.Errorf("cannot use the answer for %s: its data are of another form: check that it is a server of Qontract", what)
	}
	return nil
}
