/* Growing buffers, and the little of JSON that requests need. */
#ifndef TEXT_H
#define TEXT_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (!memory) abort();
    return memory;
}

struct buffer {
    char *bytes;
    size_t length, room;
};

static char *reserve(struct buffer *b, size_t more)
{
    if (b->length + more + 1 > b->room) b->bytes = grown(b->bytes, b->room = 2 * (b->length + more) + 4096);
    return b->bytes + b->length;
}

static void append(struct buffer *b, const char *bytes, size_t length)
{
    memcpy(reserve(b, length), bytes, length);
    b->bytes[b->length += length] = 0;
}

__attribute__((format(printf, 2, 3))) static void appendf(struct buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *at = reserve(b, 1024); /* no piece that is written through here is longer */
    b->length += (size_t)vsnprintf(at, 1024, format, arguments);
    va_end(arguments);
}

/* ---- the little of JSON that requests need ------------------------------------------------------------------------ */

static const char *string_end(const char *quote)
{
    for (quote++; *quote && *quote != '"'; quote++)
        if (*quote == '\\' && quote[1]) quote++;
    return quote;
}

/* The value of the next key of that name, at any depth; a string's content is never taken for a key. */
static const char *value_of(const char *json, const char *key)
{
    size_t length = strlen(key);
    for (; *json; json++) {
        if (*json != '"') continue;
        const char *end = string_end(json), *after = end + (*end != 0);
        int same = (size_t)(end - json - 1) == length && !memcmp(json + 1, key, length);
        after += strspn(after, " \t\r\n");
        if (same && *after == ':') return after + 1 + strspn(after + 1, " \t\r\n");
        json = end;
        if (!*json) break;
    }
    return NULL;
}

static int number_of(const char *json, const char *key, int otherwise)
{
    const char *value = value_of(json, key);
    return value && *value >= '0' && *value <= '9' ? atoi(value) : otherwise;
}

static int is_true(const char *json, const char *key)
{
    const char *value = value_of(json, key);
    return value && !strncmp(value, "true", 4);
}

/* Tokens of a value: words of a string, members of an array of ids. Ids of words go to `ids` where that is wanted. */
static int tokens_in(const char *value, struct buffer *ids)
{
    const char *end = *value == '"' ? string_end(value) : value + strcspn(value, "]");
    const char *between = *value == '"' ? " " : ",";
    int count = 0;
    for (const char *at = value + 1; at < end;) {
        at += strspn(at, between);
        size_t length = strcspn(at, between);
        if (at >= end) break;
        if (at + length > end) length = (size_t)(end - at);
        uint32_t hash = 2166136261u;
        for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)at[i]) * 16777619u;
        if (ids) appendf(ids, "%s%u", count ? "," : "", 10 + hash % 1000000);
        count++;
        at += length;
    }
    return count;
}

static int prompt_tokens_of(const char *body)
{
    const char *value = value_of(body, "prompt");
    if (value) return tokens_in(value, NULL);
    int count = 0;
    for (value = body; (value = value_of(value, "content")) && *value == '"';) {
        count += tokens_in(value, NULL);
        value = string_end(value) + 1;
    }
    return count;
}

#endif
