/*
 * Stands between a client and the servers, and cuts the connection at a chosen
 * request: before it reaches the server, while it is under way, or after the
 * server has carried it out but before its reply reaches the client.
 *
 * A proxy serves one client: one connection at a time. What a client sends of
 * its own accord (pings, authentication, the watches that it arms again after a
 * reconnect) passes, and is not counted.
 */
#pragma once

#include <stdbool.h>
#include <zookeeper/zookeeper.h>

enum proxy_fault {
    PROXY_REQUEST_LOST,   /* not applied; all earlier requests have been answered */
    PROXY_REPLY_LOST,     /* applied and answered; only the client does not hear of it */
    PROXY_LOST_UNDER_WAY, /* sent to the server, and cut at once: nobody knows */
    PROXY_LOST_WHEN_TOLD  /* sent to the server, no reply passes, cut at proxy_cut_now */
};

/** What the client has sent behind that request is lost as well. */
struct proxy_cut {
    enum proxy_fault fault;
    int request; /* counts from 1: since the plan was made, or since the connection */
};

#define PROXY_CUTS_MAX 2

struct proxy_plan {
    struct proxy_cut cuts[PROXY_CUTS_MAX]; /* in turn, each on a connection of its own */
    int count;
    bool then_stay_away; /* after the last cut no connection is served until proxy_admit */
};

struct proxy;

/** Leads each connection to this server; 0: each to the next one. */
struct proxy *proxy_start(int server);
/** The same at this address; port 0: any. */
struct proxy *proxy_start_at(int server, const char *address, int port);
/** Its client's connection ends, and nobody listens there any more. */
void proxy_stop(struct proxy *proxy);
/** The host list for its client. Valid until proxy_stop. */
const char *proxy_hosts(const struct proxy *proxy);

/** There must be no plan under way. */
void proxy_set_plan(struct proxy *proxy, const struct proxy_plan *plan);
/** Connections are served, whatever the plan says. */
void proxy_admit(struct proxy *proxy);
/** Cuts the connection of PROXY_LOST_WHEN_TOLD, now or when its request has come. */
void proxy_cut_now(struct proxy *proxy);
/** Since the plan was set; the client may notice from now on. */
int proxy_cuts_made(struct proxy *proxy);
/** No more cuts, and connections are served. Returns at how many requests a
 *  cut was made, or is just being made. */
int proxy_end_plan(struct proxy *proxy);

/** Its client's session, as the servers last confirmed it: with it, and the
 *  password that zklock tells nobody, another may act in its name. */
clientid_t proxy_session(struct proxy *proxy);

/** Is told of each node that the client asks to watch, in the proxy's thread:
 *  the request reaches the server when it has returned. NULL: nobody is told. */
typedef void proxy_watch_hook(void *arg, const char *node);
void proxy_before_watch(struct proxy *proxy, proxy_watch_hook *hook, void *arg);

/** The watches that the client sets again on its next connection do not reach the server: the proxy
 *  turns them away (THROTTLEDOP), as a busy server may. */
void proxy_turn_watches_away(struct proxy *proxy);
/** Whether it has. */
bool proxy_has_turned_watches_away(struct proxy *proxy);

/** How many requests have come since the plan was set, or since the connection. */
int proxy_requests(struct proxy *proxy);
