// WiredTiger, MongoDB's engine: every row once, then random rows changed, log on, a checkpoint every few seconds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wiredtiger.h>

enum { ROWS = 80000, VALUE = 1000, CHANGES = 500000, CHECKPOINT = 12000 };

static void must(int code) {
    if (code != 0) {
        fprintf(stderr, "wiredtiger: %s\n", wiredtiger_strerror(code));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    WT_CONNECTION *connection;
    WT_SESSION *session;
    WT_CURSOR *cursor;
    must(wiredtiger_open(argv[1], NULL,
        "create,cache_size=32MB,log=(enabled,file_max=8MB),transaction_sync=(enabled=false),statistics=(none)", &connection));
    must(connection->open_session(connection, NULL, NULL, &session));
    must(session->create(session, "table:rows", "key_format=q,value_format=u,leaf_page_max=16KB,memory_page_max=1MB"));
    must(session->open_cursor(session, "table:rows", NULL, "overwrite", &cursor));
    char *noise = malloc(VALUE + 4096);
    srandom(1);
    for (int at = 0; at < VALUE + 4096; at++) noise[at] = (char)random();
    for (long step = 0; step < ROWS + CHANGES; step++) {
        WT_ITEM value = {.data = noise + random() % 4096, .size = VALUE};
        cursor->set_key(cursor, (int64_t)(step < ROWS ? step : random() % ROWS));
        cursor->set_value(cursor, &value);
        must(cursor->insert(cursor));
        if (step % CHECKPOINT == CHECKPOINT - 1) must(session->checkpoint(session, NULL));
    }
    return connection->close(connection, NULL);
}
