#include "testing/channel.h"

static void schedule_first(zkl_channel *channel) {
    if (channel->first != NULL && !channel->held) {
        zkl_world_schedule(&channel->event, channel->first->at_us);
    }
}

static void run(void *arg) {
    zkl_channel *channel = arg;
    zkl_message *message = channel->first;
    channel->first = message->next;
    message->next = NULL;
    schedule_first(channel);
    channel->deliver(channel->arg, message); /* may have ended the channel */
}

void zkl_channel_begin(zkl_channel *channel, void (*deliver)(void *arg, zkl_message *message),
                       void *arg, zkl_process *process) {
    *channel = (zkl_channel){ .deliver = deliver, .arg = arg };
    channel->event.run = run;
    channel->event.arg = channel;
    channel->event.process = process;
}

void zkl_channel_send(zkl_channel *channel, zkl_message *message, int64_t delay_us) {
    message->at_us = zkl_world_now_us() + delay_us; /* if the one before has arrived by then */
    message->next = NULL;
    if (channel->first != NULL) {
        channel->last->next = message;
        channel->last = message;
        return;
    }
    channel->first = message;
    channel->last = message;
    schedule_first(channel);
}

void zkl_channel_hold(zkl_channel *channel) {
    channel->held = true;
    zkl_world_unschedule(&channel->event);
}

void zkl_channel_release(zkl_channel *channel) {
    if (channel->held) {
        channel->held = false;
        schedule_first(channel);
    }
}

bool zkl_channel_is_due(const zkl_channel *channel) {
    return channel->first != NULL && !channel->held && channel->first->at_us <= zkl_world_now_us();
}

size_t zkl_channel_count(const zkl_channel *channel) {
    size_t count = 0;
    for (const zkl_message *message = channel->first; message != NULL; message = message->next) {
        count++;
    }
    return count;
}

zkl_message *zkl_channel_take(zkl_channel *channel, size_t keep) {
    zkl_message **rest = &channel->first;
    channel->last = NULL;
    for (size_t i = 0; i < keep && *rest != NULL; i++) {
        channel->last = *rest;
        rest = &(*rest)->next;
    }
    zkl_message *taken = *rest;
    *rest = NULL;
    if (channel->first == NULL) {
        zkl_world_unschedule(&channel->event);
    }
    return taken;
}
