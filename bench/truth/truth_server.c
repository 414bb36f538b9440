/*
 * An OpenAI-compatible server that streams on an absolute schedule and writes down when each chunk really left.
 *
 * A client that is measured against it is wrong by exactly what it says minus what stands in /truth, never by the
 * difference to a nominal value: a write that came late is late in the truth too.
 *
 *   cc -O2 -o truth_server truth_server.c && ./truth_server --ttft-ms 50 --itl-ms 10   (prints "port N" when it listens)
 *
 * One thread, epoll, one timer. A request is timed from the kernel's receive stamp of its last byte, so the server's own
 * delay in reading it is no part of the truth. The first token is due ttft (and prefill) after that, token k is due k
 * intervals later whatever happened before, and a chunk's stamp is taken when the kernel has taken its last byte.
 *
 * GET  /truth              the requests as CSV, stamps in nanoseconds of CLOCK_MONOTONIC (--record-chunks 1: of every chunk)
 * GET  /stats, /reset      counters and both clocks; forget everything
 * GET  /v1/models, /metrics
 * POST /v1/completions, /v1/chat/completions, /tokenize (a word is a token)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

typedef int64_t ns;

/* ---- options ---------------------------------------------------------------------------------------------------- */

enum { ROLE_NONE, ROLE_WITH_FIRST, ROLE_EARLY };
enum { USAGE_NONE, USAGE_ASKED, USAGE_CONTINUOUS };

static double port, ttft_ms = 50, itl_ms = 10, tokens = 128, tokens_per_chunk = 1, role = ROLE_WITH_FIRST, role_ms = 5,
                    reasoning, usage = USAGE_ASKED, prefill_us, slots, stall_every_s, stall_ms, record_chunks, completions = 1;

