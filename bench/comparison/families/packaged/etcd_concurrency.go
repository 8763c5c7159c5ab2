// etcd's own Go package: concurrency.Session and concurrency.Mutex, as its documentation's example
// uses them (clientv3/concurrency of etcd 3.4). The session renews its lease every third of it.
//
// The holder of a lock is told by Session.Done, and looks at it before it writes. In 3.4 a waiter
// whose own lease has ended is granted the lock all the same (etcd issue 9921). The number for a
// fence is the revision at which the lock's own key was made, which a dead waiter has no more.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"go.uber.org/zap"
)

const patience = 2 * time.Second
const noToken = -1

type lock struct {
	client  *clientv3.Client
	ttl     int
	fenced  bool
	session *concurrency.Session
	held    *concurrency.Mutex
}

// isOver says whether the session has ended: the next lock needs another.
func isOver(session *concurrency.Session) bool {
	select {
	case <-session.Done():
		return true
	default:
		return false
	}
}

// openSession does not wait for ever for a server: the lease is asked for with a deadline.
func (l *lock) openSession() error {
	if l.session != nil && !isOver(l.session) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lease, err := l.client.Grant(ctx, int64(l.ttl))
	if err != nil {
		return err
	}
	l.session, err = concurrency.NewSession(l.client, concurrency.WithLease(lease.ID))
	return err
}

// token of who has no key is none: it is not granted.
func (l *lock) token(ctx context.Context) (int64, error) {
	reply, err := l.client.Get(ctx, l.held.Key())
	if err != nil {
		return noToken, err
	}
	if len(reply.Kvs) == 0 {
		return noToken, errors.New("the key is gone")
	}
	return reply.Kvs[0].CreateRevision, nil
}

func (l *lock) acquire(product string, wait time.Duration) string {
	if l.openSession() != nil {
		return "unknown"
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	mutex := concurrency.NewMutex(l.session, "lock/"+product)
	if mutex.Lock(ctx) != nil {
		if ctx.Err() != nil {
			return "busy"
		}
		return "unknown"
	}
	l.held = mutex
	if !l.fenced {
		return fmt.Sprintf("granted %d", noToken)
	}
	token, err := l.token(ctx)
	if err != nil {
		l.release()
		return "unknown"
	}
	return fmt.Sprintf("granted %d", token)
}

func (l *lock) release() string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = l.held.Unlock(ctx) // the session will end
	return "released"
}

func (l *lock) answer(words []string) string {
	switch words[0] {
	case "acquire":
		waitMs, _ := strconv.Atoi(words[2])
		return l.acquire(words[1], time.Duration(waitMs)*time.Millisecond)
	case "held":
		if isOver(l.session) {
			return "no"
		}
		return "yes"
	default:
		return l.release()
	}
}

func main() {
	quiet := zap.NewProductionConfig()
	quiet.Level = zap.NewAtomicLevelAt(zap.FatalLevel)
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Args[1], ","), LogConfig: &quiet})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	timeoutMs, _ := strconv.Atoi(os.Args[3])
	l := &lock{client: client, ttl: (timeoutMs + 999) / 1000, fenced: os.Args[4] == "1"}
	fmt.Println("ready looks")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(l.answer(strings.Fields(lines.Text())))
	}
}
