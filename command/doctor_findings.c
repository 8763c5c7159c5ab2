#include "doctor_findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "json_text.h"
#include "printable.h"

enum { FINDING_SIZE = 1024 };

void doctor_find(doctor *self, level how, const char *what, const char *format, ...) {
    static const char *const names[] = { "ok", "not tested", "warning", "bad" };
    char text[FINDING_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    self->bad += how == LEVEL_BAD ? 1 : 0;
    if (!self->json) {
        printf("%-10s  %s: %s\n", names[how], printable(what), printable(text));
        return;
    }
    json_t *one = json_object();
    json_object_set_new(one, "level", json_string(names[how]));
    json_object_set_new(one, "about", json_of_text(what));
    json_object_set_new(one, "text", json_of_text(text));
    json_array_append_new(self->findings, one);
}
