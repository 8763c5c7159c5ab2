/* What administration makes of the servers' answers: reports, and surveys of all resources. */
#pragma once

#include "base/pool.h"
#include "client/inquiry.h"
#include "zklock/administration.h"

/** What the application gets, of one kind, and the memory that it points to. */
typedef struct zkl_report {
    union { /* first: the application's pointer is the report's */
        zkl_queue queue;
        zkl_resource_list resources;
        zkl_deadlocks deadlocks;
        zkl_node node;
    };
    zkl_pool pool;
    int status; /* ZKL_OK, or why a part of it could not be read */
} zkl_report;

/** Fills a report, which begins as zeros. */
typedef int zkl_report_fill(zkl_report *report, zkl_inquiry *inquiry, const char *resource);

/** A report, made of what the servers answer. `resource`: what it is about, a name as below, or
 *  NULL. Returns the report's status; or another one, and NULL as the result. */
int zkl_report_make(zkl_client *client, int64_t timeout_ms, const char *resource,
                    zkl_report_fill *fill, void **result);

/** A resource as for zkl_lock_open, or a stripe of a name: "<name>/stripe-0003". Else
 *  ZKL_INVALID_ARGUMENT. */
int zkl_check_resource_or_stripe(const char *resource);

/** One question about each resource directly under the lock root, and about each of their
 *  stripes. */
typedef struct zkl_survey {
    zkl_question *questions; /* in the order of the names; stripes right behind their resource */
    size_t count;
    size_t root_length;
} zkl_survey;

/** Lists the resources to find their stripes, and asks. Returns what zkl_inquiry_try returns, or
 * why the lock root cannot be listed. What is refused of the others is theirs
 * (zkl_questions_status). */
int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind);
/** Asks the same again. */
int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier);

/** The resource's name; that of a stripe is "<resource>/stripe-0003". */
const char *zkl_survey_name(const zkl_survey *survey, size_t place);
