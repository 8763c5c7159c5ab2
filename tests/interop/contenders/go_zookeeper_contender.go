// A contender of go-zookeeper's Lock: the lines of protocol.md. Its kinds:
//
//	lock    used as its documentation says
//	twice   an acquire is one of each of two locks of this session, which must not both be granted
//
// Lock() has no timeout, and nothing ends it. So an acquire is given up by closing the connection,
// which is all that an application can do; another one is opened then. The library tells neither the
// path of its node nor whether it still holds.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

const (
	patience     = 60 * time.Second
	ledgerDigits = 20
)

type contender struct {
	hosts     []string
	path      string
	timeout   time.Duration
	twice     bool
	guard     sync.Mutex // of what follows
	conn      *zk.Conn
	lock      *zk.Lock
	cancelled chan struct{}
}

var writing sync.Mutex

func answer(line string) {
	writing.Lock()
	defer writing.Unlock()
	fmt.Fprintln(os.Stdout, line)
}

func (c *contender) connect() error {
	conn, events, err := zk.Connect(c.hosts, c.timeout)
	if err != nil {
		return err
	}
	deadline := time.After(patience)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				go drain(events)
				c.guard.Lock()
				defer c.guard.Unlock()
				c.conn = conn
				c.lock = c.newLock()
				return nil
			}
		case <-deadline:
			return fmt.Errorf("not connected")
		}
	}
}

// drain goes on reading the events of the connection: nobody else wants them.
func drain(events <-chan zk.Event) {
	for range events {
	}
}

func (c *contender) giveUp() error {
	c.conn.Close()
	return c.connect()
}

// acquire is what the library has, beside a timer and a cancel.
func (c *contender) acquire(lock *zk.Lock, wait time.Duration) string {
	c.guard.Lock()
	cancelled := make(chan struct{})
	c.cancelled = cancelled
	c.guard.Unlock()
	outcome := make(chan error, 1)
	go func() { outcome <- lock.Lock() }()
	var timer <-chan time.Time
	if wait >= 0 {
		timer = time.After(wait)
	}
	status := "timeout"
	select {
	case err := <-outcome:
		if err != nil {
			return "failed " + err.Error()
		}
		return "ok"
	case <-cancelled:
		status = "cancelled"
	case <-timer:
	}
	if err := c.giveUp(); err != nil {
		return "failed " + err.Error()
	}
	return status
}

func (c *contender) cancel() {
	c.guard.Lock()
	defer c.guard.Unlock()
	if c.cancelled != nil {
		close(c.cancelled)
		c.cancelled = nil
	}
}

func readLedger(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	number, err := strconv.Atoi(string(text))
	if err != nil {
		log.Fatal(err)
	}
	return number
}

// useLedger counts one up. Returns 1 if somebody else did meanwhile.
func useLedger(path string) int {
	if path == "-" {
		return 0
	}
	before := readLedger(path)
	time.Sleep(time.Millisecond)
	overlap := 0
	if readLedger(path) != before {
		overlap = 1
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(file, "%0*d", ledgerDigits, before+1)
		file.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
	return overlap
}

func (c *contender) count(times int, ledger string) string {
	overlaps := 0
	for done := 0; done < times; done++ {
		if status := c.acquire(c.lock, patience); status != "ok" {
			return status
		}
		overlaps += useLedger(ledger)
		if err := c.lock.Unlock(); err != nil {
			return fmt.Sprintf("failed %v", err)
		}
	}
	return fmt.Sprintf("ok %d %d", times, overlaps)
}

func (c *contender) release() string {
	if err := c.lock.Unlock(); err != nil {
		return "failed " + err.Error()
	}
	return "ok"
}

func (c *contender) newLock() *zk.Lock {
	return zk.NewLock(c.conn, c.path, zk.WorldACL(zk.PermAll))
}

func (c *contender) answerAcquire(wait time.Duration) string {
	status := c.acquire(c.lock, wait)
	if c.twice && status == "ok" {
		status = c.acquire(c.newLock(), wait)
	}
	if status == "ok" {
		status += " -"
	}
	return status
}

func (c *contender) perform(words []string) string {
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "acquire":
		return c.answerAcquire(time.Duration(number) * time.Millisecond)
	case "release":
		return c.release()
	default:
		return c.count(number, words[2])
	}
}

func (c *contender) work(tasks <-chan []string) {
	for words := range tasks {
		answer(words[0] + " " + c.perform(words))
	}
}

func (c *contender) obey(words []string, tasks chan<- []string) {
	switch words[0] {
	case "acquire", "release", "count":
		tasks <- words
	case "cancel":
		c.cancel()
		answer("cancel ok")
	default:
		answer(words[0] + " unsupported")
	}
}

// HOSTS PATH SESSION_TIMEOUT_MS KIND IDENTIFIER
func main() {
	timeoutMs, _ := strconv.Atoi(os.Args[3])
	c := &contender{
		hosts:   strings.Split(os.Args[1], ","),
		path:    os.Args[2],
		timeout: time.Duration(timeoutMs) * time.Millisecond,
		twice:   os.Args[4] == "twice",
	}
	if err := c.connect(); err != nil {
		answer("start failed " + err.Error())
		os.Exit(1)
	}
	answer(fmt.Sprintf("start ok %d %d", c.conn.SessionID(), timeoutMs))
	tasks := make(chan []string, 1)
	go c.work(tasks)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		c.obey(strings.Fields(lines.Text()), tasks)
	}
	c.conn.Close()
}
