package dockerjob

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// fakeContainer is a container of a fakeEngine.
type fakeContainer struct {
	body    map[string]any
	labels  map[string]string
	running bool
	starts  int
	ended   chan struct{}
}

// fakeEngine answers as a Docker engine does, API 1.41, with containers whose processes do nothing.
type fakeEngine struct {
	mutex      sync.Mutex
	images     map[string]bool
	containers map[string]*fakeContainer
	// broken is what each start of a container answers, halfway what each start of the first container does.
	broken, halfway string
	// refused is what each creation of a container answers.
	refused string
	// unreadable is what each container that copies from an image logs before it fails; "" for one that succeeds.
	unreadable string
	pulled     []string
	// made counts the containers of attempts.
	made int
	// copied are the images that were copied from.
	copied []string
}

// newFake returns an engine that has an image, and a client of it.
func newFake(t *testing.T, images ...string) (*fakeEngine, *client.Client) {
	e := &fakeEngine{images: map[string]bool{}, containers: map[string]*fakeContainer{}}
	for _, one := range images {
		e.images[one] = true
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1.41/images/{name...}", e.image)
	mux.HandleFunc("POST /v1.41/images/create", e.pull)
	mux.HandleFunc("GET /v1.41/info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"ServerVersion": "20.10", "KernelVersion": "6.1", "DefaultRuntime": "runc", "SecurityOptions": []string{"name=seccomp,profile=default"},
		})
	})
	mux.HandleFunc("POST /v1.41/containers/create", e.create)
	mux.HandleFunc("GET /v1.41/containers/{name}/json", e.inspect)
	mux.HandleFunc("POST /v1.41/containers/{name}/start", e.start)
	mux.HandleFunc("POST /v1.41/containers/{name}/wait", e.wait)
	mux.HandleFunc("GET /v1.41/containers/{name}/logs", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(e.unreadable + "\r\n")) })
	mux.HandleFunc("POST /v1.41/containers/{name}/kill", e.kill)
	mux.HandleFunc("DELETE /v1.41/containers/{name}", e.remove)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c, err := client.New(client.WithHost("tcp://"+strings.TrimPrefix(s.URL, "http://")), client.WithAPIVersion("1.41"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return e, c
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // of a test
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"message": message})
}

func (e *fakeEngine) image(w http.ResponseWriter, r *http.Request) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	name := strings.TrimSuffix(r.PathValue("name"), "/json")
	if !e.images[name] {
		refuse(w, http.StatusNotFound, "no such image: "+name)
		return
	}
	answer(w, http.StatusOK, map[string]string{"Id": "sha256:0"})
}

func (e *fakeEngine) pull(w http.ResponseWriter, r *http.Request) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	name := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	if r.URL.Query().Get("fromSrc") == "-" {
		name = r.URL.Query().Get("repo")
	}
	e.pulled = append(e.pulled, name)
	if strings.HasPrefix(name, "none.example") {
		refuse(w, http.StatusNotFound, "manifest unknown")
		return
	}
	e.images[name] = true
	answer(w, http.StatusOK, map[string]string{"status": "Downloaded"})
}

func (e *fakeEngine) create(w http.ResponseWriter, r *http.Request) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	name := r.URL.Query().Get("name")
	if e.containers[name] != nil {
		refuse(w, http.StatusConflict, "the name is in use")
		return
	}
	if e.refused != "" && !strings.HasSuffix(name, "-image") {
		refuse(w, http.StatusBadRequest, e.refused)
		return
	}
	c := &fakeContainer{labels: map[string]string{}, ended: make(chan struct{})}
	_ = json.NewDecoder(r.Body).Decode(&c.body)
	labels, _ := c.body["Labels"].(map[string]any)
	for key, value := range labels {
		c.labels[key], _ = value.(string)
	}
	if !strings.HasSuffix(name, "-image") {
		e.made++
	}
	e.containers[name] = c
	answer(w, http.StatusCreated, map[string]string{"Id": name})
}

// of calls a function with a container, or answers that there is none.
func (e *fakeEngine) of(w http.ResponseWriter, r *http.Request, call func(name string, c *fakeContainer)) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	name := r.PathValue("name")
	if c := e.containers[name]; c != nil {
		call(name, c)
		return
	}
	refuse(w, http.StatusNotFound, "no such container: "+name)
}

func (e *fakeEngine) inspect(w http.ResponseWriter, r *http.Request) {
	e.of(w, r, func(name string, c *fakeContainer) {
		answer(w, http.StatusOK, map[string]any{
			"Id": name, "State": map[string]any{"Running": c.running}, "Config": map[string]any{"Labels": c.labels},
		})
	})
}

func (e *fakeEngine) start(w http.ResponseWriter, r *http.Request) {
	e.of(w, r, func(name string, c *fakeContainer) {
		copies := strings.HasSuffix(name, "-image")
		if e.broken != "" && !copies {
			refuse(w, http.StatusInternalServerError, e.broken)
			return
		}
		if e.halfway != "" && !copies && e.made == 1 {
			refuse(w, http.StatusInternalServerError, e.halfway)
			return
		}
		c.running, c.starts = true, c.starts+1
		if copies {
			image, _ := c.body["Image"].(string)
			e.copied = append(e.copied, image)
			c.end()
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func (e *fakeEngine) wait(w http.ResponseWriter, r *http.Request) {
	var ended chan struct{}
	code := 0
	e.of(w, r, func(name string, c *fakeContainer) {
		ended = c.ended
		if e.unreadable != "" && strings.HasSuffix(name, "-image") {
			code = contract.Misused
		}
	})
	if ended == nil {
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-ended:
		_, _ = fmt.Fprintf(w, `{"StatusCode":%d}`, code)
	case <-r.Context().Done():
	}
}

func (e *fakeEngine) kill(w http.ResponseWriter, r *http.Request) {
	e.of(w, r, func(_ string, c *fakeContainer) {
		if !c.running {
			refuse(w, http.StatusConflict, "it is not running")
			return
		}
		c.end()
		w.WriteHeader(http.StatusNoContent)
	})
}

func (e *fakeEngine) remove(w http.ResponseWriter, r *http.Request) {
	e.of(w, r, func(name string, c *fakeContainer) {
		c.end()
		delete(e.containers, name)
		w.WriteHeader(http.StatusNoContent)
	})
}

// end ends the processes.
func (c *fakeContainer) end() {
	if c.running {
		close(c.ended)
	}
	c.running = false
}

// end ends the processes of container2.
func (e *fakeEngine) end() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.containers[container2].end()
}

// starts returns how often container2 was started.
func (e *fakeEngine) starts() int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if c := e.containers[container2]; c != nil {
		return c.starts
	}
	return 0
}
