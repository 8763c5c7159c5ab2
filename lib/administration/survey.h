/* One question about each resource directly under the lock root, and about each of their stripes.
 */
#ifndef ZKLOCK_ADMINISTRATION_SURVEY_H
#define ZKLOCK_ADMINISTRATION_SURVEY_H

#include "client/inquiry.h"

typedef struct zkl_survey {
    zkl_question *questions; /* in the order of the names; stripes right behind their resource */
    size_t count;
    size_t root_length;
} zkl_survey;

/** A resource as for zkl_lock_open, or a stripe of a name: "<name>/stripe-0003". Else
 *  ZKL_INVALID_ARGUMENT. */
int zkl_check_resource_or_stripe(const char *resource);

/** Lists the resources to find their stripes, and asks. What zkl_inquiry_ask returns, or why the
 *  lock root cannot be read. */
int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind);
/** Asks the same again. */
int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier);

/** The resource's name; that of a stripe is "<resource>/stripe-0003". */
const char *zkl_survey_name(const zkl_survey *survey, size_t place);
bool zkl_survey_is_stripe(const zkl_survey *survey, size_t place);

#endif
