/*
 * A way for messages that keeps their order and takes its time: a connection in
 * one direction, the link between two servers, a queue of work. It can be held,
 * as by a network that is cut: nothing is lost then, and nothing arrives.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "testing/world.h"

/** Embed it as the first member. */
typedef struct zkl_message {
    struct zkl_message *next;
    int64_t at_us;
} zkl_message;

typedef struct zkl_channel {
    zkl_world_event event;
    zkl_message *first, *last;
    bool held;
    void (*deliver)(void *arg, zkl_message *message);
    void *arg;
} zkl_channel;

/** `deliver` owns what it is given, and may end the channel. `process`: whom it happens to; NULL:
 *  nobody who could be stopped. */
void zkl_channel_begin(zkl_channel *channel, void (*deliver)(void *arg, zkl_message *message),
                       void *arg, zkl_process *process);

/** Delivers it after that delay, but never before one that was sent earlier. */
void zkl_channel_send(zkl_channel *channel, zkl_message *message, int64_t delay_us);

void zkl_channel_hold(zkl_channel *channel);
void zkl_channel_release(zkl_channel *channel);

/** Whether something has arrived that its receiver has not looked at, as it was stopped. */
bool zkl_channel_is_due(const zkl_channel *channel);

size_t zkl_channel_count(const zkl_channel *channel);

/** Takes all messages but the first `keep` out, and gives them as a list. */
zkl_message *zkl_channel_take(zkl_channel *channel, size_t keep);
