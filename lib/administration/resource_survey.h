/* Surveys: the same question about each resource. And reports: what the application gets of the
 * servers' answers. */
#pragma once

#include "base/pool.h"
#include "client/inquiry.h"
#include "zklock/administration.h"

/** What the application gets, of one of these kinds, and the memory that it points to. */
typedef struct zkl_report {
    union { /* first, so that the application's pointer is the report's */
        zkl_queue queue;
        zkl_resource_list resources;
        zkl_deadlocks deadlocks;
        zkl_node node;
    };
    zkl_pool pool;
    int status; /* ZKL_OK, or why a part of the report could not be read */
} zkl_report;

/** Fills a report, which is zeroed before. */
typedef int zkl_report_fill(zkl_report *report, zkl_inquiry *inquiry, const void *about);

/** Makes a report of what the servers answer. `about` is for `fill`. Returns the report's status;
 * or why there is no report, and the result is NULL.
 */
int zkl_report_make(zkl_client *client, int64_t timeout_ms, const void *about,
                    zkl_report_fill *fill, void **result);

/** Accepts a resource as zkl_lock_open does, or a stripe of a name: "<name>/stripe-0003".
 *  Everything else is ZKL_INVALID_ARGUMENT. */
int zkl_check_resource_or_stripe(const char *resource);

/** One question about each resource directly under the lock root, and about each of their
 *  stripes. */
typedef struct zkl_survey {
    zkl_question *questions; /* in the order of the names, stripes right behind their resource */
    size_t count;
    size_t root_length;
} zkl_survey;

/** Lists the resources to find their stripes, and asks. Returns what zkl_inquiry_try returns, or
 *  why the lock root cannot be listed. Refused questions keep their own status
 *  (zkl_questions_status). */
int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind);
/** Asks the questions of an earlier survey again. */
int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier);

/** Returns the name of the resource at this place; that of a stripe is "<resource>/stripe-0003". */
const char *zkl_survey_name(const zkl_survey *survey, size_t place);
