// Berkeley DB: a b-tree and a hash in one environment, changed in transactions; checkpoints, and the log removed behind them.
#include <db.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 90000, VALUE = 700, CHANGES = 260000, EACH = 20, CHECKPOINT = 8000 };

static void must(int code) {
    if (code != 0) {
        fprintf(stderr, "berkeleydb: %s\n", db_strerror(code));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    DB_ENV *home;
    DB *tree, *hash;
    DB_TXN *transaction = NULL;
    must(db_env_create(&home, 0));
    must(home->set_cachesize(home, 0, 24 << 20, 1));
    must(home->set_lg_max(home, 4 << 20));
    must(home->log_set_config(home, DB_LOG_AUTO_REMOVE, 1));
    must(home->set_flags(home, DB_TXN_WRITE_NOSYNC, 1));
    must(home->open(home, argv[1], DB_CREATE | DB_INIT_MPOOL | DB_INIT_TXN | DB_INIT_LOG | DB_INIT_LOCK | DB_PRIVATE, 0600));
    must(db_create(&tree, home, 0));
    must(tree->set_pagesize(tree, 8192));
    must(tree->open(tree, NULL, "tree.db", NULL, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT, 0600));
    must(db_create(&hash, home, 0));
    must(hash->set_pagesize(hash, 8192));
    must(hash->open(hash, NULL, "hash.db", NULL, DB_HASH, DB_CREATE | DB_AUTO_COMMIT, 0600));
    char *noise = malloc(VALUE + 4096);
    srandom(1);
    for (int at = 0; at < VALUE + 4096; at++) noise[at] = (char)random();
    for (long step = 0; step < ROWS + CHANGES; step++) {
        if (step % EACH == 0) must(home->txn_begin(home, NULL, &transaction, 0));
        long row = step < ROWS ? step : random() % ROWS * (random() % 1000) / 1000;
        char key[16];
        snprintf(key, sizeof key, "%015ld", row);
        DBT name = {.data = key, .size = sizeof key}, value = {.data = noise + random() % 4096, .size = VALUE};
        DB *table = row % 3 == 0 ? hash : tree;
        must(table->put(table, transaction, &name, &value, 0));
        if (step % EACH == EACH - 1) must(transaction->commit(transaction, 0));
        if (step % CHECKPOINT == CHECKPOINT - 1) must(home->txn_checkpoint(home, 0, 0, 0));
    }
    must(tree->close(tree, 0));
    must(hash->close(hash, 0));
    return home->close(home, 0);
}
