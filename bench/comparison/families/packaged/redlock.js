/*
 * npm's redlock 4.2 with ioredis 5, as its README uses it ("Usage (promise style)"): all servers
 * are asked at once, a majority grants.
 *
 * Nothing renews the lock unless the program calls extend() itself. The holder looks at the lock's
 * `expiration` before it writes, as extend() itself does.
 */
'use strict';

const readline = require('readline');
const Redis = require('ioredis');
const Redlock = require('redlock');

const RETRY_DELAY_MS = 200; // the README's, as are the drift and the jitter

function connect(address) {
    const [host, port] = address.split(':');
    const client = new Redis({ host, port: Number(port) });
    client.on('error', () => {}); // a server that is down: the others count
    return client;
}

const [servers, , timeoutMs] = process.argv.slice(2);
const redlock = new Redlock(servers.split(',').map(connect), {
    driftFactor: 0.01,
    retryDelay: RETRY_DELAY_MS,
    retryJitter: 200,
});
let held = null;

/* The end of the wait is a number of tries here. */
async function acquire(product, waitMs) {
    const retryCount = Math.max(1, Math.ceil(waitMs / RETRY_DELAY_MS));
    try {
        held = await redlock.lockWithOptions(`lock:${product}`, Number(timeoutMs), { retryCount });
        return 'granted -1';
    } catch (error) {
        return error instanceof Redlock.LockError ? 'busy' : 'unknown';
    }
}

async function release() {
    await held.unlock().catch(() => {}); // it will expire
    return 'released';
}

async function answer(line) {
    const [word, product, waitMs] = line.split(' ');
    if (word === 'acquire') {
        return acquire(product, Number(waitMs));
    }
    if (word === 'held') {
        return Date.now() < held.expiration ? 'yes' : 'no';
    }
    return release();
}

async function main() {
    console.log('ready looks');
    for await (const line of readline.createInterface({ input: process.stdin })) {
        console.log(await answer(line));
    }
    process.exit(0);
}

main();