static const struct {
    const char *name;
    double *value;
    const char *help;
} OPTIONS[] = {
    {"--port", &port, "TCP port on the loopback; 0: any free one"},
    {"--ttft-ms", &ttft_ms, "from the request's last byte to its first token"},
    {"--itl-ms", &itl_ms, "between two tokens"},
    {"--tokens", &tokens, "tokens of a request that asks for no number"},
    {"--tokens-per-chunk", &tokens_per_chunk, "a chunk leaves when its first token is due"},
    {"--role", &role, "chat's role chunk: 0 none, 1 written with the first token, 2 alone and early"},
    {"--role-ms", &role_ms, "when the early one leaves"},
    {"--reasoning", &reasoning, "the first so many tokens are reasoning_content (chat only)"},
    {"--usage", &usage, "0 never, 1 in a last chunk when asked for, 2 in every chunk"},
    {"--prefill-us-per-token", &prefill_us, "added to the time to the first token, per prompt token"},
    {"--slots", &slots, "requests served at once, the others queue; 0: no limit"},
    {"--stall-every-s", &stall_every_s, "the whole server stops now and then; 0: never"},
    {"--stall-ms", &stall_ms, "for so long; every stream's schedule moves by what it waited"},
    {"--completions", &completions, "0: chat is the only route, as some servers have it"},
    {"--record-chunks", &record_chunks, "1: keep the stamp of every chunk"},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

static int read_options(int count, char **words)
{
    for (int i = 1; i < count; i += 2) {
        int found = -1;
        for (int k = 0; k < OPTION_COUNT; k++)
            if (!strcmp(words[i], OPTIONS[k].name)) found = k;
        char *end = "x";
        if (found >= 0 && i + 1 < count) *OPTIONS[found].value = strtod(words[i + 1], &end);
        if (*end) {
            for (int k = 0; k < OPTION_COUNT; k++)
                fprintf(stderr, "  %-23s %s (%g)\n", OPTIONS[k].name, OPTIONS[k].help, *OPTIONS[k].value);
            return 0;
        }
    }
    return tokens_per_chunk >= 1 && tokens >= 1;
}

static ns clock_ns(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static ns now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* ---- what is remembered ----------------------------------------------------------------------------------------- */

struct record {
    int id, port, nth_on_connection, prompt_tokens, asked, sent, before_last, chunks, failed; /* tokens before the last chunk */
    ns arrived, read, started, due, role_written, first_written, last_written, late_max;
    ns *chunk_written;
};

static struct record *records;
static int record_count, record_room, running, peak_running, waiting;
static long total_requests, total_prompt_tokens, total_tokens;
static ns began;

enum state { IDLE, QUEUED, STREAMING };

struct connection {
    int fd, port, served, wants_write, dead;
    struct buffer in, out;
    size_t out_done;
    ns arrived; /* kernel stamp of the last bytes that were read */
    enum state state;
    int record, chat, stream, tells_usage, role_pending, role_unstamped, unstamped;
    ns due, moved; /* moved: by how much stalls have shifted its schedule */
    int place;     /* in the heap, -1 when it is not there */
    struct connection *next;
};

static const char LISTENER, TIMER; /* their addresses tell these two from connections */
static int poller;
static struct connection *queue_head, *queue_tail, *bin;

/* ---- streams in the order in which they are due: a binary heap ---------------------------------------------------- */

static struct connection **heap;
static int heap_count, heap_room;

static void put(int place, struct connection *c)
{
    heap[place] = c;
    c->place = place;
}

static void settle(int place, struct connection *c)
{
    while (place && heap[(place - 1) / 2]->due > c->due) {
        put(place, heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (int child; (child = 2 * place + 1) < heap_count; place = child) {
        if (child + 1 < heap_count && heap[child + 1]->due < heap[child]->due) child++;
        if (heap[child]->due >= c->due) break;
        put(place, heap[child]);
    }
    put(place, c);
}

static void schedule(struct connection *c, ns due)
{
    c->due = due;
    if (heap_count == heap_room) heap = grown(heap, sizeof *heap * (size_t)(heap_room = 2 * heap_room + 1024));
    settle(heap_count++, c);
}

static void unschedule(struct connection *c)
{
    int place = c->place;
    if (place < 0) return;
    c->place = -1;
    struct connection *last = heap[--heap_count];
    if (last != c) settle(place, last);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static void watch_writing(struct connection *c, int wanted)
{
    if (c->wants_write == wanted) return;
    c->wants_write = wanted;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0u), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void begin(struct connection *c, ns now);

static void finish(struct connection *c, int failed)
{
    records[c->record].failed = failed;
    unschedule(c);
    c->state = IDLE;
    running--;
    if (queue_head && (!slots || running < slots)) {
        struct connection *first = queue_head;
        queue_head = first->next;
        waiting--;
        begin(first, now_ns());
    }
}

/* The kernel has everything: what was written since the last time gets its stamp. */
static void stamp(struct connection *c)
{
    struct record *r = &records[c->record];
    ns now = now_ns();
    if (c->role_unstamped) r->role_written = now;
    c->role_unstamped = 0;
    for (; c->unstamped; c->unstamped--) {
        if (!r->chunks) r->first_written = now;
        if (r->chunk_written) r->chunk_written[r->chunks] = now;
        r->last_written = now;
        r->chunks++;
    }
    if (r->sent == r->asked) finish(c, 0);
}

static void flush(struct connection *c)
{
    while (c->out_done < c->out.length) {
        ssize_t taken = write(c->fd, c->out.bytes + c->out_done, c->out.length - c->out_done);
        if (taken >= 0) {
            c->out_done += (size_t)taken;
        } else if (errno == EAGAIN) {
            watch_writing(c, 1);
            return;
        } else if (errno != EINTR) {
            c->dead = 1;
            return;
        }
    }
    c->out.length = c->out_done = 0;
    watch_writing(c, 0);
    if (c->state == STREAMING) stamp(c);
}

static void answer(struct connection *c, const char *status, const char *type, const struct buffer *body)
{
    appendf(&c->out, "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n", status, type, body->length);
    append(&c->out, body->bytes, body->length);
    flush(c);
}

static void put_usage(struct buffer *b, const struct record *r)
{
    appendf(b,
            ",\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d,"
            "\"prompt_tokens_details\":{\"cached_tokens\":0}}",
            r->prompt_tokens, r->sent, r->prompt_tokens + r->sent);
}

static void put_text(struct buffer *b, int words)
{
    while (words--) append(b, " the", 4);
}

/* One server-sent event as one HTTP chunk. `choices` is what stands between the brackets. */
static void put_event(struct connection *c, const struct buffer *choices, int with_usage)
{
    static struct buffer event;
    struct record *r = &records[c->record];
    event.length = 0;
    appendf(&event, "data: {\"id\":\"truth-%d\",\"object\":\"%s\",\"created\":1,\"model\":\"truth\",\"choices\":[", r->id,
            c->chat ? "chat.completion.chunk" : "text_completion");
    append(&event, choices->bytes, choices->length);
    append(&event, "]", 1);
    if (with_usage) put_usage(&event, r);
    append(&event, "}\n\n", 3);
    appendf(&c->out, "%zx\r\n", event.length);
    append(&c->out, event.bytes, event.length);
    append(&c->out, "\r\n", 2);
}

static void put_role(struct connection *c)
{
    static struct buffer choices;
    choices.length = 0;
    appendf(&choices, "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}");
    put_event(c, &choices, usage == USAGE_CONTINUOUS);
    c->role_pending = 0;
    c->role_unstamped = 1;
}

static void put_tokens(struct connection *c, int count)
{
    static struct buffer choices;
    struct record *r = &records[c->record];
    int thinks = c->chat && r->sent < reasoning;
    r->before_last = r->sent;
    choices.length = 0;
    appendf(&choices, "{\"index\":0,%s\"", !c->chat ? "\"text\":" : thinks ? "\"delta\":{\"reasoning_content\":" : "\"delta\":{\"content\":");
    put_text(&choices, count);
    r->sent += count;
    total_tokens += count;
    appendf(&choices, "\"%s,\"finish_reason\":%s}", c->chat ? "}" : "", r->sent == r->asked ? "\"length\"" : "null");
    put_event(c, &choices, usage == USAGE_CONTINUOUS);
    c->unstamped++;
}

static void put_end(struct connection *c)
{
    static const char done[] = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    static struct buffer nothing;
    if (usage && c->tells_usage) put_event(c, &nothing, 1);
    append(&c->out, done, sizeof done - 1);
}

static void answer_whole(struct connection *c)
{
    struct record *r = &records[c->record];
    struct buffer body = {0};
    appendf(&body, "{\"id\":\"truth-%d\",\"object\":\"%s\",\"created\":1,\"model\":\"truth\",\"choices\":[{\"index\":0,%s\"", r->id,
            c->chat ? "chat.completion" : "text_completion",
            c->chat ? "\"message\":{\"role\":\"assistant\",\"content\":" : "\"text\":");
    put_text(&body, r->asked);
    r->sent = r->asked;
    total_tokens += r->asked;
    appendf(&body, "\"%s,\"finish_reason\":\"length\"}]", c->chat ? "}" : "");
    put_usage(&body, r);
    append(&body, "}", 1);
    c->unstamped = 1;
    answer(c, "200 OK", "application/json", &body);
    free(body.bytes);
}

/* ---- the life of a request ---------------------------------------------------------------------------------------- */

static ns token_due(const struct connection *c)
{
    const struct record *r = &records[c->record];
    return r->due + c->moved + (ns)(itl_ms * 1e6 * (c->stream ? r->sent : r->asked - 1));
}

static void begin(struct connection *c, ns now)
{
    struct record *r = &records[c->record];
    ns start = c->state == QUEUED ? now : r->arrived;
    c->state = STREAMING;
    if (++running > peak_running) peak_running = running;
    r->started = start;
    r->due = start + (ns)(ttft_ms * 1e6) + (ns)(prefill_us * 1e3 * r->prompt_tokens);
    c->role_pending = c->chat && c->stream && role != ROLE_NONE;
    schedule(c, c->role_pending && role == ROLE_EARLY ? start + (ns)(role_ms * 1e6) : token_due(c));
}

static ns stalled_until(ns now)
{
    ns every = (ns)(stall_every_s * 1e9), since = now - began;
    if (!every || since < every || since % every >= (ns)(stall_ms * 1e6)) return 0;
    return now - since % every + (ns)(stall_ms * 1e6);
}

/* Something of this stream is due: write it, and say when it is due again. */
static void advance(struct connection *c, ns now)
{
    struct record *r = &records[c->record];
    ns until = stalled_until(now), late = now - c->due;
    unschedule(c);
    if (until) {
        c->moved += until - c->due;
        schedule(c, until);
        return;
    }
    if (c->out_done < c->out.length) { /* the client does not read: nothing more is piled up */
        schedule(c, now + 100000);
        return;
    }
    if (late > r->late_max) r->late_max = late;
    if (!c->stream) {
        answer_whole(c);
        return;
    }
    if (c->role_pending && role == ROLE_EARLY) {
        put_role(c);
        schedule(c, token_due(c));
    } else {
        int left = r->asked - r->sent;
        if (c->role_pending) put_role(c);
        put_tokens(c, left < tokens_per_chunk ? left : (int)tokens_per_chunk);
        if (r->sent == r->asked)
            put_end(c);
        else
            schedule(c, token_due(c));
    }
    flush(c);
}

static void take_completion(struct connection *c, const char *path, const char *body)
{
    static const char head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    int asked = number_of(body, "max_completion_tokens", number_of(body, "max_tokens", (int)tokens));
    if (record_count == record_room) records = grown(records, sizeof *records * (size_t)(record_room = 2 * record_room + 4096));
    c->record = record_count++;
    struct record *r = &records[c->record];
    *r = (struct record){.id = (int)++total_requests, .port = c->port, .nth_on_connection = c->served, .arrived = c->arrived};
    r->read = now_ns();
    r->asked = asked < 1 ? 1 : asked;
    r->prompt_tokens = prompt_tokens_of(body);
    if (record_chunks) r->chunk_written = grown(NULL, sizeof(ns) * (size_t)r->asked);
    total_prompt_tokens += r->prompt_tokens;
    c->chat = strstr(path, "/chat/") != NULL;
    c->stream = is_true(body, "stream");
    c->tells_usage = is_true(body, "include_usage");
    c->moved = c->unstamped = 0;
    if (c->stream) {
        append(&c->out, head, sizeof head - 1);
        flush(c);
    }
    if (!slots || running < slots) {
        begin(c, r->read);
        return;
    }
    c->state = QUEUED;
    c->next = NULL;
    if (queue_head)
        queue_tail->next = c;
    else
        queue_head = c;
    queue_tail = c;
    waiting++;
}

/* ---- what is told ------------------------------------------------------------------------------------------------- */

#define FIELDS(F) \
    F(id, "%d") F(port, "%d") F(nth_on_connection, "%d") F(prompt_tokens, "%d") F(asked, "%d") F(sent, "%d") F(before_last, "%d") F(chunks, "%d") \
    F(failed, "%d") F(arrived, "%ld") F(read, "%ld") F(started, "%ld") F(due, "%ld") F(role_written, "%ld") \
    F(first_written, "%ld") F(last_written, "%ld") F(late_max, "%ld")

static void put_truth(struct buffer *b)
{
#define NAME(field, format) #field ","
#define CELL(field, format) appendf(b, format ",", r->field);
    appendf(b, FIELDS(NAME) "chunk_written\n");
    for (struct record *r = records; r < records + record_count; r++) {
        FIELDS(CELL)
        for (int k = 0; r->chunk_written && k < r->chunks; k++) appendf(b, "%s%ld", k ? " " : "", r->chunk_written[k]);
        append(b, "\n", 1);
    }
}

static void put_stats(struct buffer *b)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    appendf(b, "{\"monotonic\":%ld,\"realtime\":%ld,\"requests\":%ld,\"tokens\":%ld,\"running\":%d,\"peak_running\":%d,\"cpu_s\":%.4f}\n",
            now_ns(), clock_ns(CLOCK_REALTIME), total_requests, total_tokens, running, peak_running, cpu_s);
}

static void put_metrics(struct buffer *b)
{
    appendf(b, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"truth\"} %d\n", running);
    appendf(b, "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"truth\"} %d\n", waiting);
    appendf(b, "# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{model_name=\"truth\"} %ld\n", total_prompt_tokens);
    appendf(b, "# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{model_name=\"truth\"} %ld\n", total_tokens);
    appendf(b, "# TYPE vllm:prefix_cache_queries counter\nvllm:prefix_cache_queries_total{model_name=\"truth\"} %ld\n", total_prompt_tokens);
    appendf(b, "# TYPE vllm:prefix_cache_hits counter\nvllm:prefix_cache_hits_total{model_name=\"truth\"} 0\n");
    appendf(b, "# TYPE vllm:num_preemptions counter\nvllm:num_preemptions_total{model_name=\"truth\"} 0\n");
}

static void put_tokenized(struct buffer *b, const char *body)
{
    struct buffer ids = {0};
    const char *value = value_of(body, "content");
    if (!value) value = value_of(body, "prompt");
    int count = value ? tokens_in(value, &ids) : 0;
    appendf(b, "{\"count\":%d,\"max_model_len\":131072,\"tokens\":[", count);
    append(b, ids.bytes ? ids.bytes : "", ids.length);
    append(b, "]}", 2);
    free(ids.bytes);
}

static void forget(void)
{
    if (running || waiting) return; /* streams still write into their records */
    for (int i = 0; i < record_count; i++) free(records[i].chunk_written);
    record_count = peak_running = 0;
    total_requests = total_prompt_tokens = total_tokens = 0;
    began = now_ns();
}

static void take_request(struct connection *c, const char *path, const char *body)
{
    struct buffer b = {0};
    const char *status = "200 OK", *type = "application/json";
    c->served++;
    if (strstr(path, "/completions") && (completions || strstr(path, "/chat/"))) {
        take_completion(c, path, body);
        return;
    }
    if (!strcmp(path, "/truth")) {
        type = "text/csv";
        put_truth(&b);
    } else if (!strcmp(path, "/stats")) {
        put_stats(&b);
    } else if (!strcmp(path, "/metrics")) {
        type = "text/plain; version=0.0.4";
        put_metrics(&b);
    } else if (!strcmp(path, "/tokenize")) {
        put_tokenized(&b, body);
    } else if (!strcmp(path, "/v1/models")) {
        appendf(&b, "{\"object\":\"list\",\"data\":[{\"id\":\"truth\",\"object\":\"model\",\"created\":1,\"owned_by\":\"truth\",\"max_model_len\":131072}]}");
    } else {
        if (!strcmp(path, "/reset"))
            forget();
        else if (strcmp(path, "/health"))
            status = "404 Not Found";
        appendf(&b, "{}");
    }
    answer(c, status, type, &b);
    free(b.bytes);
}

/* ---- connections -------------------------------------------------------------------------------------------------- */

/* Take the requests that are here as a whole, one after the other: the next one when the one before has its answer. */
static void take_requests(struct connection *c)
{
    while (c->state == IDLE && !c->dead && c->in.length) {
        char *end = strstr(c->in.bytes, "\r\n\r\n"), *length = strcasestr(c->in.bytes, "\r\ncontent-length:"), path[64] = "";
        if (!end) return;
        size_t head = (size_t)(end - c->in.bytes) + 4, body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
        if (c->in.length < head + body) return;
        struct buffer rest = {0};
        append(&rest, c->in.bytes + head + body, c->in.length - head - body);
        c->in.bytes[head + body] = 0;
        sscanf(c->in.bytes, "%*s %63s", path);
        take_request(c, path, c->in.bytes + head);
        free(c->in.bytes);
        c->in = rest;
    }
}

static void read_requests(struct connection *c)
{
    for (;;) {
        char control[128];
        struct iovec piece = {reserve(&c->in, 16384), 16384};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t count = recvmsg(c->fd, &message, 0);
        if (count < 0 && errno == EAGAIN) break;
        if (count <= 0) {
            c->dead = 1;
            return;
        }
        c->in.bytes[c->in.length += (size_t)count] = 0;
        c->arrived = now_ns();
        for (struct cmsghdr *note = CMSG_FIRSTHDR(&message); note; note = CMSG_NXTHDR(&message, note)) {
            if (note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS) continue;
            struct timespec at;
            memcpy(&at, CMSG_DATA(note), sizeof at);
            c->arrived = at.tv_sec * 1000000000LL + at.tv_nsec - clock_ns(CLOCK_REALTIME) + now_ns();
        }
    }
    take_requests(c);
}

static void drop(struct connection *c)
{
    if (c->state == STREAMING) finish(c, 1);
    if (c->state == QUEUED) {
        struct connection **at = &queue_head, *before = NULL;
        for (; *at != c; at = &(*at)->next) before = *at;
        *at = c->next;
        if (queue_tail == c) queue_tail = before;
        waiting--;
        records[c->record].failed = 1;
    }
    c->state = IDLE;
    close(c->fd);
    c->fd = -1;
    c->next = bin; /* freed when no event of this round can name it any more */
    bin = c;
}

static void accept_all(int listener)
{
    const int on = 1;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    for (int fd; (fd = accept4(listener, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK)) >= 0;) {
        struct connection *c = calloc(1, sizeof *c);
        if (!c) abort();
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        c->fd = fd;
        c->place = -1;
        c->port = ntohs(peer.sin_port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static int listen_on_loopback(void)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 4096)) return -1;
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void serve_connection(struct connection *c, uint32_t what)
{
    if (c->fd < 0) return; /* dropped earlier in this round */
    if (what & EPOLLOUT) flush(c);
    if (what & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_requests(c);
    if (!c->dead) take_requests(c);
    if (c->dead) drop(c);
}

static void serve_due(void)
{
    for (int budget = 256; budget && heap_count; budget--) { /* then look for requests again, however late the streams are */
        struct connection *c = heap[0];
        ns now = now_ns();
        if (c->due > now) return;
        advance(c, now);
        if (!c->dead) take_requests(c);
        if (c->dead) drop(c);
    }
}

static void wait_for_events(int listener, int timer)
{
    static ns armed;
    struct epoll_event events[256];
    int overdue = heap_count && heap[0]->due <= now_ns();
    if (heap_count && !overdue && heap[0]->due != armed) {
        armed = heap[0]->due;
        struct itimerspec at = {.it_value = {armed / 1000000000, armed % 1000000000}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
    }
    int count = epoll_wait(poller, events, 256, overdue ? 0 : -1);
    for (int i = 0; i < count; i++) {
        uint64_t expirations;
        if (events[i].data.ptr == &LISTENER)
            accept_all(listener);
        else if (events[i].data.ptr == &TIMER)
            armed = read(timer, &expirations, sizeof expirations) > 0 ? 0 : armed;
        else
            serve_connection(events[i].data.ptr, events[i].events);
    }
    for (struct connection *c; (c = bin);) {
        bin = c->next;
        free(c->in.bytes);
        free(c->out.bytes);
        free(c);
    }
}

int main(int count, char **words)
{
    if (!read_options(count, words)) return 2;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the driver that started it takes it along, however it ends */
    began = now_ns();
    poller = epoll_create1(0);
    int listener = listen_on_loopback(), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    if (listener < 0) {
        perror("listen");
        return 1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = (void *)&LISTENER};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = (void *)&TIMER;
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    for (;;) {
        wait_for_events(listener, timer);
        serve_due();
    }
}
