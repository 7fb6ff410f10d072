// The official Go driver against the server: what its users do, unchanged. Usage: driver PORT
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/notifications"
)

var ctx = context.Background()
var url = "bolt://127.0.0.1:" + os.Args[1]
var auth = neo4j.BasicAuth("neo4j", "secret", "")

const endless = "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j)"

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func same(what string, got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Sprintf("%s: got %v, wanted %v", what, got, wanted))
	}
}

func ask(driver neo4j.DriverWithContext, text string, params map[string]any) *neo4j.EagerResult {
	return must(neo4j.ExecuteQuery(ctx, driver, text, params, neo4j.EagerResultTransformer))
}

func connect(driver neo4j.DriverWithContext) {
	info := must(driver.GetServerInfo(ctx))
	same("major version", info.ProtocolVersion().Major, 5)
	for _, scheme := range []string{"bolt", "neo4j"} {
		other := must(neo4j.NewDriverWithContext(strings.Replace(url, "bolt", scheme, 1), auth))
		check(other.VerifyConnectivity(ctx))
		same("one", ask(other, "RETURN 1 AS x", nil).Records[0].Values[0], int64(1))
		check(other.Close(ctx))
	}
}

func values(driver neo4j.DriverWithContext) {
	berlin := must(time.LoadLocation("Europe/Berlin"))
	sent := map[string]any{
		"null":     nil,
		"bool":     true,
		"ints":     []any{int64(0), int64(-1), int64(128), int64(-1 << 63), int64(1<<63 - 1)},
		"float":    1.5,
		"text":     "grüße \U0001f600 " + strings.Repeat("x", 70_000),
		"bytes":    []byte{0, 255},
		"map":      map[string]any{"a": []any{int64(1), map[string]any{"b": []any{}}}},
		"date":     neo4j.DateOf(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)),
		"time":     neo4j.OffsetTimeOf(time.Date(0, 1, 1, 1, 2, 3, 4, time.FixedZone("Offset", 3600))),
		"local":    neo4j.LocalDateTimeOf(time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)),
		"duration": neo4j.DurationOf(14, 3, 5, 7),
		"point":    neo4j.Point2D{X: 1, Y: 2, SpatialRefId: 7203},
		"globe":    neo4j.Point3D{X: 1, Y: 2, Z: 3, SpatialRefId: 4979},
	}
	instants := map[string]time.Time{
		"instant": time.Date(2026, 11, 20, 12, 30, 15, 500, time.FixedZone("Offset", 7200)),
		"zoned":   time.Date(2026, 7, 20, 12, 30, 15, 500, berlin),
	}
	for name, instant := range instants {
		sent[name] = instant
	}
	got := ask(driver, "RETURN $sent AS got", map[string]any{"sent": sent}).Records[0].Values[0].(map[string]any)
	for name, value := range sent {
		if instant, ok := instants[name]; ok {
			same(name, got[name].(time.Time).Equal(instant), true)
		} else if text, ok := value.(fmt.Stringer); ok {
			same(name, got[name].(fmt.Stringer).String(), text.String())
		} else {
			same(name, got[name], value)
		}
	}
	result := ask(driver, "CREATE p = (a:Person {name: 'Ada'})-[r:KNOWS {since: 1833}]->(:Person) RETURN a, r, p", nil)
	a, r, p := result.Records[0].Values[0].(neo4j.Node), result.Records[0].Values[1].(neo4j.Relationship), result.Records[0].Values[2].(neo4j.Path)
	same("labels", a.Labels, []string{"Person"})
	same("start", r.StartElementId, a.ElementId)
	same("path", len(p.Relationships), 1)
	same("created", result.Summary.Counters().NodesCreated(), 2)
}

func managed(driver neo4j.DriverWithContext) {
	ask(driver, "CREATE (:GoCounter {n: 0})", nil)
	increment := func(tx neo4j.ManagedTransaction) (any, error) {
		result, err := tx.Run(ctx, "MATCH (c:GoCounter) RETURN c.n AS n", nil)
		if err != nil {
			return nil, err
		}
		record, err := result.Single(ctx)
		if err != nil {
			return nil, err
		}
		_, err = tx.Run(ctx, "MATCH (c:GoCounter) SET c.n = $n", map[string]any{"n": record.Values[0].(int64) + 1})
		return nil, err
	}
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			session := driver.NewSession(ctx, neo4j.SessionConfig{})
			defer session.Close(ctx)
			for range 10 {
				must(session.ExecuteWrite(ctx, increment))
			}
		}()
	}
	group.Wait()
	same("counted", ask(driver, "MATCH (c:GoCounter) RETURN c.n", nil).Records[0].Values[0], int64(40))
	session := driver.NewSession(ctx, neo4j.SessionConfig{})
	defer session.Close(ctx)
	tx := must(session.BeginTransaction(ctx))
	must(tx.Run(ctx, "CREATE (:GoGone)", nil))
	check(tx.Rollback(ctx))
	same("rolled back", ask(driver, "MATCH (g:GoGone) RETURN count(*)", nil).Records[0].Values[0], int64(0))
}

