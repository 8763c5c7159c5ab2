/* Judges servers by what they say to four-letter words. */
#pragma once

#include "doctor_findings.h"

/** Judges each server of the host list, and whether they are a quorum. */
void doctor_judge_servers(doctor *self);
