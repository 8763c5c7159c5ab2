#include "settings.h"

#include <ctype.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64, NUMBER_SIZE = 24 };

typedef struct description {
    const char *name;
    const char *initial;
    long low, high; /* both 0: a text */
    size_t place;
} description;

static const description descriptions[] = {
#define SETTING_DESCRIPTION(name, initial, low, high)                                              \
    { #name, initial, low, high, offsetof(settings, name) },
    SETTING_LIST(SETTING_DESCRIPTION)
#undef SETTING_DESCRIPTION
};

enum { COUNT = sizeof(descriptions) / sizeof(descriptions[0]) };

static const char **place_of(settings *self, const description *one) {
    return (const char **)((char *)self + one->place);
}

/* Returns the value in the file, a number as text. NULL: there is none. */
static const char *value_in(const json_t *file, const description *one) {
    static char numbers[COUNT][NUMBER_SIZE];
    const json_t *value = json_object_get(file, one->name);
    if (!json_is_integer(value)) {
        return json_string_value(value);
    }
    char *text = numbers[one - descriptions];
    (void)snprintf(text, NUMBER_SIZE, "%lld", (long long)json_integer_value(value));
    return text;
}

static const char *settings_value_of(const description *one, const json_t *file) {
    char variable[NAME_SIZE];
    (void)snprintf(variable, sizeof(variable), "INVENTORY_%s", one->name);
    for (char *letter = variable; *letter != '\0'; letter++) {
        *letter = (char)toupper((unsigned char)*letter);
    }
    const char *value = getenv(variable);
    value = value != NULL && value[0] != '\0' ? value : value_in(file, one);
    return value != NULL ? value : one->initial;
}

static bool is_right(const description *one, const char *value) {
    char *end = NULL;
    bool is_text = one->low == 0 && one->high == 0;
    long number = is_text ? 0 : strtol(value, &end, 10);
    if (is_text ? value[0] != '\0'
                : end != value && *end == '\0' && number >= one->low && number <= one->high) {
        return true;
    }
    if (is_text) {
        (void)fprintf(stderr, "inventory: setting %s: must not be empty\n", one->name);
    } else {
        (void)fprintf(stderr, "inventory: setting %s '%s': must be a number from %ld to %ld\n",
                      one->name, value, one->low, one->high);
    }
    return false;
}

static bool is_known(const char *name) {
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(descriptions[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Reads a file of settings, which must exist, and have no unknown names. */
static bool read_file(const char *path, json_t **file) {
    json_error_t error;
    *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*file == NULL || !json_is_object(*file)) {
        (void)fprintf(stderr, "inventory: %s: line %d: %s\n", path, *file == NULL ? error.line : 1,
                      *file == NULL ? error.text : "must be a JSON object");
        return false;
    }
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(*file, name, value) {
        if (!is_known(name) || !(json_is_string(value) || json_is_integer(value))) {
            (void)fprintf(stderr, "inventory: %s: '%s': %s\n", path, name,
                          is_known(name) ? "must be a text or a whole number" : "is no setting");
            return false;
        }
    }
    return true;
}

/* Reads all settings. The JSON object of the file is kept, as it has the texts. */
bool settings_read(settings *self, const char *path) {
    static json_t *file;
    path = path != NULL ? path : getenv("INVENTORY_CONFIG");
    if (path != NULL && path[0] != '\0' && !read_file(path, &file)) {
        return false;
    }
    for (size_t i = 0; i < COUNT; i++) {
        const char *value = settings_value_of(&descriptions[i], file);
        if (!is_right(&descriptions[i], value)) {
            return false;
        }
        *place_of(self, &descriptions[i]) = value;
    }
    return true;
}

int32_t settings_number(const char *value) {
    return (int32_t)strtol(value, NULL, 10);
}