func streaming(driver neo4j.DriverWithContext) {
	session := driver.NewSession(ctx, neo4j.SessionConfig{})
	defer session.Close(ctx)
	text := "UNWIND range(1, 1000) AS i UNWIND range(1, 1000) AS j RETURN i * 1000 + j AS n, 'text' AS t, 0.5 AS f"
	result := must(session.Run(ctx, text, nil))
	rows, sum := 0, int64(0)
	for result.Next(ctx) {
		rows++
		sum += result.Record().Values[0].(int64)
	}
	check(result.Err())
	same("rows", rows, 1_000_000)
	same("sum", sum, int64(1000*1000*500500+1000*500500))
}

func cancel(driver neo4j.DriverWithContext) {
	session := driver.NewSession(ctx, neo4j.SessionConfig{})
	result, err := session.Run(ctx, endless, nil, neo4j.WithTxTimeout(200*time.Millisecond))
	if err == nil {
		_, err = result.Consume(ctx)
	}
	same("timed out", strings.Contains(fmt.Sprint(err), "TransactionTimedOut"), true)
	check(session.Close(ctx))
	// A context that ends takes its query along.
	short, done := context.WithTimeout(ctx, 200*time.Millisecond)
	defer done()
	began := time.Now()
	_, err = neo4j.ExecuteQuery(short, driver, endless, nil, neo4j.EagerResultTransformer)
	same("cancelled", err != nil && time.Since(began) < 5*time.Second, true)
	for range 100 {
		if !strings.Contains(fmt.Sprint(ask(driver, "SHOW QUERIES", nil).Records), "1000000") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	panic("the query of a context that ended went on")
}

func failures(driver neo4j.DriverWithContext) {
	fails := func(text, code, status string) {
		_, err := neo4j.ExecuteQuery(ctx, driver, text, nil, neo4j.EagerResultTransformer)
		var failure *neo4j.Neo4jError
		same(text, errors.As(err, &failure), true)
		same(text, failure.Code, code)
		same(text, failure.GqlStatus, status)
	}
	fails("MATCH (n) RETRUN n", "Neo.ClientError.Statement.SyntaxError", "42001")
	fails("RETURN $missing", "Neo.ClientError.Statement.ParameterMissing", "42N51")
	same("usable after failures", ask(driver, "RETURN 1", nil).Records[0].Values[0], int64(1))
	session := driver.NewSession(ctx, neo4j.SessionConfig{AccessMode: neo4j.AccessModeRead})
	defer session.Close(ctx)
	_, err := session.Run(ctx, "CREATE (:Z)", nil)
	same("a reading session", strings.Contains(fmt.Sprint(err), "Neo.ClientError.Statement.AccessMode"), true)
}

func bookmarks(driver neo4j.DriverWithContext) {
	first := driver.NewSession(ctx, neo4j.SessionConfig{})
	must(must(first.Run(ctx, "CREATE (:GoMarked)", nil)).Consume(ctx))
	marks := first.LastBookmarks()
	same("bookmarks", len(marks), 1)
	check(first.Close(ctx))
	second := driver.NewSession(ctx, neo4j.SessionConfig{Bookmarks: marks})
	defer second.Close(ctx)
	result := must(second.Run(ctx, "MATCH (m:GoMarked) RETURN count(*)", nil))
	same("marked", must(result.Single(ctx)).Values[0], int64(1))
}

func notices(driver neo4j.DriverWithContext) {
	seen := ask(driver, "MATCH (n:GoUnknown) RETURN n", nil).Summary.Notifications()
	same("notifications", len(seen), 1)
	same("code", seen[0].Code(), "Neo.ClientNotification.Statement.UnknownLabelWarning")
	same("category", seen[0].Category(), neo4j.Unrecognized)
	quiet := must(neo4j.NewDriverWithContext(url, auth, func(config *neo4j.Config) {
		config.NotificationsMinSeverity = notifications.DisabledLevel
	}))
	defer quiet.Close(ctx)
	same("none wanted", len(ask(quiet, "MATCH (n:GoUnknown) RETURN n", nil).Summary.Notifications()), 0)
}

func main() {
	driver := must(neo4j.NewDriverWithContext(url, auth))
	defer driver.Close(ctx)
	for _, part := range []struct {
		name string
		run  func(neo4j.DriverWithContext)
	}{
		{"connect", connect}, {"values", values}, {"managed", managed}, {"streaming", streaming}, {"cancel", cancel},
		{"errors", failures}, {"bookmarks", bookmarks}, {"notifications", notices},
	} {
		began := time.Now()
		part.run(driver)
		fmt.Printf("%s: ok, %.2f s\n", part.name, time.Since(began).Seconds())
	}
}
